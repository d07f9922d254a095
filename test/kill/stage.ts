/**
 * The stage of a kill test and of the benchmark's kills. It has the deployable Worker, a held summariser, and one conversation that
 * outgrows its threshold.
 *
 * After a kill nothing here calls the agent until a test asks for it. The time after the restart is observed in the summariser's calls and
 * in the database file.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { DemoAgent } from "../../scripts/demo/agent.ts";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";
import type { SessionStatus } from "../../src/agent/sessions/session.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { View } from "../../src/memory/messages/visible.ts";
import { measureMessage } from "../../src/steps/message/message.ts";
import { readLedger, type Ledger } from "./ledger.ts";
import { ModelServer, type Asked } from "./model-server.ts";
import { until } from "./until.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

/** Makes a span of eight chunks. A kill finds two of them done, four in the summariser and two still waiting. */
const THRESHOLD = 3_000;
export const SMALL = { PALIMPSEST_MODEL_WINDOW: "32000", PALIMPSEST_CHUNK_TOKENS: "300" };
/** An update of notes reads all new messages at once, and is due long before a compaction, because one call reads no more than a chunk. */
export const NOTED = {
  PALIMPSEST_MODEL_WINDOW: "32000",
  PALIMPSEST_CHUNK_TOKENS: "3000",
  PALIMPSEST_NOTES: "1",
  PALIMPSEST_THRESHOLD: "8000",
};
/** Messages of one call, well under the limit of one WebSocket frame. */
const PAGE = 500;
const SESSION = "killed";
/** Busy-waits below this (ms), because timers know whole milliseconds and fire a little late. */
const SHORT_MS = 3;
/** Longest wait for anything that must happen on a busy machine (ms). */
const DEADLINE = 60_000;

export class Stage {
  readonly model: ModelServer;
  readonly said: UIMessage[] = [];
  readonly #worker: LocalWorker;
  readonly #stateDir: string;
  #agent: DemoAgent | null = null;

  private constructor(model: ModelServer, worker: LocalWorker, stateDir: string) {
    this.model = model;
    this.#worker = worker;
    this.#stateDir = stateDir;
  }

  /** `vars` are the Worker's. Without them the session has small numbers. */
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

  /**
   * Kills the Worker `delayMs` after the first answer that matches has left the summariser. Resolves when it is dead, with the milliseconds
   * from the answer to the signal.
   */
  async killBehindAnswer(isAimed: (asked: Asked) => boolean, delayMs: number): Promise<number> {
    const deaths: Promise<number>[] = [];
    this.model.onAnswered = (asked) => {
      if (deaths.length > 0 || !isAimed(asked)) return;
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
    this.#agent ??= await DemoAgent.connect(this.#worker.url, () => undefined);
    return this.#agent;
  }

  /** Appends one more message. Resolves when the Worker has confirmed that it is stored. */
  async say(): Promise<void> {
    const message = messageNumber(this.said.length);
    const agent = await this.#connect();
    await agent.call("append", { sessionId: SESSION, message });
    this.said.push(message);
  }

  /** Appends messages from elsewhere, page by page. */
  async bring(messages: readonly UIMessage[]): Promise<void> {
    const agent = await this.#connect();
    for (let from = 0; from < messages.length; from += PAGE) {
      const page = messages.slice(from, from + PAGE);
      await agent.call("appendAll", { sessionId: SESSION, messages: page });
      this.said.push(...page);
    }
  }

  /** Appends until the next message will cross the threshold. */
  async approach(): Promise<void> {
    const agent = await this.#connect();
    let viewTokens = 0;
    while (viewTokens + measureMessage(messageNumber(this.said.length), estimateTokens).tokens <= THRESHOLD) {
      await this.say();
      ({ viewTokens } = await agent.call("status", { sessionId: SESSION }));
    }
  }

  /** Ends the Worker and closes the connection, which would otherwise reconnect and wake the agent. */
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

  /** Waits, without calling the agent, until its database matches. */
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

  /** Waits, without calling the agent, until every run in its database has an outcome. */
  untilEnded(): Promise<Ledger> {
    return this.until(({ runs }) => runs.every((run) => run.outcome !== null));
  }

  /** Waits until the summariser had this many calls in all. */
  async untilAsked(calls: number): Promise<void> {
    await until(
      () => {
        if (this.model.asked.length < calls) throw new Error(`Asked ${this.model.asked.length} of ${calls} times.`);
      },
      { withinMs: DEADLINE, everyMs: 10 },
    );
  }

  /** Reads the agent's final state. It is called only when nothing is left to happen. Reads back every `nth` message. */
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

/** Resolves with the result of the first of these, once there is one. */
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

/** About 110 tokens, unlike any other message. */
function messageNumber(n: number): UIMessage {
  const text = `Step ${n}: src/part-${n}.ts now keeps its promise number ${n}, and its test says so. `.repeat(5);
  return { id: `m${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
}
