/**
 * Every method of a session and of a manager with every text that it takes: empty, with half a character, and too long. Each is refused with
 * a typed error before anything is written. wrong-input.test.ts walks the calls of clients.
 */
import { MEMBERS_OF_ROOMS } from "../../src/agent/missing-room.ts";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { errorCode, type ErrorCode } from "../../src/errors.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { tables } from "../rows.ts";
import type { FullManager, FullSession } from "../rooms.ts";
import { inside } from "./inside.ts";

skipRetryDelays();

/** Half of a surrogate pair. Storage would turn it into another character. */
const LONE = "m\ud8001";

const BAD = {
  id: ["", LONE, "x".repeat(700)],
  session: [LONE, "x".repeat(201)],
  parentSession: ["", LONE, "x".repeat(201)],
  name: [LONE, "x".repeat(201)],
  label: ["", LONE, "x".repeat(65)],
  key: ["", LONE, "x".repeat(10_000)],
  words: [LONE, "x".repeat(10_000)],
  /** Bounded elsewhere, by what it is for. */
  text: [LONE],
  summary: ["", LONE, "x".repeat(200_001)],
  section: [LONE, "x".repeat(2_000_000)],
  quotation: ["", "x".repeat(10_000)],
  /** A model's own words for a message. An empty one names none. */
  known: [LONE, "x".repeat(700)],
  format: ["", LONE, "no-format"],
} as const;

interface Place<On> {
  readonly is: keyof typeof BAD;
  readonly call: (on: On, bad: string) => unknown;
  /** The expected error. The default is `invalid_input`. Messages are refused as `invalid_message`, and declarations with codes of their own. */
  readonly code?: ErrorCode;
}

const message = (id: string) => ({ ...say(90), id });
const event = { action: "user_message", content: "x" } as const;
const summary = { action: "compaction", summary: "s", fromMessageId: "m1", toMessageId: "m2" } as const;
const call = { action: "tool_call_request", toolCallId: "c", toolName: "t", input: {} } as const;
const of = (is: Place<FullSession>["is"], run: Place<FullSession>["call"], code?: ErrorCode): Place<FullSession> => ({
  is,
  call: run,
  ...(code !== undefined && { code }),
});

