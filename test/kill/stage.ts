/**
 * The stage of a kill test, and of its figures in the benchmark: the deployable Worker, a held summariser, and one conversation
 * that outgrows its threshold.
 *
 * Once the Worker was killed, nothing here calls the agent until a test asks it to: what happens after the restart is
 * watched in the summariser's calls and in the database file.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { DemoAgent } from "../../scripts/demo/agent.ts";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";
import type { RunEvent } from "../../src/agent/events.ts";
import type { SessionStatus } from "../../src/agent/session.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlays.ts";
import type { View } from "../../src/memory/messages/view.ts";
import { measureMessage } from "../../src/steps/message/measure.ts";
import { readLedger, type Ledger } from "./ledger.ts";
import { ModelServer } from "./model-server.ts";
import { until } from "./until.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

/** Makes a span of eight chunks: a kill finds two of them done, four being summarised and two yet to come. */
const THRESHOLD = 3_000;
export const SMALL = { PALIMPSEST_MODEL_WINDOW: "32000", PALIMPSEST_CHUNK_TOKENS: "300" };
/** An update reads all that is new at once, and is due long before a compaction is. */
export const NOTED = { PALIMPSEST_MODEL_WINDOW: "32000", PALIMPSEST_NOTES: "1", PALIMPSEST_THRESHOLD: "8000" };
/** Messages of one call: well under what one frame of a WebSocket may hold. */
const PAGE = 500;
const SESSION = "killed";
/** Shorter waits are spent in one turn: timers know whole milliseconds, and come a little late (ms). */
const SHORT_MS = 3;
/** How long anything that must happen may take on a busy machine (ms). */
const DEADLINE = 60_000;

/** The moment when the last draft of a run of several chunks is stored, and nothing of it is committed. */
export function lastDraftStored(): (event: RunEvent) => boolean {
  let before: number | null = null;
  return ({ step, modelCalls }) => {
    // A single merge in its round is the last one; it is on the bill when its draft is stored.
    if (step?.startsWith("merge 1 of 1 ") !== true) return false;
    before ??= modelCalls;
    return modelCalls > before;
  };
}

export class Stage {
  readonly model: ModelServer;
  readonly said: UIMessage[] = [];
  readonly #worker: LocalWorker;
  readonly #stateDir: string;
  #agent: DemoAgent | null = null;
  #onRun: (event: RunEvent) => void = () => undefined;

  private constructor(model: ModelServer, worker: LocalWorker, stateDir: string) {
    this.model = model;
    this.#worker = worker;
    this.#stateDir = stateDir;
  }

  /** `vars` are the Worker's; without them, a session with small numbers. */
  static async open(vars: Readonly<Record<string, string>> = SMALL): Promise<Stage> {
    const model = await ModelServer.start();
    const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-kill-"));
    const all = {
      PALIMPSEST_MODEL_URL: model.url,
      PALIMPSEST_MODEL: "held",
      PALIMPSEST_THRESHOLD: String(THRESHOLD),
      PALIMPSEST_WATCHDOG_SECONDS: "2",
      ...vars,
    };
    const stage = new Stage(model, new LocalWorker({ stateDir, port: await freePort(), vars: all }), stateDir);
    await stage.#worker.start();
    return stage;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.model.stop();
    await rm(this.#stateDir, { recursive: true, force: true });
  }

  /** Kills the Worker the moment it tells of an event like this; resolves when it is dead. */
  async killAt(moment: (event: RunEvent) => boolean): Promise<void> {
    const deaths: Promise<void>[] = [];
    this.#onRun = (event) => {
      if (deaths.length === 0 && moment(event)) deaths.push(this.kill());
    };
    await untilFirst(deaths);
  }

  /**
   * Kills the Worker so long after the answer to the `nth` call has left the summariser; resolves when it is dead, with the
   * milliseconds that passed until the signal was sent.
   */
  async killBehindAnswer(nth: number, delayMs: number): Promise<number> {
    const deaths: Promise<number>[] = [];
    this.model.onAnswered = (asked) => {
      if (asked !== this.model.asked[nth - 1]) return;
      const from = performance.now();
      const die = (): void => {
        const sentAfter = performance.now() - from;
        deaths.push(this.kill().then(() => sentAfter));
      };
      if (delayMs < SHORT_MS) {
        while (performance.now() - from < delayMs);
        die();
      } else setTimeout(die, delayMs);
    };
    return untilFirst(deaths);
  }

