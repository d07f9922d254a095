/**
 * Drives one store through the operations under test, inside its Durable Object.
 *
 * Job: the same numbered messages, the same operations in the same order, whoever stores them. Rows are counted in one
 * pass and times taken in another, so that counting costs no time.
 */
import type { UIMessage } from "ai";
import { timed } from "./clock.ts";
import { messageAt, messagesBetween } from "./messages.ts";
import type { Meter, Rows } from "./meter.ts";

/** A conversation store, as its users call it. */
export interface Contender {
  append(message: UIMessage): Promise<unknown>;
  /** Stores many by the shortest public way: how a conversation came to be long is not what is measured. */
  appendAll(messages: readonly UIMessage[]): Promise<unknown>;
  addSummary(summary: string, fromId: string, toId: string): Promise<unknown>;
  /** Reads what a model would be sent. */
  view(): Promise<readonly UIMessage[]>;
  update(message: UIMessage): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  branches(id: string): Promise<unknown>;
  /** Looks for words that stand side by side. */
  search(phrase: string): Promise<readonly unknown[]>;
  /** Makes a new session of the path up to a message; null for a store that has none. */
  readonly fork: ((atId: string) => Promise<unknown>) | null;
  /** Makes it compact by itself, with a summariser that needs `delayMs`. Returns how many compactions were begun since. */
  compactAfter(tokens: number, delayMs: number): () => number;
}

export type Operation = "view" | "branches" | "update" | "delete" | "append" | "search" | "fork";

/** What may be asked of a rig from outside its object: a method, and what it takes. */
export type RigMethods = Pick<Rig, "fill" | "prepare" | "count" | "time" | "appendWhileSummarising">;
export type Asked = {
  [Name in keyof RigMethods]: [name: Name, ...args: Parameters<RigMethods[Name]>];
}[keyof RigMethods];

/** Tokens that are looked at after every append, and never reached. */
export const NEVER = 1_000_000_000;
/** Tokens: a conversation of 40 messages is over it. */
const THRESHOLD_TOKENS = 3_000;
const BATCH = 1_000;
/** Messages shown before and after the summary: with it, 14 are visible. */
const HEAD = 3;
const TAIL = 10;

export class Rig {
  readonly #contender: Contender;
  readonly #meter: Meter;
  readonly #storage: DurableObjectStorage;
  #last = 0;
  #revision = 0;

  constructor(ctx: DurableObjectState, meter: Meter, contender: Contender) {
    this.#storage = ctx.storage;
    this.#meter = meter;
    this.#contender = contender;
  }

  answer([name, ...args]: Asked): Promise<unknown> {
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

  /** Rows of each of `times` operations; none when the store has no such operation. */
  async count(operation: Operation, times: number): Promise<Rows[]> {
    if (operation === "fork" && this.#contender.fork === null) return [];
    const rows: Rows[] = [];
    for (let time = 0; time < times; time++) {
      const work = await this.#next(operation);
      rows.push(await this.#meter.count(work));
    }
    return rows;
  }

  /** Milliseconds of each of `times` operations. */
  async time(operation: Operation, times: number): Promise<number[]> {
    const ms: number[] = [];
    for (let time = 0; time < times; time++) {
      const work = await this.#next(operation);
      ms.push(await timed(work));
    }
    return ms;
  }

  /** Appends while it compacts by itself. Milliseconds of each, and how many compactions were begun. */
  async appendWhileSummarising(delayMs: number, times: number): Promise<{ ms: number[]; begun: number }> {
    const begun = this.#contender.compactAfter(THRESHOLD_TOKENS, delayMs);
    const ms = await this.time("append", times);
    return { ms, begun: begun() };
  }

  /** What is to be measured, with everything that must be there first done already. */
  async #next(operation: Operation): Promise<() => Promise<unknown>> {
    const contender = this.#contender;
    const last = await this.#readLast();
    if (operation === "view") return () => contender.view();
    if (operation === "branches") return () => contender.branches(`m${last - 2}`);
    if (operation === "update") return () => contender.update(messageAt(last, ++this.#revision));
    if (operation === "search") return () => searchOne(contender, Math.floor(last / 2));
    if (operation === "fork") return async () => contender.fork?.(`m${last}`);
    const next = messageAt(last + 1);
    if (operation === "append") {
      await this.#keepLast(last + 1);
      return () => contender.append(next);
    }
    // The newest one: 0.20 loses all that came before a message that is deleted from the middle.
    await contender.append(next);
    return () => contender.remove(next.id);
  }

  /** Beside the store, because an evicted object forgets. */
  async #readLast(): Promise<number> {
    if (this.#last === 0) this.#last = (await this.#storage.get<number>("bench:last")) ?? 0;
    return this.#last;
  }

  async #keepLast(last: number): Promise<void> {
    this.#last = last;
    await this.#storage.put("bench:last", last);
  }
}

/** Looks for the one message that holds this number. */
async function searchOne(contender: Contender, n: number): Promise<void> {
  const hits = await contender.search(`Message ${n}`);
  if (hits.length !== 1) throw new Error(`Message ${n} was found ${hits.length} times.`);
}
