/** How the page reads texts of others, and its own addresses. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UIMessage } from "ai";
import { clipText, isLayable, linkHost, showInvisible } from "../../dashboard/reading/inert-text.ts";
import { gist, readSummary } from "../../dashboard/reading/summary.ts";
import { formatRoute, parseRoute, toSession } from "../../dashboard/route.ts";
import { modelRows, personRows, storedId } from "../../dashboard/session/rows.ts";
import { sliceMessageId } from "../../src/steps/view/view.ts";
import { summaryMessage } from "../../src/facts/render.ts";

function said(id: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text: id }] };
}

describe("hostile text", () => {
  test("controls and marks of direction are shown by name; tabs, line ends and every script stay", () => {
    expect(showInvisible("a\u0000b\u001b[31m")).toBe("a␀b␛[31m");
    expect(showInvisible("user\u202etxt.exe\u2066")).toBe("user⟨U+202E⟩txt.exe⟨U+2066⟩");
    const kept = "tab\tline\nعربي עברית 日本 👩‍👩‍👧";
    expect(showInvisible(kept)).toBe(kept);
  });

  test("nothing unseen is left of any text, and showing it twice changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        const shown = showInvisible(text);
        expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/);
        expect(showInvisible(shown)).toBe(shown);
      }),
    );
  });

  test("what would hold the page up is not laid out as markdown", () => {
    expect(isLayable("# A heading\n\n- and *a* list of `things`")).toBe(true);
    const deep = [
      ">".repeat(5_000),
      "[".repeat(5_000),
      "* ".repeat(2_000),
      "- ".repeat(100),
      "x".repeat(20_001),
      "![".repeat(500),
    ];
    for (const text of deep) expect(isLayable(text)).toBe(false);
  });

  test("a long text is cut between characters, and says how much is left", () => {
    const { shown, left } = clipText("😀".repeat(30_000), 39_999);
    expect(shown.isWellFormed()).toBe(true);
    expect(shown.length + left).toBe(60_000);
  });

  test("only web addresses become links", () => {
    expect(linkHost("https://example.com/a?b")).toBe("example.com");
    for (const href of [
      "javascript:alert(1)",
      "data:text/html,x",
      "#session",
      "/agents/x",
      "//evil.example",
      "https://",
      undefined,
    ])
      expect(linkHost(href)).toBeNull();
  });
});

describe("addresses", () => {
  test("a place survives its address, whatever names and ids hold", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 40 });
    const id = fc.option(
      text.filter((each) => each !== ""),
      { nil: null },
    );
    const reading = fc.constantFrom("person", "model", "both");
    const session = fc.record({ agent: text, id: text, branch: id, at: id, overlay: id, asOf: id, reading });
    fc.assert(
      fc.property(session, ({ agent, id, ...more }) => {
        const route = toSession(agent || "demo", id, more);
        expect(parseRoute(formatRoute(route))).toEqual(route);
      }),
    );
    const runs = { page: "runs", agent: "a&b", id: "", run: "run-1" } as const;
    expect(parseRoute(formatRoute(runs))).toEqual(runs);
  });

  test("any address is some place", () => {
    fc.assert(
      fc.property(fc.string(), (hash) => {
        expect(parseRoute(hash).agent).not.toBe("");
      }),
    );
  });
});

describe("rows", () => {
  const view = [said("a"), summaryMessage({ overlayId: "o1", summary: "s" }), said("z")];

  test("the model's rows are the view; the person's have originals in place of each summary, as far as they were read", () => {
    expect(modelRows(view).map(({ kind }) => kind)).toEqual(["message", "summary", "message"]);
    const unread = personRows(view, new Map());
    expect(unread.map(({ kind }) => kind)).toEqual(["message", "layer", "unread", "message"]);
    const read = personRows(view, new Map([["o1", { messages: [said("b"), said("c")], done: true }]]));
    expect(read.flatMap((row) => (row.kind === "message" ? [row.message.id] : []))).toEqual(["a", "b", "c", "z"]);
    expect(new Set(read.map(({ key }) => key)).size).toBe(read.length);
  });

  test("a part of a message is forked at the message", () => {
    expect(storedId(said(sliceMessageId("m1", 0, 2)))).toBe("m1");
  });
});

test("a summary is read line by line, each with its messages, and no reference is left in its words", () => {
  const summary = "## Goal\n- Ship it [@0a1b2c3]\n\nplain words\n## Open\n- None.";
  expect(readSummary(summary, [{ line: 1, messageIds: ["m1"] }])).toEqual([
    { kind: "heading", line: 0, text: "Goal" },
    { kind: "bullet", line: 1, text: "Ship it", messageIds: ["m1"] },
    { kind: "text", line: 3, text: "plain words", messageIds: [] },
    { kind: "heading", line: 4, text: "Open" },
    { kind: "bullet", line: 5, text: "None.", messageIds: [] },
  ]);
  expect(gist(summary, 100)).toBe("Ship it ¶ plain words");
});