  async #connect(): Promise<DemoAgent> {
    this.#agent ??= await DemoAgent.connect(this.#worker.url, (event) => this.#onRun(event));
    return this.#agent;
  }

  /** Says one more thing; resolves when the Worker has answered that it is stored. */
  async say(): Promise<void> {
    const message = messageNumber(this.said.length);
    const agent = await this.#connect();
    await agent.call("append", { sessionId: SESSION, message });
    this.said.push(message);
  }

  /** Brings in what was said elsewhere, page by page. */
  async bring(messages: readonly UIMessage[]): Promise<void> {
    const agent = await this.#connect();
    for (let from = 0; from < messages.length; from += PAGE) {
      const page = messages.slice(from, from + PAGE);
      await agent.call("appendAll", { sessionId: SESSION, messages: page });
      this.said.push(...page);
    }
  }

  /** Talks until the next message will outgrow the threshold. */
  async approach(): Promise<void> {
    const agent = await this.#connect();
    let viewTokens = 0;
    while (viewTokens + measureMessage(messageNumber(this.said.length), estimateTokens).tokens <= THRESHOLD) {
      await this.say();
      ({ viewTokens } = await agent.call("status", { sessionId: SESSION }));
    }
  }

  /** Ends the Worker, then silence: the connection would otherwise dial again and wake the agent. */
  async kill(signal?: "SIGKILL" | "SIGINT"): Promise<void> {
    await this.#worker.kill(signal);
    this.#agent?.close();
    this.#agent = null;
  }

  async restart(): Promise<void> {
    await this.#worker.start();
  }

  ledger(): Promise<Ledger> {
    return readLedger(this.#stateDir);
  }

  /** Waits, without a word to the agent, until its database is as it should be. */
  until(is: (ledger: Ledger) => boolean): Promise<Ledger> {
    return until(
      async () => {
        const ledger = await this.ledger();
        if (!is(ledger)) throw new Error("It is not as it should be yet.");
        return ledger;
      },
      { withinMs: DEADLINE, everyMs: 50 },
    );
  }

  /** Waits, without a word to the agent, until every run in its database has an outcome. */
  untilEnded(): Promise<Ledger> {
    return this.until(({ runs }) => runs.every((run) => run.outcome !== null));
  }

  /** Waits until the summariser was called this often, in all. */
  async untilAsked(calls: number): Promise<void> {
    await until(
      () => {
        if (this.model.asked.length < calls) throw new Error(`Asked ${this.model.asked.length} of ${calls} times.`);
      },
      { withinMs: DEADLINE, everyMs: 10 },
    );
  }

  /** The agent as it is after all: asked only when nothing is left to happen. Of what was said, every `nth` message. */
  async look(nth = 1): Promise<{
    view: View;
    stored: (UIMessage | null)[];
    status: SessionStatus;
    overlays: OverlayRecord[];
  }> {
    const agent = await this.#connect();
    const sessionId = SESSION;
    return {
      view: await agent.call("getView", { sessionId }),
      stored: await Promise.all(everyNth(this.said, nth).map(({ id }) => agent.call("getMessage", { sessionId, id }))),
      status: await agent.call("status", { sessionId }),
      overlays: await agent.call("getCompactions", { sessionId }),
    };
  }
}

/** What the first of these resolves with, once there is one. */
async function untilFirst<T>(deaths: readonly Promise<T>[]): Promise<T> {
  const [first] = await until(
    () => {
      if (deaths.length === 0) throw new Error("The moment to kill did not come.");
      return deaths;
    },
    { withinMs: DEADLINE, everyMs: 10 },
  );
  return first as Promise<T>;
}

export function everyNth<T>(all: readonly T[], nth: number): T[] {
  return all.filter((_, index) => index % nth === 0);
}

/** About 110 tokens, unlike any other. */
function messageNumber(n: number): UIMessage {
  const text = `Step ${n}: src/part-${n}.ts now keeps its promise number ${n}, and its test says so. `.repeat(5);
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}
