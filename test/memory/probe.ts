/** A memory over a fresh Durable Object's real SQLite with its meter, and messages for it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import type { Draft } from "../../src/memory/drafts.ts";
import type { History } from "../../src/memory/messages/history.ts";
import { NO_FACTS } from "../../src/facts/fact.ts";
import { Memory, type MemoryOptions } from "../../src/memory/memory.ts";
import { MessageSearch } from "../../src/recall/search.ts";
import { Db, type Meter } from "../../src/memory/db.ts";
import { WHOLE_MESSAGE, type Span } from "../../src/steps/plan/outline.ts";
import { rowsOf } from "../rows.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

let made = 0;

/** A memory with search, as the room of recall makes it. */
export class SearchedMemory extends Memory {
  readonly #searched: MessageSearch;

  constructor(db: Db, options: MemoryOptions) {
    super(db, options);
    this.#searched = new MessageSearch(db, (sessionId, row) => this.readContent(sessionId, row));
  }

  get search(): MessageSearch {
    return this.#searched;
  }
}

function openMemory(storage: DurableObjectStorage, now: number): SearchedMemory {
  return new SearchedMemory(new Db(storage), { counterOf: () => estimateTokens, now: () => now });
}

export interface Probe {
  readonly storage: DurableObjectStorage;
  readonly memory: SearchedMemory;
  /** The default session. */
  readonly history: History;
  /** Rows that the work read and wrote. */
  readonly cost: (work: () => unknown) => Meter;
  /** Another memory over the same storage, as a wake-up creates it. */
  readonly reopen: () => SearchedMemory;
}

/** Runs a test inside a Durable Object of its own. */
export async function withProbe<T>(test: (probe: Probe) => T): Promise<T> {
  const probes = (env as unknown as { StorageProbe: DurableObjectNamespace }).StorageProbe;
  const stub = probes.get(probes.idFromName(`probe-${made++}`));
  return runInDurableObject(stub, (_object, { storage }) => {
    const memory = openMemory(storage, 1_000);
    return test({
      storage,
      memory,
      history: memory.session(""),
      cost: (work) => measure(memory, work),
      reopen: () => openMemory(storage, 2_000),
    });
  });
}

export function measure(memory: Memory, work: () => unknown): Meter {
  const before = { ...memory.db.meter };
  work();
  const { rowsRead, rowsWritten } = memory.db.meter;
  return { rowsRead: rowsRead - before.rowsRead, rowsWritten: rowsWritten - before.rowsWritten };
}

/** Long enough that a short summary is smaller than any of them. */
export function say(id: string, text = `message ${id} `.repeat(20)): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

/** An assistant message of several steps. */
export function steps(id: string, ...texts: readonly string[]): UIMessage {
  const parts = texts.flatMap((text) => [
    { type: "step-start" as const },
    { type: "text" as const, text: `${text} `.repeat(80) },
  ]);
  return { id, role: "assistant", parts };
}

/** Whole messages, or only steps of the first and last of them. */
export function span(
  fromId: string,
  toId: string,
  steps: readonly [from: number, to: number] = [0, WHOLE_MESSAGE],
): Span {
  return { fromId, fromStep: steps[0], toId, toStep: steps[1] };
}

/** Appends `m<first>` to `m<last>`. */
export function fill(history: History, first: number, last: number): void {
  for (let n = first; n <= last; n++) history.append(say(`m${n}`));
}

/** The view as short words. A message is its id, an overlay is `[summary]`, a part of a message is `id:from-to`. */
export function shown(history: History, leafId?: string): string[] {
  return history.view(leafId).elements.map((element) => {
    if (element.kind === "overlay") return `[${history.overlays.get(element.id)?.summary ?? "?"}]`;
    if (element.fromStep === 0 && element.toStep === WHOLE_MESSAGE) return element.id;
    return `${element.id}:${element.fromStep}-${element.toStep === WHOLE_MESSAGE ? "" : element.toStep}`;
  });
}

/** Row counts of every table, for tests that look for leftovers. */
export function dump(storage: DurableObjectStorage, sessionId: string): Record<string, number> {
  const tables = ["messages", "message_parts", "fingerprints", "overlays", "drafts"];
  return Object.fromEntries(
    tables.map((table) => {
      const rows = rowsOf(storage, `palimpsest_${table}`);
      return [table, rows.filter((row) => row["session_id"] === sessionId).length];
    }),
  );
}

export function draft(key: string, text: string): Draft {
  const told = { model: "m", finishReason: "stop", inputTokens: 1, outputTokens: 1, degraded: false, problems: [] };
  return { key, text, tokens: 1, ...told, generation: 1, facts: NO_FACTS, unfounded: [] };
}
