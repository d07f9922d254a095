/** A long conversation with the AIChatAgent example, whose Worker is killed again and again. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { CompactionClient } from "palimpsest";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";
import type { CLIENTS } from "../../examples/ai-chat/worker.ts";
import { Person } from "./chat-person.ts";
import { configOf } from "./config.ts";

/** The example's threshold, and the most that a turn may send a model: two of them. */
const THRESHOLD = 4_000;
const MOST_TOKENS = 2 * THRESHOLD;

const TURNS = 30;
const DEATHS: number = 1;

test(`${TURNS} turns with tools, SIGKILL in the middle of a run: the transcript is whole, the model's view fits, and no turn waits for a summary`, async () => {
  await using chat = await Chat.open();
  const every = Math.floor(TURNS / (DEATHS + 1));
  for (let turn = 0; turn < TURNS; turn++) {
    await chat.turn();
    if ((turn + 1) % every === 0 && turn + 1 < TURNS) await chat.dieInARun();
  }
  await chat.untilQuiet();
  const { shown, summaries, ends } = await chat.look();
  // What a person said and was answered is there, unchanged and in its order.
  expect(shown.filter(({ role }) => role === "user").map(({ id }) => id)).toEqual(chat.said);
  const byId = new Map(shown.map((message) => [message.id, message]));
  expect(chat.answers.filter((answer) => JSON.stringify(byId.get(answer.id)) !== JSON.stringify(answer))).toEqual([]);
  expect(chat.answers.length).toBeGreaterThanOrEqual(TURNS - DEATHS);
  expect(chat.answers.filter((answer) => JSON.stringify(answer).includes("output-available")).length).toBeGreaterThan(
    TURNS / 2,
  );
  // What the model was given.
  expect(Math.max(...chat.given)).toBeLessThanOrEqual(MOST_TOKENS);
  expect(chat.given.length).toBeGreaterThanOrEqual(TURNS - DEATHS);
  expect(summaries).toBeGreaterThan(TURNS / 60);
  expect(ends.filter((kind) => kind !== "applied" && kind !== "rebased" && kind !== "nothing")).toEqual([]);
  // A turn that waited would find the run that it began with ended.
  expect(chat.turnsWithinARun).toBeGreaterThan(0);
}, 540_000);

class Chat {
  readonly said: string[] = [];
  /** Answers as the person saw them when they were done. */
  readonly answers: UIMessage[] = [];
  /** Tokens that the model says it was given. */
  readonly given: number[] = [];
  turnsWithinARun = 0;
  readonly #worker: LocalWorker;
  #person: Person | null = null;

  private constructor(worker: LocalWorker) {
    this.#worker = worker;
  }

  static async open(): Promise<Chat> {
    const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-chat-"));
    const vars = { PALIMPSEST_WATCHDOG_SECONDS: "2" };
    const worker = new LocalWorker({
      stateDir,
      port: await freePort(),
      vars,
      configPath: configOf("ai-chat", join(import.meta.dirname, "slow-chat.ts")),
    });
    const chat = new Chat(worker);
    await worker.start();
    return chat;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#person?.leave();
    await this.#worker.close();
  }

  get #ada(): Person {
    this.#person ??= new Person(new URL(this.#worker.url).host, "ada");
    return this.#person;
  }

  get #calls(): CompactionClient<typeof CLIENTS> {
    return this.#ada.agent.stub as unknown as CompactionClient<typeof CLIENTS>;
  }

  async turn(): Promise<void> {
    const before = await this.#live();
    const shown = await this.#ada.load();
    await this.#ada.ask(this.#next(), shown);
    const after = await this.#live();
    if (before.some((id) => after.includes(id))) this.turnsWithinARun++;
    const answer = (await this.#ada.load()).at(-1);
    if (answer?.role !== "assistant") throw new Error(`There is no answer: ${JSON.stringify(answer)}`);
    this.answers.push(answer);
    this.given.push(Number(/of some (\d+) tokens/.exec(JSON.stringify(answer))?.[1]));
  }

  /** The Worker gets SIGKILL while a run is at work, and starts again. */
  async dieInARun(): Promise<void> {
    while ((await this.#live()).length === 0) await this.turn();
    this.#person?.leave();
    this.#person = null;
    await this.#worker.kill("SIGKILL");
    await this.#worker.start();
  }

  async untilQuiet(): Promise<void> {
    while ((await this.#live()).length > 0) await pause(100);
  }

  async look() {
    const compactions = await this.#calls.getCompactions();
    const runs = await this.#calls.runs({ limit: 100 });
    return {
      shown: await this.#ada.load(),
      summaries: compactions.length,
      ends: runs.map(({ outcome }) => outcome?.kind),
    };
  }

  #next(): UIMessage {
    const id = `said-${this.said.length}`;
    this.said.push(id);
    return {
      id,
      role: "user",
      parts: [{ type: "text", text: `track ${this.said.length}. It matters to the ledger.` }],
    };
  }

  async #live(): Promise<string[]> {
    return (await this.#calls.liveRuns()).map(({ runId }) => runId);
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
