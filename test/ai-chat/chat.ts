/** A person with a browser. Connects to a chat agent as `useAgentChat` does, and sends messages. */
import { env, exports } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { scriptModel, summaryOf, type Script } from "../scripted-model.ts";
import { partOf, toolsIn, type Prompt } from "./chat-model.ts";
import type { Chat } from "./worker.ts";

type Frame = { readonly type: string; readonly id?: string; readonly done?: boolean } & Record<string, unknown>;

let chats = 0;

/** A chat of this test alone, with a scripted summariser. */
export function newChat(
  prefix = "chat",
  script: Script = (prompt) => summaryOf(prompt, "What was said is told here."),
) {
  const name = `${prefix}-${chats++}`;
  scriptModel(name, script);
  return { name, part: partOf<Chat>(name), stub: env.Chat.get(env.Chat.idFromName(name)) };
}

/** Runs work inside the agent's object. */
export async function inside<T>(name: string, work: (agent: Chat) => T | Promise<T>): Promise<T> {
  return runInDurableObject(env.Chat.get(env.Chat.idFromName(name)), (agent) => work(agent));
}

export const messagesOf = (name: string): Promise<UIMessage[]> => messagesAt(`chat/${name}`);

/** The messages that a client of the agent at this path loads. */
export async function messagesAt(path: string): Promise<UIMessage[]> {
  const response = await exports.default.fetch(`http://test/agents/${path}/get-messages`);
  return response.json<UIMessage[]>();
}

/** The index's messages, read through its digests, and the host's. They must always be equal. */
export async function both(name: string): Promise<{ readonly ours: unknown; readonly host: unknown }> {
  return inside(name, async (agent) => {
    const { palimpsest, sessions } = agent;
    const history = palimpsest.memory.session("");
    const ours = await palimpsest.read("", () => history.originalsAt(history.pathNumbers()));
    return { ours, host: await sessions.session().getHistory() };
  });
}

/** Waits until the agent has ended at least this many runs. The newest first. */
export async function ended(name: string, runs = 1): Promise<RunRecord[]> {
  for (;;) {
    const list = await inside(name, (agent) => agent.palimpsest.runs.list("", { limit: 50 }));
    if (list.length >= runs && list.every((run) => run.outcome !== null)) return list;
    await scheduler.wait(1);
  }
}

export async function until<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    await scheduler.wait(1);
  }
}

export function user(id: string, text = `Please look at ${id}. ${"It matters to the ledger. ".repeat(32)}`): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

export const connect = (name: string) => connectTo(`chat/${name}`);

/** Speaks with the agent at this path, as `useAgentChat` does. */
export async function connectTo(path: string) {
  const response = await exports.default.fetch(`http://test/agents/${path}`, { headers: { Upgrade: "websocket" } });
  const socket = response.webSocket;
  if (socket === null) throw new Error(`No WebSocket: ${response.status}`);
  const heard: Frame[] = [];
  socket.addEventListener("message", ({ data }) => void heard.push(JSON.parse(String(data)) as Frame));
  socket.accept();
  const send = (frame: object): void => socket.send(JSON.stringify(frame));
  const request = (messages: readonly UIMessage[], trigger = "submit-message"): string => {
    const id = crypto.randomUUID();
    const body = JSON.stringify({ messages, trigger });
    send({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } });
    return id;
  };
  const finished = (id: string): Promise<Frame> =>
    until(() => heard.find((frame) => frame.type === "cf_agent_use_chat_response" && frame.id === id && frame.done));
  return {
    heard,
    send,
    request,
    finished,
    close: () => socket.close(),
    /** Sends the visible messages and one more, and waits for the answer. */
    async say(message: UIMessage): Promise<UIMessage[]> {
      await finished(request([...(await messagesAt(path)), message]));
      return messagesAt(path);
    },
    /** Sends these messages in place of all others, and waits for the answer. */
    async submit(messages: readonly UIMessage[], trigger?: string): Promise<UIMessage[]> {
      await finished(request(messages, trigger));
      return messagesAt(path);
    },
    async call(method: string, input?: unknown): Promise<Frame> {
      const id = crypto.randomUUID();
      send({ type: "rpc", id, method, args: input === undefined ? [] : [input] });
      return until(() => heard.find((frame) => frame.id === id));
    },
  };
}

export type Person = Awaited<ReturnType<typeof connectTo>>;

export async function expectEqual(name: string): Promise<void> {
  const { ours, host } = await both(name);
  expect(ours).toEqual(host);
}

/** Sends enough messages for the first compaction, and waits for it. */
export async function talkUntilCompacted(name: string, says = 12): Promise<UIMessage[]> {
  const person = await connect(name);
  for (let n = 0; n < says; n++) await person.say(user(`u${n}`));
  await ended(name);
  return messagesOf(name);
}

/** Every name that an object or one of its classes defines. */
export function namesOf(value: object): Set<string> {
  const names = new Set<string>();
  for (let at: unknown = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  return names;
}

/** Expects the prompts of a loop with four looks, where a summary of u0 to u3 landed after the third prompt was made. */
export function expectLooks(prompts: readonly Prompt[]): void {
  expect(prompts).toHaveLength(5);
  for (const [step, prompt] of prompts.entries()) {
    const looks = Array.from({ length: step }, (_, n) => `look-${n}`);
    expect(toolsIn(prompt)).toEqual({ calls: looks, results: looks });
    expect(JSON.stringify(prompt).includes("They looked at five things.")).toBe(step > 2);
    // Beside the summary stand the user's words, in a line of a list.
    expect(JSON.stringify(prompt).includes('"Please look at u1.')).toBe(step <= 2);
    expect(JSON.stringify(prompt)).toContain("Look around.");
  }
}
