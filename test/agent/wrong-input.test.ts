/**
 * Calls every callable with a wrong value in every field, and with unknown fields. Each answers a typed error that names the fault, and
 * writes no row.
 */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { CALL_NAMES, calls } from "../rooms.ts";
import type { CallName } from "../../src/rooms.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { tables } from "../rows.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { CALLS, WRONG, type Input } from "./call-inputs.ts";

skipRetryDelays();

const MISSING = undefined;

/** Well-formed values that name something missing or impossible, with the error code or the harmless answer. */
const UNKNOWN: readonly (readonly [method: CallName, input: Input, comesTo: unknown])[] = [
  ["append", { message: say(90), parentId: "nobody" }, "unknown_parent"],
  ["append", { message: { id: "m90" } }, "invalid_message"],
  ["append", { message: { ...say(90), parts: [{ type: 1 }] } }, "invalid_message"],
  ["append", { message: { ...say(90), metadata: { at: 1n } } }, "not_serializable"],
  ["append", { message: { ...say(90), id: "palimpsest:overlay:nobody" } }, "reserved_id"],
  ["append", { message: say(90), sessionId: "\ud800" }, "invalid_input"],
  ["appendAll", { messages: [say(90), { id: "", role: "user", parts: [] }] }, "invalid_message"],
  ["appendAll", { messages: [say(90), say(91)], parentId: "nobody" }, "unknown_parent"],
  ["upsert", { message: say(90), parentId: "nobody" }, "unknown_parent"],
  ["upsert", { message: { id: "m1", role: "user" } }, "invalid_message"],
  ["update", { message: say(90) }, null],
  ["update", { message: { id: "m1", role: "user" } }, "invalid_message"],
  ["deleteMessages", { ids: ["nobody"] }, 0],
  ["deleteMessages", { sessionId: "none", ids: ["m1"] }, 0],
  ["clearMessages", { sessionId: "none" }, undefined],
  ["getHistory", { sessionId: "none" }, []],
  ["getHistory", { leafId: "nobody" }, "unknown_leaf"],
  ["getMessage", { id: "nobody" }, null],
  ["getMessage", { sessionId: "none", id: "m1" }, null],
  ["getBranches", { id: "nobody" }, []],
  ["getParent", { id: "nobody" }, "unknown_message"],
  ["getPathLength", { leafId: "nobody" }, "unknown_leaf"],
  ["getRecentHistory", { leafId: "nobody", maxBytes: 1 }, "unknown_leaf"],
  ["getView", { leafId: "nobody" }, "unknown_leaf"],
  ["exportTranscript", { leafId: "nobody" }, "unknown_leaf"],
  ["search", { query: '"*' }, []],
  ["search", { sessionId: "none", query: "message" }, []],
  ["loadEvents", { before: "nobody" }, "unknown_message"],
  ["loadEvents", { leafId: "nobody" }, "unknown_leaf"],
  ["buildWorkingContext", { leafId: "nobody" }, "unknown_leaf"],
  ["buildWorkingContext", { sessionId: "none" }, { leafId: null, messages: [] }],
  ["appendEvents", { sessionId: "none", events: [{ action: "user_message", content: "hello" }] }, "unknown_session"],
  ["appendEvents", { events: [{ action: "sing" }] }, "invalid_input"],
  ["appendEvents", { events: [{ action: "user_message", content: "hello", role: "user" }] }, "invalid_input"],
  ["appendEvents", { events: [{ action: "user_message", content: 7 }] }, "invalid_input"],
  ["appendEvents", { events: [{ action: "user_message", id: "m1", content: "other" }] }, "invalid_input"],
  [
    "appendEvents",
    { events: [{ action: "compaction", summary: "s", fromMessageId: "no", toMessageId: "m1" }] },
    "unknown_message",
  ],
  ["deleteEvents", { ids: ["nobody", "palimpsest:overlay:nobody"] }, 0],
  ["persistTurn", { leafId: "nobody", messages: [say(90)] }, "unknown_leaf"],
  ["persistTurn", { leafId: "m1", messages: [say(90), say(1, "other ")] }, "invalid_input"],
  ["persistTurn", { leafId: "m1", messages: [say(90), { id: "m91" }] }, "invalid_message"],
  ["importTranscript", { text: "not a transcript" }, "import_failed"],
  ["importTranscript", { text: JSON.stringify(say(90)), index: 5 }, "invalid_input"],
  ["importTranscript", { text: `${JSON.stringify(say(90))}\n{"id":7}`, format: "uimessage-jsonl" }, "import_failed"],
  ["plan", { leafId: "nobody" }, "unknown_leaf"],
  ["plan", { sessionId: "none" }, "invalid_state"],
  ["compact", { leafId: "nobody" }, "unknown_leaf"],
  ["compact", { sessionId: "none" }, "invalid_state"],
  ["compactNow", { leafId: "nobody" }, "unknown_leaf"],
  ["compactNow", { sessionId: "none" }, "invalid_state"],
  ["runs", { sessionId: "none" }, []],
  ["getRun", { runId: "nobody" }, "unknown_run"],
  ["waitForRun", { runId: "nobody" }, "unknown_run"],
  ["cancelRun", { runId: "nobody" }, "unknown_run"],
  ["pauseRun", { runId: "nobody" }, "unknown_run"],
  ["resumeRun", { runId: "nobody" }, "unknown_run"],
  ["retryRun", { runId: "nobody" }, "unknown_run"],
  ["listBranches", { sessionId: "none" }, []],
  ["findLeaf", { id: "nobody" }, null],
  ["getContextBlocks", { sessionId: "none" }, []],
  ["addContext", { label: "two\nlines" }, "invalid_options"],
  ["removeContext", { label: "nobody" }, false],
  ["unloadSkill", { label: "nobody", key: "k" }, false],
  ["getLoadedSkillKeys", { sessionId: "none" }, []],
  ["addCompaction", { summary: "s", fromMessageId: "nobody", toMessageId: "m1" }, "unknown_message"],
  ["getContextBlock", { label: "nobody" }, null],
  ["replaceContextBlock", { label: "nobody", content: "x" }, "unknown_block"],
  ["appendContextBlock", { label: "nobody", content: "x" }, "unknown_block"],
  ["reminder", { sessionId: "none" }, null],
  ["recordUsage", { sessionId: "none", inputTokens: 1 }, "invalid_input"],
  ["recordUsage", { inputTokens: 1, leafId: "nobody" }, "unknown_leaf"],
  ["recordUsage", { inputTokens: 1e300 }, "invalid_input"],
  ["getUsage", { sessionId: "none" }, []],
  ["getCosts", { sessionId: "none" }, expect.objectContaining({ agent: [], summarisers: [], total: 0 })],
  ["getNotes", {}, null],
  ["notesHistory", { sessionId: "none" }, []],
  ["refreshNotes", {}, "not_configured"],
  ["searchSessions", { query: "nobody-said-this" }, []],
  ["getCompactions", { sessionId: "none" }, []],
  ["expand", { overlayId: "nobody" }, "unknown_overlay"],
  ["rollback", { overlayId: "nobody" }, "unknown_overlay"],
  ["restore", { overlayId: "nobody" }, "unknown_overlay"],
  ["getInstructions", { sessionId: "none" }, { standing: [], ended: [] }],
  ["restoreInstruction", { quote: "words", messageId: "nobody" }, false],
  ["getViewAsOf", { overlayId: "nobody" }, "unknown_overlay"],
  ["diffCompaction", { overlayId: "nobody" }, "unknown_overlay"],
  ["getProvenance", { overlayId: "nobody" }, "unknown_overlay"],
  ["recall", {}, "invalid_input"],
  ["recall", { query: "", ids: [], around: " " }, "invalid_input"],
  ["rollback", { sessionId: "none", overlayId: "nobody" }, "unknown_overlay"],
  ["createSession", { parentSessionId: "none" }, "unknown_session"],
  ["createSession", { name: "two\nlines" }, "invalid_input"],
  ["createSession", { source: "\ud800" }, "invalid_input"],
  ["createSession", { metadata: { text: "x".repeat(20_000) } }, "invalid_input"],
  ["getSessionInfo", { sessionId: "none" }, null],
  ["renameSession", { sessionId: "none", name: "n" }, "unknown_session"],
  ["renameSession", { name: "two\nlines" }, "invalid_input"],
  ["deleteSession", { sessionId: "none" }, false],
  ["forkSession", { sessionId: "none", atMessageId: "m1" }, "unknown_session"],
  ["forkSession", { atMessageId: "nobody" }, "unknown_message"],
  ["forkSession", { atMessageId: "m1", name: "two\nlines" }, "invalid_input"],
  ["compactAndSplit", { sessionId: "none" }, "unknown_session"],
  ["compactAndSplit", { name: "two\nlines" }, "invalid_input"],
  ["newestSession", { sessionId: "none" }, "unknown_session"],
  ["addUsage", { sessionId: "none", inputTokens: 1, outputTokens: 1 }, "unknown_session"],
  ["addUsage", { inputTokens: 1e308, outputTokens: 1 }, "invalid_input"],
];

