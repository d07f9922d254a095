/**
 * Unknown options. A misspelt name would have no effect and raise no error. Every function that takes options from a caller's code refuses
 * it by name before any work. wrong-input.test.ts walks the calls of clients.
 */
import { Agent } from "agents";
import { expect, test } from "vitest";
import { withCompaction } from "../../src/agent/compacting-agent.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { inputs } from "../../src/agent/inputs.ts";
import type { CallName } from "../../src/rooms.ts";
import { calls, type FullManager, type FullSession } from "../rooms.ts";
import { keepTurn, viewBeforeStep } from "../../src/turn/turn.ts";
import { errorCode } from "../../src/errors.ts";
import { buildWorkingContext } from "../../src/events/context.ts";
import { truncateOlderMessages } from "../../src/fit/truncate.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say } from "../conversation.ts";
import { tables } from "../rows.ts";
import { inside } from "./inside.ts";

skipRetryDelays();

/** A misspelt option beside those that are asked for. */
function misspelt<T extends object>(options: T): T {
  return { ...options, misspelt: 1 };
}

async function refusalOf(call: () => unknown): Promise<{ code: string | undefined; says: string }> {
  try {
    await call();
    return { code: undefined, says: "It was taken." };
  } catch (error) {
    return { code: errorCode(error), says: String(error) };
  }
}

const BUILDERS: Readonly<Record<string, (told: FullSession | FullManager) => unknown>> = {
  compactAfter: (told) => told.compactAfter(2_000, misspelt({})),
  "compactAfter: budget": (told) => told.compactAfter(2_000, { budget: misspelt({}) }),
  "compactAfter: prices": (told) => told.compactAfter(2_000, { prices: misspelt({}) }),
  "compactAfter: template": (told) => told.compactAfter(2_000, { template: misspelt({ sections: [] }) }),
  keepNotes: (told) => told.keepNotes(misspelt({})),
  "keepNotes: keep": (told) => told.keepNotes({ keep: misspelt({}) }),
  requireApproval: (told) => told.requireApproval(misspelt({})),
  onCompaction: (told) => told.onCompaction(() => null, misspelt({})),
  withContext: (told) => told.withContext("memory", misspelt({})),
  previewToolOutputs: (told) => told.previewToolOutputs(misspelt({ maxBytes: 10_000 })),
};

test.each(Object.entries(BUILDERS))("%s refuses an option that it has not", async (_name, build) => {
  await inside(newAgent(), async (manager, agent) => {
    for (const told of [Session.create(agent).forSession("told"), manager]) {
      const { code, says } = await refusalOf(() => build(told));
      expect([code, says]).toEqual(["invalid_options", expect.stringContaining("misspelt")]);
    }
  });
});

const OTHERS: Readonly<Record<string, (session: FullSession) => unknown>> = {
  withCompaction: () => withCompaction(Agent, { client: "all" } as object),
  keepTurn: (session) => keepTurn(session, misspelt({ replyId: "m1" })),
  viewBeforeStep: (session) => viewBeforeStep(session, misspelt({})),
  buildWorkingContext: () => buildWorkingContext([], misspelt({})),
  truncateOlderMessages: () => truncateOlderMessages([], misspelt({})),
};

test.each(Object.entries(OTHERS))("%s refuses an option that it has not", async (_name, call) => {
  await inside(newAgent(), async (manager) => {
    await manager.append("s", say(1));
    const { code, says } = await refusalOf(() => call(manager.getSession("s")));
    expect([code, says]).toEqual(["invalid_options", expect.stringMatching(/misspelt|client: no such/) as string]);
  });
});

