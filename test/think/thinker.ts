/** A person with a browser who speaks with an agent on Think. */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { scriptModel, summaryOf, type Script } from "../scripted-model.ts";
import { connectTo, messagesAt, user } from "../ai-chat/chat.ts";
import { partOf } from "../ai-chat/chat-model.ts";
import type { Thinker } from "./worker.ts";

let thinkers = 0;

export const SUMMARY = "What was said is told here.";

/** An agent of this test alone. `kind` selects its special setup. */
export function newThinker(kind = "plain", script: Script = (prompt) => summaryOf(prompt, SUMMARY)) {
  const name = `${kind}-thinker${thinkers++}`;
  scriptModel(name, script);
  return { name, part: partOf<Thinker>(name), stub: env.Thinker.get(env.Thinker.idFromName(name)) };
}

export async function inside<T>(name: string, work: (agent: Thinker) => T | Promise<T>): Promise<T> {
  return runInDurableObject(env.Thinker.get(env.Thinker.idFromName(name)), async (agent) => {
    // A request would initialise the agent. This call is no request.
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
    await agent.__unsafe_ensureInitialized();
    return work(agent);
  });
}

export const connect = (name: string) => connectTo(`thinker/${name}`);

export const messagesOf = (name: string): Promise<UIMessage[]> => messagesAt(`thinker/${name}`);

/** Waits until the agent has ended at least this many runs. The newest first. */
export async function ended(name: string, runs = 1): Promise<RunRecord[]> {
  for (;;) {
    const list = await inside(name, (agent) => agent.palimpsest.runs.list("", { limit: 50 }));
    if (list.length >= runs && list.every((run) => run.outcome !== null)) return list;
    await scheduler.wait(1);
  }
}

/** The index's messages, read through its digests, equal Think's. */
export async function expectEqual(name: string): Promise<void> {
  await inside(name, async ({ palimpsest, session }) => {
    const history = palimpsest.memory.session("");
    const ours = await palimpsest.read("", () => history.originalsAt(history.pathNumbers()));
    // Compared in parts, because a full difference would be too large for the test runner.
    const host = await session.getHistory();
    expect(ours.map(({ id }) => id)).toEqual(host.map(({ id }) => id));
    expect(ours.filter((message, index) => JSON.stringify(message) !== JSON.stringify(host[index]))).toEqual([]);
  });
}

/** Sends enough messages for the first compaction, and waits for it. */
export async function talkUntilCompacted(name: string, says = 12): Promise<UIMessage[]> {
  const person = await connect(name);
  for (let n = 0; n < says; n++) await person.say(user(`u${n}`));
  await ended(name);
  return messagesOf(name);
}

/** A model's prompt as one text, short enough to be printed. */
export function told(prompt: unknown): string {
  return JSON.stringify(prompt ?? null).replaceAll("It matters to the ledger. ", "");
}
