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

/** An agent that no other test knows. `kind` says what is special about it. */
export function newThinker(kind = "plain", script: Script = (prompt) => summaryOf(prompt, SUMMARY)) {
  const name = `${kind}-thinker${thinkers++}`;
  scriptModel(name, script);
  return { name, part: partOf<Thinker>(name), stub: env.Thinker.get(env.Thinker.idFromName(name)) };
}

export async function inside<T>(name: string, work: (agent: Thinker) => T | Promise<T>): Promise<T> {
  return runInDurableObject(env.Thinker.get(env.Thinker.idFromName(name)), async (agent) => {
    // A request would have it started; this is none.
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
    await agent.__unsafe_ensureInitialized();
    return work(agent);
  });
}

export const connect = (name: string) => connectTo(`thinker/${name}`);

export const messagesOf = (name: string): Promise<UIMessage[]> => messagesAt(`thinker/${name}`);

/** Waits until the agent has ended as many runs as said; the newest first. */
export async function ended(name: string, runs = 1): Promise<RunRecord[]> {
  for (;;) {
    const list = await inside(name, (agent) => agent.palimpsest.runs.list("", { limit: 50 }));
    if (list.length >= runs && list.every((run) => run.outcome !== null)) return list;
    await scheduler.wait(1);
  }
}

/** What the index says, read through its digests, is what Think has. */
export async function expectEqual(name: string): Promise<void> {
  await inside(name, async ({ palimpsest, session }) => {
    const history = palimpsest.memory.session("");
    const ours = await palimpsest.read("", () => history.originalsAt(history.pathNumbers()));
    // A difference in full would be larger than what the test runner takes.
    const host = await session.getHistory();
    expect(ours.map(({ id }) => id)).toEqual(host.map(({ id }) => id));
    expect(ours.filter((message, index) => JSON.stringify(message) !== JSON.stringify(host[index]))).toEqual([]);
  });
}

/** Says as many things as bring the first compaction about, and waits for it. */
export async function talkUntilCompacted(name: string, says = 12): Promise<UIMessage[]> {
  const person = await connect(name);
  for (let n = 0; n < says; n++) await person.say(user(`u${n}`));
  await ended(name);
  return messagesOf(name);
}

/** What a model was sent, as one text that is short enough to be printed. */
export function told(prompt: unknown): string {
  return JSON.stringify(prompt ?? null).replaceAll("It matters to the ledger. ", "");
}
