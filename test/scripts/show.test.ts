/** What the command line prints of a view. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { showMessages } from "../../scripts/cli/show.ts";
import { createPaint } from "../../scripts/report/paint.ts";
import { summaryMessage } from "../../src/facts/render.ts";
import { NOTHING_PINNED } from "../../src/facts/fact.ts";

const LONG = `It began here. ${"word ".repeat(200)}And here it ends.`;
const said = (role: "user" | "assistant", text: string): UIMessage => ({
  id: text.slice(0, 8),
  role,
  parts: [{ type: "text", text }],
});
const summary = (text: string): UIMessage =>
  summaryMessage({
    overlayId: "o",
    summary: text,
    spanMessages: 12,
    pinned: { ...NOTHING_PINNED, instructions: [{ quote: "Never touch main.", messageId: "m1" }] },
  });

function show(messages: readonly UIMessage[], whole = false): string {
  return showMessages({ messages, tokens: 1_234 }, { paint: createPaint(false), whole }).join("\n");
}

describe("show", () => {
  test("prints summaries whole with what stands beside them, and of a message its beginning, unless all is asked for", () => {
    const shown = show([summary(`## Goal\n${LONG}`), said("user", LONG)]);
    expect(shown).toMatch(/^2 messages of some 1\.2k tokens, 1 summary among them\n/);
    const [, first = "", second = ""] = shown.split("\n── ");
    expect(first).toMatch(/^summary \(user\)\n\[Summary of 12 messages/);
    expect(first).toContain("And here it ends.");
    expect(first).toContain('- "Never touch main." [@');
    expect(second).toMatch(/^user\nIt began here\./);
    expect(second).not.toContain("And here it ends.");
    expect(show([said("user", LONG)], true)).toContain("And here it ends.");
    expect(show([])).toBe(
      "Nothing was said here yet. Where something was, look at --agent and --session: an unknown name is a new one.",
    );
  });

  test("a call is printed with what it was given and what came back, and without an arrow where nothing did", () => {
    const call = { type: "tool-look", toolCallId: "c", input: { at: "ledger.csv" } } as const;
    const parts = [
      { ...call, state: "output-available", output: "12 rows" },
      { ...call, state: "output-error", errorText: "no such file" },
      { ...call, state: "input-available" },
    ] as const;
    expect(
      show([{ id: "a", role: "assistant", parts: [...parts] }])
        .split("\n")
        .slice(-3),
    ).toEqual([
      '[look] {"at":"ledger.csv"} → 12 rows',
      '[look] {"at":"ledger.csv"} → no such file',
      '[look] {"at":"ledger.csv"}',
    ]);
  });

  test("no text of a conversation, a summary or a tool reaches the terminal as a command to it", () => {
    const hostile = "\u001B[2J\u001B]0;title\u0007\u009B31mred\rover\u202Etxt\u0000";
    const tool = { type: "dynamic-tool", toolName: hostile, toolCallId: "c", state: "output-available" } as const;
    const call: UIMessage = { id: "c", role: "assistant", parts: [{ ...tool, input: hostile, output: hostile }] };
    const messages = [summary(`## Goal\n${hostile}`), said("user", hostile), call];
    for (const whole of [false, true]) {
      const shown = show(messages, whole);
      // oxlint-disable-next-line no-control-regex -- these are what must not be there
      expect(shown).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/);
      expect(shown).toContain("txt");
    }
  });
});
