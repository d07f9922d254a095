/** One message that is too long to be indexed whole takes nothing from the search of other messages, and the answer says so. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { SEARCH_MAX_BYTES } from "../../src/recall/index-text.ts";
import { newAgent } from "../agents.ts";
import { everything } from "../tries.ts";
import type { PalimpsestAgent } from "../worker.ts";

/** Large enough for any message of these. */
const SESSION = "large!100000000";

/** More than is indexed of one message, in either way of running the tests. */
const MEGABYTES = everything ? 10_000_000 : SEARCH_MAX_BYTES + 200_000;
/** Each of these becomes eighteen letters of two bytes. */
const GROWING = everything ? MEGABYTES / 4 : MEGABYTES / 20;

function filled(id: string, text: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

const FEW: readonly (readonly [what: string, text: string])[] = [
  ["words", "some words of a log and ".repeat(MEGABYTES / 24)],
  ["letters that grow when they are made plain", "ﷺ".repeat(GROWING)],
];
const LARGE: typeof FEW = [
  ...FEW,
  ["one word", "x".repeat(MEGABYTES)],
  ["text without spaces", "本番サーバーのデプロイは金曜日に予定".repeat(MEGABYTES / 60)],
  ["different words", Array.from({ length: MEGABYTES / 10 }, (_, n) => `w${n.toString(36)}`).join(" ")],
];

async function idsOf(hits: Promise<readonly { id: string }[]>): Promise<string[]> {
  return (await hits).map(({ id }) => id);
}

async function expectFound(agent: PalimpsestAgent, query: string, id: string): Promise<void> {
  expect(await idsOf(agent.search({ sessionId: SESSION, query })), query).toEqual([id]);
  expect(await idsOf(agent.searchSessions({ query })), query).toEqual([id]);
  const recalled = await agent.recall({ sessionId: SESSION, query, everywhere: true });
  const hits = recalled.kind === "found" ? recalled.messages.filter((message) => !message.beside) : [];
  expect(hits).toMatchObject([{ id }]);
}

describe.each(everything ? LARGE : FEW)("megabytes of %s", (_, text) => {
  test("are searched at their beginning, before the first search and after, and all else whole", async () => {
    const { agent } = newAgent();
    await agent.append({ sessionId: SESSION, message: filled("before", "the zanzibar meeting") });
    await agent.append({ sessionId: SESSION, message: filled("large", `The kilimanjaro report. ${text}`) });
    await agent.append({ sessionId: "other", message: filled("elsewhere", "an uluru note") });
    await expectFound(agent, "zanzibar", "before");
    await expectFound(agent, "kilimanjaro", "large");
    expect(await idsOf(agent.searchSessions({ query: "uluru" }))).toEqual(["elsewhere"]);

    await agent.append({ sessionId: SESSION, message: filled("after", "the ayers rock") });
    await agent.update({ sessionId: SESSION, message: filled("before", `The matterhorn report. ${text}`) });
    await agent.update({ sessionId: SESSION, message: filled("large", "a short one about fuji") });
    await expectFound(agent, "matterhorn", "before");
    await expectFound(agent, "ayers", "after");
    await expectFound(agent, "fuji", "large");
    expect(await idsOf(agent.search({ sessionId: SESSION, query: "kilimanjaro" }))).toEqual([]);
    await agent.deleteMessages({ sessionId: SESSION, ids: ["before"] });
    expect(await idsOf(agent.searchSessions({ query: "matterhorn" }))).toEqual([]);
  });
});

describe("what is not searched", () => {
  const long = `The kilimanjaro report. ${"some words of a log and ".repeat(30_000)} the annapurna peak ${"some words of a log and ".repeat(30_000)} the lhotse end`;

  test("is said with the hit, in the status of the session, and to the model", async () => {
    const { agent } = newAgent();
    await agent.appendAll({ sessionId: SESSION, messages: [filled("short", "kilimanjaro"), filled("large", long)] });
    const hits = await agent.search({ sessionId: SESSION, query: "kilimanjaro" });
    expect(Object.fromEntries(hits.map(({ id, partial }) => [id, partial]))).toEqual({ large: true, short: false });
    expect(await agent.search({ sessionId: SESSION, query: "annapurna" })).toEqual([]);
    expect((await agent.status({ sessionId: SESSION })).partlySearched).toBe(1);
    for (const [query, kind] of [
      ["annapurna", "nothing"],
      ["kilimanjaro", "found"],
    ]) {
      const answer = await agent.recall({ sessionId: SESSION, query, everywhere: true });
      expect(answer.kind).toBe(kind);
      expect(answer.text).toContain("1 message is too long to be searched whole");
    }
  });

  test("is no more once the message is short, deleted or cleared", async () => {
    const { agent } = newAgent();
    const messages = ["a", "b", "c"].map((id) => filled(id, long));
    await agent.appendAll({ sessionId: SESSION, messages });
    await agent.search({ sessionId: SESSION, query: "kilimanjaro" });
    const partly = async () => (await agent.status({ sessionId: SESSION })).partlySearched;
    expect(await partly()).toBe(3);
    await agent.update({ sessionId: SESSION, message: filled("a", "kilimanjaro") });
    expect(await partly()).toBe(2);
    await agent.deleteMessages({ sessionId: SESSION, ids: ["b"] });
    expect(await partly()).toBe(1);
    await agent.clearMessages({ sessionId: SESSION });
    expect(await partly()).toBe(0);
  });

  test("is the middle of what is long: what is short in a message is searched whole, wherever it stands", async () => {
    const { agent } = newAgent();
    const output: object = { type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output: long };
    const parts = [output as UIMessage["parts"][number], { type: "text" as const, text: "So it was the everest." }];
    await agent.append({ sessionId: SESSION, message: { id: "reply", role: "assistant", parts } });
    await expectFound(agent, "kilimanjaro lhotse everest", "reply");
    expect(long.length).toBeGreaterThan(SEARCH_MAX_BYTES);
  });
});
