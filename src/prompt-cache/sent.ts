/**
 * The prompts that an agent last sent to its models, one a session, with the time of each.
 *
 * Kept in memory alone. After an eviction none is known, and summaries are asked for in the plain way. Safe because a prompt is taken from
 * the very call to the provider, after the provider began to answer it, and because a `clear` or a deletion forgets it. A call whose
 * messages are older than that brings nothing back.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";

const CACHED_BY = ["prompt", "tools", "toolChoice", "reasoning", "providerOptions", "headers"] as const;

/** The part of a call that a provider's prompt cache depends on. */
export type SentRequest = Pick<LanguageModelV4CallOptions, (typeof CACHED_BY)[number]>;

interface Sent {
  /** `provider:model`. */
  readonly model: string;
  /** JSON of a {@link SentRequest}, made at once, because a caller may change its objects later. */
  readonly request: string;
  /** The session's last edit when the prompt was made. */
  readonly edit: object;
  /** Epoch ms. */
  readonly at: number;
}

/** Most characters of a request. A larger one is not kept. */
const MAX_REQUEST_CHARS = 8_000_000;
/** Most prompts in memory, of the sessions that were last at work. A prompt of a large window takes a megabyte. */
const MAX_PROMPTS = 8;

export class SentPrompts {
  readonly #keptForMs: number;
  readonly #now: () => number;
  readonly #sent = new Map<string, Sent>();

  constructor(keptForMs: number, now: () => number) {
    this.#keptForMs = keptForMs;
    this.#now = now;
  }

  forget(sessionId: string): void {
    this.#sent.delete(sessionId);
  }

  /**
   * Call it before a request, with the session's last edit when its messages were read. Call the result once the provider began to answer,
   * with the last edit at that moment.
   */
  begin(sessionId: string, model: string, options: LanguageModelV4CallOptions, edit: object): (now: object) => void {
    const request = encode(cachedPart(options));
    return (now) => {
      if (now !== edit) return;
      for (const [id, { at }] of this.#sent) if (!this.#isKept(at)) this.#sent.delete(id);
      const { responseFormat, toolChoice } = options;
      // A model that must call a tool, or answer in JSON, writes no summary.
      const mayWrite = responseFormat?.type !== "json" && (toolChoice?.type ?? "auto") === "auto";
      this.#sent.delete(sessionId);
      if (mayWrite && request !== null) this.#sent.set(sessionId, { model, request, edit, at: this.#now() });
      const [oldest] = this.#sent.keys();
      if (this.#sent.size > MAX_PROMPTS && oldest !== undefined) this.#sent.delete(oldest);
    };
  }

  /** The request as JSON. Null where none is known since the last edit, or where the provider's cache holds it no more. */
  read(sessionId: string, model: string, edit: object): string | null {
    const sent = this.#sent.get(sessionId);
    return sent?.model === model && sent.edit === edit && this.#isKept(sent.at) ? sent.request : null;
  }

  #isKept(at: number): boolean {
    return this.#now() - at < this.#keptForMs;
  }
}

/** Without an abort signal, which would hold the whole request in memory. */
function cachedPart(options: LanguageModelV4CallOptions): SentRequest {
  return Object.fromEntries(CACHED_BY.map((name) => [name, options[name]])) as unknown as SentRequest;
}

/** Null for a request that JSON does not hold whole, such as one with the bytes of a file. */
function encode(request: SentRequest): string | null {
  let isWhole = true;
  try {
    const text = JSON.stringify(request, function check(this: Record<string, unknown>, name, value: unknown) {
      const held = this[name];
      if (held instanceof URL || held instanceof ArrayBuffer || ArrayBuffer.isView(held)) isWhole = false;
      return value;
    });
    return isWhole && text.length <= MAX_REQUEST_CHARS ? text : null;
  } catch {
    return null;
  }
}
