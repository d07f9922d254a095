/**
 * Characters that are invisible to people and visible to a model. They are found by their Unicode properties, and real writing is left
 * unchanged.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { expectLinear } from "../../growth.ts";
import { findInvisible, showInvisible, stripInvisible } from "../../../src/steps/text/text.ts";
import { tries } from "../../tries.ts";

test.each([
  ["a control", "\u0000", "␀"],
  ["a terminal's escape", "\u001b", "␛"],
  ["a C1 control", "\u009b", "⟨U+009B⟩"],
  ["delete", "\u007f", "⟨U+007F⟩"],
  ["a lone return", "\r", "␍"],
  ["an override of direction", "\u202e", "⟨U+202E⟩"],
  ["an isolate", "\u2066", "⟨U+2066⟩"],
  ["a mark of direction", "\u200f", "⟨U+200F⟩"],
  ["an Arabic mark", "\u061c", "⟨U+061C⟩"],
  ["a space of no width", "\u200b", "⟨U+200B⟩"],
  ["a joiner between letters that do not join", "\u200d", "⟨U+200D⟩"],
  ["a word joiner", "\u2060", "⟨U+2060⟩"],
  ["a byte order mark", "\ufeff", "⟨U+FEFF⟩"],
  ["a soft hyphen", "\u00ad", "⟨U+00AD⟩"],
  ["a vowel separator", "\u180e", "⟨U+180E⟩"],
  ["a line separator", "\u2028", "⟨U+2028⟩"],
  ["a filler that looks like a space", "\u3164", "⟨U+3164⟩"],
  ["a blank pattern", "\u2800", "⟨U+2800⟩"],
  ["a grapheme joiner", "\u034f", "⟨U+034F⟩"],
  ["an annotation", "\ufff9", "⟨U+FFF9⟩"],
  ["a tag", "\u{e0041}", "⟨U+E0041⟩"],
  ["a selector that selects nothing", "\ufe01", "⟨U+FE01⟩"],
  ["half a character", "\ud800", "⟨U+D800⟩"],
])("%s is shown by name, found, and taken out", (_what, character, name) => {
  const text = `a${character}b`;
  expect(showInvisible(text)).toBe(`a${name}b`);
  expect(findInvisible(`${text}${text}`)).toHaveLength(1);
  expect(stripInvisible(text)).toMatch(/^a ?b$/);
});

test.each([
  "tab\tline\nend",
  "👩‍👩‍👧 ❤️‍🔥 🏳️‍🌈 👩🏽‍🚀 1️⃣ ☺︎",
  "می‌خواهم",
  "क्‍ष",
  "ភាសា​ខ្មែរ",
  "葛\u{e0100}城",
  "ᠠ᠋",
  "عربي עברית 日本 한국어 e\u0301",
])("writing is left as it is: %s", (text) => {
  expect(showInvisible(text)).toBe(text);
  expect(stripInvisible(text)).toBe(text);
  expect(findInvisible(text)).toEqual([]);
});

test("an emoji cannot carry a message: of a row of selectors one is its own", () => {
  const hidden = "😀\ufe0f\ufe01\u{e0148}\u{e0169}";
  expect(stripInvisible(hidden)).toBe("😀\ufe0f");
  expect(showInvisible(hidden)).toBe("😀\ufe0f⟨U+FE01⟩⟨U+E0148⟩⟨U+E0169⟩");
});

test("lines end as they did: with a return before it, or as a space where only a reader would see an end", () => {
  expect(stripInvisible("a\r\nb\u2028c\u0085d")).toBe("a\nb c d");
  expect(findInvisible("a\r\nb")).toEqual([]);
});

const writing = fc.string({
  unit: fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 2 }),
    fc.constantFrom("\u200d", "\u200c", "\ufe0f", "\u{e0041}", "\u{1f468}", "ع", "क", "\u094d", "葛", "\r", "\n", "1"),
  ),
  maxLength: 60,
});

test("whatever the text: nothing is found in what is shown or cleaned, and doing it twice changes nothing", () => {
  fc.assert(
    fc.property(writing, (text) => {
      for (const made of [showInvisible(text), stripInvisible(text)]) {
        expect(findInvisible(made)).toEqual([]);
        expect(made.isWellFormed()).toBe(true);
      }
      expect(showInvisible(showInvisible(text))).toBe(showInvisible(text));
      expect(stripInvisible(stripInvisible(text))).toBe(stripInvisible(text));
    }),
    { numRuns: tries(1_000) },
  );
});

test("no mark of direction and no control is left of any character that there is", () => {
  const all = Array.from({ length: 0x110000 }, (_, code) =>
    code === 10 || code === 9 ? "" : String.fromCodePoint(code),
  );
  const left = stripInvisible(all.join("x"));
  expect(left).not.toMatch(/[\p{Bidi_Control}\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
});

test.each(["\u200d", "\ufe0f", "\u{e0041}", "क\u200d", "😀\ufe0f\u200d"])(
  "a text of %j alone is gone through in proportion to its length",
  (character) => expectLinear((size) => character.repeat(size), stripInvisible, 10_000),
);
