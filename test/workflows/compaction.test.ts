import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { beforeEach, expect, test } from "vitest";
import type { PalimpsestAgent } from "../worker.ts";
import { modelCalls, scriptModel } from "../scripted-model.ts";

const TOPICS = ["parser", "scheduler", "ledger", "fence", "outline", "watchdog"];

function text(n: number): string {
  const topic = TOPICS[n % TOPICS.length] ?? "";
  return `Message ${n}: we changed src/${topic}-${n}.ts so that the ${topic} keeps its promise number ${n}. `.repeat(5);
}

function say(n: number): UIMessage {
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text: text(n) }] };
}

function agent(name: string) {
  return env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(name));
}

beforeEach(() => scriptModel(null));

test("a conversation that crosses its threshold is compacted by a durable run, and nothing of it is lost (E1, M1, R1)", async () => {
  const stub = agent("end-to-end") as unknown as PalimpsestAgent;
  const stored: UIMessage[] = [];
  for (let n = 0; n < 40; n++) {
    stored.push(say(n));
    await stub.append({ message: say(n) });
  }
  const [run] = await stub.runs({});
  expect(run).toBeDefined();
  const ended = await stub.waitForRun({ runId: run?.id });
  expect(ended.outcome).toMatchObject({ kind: "applied" });
  const view = await stub.getView({});
  expect(view.tokens).toBeLessThan(2_000 + 300);
  for (const message of stored) expect(await stub.getMessage({ id: message.id })).toEqual(message);
});
