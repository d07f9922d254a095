/** Names that code for the SDK's sessions uses, and the promise of each, on this project's own steps. */
import type { UIMessage } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import {
  adjustIndexToPreserveAPIInvariants,
  alignBoundaryBackward,
  alignBoundaryForward,
  buildSummaryPrompt,
  calculateMessagesToKeepIndex,
  COMPACTION_PREFIX,
  computeSummaryBudget,
  createCompactFunction,
  DEFAULT_SM_COMPACT_CONFIG,
  estimateMessageTokens,
  estimateStringTokens,
  findTailCutByTokens,
  getSessionMemoryCompactConfig,
  hasTextBlocks,
  isCompactionMessage,
  resetSessionMemoryCompactConfig,
  sanitizeToolPairs,
  setSessionMemoryCompactConfig,
  truncateOlderMessages,
} from "../../src/compat/index.ts";

const say = (id: string, text = `This is what ${id} says.`): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});
const call = (id: string, output?: string): UIMessage => ({
  id,
  role: "assistant",
  parts: [
    output === undefined
      ? { type: "tool-read", toolCallId: "c1", state: "input-available", input: { page: 1 } }
      : { type: "tool-read", toolCallId: "c1", state: "output-available", input: { page: 1 }, output },
  ],
});
const summarize = async (): Promise<string> => "";
const talk = Array.from({ length: 12 }, (_, n) => say(`m${n}`, `${n}: ${"a few words that are said ".repeat(20)}`));

describe("a boundary", () => {
  const apart = [say("a"), call("b"), say("c"), call("d", "page one"), say("e")];

  it("moves forward or backward, off the way from a call to its result", () => {
    expect([0, 1, 2, 3, 4, 5].map((at) => alignBoundaryForward(apart, at))).toEqual([0, 1, 4, 4, 4, 5]);
    expect([0, 1, 2, 3, 4, 5].map((at) => alignBoundaryBackward(apart, at))).toEqual([0, 1, 1, 1, 4, 5]);
  });

  it("of the tail keeps a budget, a number of messages, and never passes the head", () => {
    const each = estimateMessageTokens(talk.slice(0, 1));
    expect(findTailCutByTokens(talk, 3, each * 4.5)).toBe(8);
    expect(findTailCutByTokens(talk, 3, 0, 5)).toBe(7);
    expect(findTailCutByTokens(talk, 3, 1_000_000)).toBe(3);
  });
});

describe("a compact function", () => {
  it("has the middle summarised, and names its ends", async () => {
    const asked: string[] = [];
    const compact = createCompactFunction({
      summarize: async (prompt) => {
        asked.push(prompt);
        return " The summary. ";
      },
      keepRecentTokens: 1,
    });
    expect(await compact(talk)).toEqual({ summary: "The summary.", fromMessageId: "m3", toMessageId: "m9" });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toContain("3: a few words");
    expect(asked[0]).not.toContain("10: a few words");
  });

  it("brings an earlier summary up to date, and does not tell it as a message", async () => {
    const earlier = say(`${COMPACTION_PREFIX}1`, "What the summary before said.");
    let asked = "";
    const compact = createCompactFunction({
      summarize: async (prompt) => {
        asked = prompt;
        return "New.";
      },
      tailTokenBudget: 1,
    });
    const result = await compact([...talk.slice(0, 3), earlier, ...talk.slice(3)]);
    expect(result).toMatchObject({ fromMessageId: earlier.id, toMessageId: "m9" });
    expect(asked.split("What the summary before said.")).toHaveLength(2);
  });

  it("has nothing to do in a short conversation, where a summary alone is between, or for an empty answer", async () => {
    const compact = createCompactFunction({ summarize: async () => "A summary.", tailTokenBudget: 1 });
    expect(await compact(talk.slice(0, 4))).toBeNull();
    expect(await compact([...talk.slice(0, 3), say(`${COMPACTION_PREFIX}1`), ...talk.slice(3, 5)])).toBeNull();
    const blank = createCompactFunction({ summarize: async () => " ", tailTokenBudget: 1 });
    expect(await blank(talk)).toBeNull();
  });

  it("refuses numbers that are none", () => {
    expect(() => createCompactFunction({ summarize, protectHead: -1 })).toThrow("protectHead is -1");
    expect(() => createCompactFunction({ summarize, tailTokenBudget: Number.NaN })).toThrow("tailTokenBudget is NaN");
  });
});

const PAGE = "a page of words ".repeat(500);

/** Of so many messages, each with a long output. */
function lengths(count: number): number[] {
  const read = Array.from({ length: count }, (_, n) => call(`m${n % 10}`, PAGE));
  return truncateOlderMessages(read).map((each) => JSON.stringify(each).length);
}

it("shortens all but the newest four, from the fifth message on", () => {
  const [whole = 0] = lengths(4);
  expect(lengths(4).every((length) => length === whole)).toBe(true);
  expect(lengths(6).map((length) => length < whole)).toEqual([true, true, false, false, false, false]);
});