/** Names that an object of JavaScript has before anyone gave it one. */
const BUILT_IN = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

const asked = newAgent();

/** Calls inside the agent's object, on a session with messages. A write fails the test. */
async function withoutWriting(work: (agent: PalimpsestAgent) => Promise<void>): Promise<void> {
  await runInDurableObject(asked.stub, async (agent: PalimpsestAgent, { storage }) => {
    await agent.appendAll({ messages: talk(0, 4) });
    await agent.search({ query: "message" });
    const before = tables(storage);
    await work(agent);
    expect(tables(storage)).toEqual(before);
  });
}

/** Escaped, because a reporter takes no text that is not well-formed. */
function titleOf(input: Input): string {
  return JSON.stringify(input, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value));
}

/** The result of a call, as the message of its error or its answer. */
async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => (error as Error).message);
}

test("every method that a client may call is in the table of calls", async () => {
  await runInDurableObject(asked.stub, (agent: PalimpsestAgent) => {
    expect([...CALL_NAMES].toSorted()).toEqual([...agent.getCallableMethods().keys()].toSorted());
  });
});

test.each(CALLS)(
  "%s refuses what is wrong in any field, names the field, and writes nothing",
  async (method, { good, fields }) => {
    await withoutWriting(async (agent) => {
      for (const input of ["hello", 7, true, []]) {
        expect(await outcomeOf(agent[method](input as never))).toMatch(/^\[invalid_input\] input: /);
      }
      for (const [field, kind] of Object.entries(fields)) {
        const wrong = [...(field in good ? [MISSING] : []), ...(WRONG[kind] ?? [])];
        expect(wrong, `The kind of ${field} is not known.`).not.toEqual([]);
        for (const value of wrong) {
          const outcome = await outcomeOf(agent[method]({ ...good, [field]: value } as never));
          const said = `${field} = ${JSON.stringify(value)?.slice(0, 40)}`;
          expect(outcome, said).toMatch(new RegExp(`^\\[invalid_input\\] ${field}(?:\\.\\w+)*:`));
        }
      }
    });
  },
);