/** What each method of a session takes in texts. A method without any has an empty list. */
const SESSION: Readonly<Record<string, readonly Place<FullSession>[]>> = {
  forSession: [of("session", (on, bad) => on.forSession(bad))],
  appendMessage: [
    of("id", (on, bad) => on.appendMessage(message(bad)), "invalid_message"),
    of("id", (on, bad) => on.appendMessage(say(90), bad)),
    of("id", (on, bad) => on.appendMessage(say(90), { parentId: bad })),
  ],
  appendAll: [
    of("id", (on, bad) => on.appendAll([say(90), message(bad)]), "invalid_message"),
    of("id", (on, bad) => on.appendAll([say(90)], bad)),
  ],
  upsertMessage: [
    of("id", (on, bad) => on.upsertMessage(message(bad)), "invalid_message"),
    of("id", (on, bad) => on.upsertMessage(say(90), bad)),
  ],
  updateMessage: [of("id", (on, bad) => on.updateMessage(message(bad)), "invalid_message")],
  deleteMessages: [of("id", (on, bad) => on.deleteMessages(["m1", bad]))],
  clearMessages: [],
  getHistory: [of("id", (on, bad) => on.getHistory(bad)), of("id", (on, bad) => on.getHistory({ leafId: bad }))],
  history: [of("id", (on, bad) => on.history({ leafId: bad }).next())],
  getMessage: [of("id", (on, bad) => on.getMessage(bad))],
  getLatestLeaf: [],
  getBranches: [of("id", (on, bad) => on.getBranches(bad))],
  getParent: [of("id", (on, bad) => on.getParent(bad))],
  editor: [of("id", (on, bad) => on.editor(bad))],
  getPathLength: [of("id", (on, bad) => on.getPathLength(bad))],
  getRecentHistory: [of("id", (on, bad) => on.getRecentHistory(1_000, { leafId: bad }))],
  getView: [
    of("id", (on, bad) => on.getView(bad)),
    of("id", (on, bad) => on.getView({ leafId: bad })),
    of("id", (on, bad) => on.getView({ asOf: bad })),
  ],
  messageRoom: [],
  promptOpened: [],
  viewWith: [
    of("id", (on, bad) => on.viewWith(bad)),
    of("id", (on, bad) => on.viewWith({ leafId: bad })),
    of("id", (on, bad) => on.viewWith({ asOf: bad })),
  ],
  getViewAsOf: [of("id", (on, bad) => on.getViewAsOf(bad))],
  tools: [],
  newest: [],
  apply: [],
  reminderOfRooms: [],
  runs: [],
  status: [],
  needsCompaction: [],
  recordUsage: [
    of("id", (on, bad) => on.recordUsage({ inputTokens: 1, leafId: bad })),
    of("name", (on, bad) => on.recordUsage({ inputTokens: 1, model: bad })),
  ],
  getUsage: [],
  getCosts: [],
  plan: [of("id", (on, bad) => on.plan({ leafId: bad }))],
  compact: [of("id", (on, bad) => on.compact({ leafId: bad })), of("words", (on, bad) => on.compact({ focus: bad }))],
  compactNow: [
    of("id", (on, bad) => on.compactNow({ leafId: bad })),
    of("words", (on, bad) => on.compactNow({ focus: bad })),
  ],
  ended: [of("id", (on, bad) => on.ended(bad))],
  addCompaction: [
    of("summary", (on, bad) => on.addCompaction(bad, "m1", "m2")),
    of("id", (on, bad) => on.addCompaction("s", bad, "m2")),
    of("id", (on, bad) => on.addCompaction("s", "m1", bad)),
  ],
  getCompactions: [],
  expand: [of("id", (on, bad) => on.expand(bad)), of("id", (on, bad) => on.expand("ov_0", { after: bad }))],
  rollback: [of("id", (on, bad) => on.rollback(bad))],
  restore: [of("id", (on, bad) => on.restore(bad))],
  getInstructions: [],
  restoreInstruction: [
    of("quotation", (on, bad) => on.restoreInstruction(bad, "m1")),
    of("id", (on, bad) => on.restoreInstruction("words", bad)),
  ],
  getProvenance: [of("id", (on, bad) => on.getProvenance(bad))],
  diffCompaction: [of("id", (on, bad) => on.diffCompaction(bad))],
  getNotes: [],
  notesHistory: [],
  updateNotes: [
    of("section", (on, bad) => on.updateNotes({ sections: [{ title: bad, text: "x" }] })),
    of("section", (on, bad) => on.updateNotes({ sections: [{ title: "Task", text: bad }] })),
    of("id", (on, bad) => on.updateNotes({ sections: [], coveredId: bad })),
  ],
  refreshNotes: [],
  loadEvents: [
    of("id", (on, bad) => on.loadEvents({ before: bad })),
    of("id", (on, bad) => on.loadEvents({ leafId: bad })),
  ],
  buildWorkingContext: [of("id", (on, bad) => on.buildWorkingContext({ leafId: bad }))],
  appendEvents: [
    of("id", (on, bad) => on.appendEvents([{ ...event, id: bad }])),
    of("id", (on, bad) => on.appendEvents([{ ...event, messageId: bad }])),
    of("id", (on, bad) => on.appendEvents([{ ...summary, fromMessageId: bad }])),
    of("id", (on, bad) => on.appendEvents([{ ...summary, toMessageId: bad }])),
    of("summary", (on, bad) => on.appendEvents([{ ...summary, summary: bad }])),
    of("text", (on, bad) => on.appendEvents([{ ...call, toolCallId: bad }])),
    of("text", (on, bad) => on.appendEvents([{ ...call, toolName: bad }])),
  ],
  deleteEvents: [of("id", (on, bad) => on.deleteEvents(["m1", bad]))],
  persistTurn: [
    of("id", (on, bad) => on.persistTurn({ leafId: bad, messages: [say(90)] })),
    of("id", (on, bad) => on.persistTurn({ leafId: "m3", messages: [message(bad)] }), "invalid_message"),
  ],
  // Made from what the session itself handed out.
  persistWorkingContext: [],
  recall: [
    of("words", (on, bad) => on.recall({ query: bad })),
    of("known", (on, bad) => on.recall({ ids: [bad] })),
    of("known", (on, bad) => on.recall({ around: bad })),
    of("known", (on, bad) => on.recall({ overlayId: bad })),
    of("words", (on, bad) => on.recall({ notes: 1, section: bad })),
  ],
  search: [of("text", (on, bad) => on.search(bad))],
  importTranscript: [of("format", (on, bad) => on.importTranscript(JSON.stringify(say(90)), { format: bad as "pi" }))],
  importPart: [
    of("text", (on, bad) => on.importPart({ upload: bad, at: 0, messages: [], last: false })),
    of("id", (on, bad) =>
      on.importPart({ upload: "u", at: 0, messages: [{ message: say(90), parentId: bad }], last: false }),
    ),
    of("id", (on, bad) =>
      on.importPart({ upload: "u", at: 0, messages: [{ message: say(90), was: bad }], last: false }),
    ),
  ],
  exportPart: [of("id", (on, bad) => on.exportPart({ leafId: bad }))],
  // Reads another store, whose faults it names in its receipt.
  importFrom: [],
  exportTranscript: [of("id", (on, bad) => on.exportTranscript(bad).next())],
  addContext: [of("label", (on, bad) => on.addContext(bad), "invalid_options")],
  removeContext: [of("label", (on, bad) => on.removeContext(bad))],
  getContextBlock: [of("label", (on, bad) => on.getContextBlock(bad))],
  getContextBlocks: [],
  replaceContextBlock: [
    of("label", (on, bad) => on.replaceContextBlock(bad, "x")),
    of("text", (on, bad) => on.replaceContextBlock("memory", bad)),
  ],
  appendContextBlock: [
    of("label", (on, bad) => on.appendContextBlock(bad, "x")),
    of("text", (on, bad) => on.appendContextBlock("memory", bad)),
  ],
  unloadSkill: [
    of("label", (on, bad) => on.unloadSkill(bad, "key")),
    of("key", (on, bad) => on.unloadSkill("memory", bad)),
  ],
  getLoadedSkillKeys: [],
  freezeSystemPrompt: [],
  refreshSystemPrompt: [],
  reminder: [],
};