it("knows a summary of theirs", () => {
  expect(isCompactionMessage(say(`${COMPACTION_PREFIX}x`))).toBe(true);
  expect(isCompactionMessage(say("m1"))).toBe(false);
});

it("gives a call without a result one, before anything else is said", () => {
  const [, repaired] = sanitizeToolPairs([say("a"), call("b"), say("c")]);
  expect(repaired?.parts[0]).toMatchObject({ type: "tool-read", state: "output-error" });
});

it("counts and budgets: a fifth of the source, within bounds", () => {
  expect(estimateStringTokens("a few words")).toBeGreaterThan(0);
  expect(computeSummaryBudget([say("a")])).toBe(100);
  expect(computeSummaryBudget(talk)).toBe(Math.floor(estimateMessageTokens(talk) / 5));
  expect(computeSummaryBudget([say("long", "many words here ".repeat(100_000))])).toBe(8_000);
});

it("asks with what was said as data, within a budget", () => {
  const prompt = buildSummaryPrompt([say("a", "Keep the ledger in one table.")], "Before.", 1_000);
  expect(prompt).toContain("Keep the ledger in one table.");
  expect(prompt).toContain("Before.");
});

const long = (id: string): UIMessage => say(id, "a few words that are said ".repeat(200));

describe("what stays behind notes", () => {
  const hour = Array.from({ length: 40 }, (_, n) => long(`h${n}`));
  afterEach(() => resetSessionMemoryCompactConfig());

  it("is what the notes do not cover, and before it enough tokens and messages with text", () => {
    const from = calculateMessagesToKeepIndex(hour, 36);
    expect(estimateMessageTokens(hour.slice(from))).toBeGreaterThanOrEqual(DEFAULT_SM_COMPACT_CONFIG.minTokens);
    expect(estimateMessageTokens(hour.slice(from + 1))).toBeLessThan(DEFAULT_SM_COMPACT_CONFIG.minTokens);
    // Notes whose coverage is not known keep as much.
    expect(calculateMessagesToKeepIndex(hour, -1)).toBe(from);
    setSessionMemoryCompactConfig({ minTokens: 1, minTextBlockMessages: 7 });
    expect(calculateMessagesToKeepIndex(hour, 38)).toBe(33);
    expect(calculateMessagesToKeepIndex(hour, 20)).toBe(21);
    setSessionMemoryCompactConfig({ minTokens: 1_000_000, maxTokens: 3_000 });
    const most = calculateMessagesToKeepIndex(hour, -1);
    expect(estimateMessageTokens(hour.slice(most))).toBeGreaterThanOrEqual(3_000);
    expect(estimateMessageTokens(hour.slice(most + 1))).toBeLessThan(3_000);
  });

  it("never reaches behind an earlier summary, and parts no call from its result and no reply of a provider", () => {
    const summary = say(`${COMPACTION_PREFIX}1`);
    expect(calculateMessagesToKeepIndex([say("a"), summary, say("b"), say("c")], 3)).toBe(2);
    const apart = [say("a"), call("b"), say("c"), call("d", "page one"), say("e")];
    expect([0, 1, 2, 3, 4, 5].map((at) => adjustIndexToPreserveAPIInvariants(apart, at))).toEqual([0, 1, 1, 1, 4, 5]);
    const reply = (id: string): UIMessage => ({ ...say(id), role: "assistant", metadata: { responseId: "r1" } });
    const shared = [say("a"), reply("b"), reply("c"), reply("d"), say("e")];
    expect([1, 2, 3, 4].map((at) => adjustIndexToPreserveAPIInvariants(shared, at))).toEqual([1, 1, 1, 4]);
    // The reply of a message that is kept further on began before the first kept one.
    const later = [say("a"), reply("b"), say("c"), say("d"), reply("e")];
    expect([0, 2, 3, 5].map((at) => adjustIndexToPreserveAPIInvariants(later, at))).toEqual([0, 1, 1, 5]);
  });

  it("has one configuration, of which only numbers above 0 replace anything", () => {
    setSessionMemoryCompactConfig({ minTokens: 0, maxTokens: Number.NaN, minTextBlockMessages: 2 });
    expect(getSessionMemoryCompactConfig()).toEqual({ ...DEFAULT_SM_COMPACT_CONFIG, minTextBlockMessages: 2 });
    expect(() => setSessionMemoryCompactConfig({ min: 1 } as object)).toThrow(
      /^\[invalid_options\] min: no such field/,
    );
    resetSessionMemoryCompactConfig();
    expect(getSessionMemoryCompactConfig()).toEqual({ minTokens: 10_000, minTextBlockMessages: 5, maxTokens: 40_000 });
  });

  it("counts text that somebody said, and no call, no blank and no instruction", () => {
    expect(
      [say("a"), say("b", "  "), call("c", "x"), { ...say("d"), role: "system" as const }].map(hasTextBlocks),
    ).toEqual([true, false, false, false]);
  });
});