function takers(field: string): string[] {
  return Object.entries(calls).flatMap(([name, { input }]) => (field in input.shape ? [name] : []));
}

test("to plan as if asked by hand, and to go past a spent budget, have one name each, and stand only where they mean that", () => {
  expect(takers("manual")).toEqual(["plan"]);
  expect(takers("ignoreBudget").toSorted()).toEqual([
    "compact",
    "compactAndSplit",
    "compactNow",
    "refreshNotes",
    "retryRun",
  ]);
  expect([...takers("force"), ...takers("insist")]).toEqual([]);
});

test.each(CALLS)(
  "%s refuses a field that it does not have, names it and what it has, and writes nothing",
  async (method, { good, fields }) => {
    await withoutWriting(async (agent) => {
      for (const field of ["nonsense", "Force", "session_id", "constructor"]) {
        const outcome = await outcomeOf(agent[method]({ ...good, [field]: true } as never));
        expect(outcome).toMatch(new RegExp(`^\\[invalid_input\\] ${field}: no such field`));
        for (const known of Object.keys(fields)) expect(outcome).toContain(known);
      }
    });
  },
);

test.each([
  ["getView", { truncate: { keepRecant: 4 } }, "truncate.keepRecant"],
  ["updateNotes", { sections: [{ title: "Task", text: "x", body: "y" }] }, "sections.0.body"],
] as const)("%s refuses a field within a field that has none of its name", async (method, input, path) => {
  await withoutWriting(async (agent) => {
    expect(await outcomeOf(agent[method](input as never))).toContain(`[invalid_input] ${path}: no such field`);
  });
});

const titled = UNKNOWN.map(([method, input, comesTo]) => ({ method, input, comesTo, title: titleOf(input) }));

test.each(titled)("$method($title) comes to $comesTo, and nothing is written", async ({ method, input, comesTo }) => {
  await withoutWriting(async (agent) => {
    const outcome = await outcomeOf(agent[method](input as never));
    if (typeof comesTo === "string") expect(outcome).toMatch(new RegExp(`^\\[${comesTo}\\] [^]{20}`));
    else expect(outcome).toEqual(comesTo);
  });
});

test("what is sent as __proto__ is no field of the input, and goes nowhere", async () => {
  await withoutWriting(async (agent) => {
    const sent = JSON.parse('{"__proto__": {"message": {"id": "x", "role": "user", "parts": []}}}') as unknown;
    expect(await outcomeOf(agent.append(sent as never))).toMatch(/^\[invalid_input\] message: /);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

test.each(BUILT_IN)("%s is a name like any other: of a session, a message, a field in one (S1)", async (name) => {
  await runInDurableObject(newAgent().stub, async (agent: PalimpsestAgent) => {
    const none = [await agent.getSessionInfo({ sessionId: name }), await agent.getMessage({ id: name })];
    expect(none).toEqual([null, null]);
    expect(await outcomeOf(agent.getRun({ runId: name }))).toMatch(/^\[unknown_run\]/);
    expect(await outcomeOf(agent.expand({ overlayId: name }))).toMatch(/^\[unknown_overlay\]/);
    const metadata: unknown = JSON.parse(`{"${name}": {"polluted": true}}`);
    const message = { ...say(0), id: name, metadata };
    await agent.append({ sessionId: name, message });
    await agent.append({ sessionId: name, message: say(1), parentId: name });
    await agent.addUsage({ sessionId: name, inputTokens: 5, outputTokens: 1 });
    const stored = await agent.getMessage({ sessionId: name, id: name });
    expect(JSON.stringify(stored)).toBe(JSON.stringify(message));
    expect(await agent.status({ sessionId: name })).toMatchObject({ leafId: "m1" });
    expect(await agent.search({ sessionId: name, query: "parser" })).toMatchObject([{ sessionId: name, id: name }]);
    expect(await agent.getSessionInfo({ sessionId: name })).toMatchObject({ id: name, inputTokens: 5 });
    expect(await agent.getHistory({})).toEqual([]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(await agent.deleteSession({ sessionId: name })).toBe(true);
  });
});
