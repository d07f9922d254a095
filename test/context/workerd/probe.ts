/** Context blocks over a fresh Durable Object's real SQLite. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { ToolSet } from "ai";
import { Contexts, type ContextsOptions } from "../../../src/context/blocks.ts";
import type { ContextBlocks } from "../../../src/context/blocks.ts";
import type { ContextProvider, WritableContextProvider } from "../../../src/context/provider.ts";
import { errorCode } from "../../../src/errors.ts";
import { Db, type Meter } from "../../../src/memory/db.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { rowsOf } from "../../rows.ts";

let made = 0;

export interface Probe {
  readonly storage: DurableObjectStorage;
  readonly contexts: Contexts;
  /** The default session's blocks. */
  readonly blocks: ContextBlocks;
  /** New contexts over the same storage, as a wake-up creates them. */
  readonly reopen: () => Contexts;
  /** Deletes a session, as the agent does it. */
  readonly forget: (sessionId: string) => void;
  readonly cost: (work: () => Promise<unknown>) => Promise<Meter>;
}

/** Runs a test inside a Durable Object of its own. */
export async function withContexts(
  test: (probe: Probe) => Promise<void>,
  given: Partial<ContextsOptions> = {},
): Promise<void> {
  const stub = env.StorageProbe.get(env.StorageProbe.idFromName(`contexts-${made++}`));
  const options = { counterOf: () => estimateTokens, ...given };
  await runInDurableObject(stub, async (_object, { storage }) => {
    const db = new Db(storage);
    const contexts = new Contexts(db, options);
    await test({
      storage,
      contexts,
      blocks: contexts.session(""),
      reopen: () => new Contexts(new Db(storage), options),
      forget: (sessionId) =>
        db.transaction(() => {
          db.tellForgotten(sessionId, "gone");
          contexts.forgetSession(sessionId);
        }),
      cost: async (work) => {
        const before = { ...db.meter };
        await work();
        const { rowsRead, rowsWritten } = db.meter;
        return { rowsRead: rowsRead - before.rowsRead, rowsWritten: rowsWritten - before.rowsWritten };
      },
    });
  });
}

/** A provider whose text a test sets. */
export function reads(text: () => string | null): ContextProvider {
  return { get: async () => text() };
}

/** A writable provider in memory that records its writes. */
export function writes(first: string | null = null): WritableContextProvider & { readonly written: string[] } {
  const written: string[] = [];
  return {
    written,
    get: async () => written.at(-1) ?? first,
    set: async (content) => void written.push(content),
  };
}

export function fails(): never {
  throw new Error("the store is down");
}

export async function codeOf(work: Promise<unknown> | (() => unknown)): Promise<string | undefined> {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    return errorCode(error);
  }
  return undefined;
}

/** Calls a tool as the AI SDK would, after validating the input with the tool's schema. */
export async function callTool(tools: ToolSet, name: string, input: Record<string, unknown>): Promise<string> {
  const called = tools[name];
  if (called?.execute === undefined) throw new Error(`There is no tool ${name}.`);
  const schema = called.inputSchema as unknown as { parse(value: unknown): never };
  const result: unknown = await called.execute(schema.parse(input), { toolCallId: "t", messages: [], context: {} });
  return String(result);
}

/** Number of rows of every table of context blocks. */
export function dump(storage: DurableObjectStorage): Record<string, number> {
  const tables = ["blocks", "prompts", "loaded_skills", "block_entries", "block_index"];
  return Object.fromEntries(tables.map((table) => [table, rowsOf(storage, `palimpsest_${table}`).length]));
}

export const NOTHING = { blocks: 0, prompts: 0, loaded_skills: 0, block_entries: 0, block_index: 0 };
