/**
 * The embedding model of one agent, which is called within a time and a budget of tokens.
 *
 * A failure is a value. Nobody who asks by meaning waits for a model that is down: after a failure it is left alone, for longer each time.
 */
import type { Core } from "../agent/core.ts";
import type { ByMeaning } from "../agent/recalled.ts";
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { MAX_NAME_CHARS } from "../limits.ts";
import { utcDay } from "../steps/decide/decide.ts";
import type { EmbeddingStatements } from "./pages.ts";

/** What a text is, because some models read a question in another way than the texts that may answer it. */
export interface EmbedCall {
  readonly purpose: "query" | "passage";
  /** Aborted when the call takes too long. */
  readonly signal: AbortSignal;
}

/** Returns a vector for each text, all of one length. Any error means that the model did not answer. */
export type Embed = (
  texts: readonly string[],
  call: EmbedCall,
) => Promise<readonly (readonly number[] | Float32Array)[]>;

/** A model that turns texts into vectors. */
export interface EmbeddingModel {
  /** Its name. Vectors of another name are never compared with its own, and are made again. */
  readonly model: string;
  readonly embed: Embed;
}

export interface EmbeddingsOptions extends EmbeddingModel {
  /** Most tokens that the model reads in one agent and UTC day, by estimate. Default 5,000,000. */
  readonly dayTokens?: number | undefined;
}

/** Default tokens a day, some 20,000 messages of two hundred words. */
export const DEFAULT_EMBEDDING_TOKENS = 5_000_000;

export type CheckedOptions = Required<EmbeddingsOptions> & { readonly dayTokens: number };

/** Throws `invalid_options`. */
export function checkOptions(options: EmbeddingsOptions): CheckedOptions {
  checkFields("embeddings", options, { model: true, embed: true, dayTokens: true });
  const given: Partial<EmbeddingsOptions> | undefined = options;
  const { model, embed, dayTokens = DEFAULT_EMBEDDING_TOKENS } = given ?? {};
  if (typeof model !== "string" || model === "" || model.length > MAX_NAME_CHARS) {
    throw invalid(`embeddings: model is the model's name, a text of 1 to ${MAX_NAME_CHARS} characters.`);
  }
  if (typeof embed !== "function") {
    throw invalid("embeddings: embed is a function that takes texts and returns a vector for each.");
  }
  if (!Number.isSafeInteger(dayTokens) || dayTokens < 0) {
    throw invalid(`embeddings: dayTokens is ${inWords(dayTokens)}: give a whole number of at least 0.`);
  }
  return { model, embed, dayTokens };
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}

/** The default model of Workers AI. It reads a hundred languages. */
const DEFAULT_MODEL = "@cf/baai/bge-m3";

/** A Worker's `AI` binding, as far as it is used here. */
export interface EmbeddingBinding {
  run(model: string, input: { text: string[] }): Promise<unknown>;
}

/** The model of a binding, as in `embeddings(workersAiEmbeddings(env.AI))`. Makes no request. */
export function workersAiEmbeddings(binding: EmbeddingBinding, model = DEFAULT_MODEL): EmbeddingModel {
  return {
    model,
    embed: async (texts) => {
      const answer = await binding.run(model, { text: [...texts] });
      const { data } = (answer ?? {}) as { readonly data?: readonly (readonly number[])[] };
      return data ?? [];
    },
  };
}

/** Longest time of one call (ms). A model waits for the answer of `recall`. */
const CALL_MS = 10_000;
/** The first pause after a failure (ms). Each further failure doubles it, up to the longest. */
export const PAUSE_MS = 15_000;
const LONGEST_PAUSE_MS = 600_000;
/** Most dimensions of a vector, so that the vectors of a page fit into one row. No usual model has more. */
export const MAX_DIMENSIONS = 3_072;

/** Vectors for texts, or why there are none. */
export type Embedded =
  | { readonly kind: "vectors"; readonly vectors: readonly (readonly number[])[]; readonly tokens: number }
  | Extract<ByMeaning, { kind: "failed" }>;

export class Provider {
  readonly #core: Core;
  readonly #sql: EmbeddingStatements;
  readonly #options: CheckedOptions;
  /** Questions are asked although the model refuses a message. */
  readonly #down = { query: { failures: 0, until: 0 }, passage: { failures: 0, until: 0 } };

  constructor(core: Core, sql: EmbeddingStatements, options: CheckedOptions) {
    this.#core = core;
    this.#sql = sql;
    this.#options = options;
  }

  get model(): string {
    return this.#options.model;
  }

  /** Calls the model once. The caller stores the vectors and {@link count}s their tokens. */
  async embed(sessionId: string, texts: readonly string[], purpose: EmbedCall["purpose"]): Promise<Embedded> {
    const now = this.#core.platform.now();
    const down = this.#down[purpose];
    if (now < down.until) return { kind: "failed", reason: "paused" };
    const countTokens = this.#core.settings.counterOf(sessionId);
    const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
    if (this.#sql.spend(utcDay(now)) + tokens > this.#options.dayTokens) return { kind: "failed", reason: "budget" };
    const answer = await this.#call(texts, purpose);
    const vectors = answer === null ? null : readVectors(answer, texts.length);
    if (vectors === null) {
      down.until = this.#core.platform.now() + Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** down.failures++);
      return { kind: "failed", reason: answer === null ? "no-answer" : "bad-answer" };
    }
    down.failures = 0;
    return { kind: "vectors", vectors, tokens };
  }

  /** Adds tokens to today's costs, and to the session's unless it was deleted meanwhile (S2). Call it inside a transaction. */
  count(sessionId: string, tokens: number): void {
    this.#sql.addSpend(utcDay(this.#core.platform.now()), tokens);
    if (this.#core.memory.statements.session(sessionId) === undefined) return;
    const summariser = { inputTokens: tokens, outputTokens: 0 };
    this.#core.rooms.counted?.(sessionId, { model: this.model, summariser });
  }

  /** Null when the model did not answer in time. */
  async #call(texts: readonly string[], purpose: EmbedCall["purpose"]): Promise<{ readonly answer: unknown } | null> {
    const call = new AbortController();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const error = new Error(`The embedding model did not answer within ${CALL_MS} ms.`);
      call.abort(error);
      reject(error);
    }, CALL_MS);
    try {
      const answer = (async (): Promise<unknown> => this.#options.embed(texts, { purpose, signal: call.signal }))();
      return { answer: await Promise.race([answer, late]) };
    } catch {
      // Its words may quote the conversation, so they are not kept.
      return null;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Null for anything else than a vector of the same length for each text. */
function readVectors({ answer }: { readonly answer: unknown }, count: number): number[][] | null {
  if (!Array.isArray(answer) || answer.length !== count) return null;
  const vectors: number[][] = [];
  for (const each of answer as unknown[]) {
    if (!Array.isArray(each) && !(each instanceof Float32Array)) return null;
    const vector = [...(each as Iterable<unknown>)];
    if (!vector.every(isFiniteNumber)) return null;
    vectors.push(vector);
  }
  const size = vectors[0]?.length ?? 0;
  return size > 0 && size <= MAX_DIMENSIONS && vectors.every(({ length }) => length === size) ? vectors : null;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