const METHODS: Readonly<Record<string, (session: FullSession, manager: FullManager) => unknown>> = {
  compact: (session) => session.compact(misspelt({})),
  compactNow: (session) => session.compactNow(misspelt({})),
  plan: (session) => session.plan(misspelt({})),
  getView: (session) => session.getView(misspelt({})),
  "getView: truncate": (session) => session.getView({ truncate: misspelt({}) }),
  history: (session) => session.history(misspelt({})).next(),
  getRecentHistory: (session) => session.getRecentHistory(1_000, misspelt({})),
  loadEvents: (session) => session.loadEvents(misspelt({})),
  appendEvents: (session) => session.appendEvents([], misspelt({})),
  "buildWorkingContext of a session": (session) => session.buildWorkingContext(misspelt({})),
  persistTurn: (session) => session.persistTurn(misspelt({ leafId: null, messages: [say(2)] })),
  importTranscript: (session) => session.importTranscript(JSON.stringify(say(2)), misspelt({})),
  importPart: (session) => session.importPart(misspelt({ upload: "u", at: 0, messages: [], last: false })),
  exportPart: (session) => session.exportPart(misspelt({})),
  exportTranscript: (session) => session.exportTranscript(undefined, misspelt({})).next(),
  search: (session) => session.search("promise", misspelt({})),
  recall: (session) => session.recall(misspelt({ query: "promise" })),
  recordUsage: (session) => session.recordUsage(misspelt({ inputTokens: 10 })),
  expand: (session) => session.expand("ov_0", misspelt({})),
  runs: (session) => session.runs(misspelt({})),
  updateNotes: (session) => session.updateNotes(misspelt({ sections: [{ title: "Task", text: "x" }] })),
  "updateNotes: sections": (session) => session.updateNotes({ sections: [misspelt({ title: "Task", text: "x" })] }),
  refreshNotes: (session) => session.refreshNotes(misspelt({})),
  addContext: (session) => session.addContext("memory", misspelt({})),
  "manager.create": (_session, manager) => manager.create("Name", misspelt({})),
  "manager.list": (_session, manager) => manager.list(misspelt({})),
  "manager.list: before": (_session, manager) => manager.list({ before: misspelt({ createdAt: 1, id: "s" }) }),
  "manager.search": (_session, manager) => manager.search("promise", misspelt({})),
  compactAndSplit: (_session, manager) => manager.compactAndSplit("s", "Name", misspelt({})),
};

const OF_BUILDERS: ReadonlySet<string> = new Set([
  "addContext",
  "appendEvents",
  "buildWorkingContext of a session",
  "getView: truncate",
]);

test.each(Object.entries(METHODS))("%s refuses an option that it has not, and writes nothing", async (name, call) => {
  await inside(newAgent(), async (manager, _agent, storage) => {
    await manager.append("s", say(1));
    const before = tables(storage);
    const { code, says } = await refusalOf(() =>
      call(manager.getSession("s").compactAfter(2_000).keepNotes(), manager),
    );
    // A block's options are checked as a builder's are, and those of shortening as where messages are shortened.
    const expected = OF_BUILDERS.has(name) ? "invalid_options" : "invalid_input";
    expect([code, says]).toEqual([expected, expect.stringContaining("misspelt")]);
    expect(tables(storage)).toEqual(before);
  });
});

/** Methods that no call has, and fields that only code in the object can use. */
const ONLY_INSIDE: ReadonlySet<string> = new Set(["history", ...OF_BUILDERS]);
const CALLS_OF: Readonly<Record<string, CallName>> = {
  "manager.create": "createSession",
  "manager.list": "listSessions",
  "manager.search": "searchSessions",
};

test.each(Object.entries(METHODS).filter(([name]) => !ONLY_INSIDE.has(name) && !name.includes(": ")))(
  "what %s takes, its call takes",
  async (name, call) => {
    await inside(newAgent(), async (manager) => {
      await manager.append("s", say(1));
      const { says } = await refusalOf(() => call(manager.getSession("s").compactAfter(2_000).keepNotes(), manager));
      const takes = /it may have: (.*)\.$/.exec(says)?.[1]?.split(", ") ?? [];
      expect(takes).not.toEqual([]);
      const entry = calls[CALLS_OF[name] ?? (name as CallName)];
      expect(Object.keys(entry.input.shape)).toEqual(expect.arrayContaining(takes));
    });
  },
);

test("each method that refuses unknown options by its schema is walked", () => {
  const walked = new Set(Object.keys(METHODS).map((name) => /\w+$/.exec(name.split(":")[0] ?? "")?.[0]));
  const others: Readonly<Record<string, string>> = {
    split: "compactAndSplit",
    branch: "getRecentHistory",
    createSession: "create",
    listSessions: "list",
  };
  expect(Object.keys(inputs).filter((name) => !walked.has(others[name] ?? name))).toEqual([]);
});
