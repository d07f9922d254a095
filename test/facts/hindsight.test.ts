/** What came of the names that a view hid: counted from messages alone, without a model. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countAgain, findAgain, type Hindsight } from "../../src/facts/hindsight.ts";
import { sumHindsight, tellHindsight } from "../../src/inspect/steps/tell-hindsight.ts";
import { gatherFacts } from "../../src/facts/gather.ts";
import { atOnce } from "../../src/steps/text/slices.ts";
import { tries } from "../tries.ts";

const user = (text: string): UIMessage => ({ id: text, role: "user", parts: [{ type: "text", text }] });
const tool = (name: string, input: unknown, output: unknown): UIMessage => ({
  id: `${name} ${JSON.stringify(input)}`,
  role: "assistant",
  parts: [{ type: "dynamic-tool", toolName: name, toolCallId: "c", state: "output-available", input, output }],
});

interface Around {
  readonly hidden: readonly UIMessage[];
  readonly shown?: readonly UIMessage[];
  readonly summary?: string;
  readonly later: readonly UIMessage[];
}

function count({ hidden, shown = [], summary = "", later }: Around) {
  const words = [gatherFacts(hidden).words];
  return countAgain(atOnce(findAgain({ hidden: words, shown, later })), [summary]);
}

const hidden = [user("Look at showThemeSelector, resolveVarRefs, hexToRgb and settingsManager.")];

describe("of the hidden names that came up again", () => {
  test("each is in view, recalled or missed, and in one of them only", () => {
    const later = [
      tool("recall", { query: "what resolves a variable?" }, "resolveVarRefs resolves it, as hexToRgb does."),
      user("Now change showThemeSelector, resolveVarRefs, hexToRgb and settingsManager, but not newName."),
    ];
    const shown = [user("The last thing was hexToRgb.")];
    expect(count({ hidden, shown, summary: "It has `showThemeSelector`.", later })).toEqual({
      names: 4,
      inView: 2,
      recalled: 1,
      missed: 1,
    });
  });

  test("what only a tool says again does not count, and what a tool is asked does", () => {
    expect(count({ hidden, later: [tool("read", { path: "a" }, "showThemeSelector")] }).names).toBe(0);
    expect(count({ hidden, later: [tool("grep", { pattern: "showThemeSelector" }, "")] })).toMatchObject({
      names: 1,
      missed: 1,
    });
  });

  test("another tool than recall or search brings nothing back: the agent had to look for it", () => {
    const read = tool("read", { path: "settingsManager" }, "settingsManager");
    expect(count({ hidden, later: [read] })).toMatchObject({ names: 1, recalled: 0, missed: 1 });
  });

  test("what recall is asked for is not brought back by the question, and without an answer nothing is", () => {
    const inVain = tool("recall", { query: "settingsManager" }, "Nothing was found.");
    expect(count({ hidden, later: [inVain] })).toMatchObject({ names: 1, recalled: 0, missed: 1 });
  });

  test("a call of recall that failed brings nothing back, and neither does what an answer repeats of its question", () => {
    const later = [user("And settingsManager?")];
    const failed: UIMessage = {
      id: "failed",
      role: "assistant",
      parts: [
        {
          type: "dynamic-tool",
          toolName: "recall",
          toolCallId: "c",
          state: "output-error",
          input: {},
          errorText: "settingsManager timed out",
        },
      ],
    };
    for (const inVain of [
      failed,
      tool("recall", {}, 'Found hexToRgb.\n\n(No message has "settingsManager". 3 not shown.)'),
      tool("recall", {}, '(Cut short. Not in this conversation, or deleted from it: "settingsManager".)'),
      tool(
        "session_search",
        {},
        '2026-01-31, user, in "chat" (session s, message m, without "settingsManager"):\nhexToRgb',
      ),
    ]) {
      expect(count({ hidden, later: [inVain, ...later] })).toMatchObject({ names: 1, recalled: 0, missed: 1 });
    }
    const inPart = tool("recall", {}, 'settingsManager reads it.\n\n(No message has "xylophone".)');
    expect(count({ hidden, later: [inPart, ...later] })).toMatchObject({ names: 1, recalled: 1 });
  });

  test("only a whole word says a name: the digits of an order inside a longer number are another number", () => {
    const order = [user("Order 88213 is open. See KeyVault.")];
    const later = [user("Where is 88213, and what of KeyVault?")];
    const said = (text: string) => [
      count({ hidden: order, later, summary: text }).inView,
      count({ hidden: order, later, shown: [user(text)] }).inView,
      count({ hidden: order, later: [tool("recall", {}, text), ...later] }).recalled,
    ];
    expect(said("Order 1882134 is paid, 882130 and x_88213 too. MyKeyVaultClient is ready.")).toEqual([0, 0, 0]);
    expect(said("Order 1882134 and A-88213 are paid.")).toEqual([1, 1, 1]);
  });

  test("a path in view says the file's name", () => {
    const told = [user("It is in theme-loader.ts.")];
    expect(count({ hidden: told, summary: "src/ui/theme-loader.ts", later: told })).toMatchObject({
      names: 1,
      inView: 1,
    });
  });

  test("a term of a script without blanks counts from its fourth mention", () => {
    const once = [user("要件定義書を読む")];
    expect(count({ hidden: once, later: once }).names).toBe(0);
    const often = Array.from({ length: 4 }, () => user("要件定義書を読む"));
    expect(count({ hidden: often, later: once }).names).toBeGreaterThan(0);
  });

  test("counts add up for any messages, and hold no word", () => {
    const name = fc.constantFrom("alphaOne", "betaTwo", "gamma_3", "delta/4.ts", "ordinary", "検索");
    const message = fc.oneof(
      fc.array(name).map((names) => user(names.join(" "))),
      fc.tuple(name, fc.array(name)).map(([asked, found]) => tool("recall", { query: asked }, found.join(" "))),
    );
    const messages = fc.array(message, { maxLength: 6 });
    const names = fc.array(name);
    fc.assert(
      fc.property(messages, messages, messages, names, (under, shown, later, said) => {
        const found = count({ hidden: under, shown, later, summary: said.join(" ") });
        expect(found.inView + found.recalled + found.missed).toBe(found.names);
        expect(Object.values(found).every((each) => Number.isInteger(each) && each >= 0)).toBe(true);
        // With all of it in view nothing is missed.
        expect(count({ hidden: under, shown: under, later }).missed).toBe(0);
        expect(count({ hidden: under, later: [] }).names).toBe(0);
      }),
      { numRuns: tries(200) },
    );
  });
});

test("hindsight in words says what is not known", () => {
  const counts: Hindsight = { messages: 12, unread: 0, names: 41, inView: 35, recalled: 4, missed: 2 };
  expect(tellHindsight(null)).toBe("not known yet");
  expect(tellHindsight(counts)).toBe("of 41 hidden names that came up again 35 in view, 4 recalled, 2 missed");
  expect(tellHindsight({ ...counts, names: 0 })).toBe("no hidden name came up again");
  expect(sumHindsight([null, null])).toBeNull();
  expect(sumHindsight([counts, null, counts])).toMatchObject({ names: 82, missed: 4, messages: 24 });
});
