/**
 * Every method of a session and of a manager with every text that it takes: empty, with half a character, and too long. Each is refused with
 * a typed error before anything is written. Methods behind a call are reached as the call reaches them, without the check of its input.
 */
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import type { CallContext } from "../../src/agent/calls.ts";
import { errorCode, type ErrorCode } from "../../src/errors.ts";
import type { CallName } from "../../src/rooms.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { tables } from "../rows.ts";
import { calls, type FullManager, type FullSession } from "../rooms.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { CALLS, LONE, WITHOUT_A_METHOD, WRONG, type Input, type Kind } from "./call-inputs.ts";
import { inside } from "./inside.ts";

skipRetryDelays();

const ID = ["", LONE, "x".repeat(700)];
const SESSION = [LONE, "x".repeat(201)];
const LABEL = ["", LONE, "x".repeat(65)];

const message = (id: string) => ({ ...say(90), id });
const call = { action: "tool_call_request", toolCallId: "c", toolName: "t", input: {} } as const;
const summary = { action: "compaction", summary: "s", fromMessageId: "m1", toMessageId: "m2" } as const;

/** Texts inside what a field holds, by the field's kind. */
const WITHIN: Partial<Record<Kind, readonly unknown[]>> = {
  message: ID.map(message),
  messages: ID.map((bad) => [say(90), message(bad)]),
  ids: ID.map((bad) => ["m1", bad]),
  entries: ID.flatMap((bad) => [[{ message: say(90), parentId: bad }], [{ message: say(90), was: bad }]]),
  sections: [LONE, "x".repeat(2_000_000)].flatMap((bad) => [
    [{ title: bad, text: "x" }],
    [{ title: "Task", text: bad }],
  ]),
};
const WITHIN_EVENTS: readonly unknown[] = [
  ...ID.flatMap((bad) => [
    { action: "user_message", content: "x", id: bad },
    { action: "user_message", content: "x", messageId: bad },
    { ...summary, fromMessageId: bad },
    { ...summary, toMessageId: bad },
  ]),
  ...["", LONE, "x".repeat(200_001)].map((bad) => ({ ...summary, summary: bad })),
  { ...call, toolCallId: LONE },
  { ...call, toolName: LONE },
].map((event) => [event]);

async function refusalOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return "It was taken.";
  } catch (error) {
    return errorCode(error) ?? String(error);
  }
}

/** Works on a session with messages and a block. A write fails the test. */
async function withoutWriting(work: (manager: FullManager, agent: PalimpsestAgent) => Promise<void>): Promise<void> {
  await inside(newAgent(), async (manager, agent, storage) => {
    await manager.getSession("s").compactAfter(50_000).keepNotes().appendAll(talk(0, 4));
    await manager.getSession("s").addContext("memory");
    const before = tables(storage);
    await work(manager, agent);
    expect(tables(storage)).toEqual(before);
  });
}

function badTexts(name: CallName, field: string, kind: Kind): readonly unknown[] {
  // What is said of a block is declared in code, and stored nowhere.
  const wrong = kind === "description" || field === "defaultContent" ? [] : (WRONG[kind] ?? []);
  const texts = wrong.includes(LONE) || kind === "quotation" ? wrong.filter((value) => typeof value === "string") : [];
  return [...texts, ...(name === "appendEvents" && field === "events" ? WITHIN_EVENTS : (WITHIN[kind] ?? []))];
}

const BEHIND = CALLS.filter(([name]) => !WITHOUT_A_METHOD.has(name));

test.each(BEHIND)(
  "what is behind %s refuses each bad text itself, and writes nothing",
  async (name, { good, fields }) => {
    await withoutWriting(async (manager, agent) => {
      const context: CallContext = {
        core: agent.palimpsest,
        manager,
        session: (id) => manager.getSession(id),
        may: () => true,
      };
      const run = calls[name].run.bind(calls[name]) as (context: CallContext, input: Input) => unknown;
      // The block of the usual label is there already.
      const taken = name === "addContext" ? { label: "other" } : good;
      for (const [field, kind] of Object.entries(fields)) {
        for (const bad of badTexts(name, field, kind)) {
          const refused = await refusalOf(() => run(context, { sessionId: "s", ...taken, [field]: bad }));
          const said = `${field} = ${JSON.stringify(bad).slice(0, 60)}`;
          expect(["invalid_input", "invalid_message", "invalid_options"], said).toContain(refused);
        }
      }
    });
  },
);

