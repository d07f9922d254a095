/**
 * Drives one store through the operations under test, inside its Durable Object.
 *
 * Every store gets the same numbered messages and the same operations in the same order. Rows are counted in one pass and times taken in
 * another, so that counting costs no time.
 */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/message/message.ts";
import { batchOf, MOST_APPENDED, MOST_AT_ONCE, WARM_UPS } from "./batch.ts";
import { readAgain, timed } from "./clock.ts";
import { messageAt, messagesBetween } from "./messages.ts";
import type { Meter, Rows } from "./meter.ts";
import { countCalls, UNSOUND } from "./summariser.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

/** A conversation store, as its users call it. */
export interface Contender {
  append(message: UIMessage): Promise<unknown>;
  /** Stores many by the shortest public way, because the storing itself is not measured. */
  appendAll(messages: readonly UIMessage[]): Promise<unknown>;
  addSummary(summary: string, fromId: string, toId: string): Promise<unknown>;
  /** Reads the messages for a model. */
  view(): Promise<readonly UIMessage[]>;
  update(message: UIMessage): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  branches(id: string): Promise<unknown>;
  /** Searches for words that stand side by side. */
  search(phrase: string): Promise<readonly unknown[]>;
  /** Makes a new session of the path up to a message. Null for a store without forks. */
  readonly fork: ((atId: string) => Promise<unknown>) | null;
  /**
   * Makes it compact automatically over `tokens`, with the summariser of its object's name, and keep the newest `keptTokens`. The returned
   * function resolves when no compaction is live.
   */
  compactAfter(tokens: number, keptTokens: number): () => Promise<void>;
}

/** `start` is what the object does when it wakes, before its first call. */
export type Counted = Operation | "start";
export type Operation = "view" | "branches" | "update" | "delete" | "append" | "search" | "fork";

export interface Timing {
  readonly times: number;
  /** Length of one time in ms. Consecutive operations fill it. Each time is one operation where it is 0. */
  readonly stretchMs: number;
}

export interface Appending {
  readonly thresholdTokens: number;
  readonly times: number;
  /** Counts `times` only from the end of the first compaction that asks its summariser. Any number of appends comes before. */
  readonly pastEnd?: boolean;
  /** From the start of one append to the start of the next (ms). Appends that are due during a longer one are left out. */
  readonly everyMs: number;
}

export interface Behind {
  /** Of each append. */
  readonly ms: readonly number[];
  /**
   * From when each append was due until it was done. An append that came too late to begin, because another one or other work held the
   * object, counts as done with the next one. No message could have been stored before that.
   */
  readonly dueMs: readonly number[];
  /** Largest delay of an append's start (ms) while no append was running, because other work held the object. */
  readonly latestMs: number;
  /** Calls of the summariser. */
  readonly calls: number;
  readonly viewTokens: number;
  /** Whether an unsound answer stands in the view. */
  readonly unsound: boolean;
}

/** The methods of a rig that may be called from outside its object. */
export type RigMethods = Pick<Rig, "fill" | "prepare" | "count" | "time" | "open" | "appendBehind">;
export type Asked = {
  [Name in keyof RigMethods]: [name: Name, ...args: Parameters<RigMethods[Name]>];
}[keyof RigMethods];

/** A threshold in tokens that is checked after every append and never reached. */
export const NEVER = 1_000_000_000;
/** Share of a threshold that is kept of the newest messages, which is our default. */
const KEPT_SHARE = 1 / 3;
const BATCH = 1_000;
/** Longer than any awaited compaction (ms). Without this limit, appends would never end. */
const MOST_MS = 60_000;
/** Messages shown before and after the summary. Together with it, 14 are visible. */
const HEAD = 3;
const TAIL = 10;

type Works = readonly [() => Promise<unknown>, ...(() => Promise<unknown>)[]];