const at = (is: Place<FullManager>["is"], run: Place<FullManager>["call"], code?: ErrorCode): Place<FullManager> => ({
  is,
  call: run,
  ...(code !== undefined && { code }),
});

/** What each method of a manager takes in texts. Those that hand everything to a session's method are tried with its id. */
const MANAGER: Readonly<Record<string, readonly Place<FullManager>[]>> = {
  create: [
    at("name", (on, bad) => on.create(bad)),
    at("parentSession", (on, bad) => on.create("n", { parentSessionId: bad })),
    at("name", (on, bad) => on.create("n", { model: bad })),
    at("name", (on, bad) => on.create("n", { source: bad })),
  ],
  get: [at("session", (on, bad) => on.get(bad))],
  getSession: [at("session", (on, bad) => on.getSession(bad))],
  list: [at("session", (on, bad) => on.list({ before: { createdAt: 1, id: bad } }))],
  rename: [at("session", (on, bad) => on.rename(bad, "n")), at("name", (on, bad) => on.rename("s", bad))],
  addUsage: [at("session", (on, bad) => on.addUsage(bad, 1, 1))],
  delete: [at("session", (on, bad) => on.delete(bad))],
  fork: [
    at("session", (on, bad) => on.fork(bad, "m1")),
    at("id", (on, bad) => on.fork("s", bad)),
    at("name", (on, bad) => on.fork("s", "m1", bad)),
  ],
  compactAndSplit: [
    at("session", (on, bad) => on.compactAndSplit(bad)),
    at("name", (on, bad) => on.compactAndSplit("s", bad)),
    at("words", (on, bad) => on.compactAndSplit("s", "n", { focus: bad })),
  ],
  newestOf: [at("session", (on, bad) => on.newestOf(bad))],
  append: [
    at("session", (on, bad) => on.append(bad, say(90))),
    at("id", (on, bad) => on.append("s", message(bad)), "invalid_message"),
    at("id", (on, bad) => on.append("s", say(90), bad)),
  ],
  upsert: [
    at("session", (on, bad) => on.upsert(bad, say(90))),
    at("id", (on, bad) => on.upsert("s", message(bad)), "invalid_message"),
    at("id", (on, bad) => on.upsert("s", say(90), bad)),
  ],
  appendAll: [
    at("session", (on, bad) => on.appendAll(bad, [say(90)])),
    at("id", (on, bad) => on.appendAll("s", [message(bad)]), "invalid_message"),
    at("id", (on, bad) => on.appendAll("s", [say(90)], bad)),
  ],
  getHistory: [at("session", (on, bad) => on.getHistory(bad)), at("id", (on, bad) => on.getHistory("s", bad))],
  getMessageCount: [at("session", (on, bad) => on.getMessageCount(bad))],
  clearMessages: [at("session", (on, bad) => on.clearMessages(bad))],
  deleteMessages: [
    at("session", (on, bad) => on.deleteMessages(bad, ["m1"])),
    at("id", (on, bad) => on.deleteMessages("s", [bad])),
  ],
  getBranches: [at("session", (on, bad) => on.getBranches(bad, "m1")), at("id", (on, bad) => on.getBranches("s", bad))],
  addCompaction: [
    at("session", (on, bad) => on.addCompaction(bad, "s", "m1", "m2")),
    at("summary", (on, bad) => on.addCompaction("s", bad, "m1", "m2")),
    at("id", (on, bad) => on.addCompaction("s", "s", bad, "m2")),
  ],
  getCompactions: [at("session", (on, bad) => on.getCompactions(bad))],
  search: [at("text", (on, bad) => on.search(bad)), at("session", (on, bad) => on.search("x", { sessionId: bad }))],
  tools: [],
};

