/**
 * Finds characters that people do not see but a model reads: controls, direction marks, tags, fillers, lone joiners.
 *
 * The one list of them, for every surface that shows a text (the page, the command line) and for every overlay. Text to
 * text. Stored messages stay as they came. The list is complete because it uses Unicode properties instead of single
 * characters. It does not harm real writing, because a joiner within a word and one selector after its base character
 * stay.
 */

const NOT_SEEN = String.raw`\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb`;
const UNSEEN = new RegExp(`[[${NOT_SEEN}]--[\\t\\n]]`, "gv");

/** Scripts that write words with joiners, or separate them by a zero-width space. */
const JOINED =
  "Arabic Syriac Nko Mongolian Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer"
    .split(" ")
    .map((script) => `\\p{Script_Extensions=${script}}`);
const IN_A_WORD = `[[${JOINED.join("")}]--[${NOT_SEEN}]]`;
const IN_PLACE = new RegExp(
  [
    `(?<=${IN_A_WORD})[\\u200b-\\u200d](?=${IN_A_WORD})`,
    String.raw`(?<=\p{Emoji}\ufe0f|[\p{Extended_Pictographic}\p{Emoji_Modifier}])\u200d(?=\p{Extended_Pictographic})`,
    String.raw`(?<=\p{Emoji})[\ufe0e\ufe0f]`,
    String.raw`(?<=\p{Script=Han})[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]`,
    `(?<=[\\p{Script=Mongolian}--[${NOT_SEEN}]])[\\u180b-\\u180d\\u180f]`,
  ].join("|"),
  "vy",
);

/** Characters that display as the end of a line, though only "\n" is one. */
const BREAK = /[\v\f\r\u0085\u2028\u2029]/;

/** The text with invisible characters shown by name: `␛` for a control, `⟨U+202E⟩` for others. Idempotent. */
export function showInvisible(text: string): string {
  return replaceUnseen(text, nameOf);
}

/** The text without invisible characters. A character that displays as a line end becomes a space. Idempotent. */
export function stripInvisible(text: string): string {
  return replaceUnseen(text, (character) => (BREAK.test(character) ? " " : ""));
}

/** The invisible characters in a text, each once, in order, as in `U+202E`. */
export function findInvisible(text: string): string[] {
  const found = new Set<string>();
  replaceUnseen(text, (character) => {
    found.add(codeOf(character));
    return "";
  });
  return [...found];
}

/** Most texts have only these characters, and are never searched for others. */
const SEEN = /^[\t\n -~]*$/;

function replaceUnseen(text: string, by: (character: string) => string): string {
  if (SEEN.test(text)) return text;
  return text.replaceAll("\r\n", "\n").replaceAll(UNSEEN, (character: string, at: number, whole: string) => {
    IN_PLACE.lastIndex = at;
    return IN_PLACE.test(whole) ? character : by(character);
  });
}

function nameOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : `⟨${codeOf(character)}⟩`;
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