export class Rig {
  readonly #contender: Contender;
  readonly #meter: Meter;
  readonly #storage: DurableObjectStorage;
  readonly #name: () => string;
  /** Time of one operation at its last measurement (ms). */
  readonly #each = new Map<Operation, number>();
  /** Operations that were warmed up since the object woke. A first operation after an eviction is slower. */
  readonly #warm = new Set<Operation>();
  /** Null where it was not counted. */
  #start: Rows | null = null;
  #last = 0;
  #revision = 0;

  constructor(ctx: DurableObjectState, meter: Meter, contender: Contender) {
    this.#storage = ctx.storage;
    this.#name = () => ctx.id.name ?? "";
    this.#meter = meter;
    this.#contender = contender;
  }

  answer([name, ...args]: Asked): Promise<unknown> {
    this.#start ??= this.#meter.takeStart();
    const method = this[name] as (...args: readonly unknown[]) => Promise<unknown>;
    return method.apply(this, args);
  }

  /** Stores `size` messages. */
  async fill(size: number): Promise<void> {
    for (let first = 1; first <= size; first += BATCH) {
      await this.#contender.appendAll(messagesBetween(first, Math.min(size, first + BATCH - 1)));
    }
    await this.#keepLast(size);
  }

  /** Stores `size` messages, all but 13 of them under one summary. Returns how many the view shows. */
  async prepare(size: number): Promise<number> {
    await this.fill(size);
    await this.#contender.addSummary("What was said before.", `m${HEAD + 1}`, `m${size - TAIL}`);
    return (await this.#contender.view()).length;
  }

  /**
   * Rows of each of `times` operations. Empty when the store has no such operation. `start` exists where the object's name says `start`.
   */
  async count(operation: Counted, times: number): Promise<Rows[]> {
    if (operation === "start") return this.#start === null ? [] : [this.#start];
    if (!this.#has(operation)) return [];
    const rows: Rows[] = [];
    for (let time = 0; time < times; time++) {
      const [work] = await this.#next(operation, 1);
      rows.push(await this.#meter.count(work));
    }
    return rows;
  }

  /** Milliseconds of one operation, `times` times. Empty when the store has no such operation. */
  async time(operation: Operation, { times, stretchMs }: Timing): Promise<number[]> {
    if (!this.#has(operation)) return [];
    if (stretchMs > 0 && !this.#warm.has(operation)) await this.#warmUp(operation, stretchMs);
    const ms: number[] = [];
    for (let time = 0; time < times; time++) ms.push(await this.#stretch(operation, this.#batch(operation, stretchMs)));
    return ms;
  }

  /** Finds out how many operations fill a stretch. Also compiles the code and fills the store's caches before the first timed operation. */
  async #warmUp(operation: Operation, stretchMs: number): Promise<void> {
    this.#warm.add(operation);
    for (let time = 0; time < WARM_UPS; time++) await this.#stretch(operation, 1);
    const count = this.#batch(operation, stretchMs);
    if (count > 1) await this.#stretch(operation, count);
  }

  #batch(operation: Operation, stretchMs: number): number {
    const most = operation === "append" || operation === "delete" ? MOST_APPENDED : MOST_AT_ONCE;
    return batchOf(this.#each.get(operation) ?? stretchMs, { stretchMs, most });
  }

  /** Reads the view and returns how many messages it shows, for a caller that times it from outside. */
  async open(): Promise<number> {
    return (await this.#contender.view()).length;
  }

  /** Appends while the store compacts automatically. Reads the view when no compaction is live any more. */
  async appendBehind({ thresholdTokens, times, everyMs, pastEnd = false }: Appending): Promise<Behind> {
    const settle = this.#contender.compactAfter(thresholdTokens, Math.floor(thresholdTokens * KEPT_SHARE));
    const isOver = this.#watchEnd(settle);
    const ms: number[] = [];
    const dueMs: number[] = [];
    let latestMs = 0;
    let dues: number[] = [];
    const start = Date.now();
    for (let n = 0, left = times; left > 0; n++) {
      const due = start + n * everyMs;
      const missed = everyMs > 0 && due <= Date.now() - everyMs;
      if (!pastEnd || (isOver() && !missed)) left -= 1;
      if (pastEnd && Date.now() - start > MOST_MS) throw new Error("No compaction came to its end.");
      dues.push(due);
      if (missed) continue;
      // Prepared before the wait, so that the rig's own writes are no part of an append and delay none.
      const [append] = await this.#next("append", 1);
      if (due > Date.now()) {
        await sleep(due - Date.now());
        latestMs = Math.max(latestMs, Date.now() - due);
      }
      const begun = Date.now();
      const took = await timed(append);
      ms.push(took);
      dueMs.push(...dues.map((each) => begun - each + took));
      dues = [];
    }
    await settle();
    const view = await this.#contender.view();
    return {
      ms,
      dueMs,
      latestMs,
      calls: countCalls(this.#name()),
      viewTokens: view.reduce((sum, message) => sum + measureMessage(message, estimateTokens).tokens, 0),
      unsound: view.some(({ parts }) => JSON.stringify(parts).includes(UNSOUND)),
    };
  }

  /** Returns whether the first compaction that asked its summariser has ended. Call it before each append. */
  #watchEnd(settle: () => Promise<void>): () => boolean {
    let state: "none" | "at work" | "over" = "none";
    const end = (): void => void (state = "over");
    return () => {
      if (state === "none" && countCalls(this.#name()) > 0) {
        state = "at work";
        // An error of a compaction is raised again where all of them are awaited.
        void settle().then(end, end);
      }
      return state === "over";
    };
  }

  #has(operation: Operation): boolean {
    return operation !== "fork" || this.#contender.fork !== null;
  }

  /** Milliseconds of one operation out of a stretch of consecutive ones. */
  async #stretch(operation: Operation, count: number): Promise<number> {
    const works = await this.#next(operation, count);
    readAgain();
    const ms = await timed(async () => {
      for (const work of works) await work();
    });
    this.#each.set(operation, ms / count);
    return ms / count;
  }

  /** Prepares `count` times the same operation. Everything that it needs is done already. */
  async #next(operation: Operation, count: number): Promise<Works> {
    const contender = this.#contender;
    const last = await this.#readLast();
    const each = (work: (n: number) => Promise<unknown>): Works => [
      () => work(1),
      ...Array.from({ length: count - 1 }, (_, at) => () => work(at + 2)),
    ];
    if (operation === "view") return each(() => contender.view());
    if (operation === "branches") return each(() => contender.branches(`m${last - 2}`));
    if (operation === "search") return each(() => searchOne(contender, Math.floor(last / 2)));
    if (operation === "fork") return each(async () => contender.fork?.(`m${last}`));
    if (operation === "update") {
      const revision = this.#revision;
      this.#revision += count;
      return each((n) => contender.update(messageAt(last, revision + n)));
    }
    const appended = messagesBetween(last + 1, last + count);
    if (operation === "append") {
      await this.#keepLast(last + count);
      return each((n) => contender.append(appended[n - 1] ?? messageAt(last + n)));
    }
    for (const message of appended) await contender.append(message);
    // The newest first, because 0.20 loses all messages before one that is deleted from the middle.
    return each((n) => contender.remove(`m${last + count + 1 - n}`));
  }

  /** Stored beside the store, because an evicted object forgets. */
  async #readLast(): Promise<number> {
    if (this.#last === 0) this.#last = (await this.#storage.get<number>("bench:last")) ?? 0;
    return this.#last;
  }

  async #keepLast(last: number): Promise<void> {
    this.#last = last;
    await this.#storage.put("bench:last", last);
  }
}

async function sleep(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Searches for the one message with this number. */
async function searchOne(contender: Contender, n: number): Promise<void> {
  const hits = await contender.search(`Message ${n}`);
  if (hits.length !== 1) throw new Error(`Message ${n} was found ${hits.length} times.`);
}