/** Declarations, which come before a session is used. unknown-options.test.ts and the tests of each setting try what they take. */
const DECLARATIONS: ReadonlySet<string> = new Set([
  "compactAfter",
  "previewToolOutputs",
  "onCompaction",
  "requireApproval",
  "redactSecrets",
  "keepNotes",
  "tokenCounter",
  "onAfterCompaction",
  "onCompactionError",
  "withContext",
  "withCachedPrompt",
  "withSearchableHistory",
  "onToolError",
  "collect",
]);

function methodsOf(handle: object): string[] {
  const found = new Set<string>();
  for (let each = handle; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(each)))
      if (name !== "constructor" && typeof property.value === "function") found.add(name);
  }
  return [...found].filter((name) => !DECLARATIONS.has(name)).toSorted();
}

test("the tables name every method that a session and a manager have", async () => {
  await inside(newAgent(), (manager, agent) => {
    expect(methodsOf(Session.create(agent))).toEqual(Object.keys(SESSION).toSorted());
    // What a room brings to sessions alone throws on a manager, and takes no string.
    const ofRooms = new Set(Object.values(MEMBERS_OF_ROOMS).flat());
    const taking = methodsOf(manager).filter((name) => name in MANAGER || !ofRooms.has(name));
    expect(taking).toEqual(Object.keys(MANAGER).toSorted());
  });
});

const session = (on: FullManager): FullSession => on.getSession("s");
const TRIED = [
  ...Object.entries(SESSION).flatMap(([name, places]) =>
    places.map(({ call: run, ...place }, n) => ({
      title: `Session.${name}, text ${n + 1}`,
      ...place,
      call: (on: FullManager, bad: string) => run(session(on), bad),
    })),
  ),
  ...Object.entries(MANAGER).flatMap(([name, places]) =>
    places.map((place, n) => ({ title: `SessionManager.${name}, text ${n + 1}`, ...place })),
  ),
];

test.each(TRIED)("$title, is refused when it is bad, and nothing is written", async ({ call: run, is, code }) => {
  await inside(newAgent(), async (manager, _agent, storage) => {
    await session(manager).compactAfter(50_000).keepNotes().appendAll(talk(0, 4));
    await session(manager).addContext("memory");
    const before = tables(storage);
    for (const bad of BAD[is]) {
      const refused = await (async () => run(manager, bad))().then(
        () => "It was taken.",
        (error: unknown) => errorCode(error) ?? String(error),
      );
      expect(refused, JSON.stringify(bad.slice(0, 20))).toBe(code ?? "invalid_input");
    }
    expect(tables(storage)).toEqual(before);
  });
});
