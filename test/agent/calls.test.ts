/**
 * Every field of a session's method reaches it through its call as well. The test walks both. The compiler checks, where the table is
 * written, that the fields of a call are exactly those of the method's options.
 */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { CALL_NAMES, calls } from "../rooms.ts";
import type { CallName } from "../../src/rooms.ts";
import { runCall, type CallContext } from "../../src/agent/calls.ts";
import type { AgentCore } from "../../src/agent/agent-core.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { newAgent } from "../agents.ts";
import { say } from "../conversation.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { WITHOUT_A_METHOD } from "./call-inputs.ts";

/** Calls whose method goes by another name. */
const NAMED_OTHERWISE: Partial<Record<CallName, string>> = {
  append: "appendMessage",
  upsert: "upsertMessage",
  update: "updateMessage",
  createSession: "create",
  listSessions: "list",
  getSessionInfo: "get",
  renameSession: "rename",
  deleteSession: "delete",
  forkSession: "fork",
  newestSession: "newestOf",
  searchSessions: "search",
};

/** A value of each field, which is no other's and no default. */
const VALUES: Readonly<Record<string, unknown>> = {
  sessionId: "a-session",
  leafId: "a-leaf",
  parentId: "a-parent",
  id: "an-id",
  ids: ["one-id", "another-id"],
  overlayId: "an-overlay",
  asOf: "another-overlay",
  after: "the-one-before",
  around: "a-neighbour",
  atMessageId: "a-fork",
  parentSessionId: "a-parent-session",
  coveredId: "the-last-covered",
  message: say(1),
  messages: [say(2), say(3)],
  events: [{ action: "user_message", content: "an event" }],
  sections: [{ title: "Task", text: "a section" }],
  label: "a-label",
  key: "a-key",
  description: "a description",
  defaultContent: "a default",
  whenChanged: "remind",
  readonly: true,
  shared: true,
  carry: true,
  summary: "a summary",
  fromMessageId: "the-first",
  toMessageId: "the-last",
  metadata: { of: "a customer" },
  content: "a content",
  text: "a text",
  query: "a query",
  name: "a name",
  model: "a model",
  source: "a source",
  focus: "a focus",
  format: "openai",
  reason: "manual",
  redact: true,
  fresh: true,
  rebuild: true,
  ignoreBudget: true,
  manual: true,
  everywhere: true,
  apart: true,
  truncate: { keepRecent: 5, maxToolOutputChars: 600, maxTextChars: 700, step: 9 },
  limit: 11,
  depth: 12,
  index: 13,
  basedOn: 14,
  maxBytes: 15,
  maxTokens: 1_600,
  inputTokens: 17,
  outputTokens: 18,
  cost: 19,
  cachedTokens: 23,
  writtenTokens: 24,
  viewTokens: 20,
  notes: 22,
  section: "a section",
  quote: "a quotation",
  upload: "an-upload",
  messageId: "the-message-of-it",
  at: 25,
  last: true,
  from: 23,
};

/** Fields that have another value for one call. */
const OWN_VALUES: Partial<Record<CallName, Readonly<Record<string, unknown>>>> = {
  listSessions: { order: "creation", before: { createdAt: 21, id: "the-session-before" } },
  loadEvents: { before: "the-event-before" },
  importPart: { messages: [{ message: say(3), parentId: null }] },
};

interface Told {
  readonly on: "session" | "manager";
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Stands for a session or the manager, and notes what it is asked. */
function listener(on: Told["on"], heard: Told[]): object {
  return new Proxy(
    {},
    {
      get: (_target, method) =>
        method === "then"
          ? undefined
          : (...args: unknown[]) => {
              heard.push({ on, method: String(method), args });
              return ["exportTranscript", "getLoadedSkillKeys"].includes(String(method))
                ? []
                : { run: {}, joined: false };
            },
    },
  );
}

async function callWithEverything(name: CallName): Promise<{ told: Told; input: Readonly<Record<string, unknown>> }> {
  const heard: Told[] = [];
  const sessions: string[] = [];
  const context: CallContext = {
    core: {} as AgentCore,
    manager: listener("manager", heard) as SessionManager,
    session: (id) => {
      sessions.push(id);
      return listener("session", heard) as Session;
    },
    may: () => true,
  };
  const fields = Object.keys(calls[name].input.shape);
  const input = Object.fromEntries(fields.map((field) => [field, OWN_VALUES[name]?.[field] ?? VALUES[field]]));
  for (const field of fields) expect(input[field], `a value for ${name}.${field}`).toBeDefined();
  await runCall(calls[name], context, input);
  expect(heard, name).toHaveLength(1);
  const told = heard[0] as Told;
  return { told: { ...told, args: [...sessions, ...told.args] }, input };
}

const WITH_A_METHOD = CALL_NAMES.filter((name) => !WITHOUT_A_METHOD.has(name));

test.each(WITH_A_METHOD)("%s hands every field that it takes to the method of its name", async (name) => {
  const { told, input } = await callWithEverything(name);
  expect(told.method).toBe(NAMED_OTHERWISE[name] ?? name);
  await runInDurableObject(newAgent().stub, (agent: PalimpsestAgent) => {
    const owner = told.on === "session" ? Session.create(agent) : SessionManager.create(agent);
    expect(Reflect.get(owner, told.method)).toBeTypeOf("function");
  });
  const handed = new Map<string, unknown>();
  for (const arg of told.args) {
    if (typeof arg === "object" && arg !== null && !Array.isArray(arg) && !("parts" in arg))
      for (const [field, value] of Object.entries(arg)) handed.set(field, value);
  }
  for (const [field, value] of Object.entries(input)) {
    const found = handed.has(field) ? [handed.get(field)] : told.args;
    expect(found, `${name}.${field}`).toContainEqual(value);
  }
});