interface Place {
  readonly bad: readonly string[];
  readonly call: (manager: FullManager, bad: string) => unknown;
  readonly code?: ErrorCode;
}

const session = (manager: FullManager): FullSession => manager.getSession("s");

/** Methods that no call reaches, and what a call does not hand on. */
const OTHERS: Readonly<Record<string, Place>> = {
  forSession: { bad: SESSION, call: (on, bad) => session(on).forSession(bad) },
  "appendMessage: parentId": { bad: ID, call: (on, bad) => session(on).appendMessage(say(90), { parentId: bad }) },
  "getHistory: leafId": { bad: ID, call: (on, bad) => session(on).getHistory({ leafId: bad }) },
  history: { bad: ID, call: (on, bad) => session(on).history({ leafId: bad }).next() },
  editor: { bad: ID, call: (on, bad) => session(on).editor(bad) },
  "getView of a leaf": { bad: ID, call: (on, bad) => session(on).getView(bad) },
  viewWith: { bad: ID, call: (on, bad) => session(on).viewWith({ leafId: bad }) },
  ended: { bad: ID, call: (on, bad) => session(on).ended(bad) },
  importTranscript: {
    bad: ["", LONE, "no-format"],
    call: (on, bad) => session(on).importTranscript(JSON.stringify(say(90)), { format: bad as "pi" }),
  },
  addContext: { bad: LABEL, call: (on, bad) => session(on).addContext(bad), code: "invalid_options" },
  getSession: { bad: SESSION, call: (on, bad) => on.getSession(bad) },
  "manager.append": { bad: SESSION, call: (on, bad) => on.append(bad, say(90)) },
  "manager.append: message": { bad: ID, call: (on, bad) => on.append("s", message(bad)), code: "invalid_message" },
  "manager.append: parentId": { bad: ID, call: (on, bad) => on.append("s", say(90), bad) },
  "manager.upsert": { bad: SESSION, call: (on, bad) => on.upsert(bad, say(90)) },
  "manager.appendAll": { bad: SESSION, call: (on, bad) => on.appendAll(bad, [say(90)]) },
  "manager.getHistory": { bad: SESSION, call: (on, bad) => on.getHistory(bad) },
  "manager.getMessageCount": { bad: SESSION, call: (on, bad) => on.getMessageCount(bad) },
  "manager.clearMessages": { bad: SESSION, call: (on, bad) => on.clearMessages(bad) },
  "manager.deleteMessages": { bad: SESSION, call: (on, bad) => on.deleteMessages(bad, ["m1"]) },
  "manager.getBranches": { bad: SESSION, call: (on, bad) => on.getBranches(bad, "m1") },
  "manager.addCompaction": { bad: SESSION, call: (on, bad) => on.addCompaction(bad, "s", "m1", "m2") },
  "manager.getCompactions": { bad: SESSION, call: (on, bad) => on.getCompactions(bad) },
};

test.each(Object.entries(OTHERS))("%s refuses each bad text, and writes nothing", async (_name, place) => {
  await withoutWriting(async (manager) => {
    for (const bad of place.bad) {
      const refused = await refusalOf(() => place.call(manager, bad));
      expect(refused, JSON.stringify(bad.slice(0, 20))).toBe(place.code ?? "invalid_input");
    }
  });
});

/** Methods that take no text, that make their own of what the session gave out, or that are declarations, which unknown-options.test.ts tries. */
const WITHOUT_TEXT = `apply collect compactAfter getLatestLeaf importFrom keepNotes messageRoom newest onAfterCompaction onCompaction onCompactionError
  onToolError persistWorkingContext previewToolOutputs promptOpened redactSecrets reminderOfRooms requireApproval tools updateMessage upsertMessage
  withCachedPrompt withContext withSearchableHistory`;

function methodsOf(handle: object): string[] {
  const found = new Set<string>();
  for (let each = handle; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(each)))
      if (name !== "constructor" && typeof property.value === "function") found.add(name);
  }
  return [...found];
}

test("each method of a session is behind a call, takes no text, or is tried here", async () => {
  await inside(newAgent(), (_manager, agent) => {
    const tried = new Set([...Object.keys(calls), ...Object.keys(OTHERS).map((name) => name.split(/[: ]/)[0])]);
    expect(
      methodsOf(Session.create(agent))
        .filter((name) => !tried.has(name))
        .toSorted(),
    ).toEqual(WITHOUT_TEXT.split(/\s+/));
  });
});
