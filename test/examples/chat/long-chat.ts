/** A long conversation with the AIChatAgent example, whose Worker is killed again and again. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertToModelMessages, type UIMessage } from "ai";
import type { CompactionClient } from "palimpsest";
import { freePort, LocalWorker } from "../../../scripts/demo/local-worker.ts";
import type { CLIENTS } from "../../../examples/ai-chat/worker.ts";
import { Person } from "./person.ts";

/** The example's threshold, and the hard line that follows from it. */
export const THRESHOLD = 4_000;
export const HARD_LINE = 1.5 * THRESHOLD;

/** How a Worker died: while nothing happened, while a run was at work, or in the middle of an answer. */
export type Death = "idle" | "in a run" | "in an answer";

/** The long form. */
export const MOST_TURNS = 300;
export const MOST_DEATHS: readonly Death[] = ["in a run", "in an answer", "idle"];

/** One turn, as the person and the model saw it. */
interface Turn {
  /** As the person saw it when it was done. */
  readonly answer: UIMessage;
  /** Tokens that the model says it was given. */
  readonly given: number;
  /** Tokens of the whole conversation, counted as the model counts. */
  readonly whole: number;
  /** Runs that were at work when it began, and when it ended. */
  readonly within: readonly string[];
}

/** The offline model of the example counts like this. */
const CHARS_PER_TOKEN = 4;

export class LongChat {
  readonly said: string[] = [];
  readonly turns: Turn[] = [];
  /** Each with the number of turns before it. */
  readonly deaths: { readonly how: Death; readonly after: number }[] = [];
  readonly #worker: LocalWorker;
  #person: Person | null = null;
  /** Runs that were at work when the person left. */
  readonly closing = new Set<string>();
  #shown: UIMessage[] | null = null;
  #live: readonly string[] = [];

  private constructor(worker: LocalWorker) {
    this.#worker = worker;
  }

  /** Starts the Worker of this configuration, whose main module is slow-chat.ts. */
  static async open(configPath: string): Promise<LongChat> {
    const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-chat-"));
    const vars = { PALIMPSEST_WATCHDOG_SECONDS: "2" };
    const worker = new LocalWorker({ stateDir, port: await freePort(), vars, configPath });
    const chat = new LongChat(worker);
    try {
      await worker.start();
    } catch (error) {
      await chat[Symbol.asyncDispose]();
      throw error;
    }
    return chat;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#person?.leave();
    await this.#worker.close();
  }

  /** So many turns, with the deaths spread evenly among them, and one to say goodbye. */
  async talk(turns: number, deaths: readonly Death[]): Promise<void> {
    const every = Math.floor(turns / (deaths.length + 1));
    for (let n = 1; n <= turns; n++) {
      await this.#turn();
      const death = n % every === 0 ? deaths[n / every - 1] : undefined;
      if (death !== undefined) await this.#die(death);
    }
    for (const id of this.#live) this.closing.add(id);
    await this.#turn("Goodbye");
    for (const id of this.#live) this.closing.add(id);
    while ((await this.#runsAtWork()).length > 0) await pause(100);
  }

  /** What the person sees, and what became of the runs. */
  async look() {
    const compactions = await this.#calls.getCompactions();
    const runs = await this.#calls.runs({ limit: 100 });
    return { shown: await this.#ada.load(), summaries: compactions.length, runs };
  }

  get #ada(): Person {
    this.#person ??= new Person(new URL(this.#worker.url).host, "ada");
    return this.#person;
  }

  get #calls(): CompactionClient<typeof CLIENTS> {
    return this.#ada.agent.stub as unknown as CompactionClient<typeof CLIENTS>;
  }

  async #turn(word = ""): Promise<void> {
    const before = this.#live;
    await this.#ada.ask(this.#next(word), this.#shown ?? (await this.#ada.load()));
    const shown = await this.#ada.load();
    const answer = shown.at(-1);
    if (answer?.role !== "assistant") throw new Error(`There is no answer: ${JSON.stringify(answer)}`);
    const given = Number(/of some (\d+) tokens/.exec(JSON.stringify(answer))?.[1]);
    const whole = Math.ceil(JSON.stringify(await convertToModelMessages(shown)).length / CHARS_PER_TOKEN);
    this.#shown = shown;
    const after = await this.#runsAtWork();
    this.turns.push({ answer, given, whole, within: before.filter((id) => after.includes(id)) });
  }

  async #die(how: Death): Promise<void> {
    if (how === "in a run") while (this.#live.length === 0) await this.#turn();
    if (how === "in an answer") {
      const message = this.#next();
      void this.#ada.ask(message, this.#shown ?? []);
      // Stored, and not answered yet.
      while ((await this.#ada.load()).every(({ id }) => id !== message.id)) await pause(5);
    }
    this.#person?.leave();
    this.#person = null;
    this.#shown = null;
    await this.#worker.kill("SIGKILL");
    this.deaths.push({ how, after: this.turns.length });
    await this.#worker.start();
    await this.#runsAtWork();
  }

  #next(word = ""): UIMessage {
    const id = `said-${this.said.length}`;
    const text = `track ${this.said.length}. It matters to the ledger. ${word}`;
    this.said.push(id);
    return { id, role: "user", parts: [{ type: "text", text }] };
  }

  async #runsAtWork(): Promise<readonly string[]> {
    this.#live = (await this.#calls.liveRuns()).map(({ runId }) => runId);
    return this.#live;
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
