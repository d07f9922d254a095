/**
 * The agent's side of a continued prompt: the prompt that each session last sent to its model, in memory alone.
 *
 * After an eviction none is known, and summaries are asked for in the plain way. A prompt is taken from the very call to the provider, after
 * the provider began to answer it. An edit, a `clear` or a deletion since then makes it unknown.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";
import type { Methods, Extension, Installed } from "../agent/extension.ts";
import type { Core } from "../agent/core.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { PalimpsestError } from "../errors.ts";
import { DEFAULT_PRICES } from "../limits.ts";

/** Time (ms) for which a prompt counts as cached. Large providers keep one for five minutes after its last use. */
export const KEPT_FOR_MS = 240_000;
/** Most characters of a request. A larger one is not kept. */
const MAX_REQUEST_CHARS = 8_000_000;
/** Most prompts in memory, of the sessions that were last at work. A prompt of a large window takes a megabyte. */
const MAX_PROMPTS = 8;
/** The part of a call that a provider's prompt cache depends on. The abort signal is none, and would hold the whole request in memory. */
const CACHED_BY = ["prompt", "tools", "toolChoice", "reasoning", "providerOptions", "headers"] as const;

export type SentRequest = Pick<LanguageModelV4CallOptions, (typeof CACHED_BY)[number]>;

/** A model of any version that the AI SDK takes. Their prompts and tools have one form. */
export type AnyModel = Exclude<LanguageModel, string>;

/** The methods that the room adds to a session. */
export interface PromptCacheMethods extends Methods<SessionPrompts> {}

// A prompt is remembered by the agent's own code alone.
const NO_CALLS = {};

/** The room as an agent is declared with it. */
export interface PromptCacheExtension extends Extension<PromptCacheMethods, object, typeof NO_CALLS> {}

/** Remembers prompts, as in `withCompaction(Base, { rooms: [promptCache()] })`. */
export function promptCache(): PromptCacheExtension {
  return { name: "prompt-cache", calls: NO_CALLS, install };
}

function install(core: Core): Installed<PromptCacheMethods, object> {
  const sent = new SentPrompts(() => core.platform.now());
  const forget = (sessionId: string): void => sent.forget(sessionId);
  return {
    session: (state) => new SessionPrompts(state, sent),
    cleared: forget,
    deleted: forget,
    sent: (sessionId, model) => {
      const { secretRules, when } = core.settings.get(sessionId);
      // The prompt holds what redaction takes out of a summariser's input.
      if (secretRules !== null) return null;
      const request = sent.read(sessionId, model, core.memory.session(sessionId).lastEdit);
      return request === null ? null : { request, prices: when?.prices ?? DEFAULT_PRICES };
    },
  };
}

class SessionPrompts {
  readonly #state: SessionState;
  readonly #sent: SentPrompts;

  /** @internal */
  constructor(state: SessionState, sent: SentPrompts) {
    this.#state = state;
    this.#sent = sent;
  }

  /**
   * The same model, whose last prompt is remembered for this session's summaries, as in
   * `streamText({ model: session.rememberPrompt(model), … })`. Throws `invalid_input` for a name in place of a model.
   */
  rememberPrompt<M extends AnyModel>(model: M): M {
    // The name of a gateway's model is a string, and callers without types may pass one.
    if (typeof model === "string") {
      throw new PalimpsestError(
        "invalid_input",
        `rememberPrompt was given the name "${String(model)}": give the model itself, such as gateway("${String(model)}").`,
      );
    }
    const name = nameOf(model);
    const { id, core } = this.#state;
    const lastEdit = (): object => core.memory.session(id).lastEdit;
    let before: { readonly prompt: LanguageModelV4Prompt; readonly edit: object } | null = null;
    return wrapCalls(model, async (ask, options) => {
      const { prompt } = options;
      // A turn that sends its messages once more also sends those that were edited or cleared since.
      const now = lastEdit();
      const edit = before !== null && before.edit !== now && goesOn(before.prompt, prompt) ? before.edit : now;
      before = { prompt, edit };
      const remember = this.#sent.begin(id, name, options, edit);
      const answer = await ask(options);
      remember(lastEdit());
      return answer;
    });
  }
}

/** Whether a prompt begins with all of an earlier one. */
function goesOn(before: LanguageModelV4Prompt, prompt: LanguageModelV4Prompt): boolean {
  return before.every((message, at) => unmarked(message) === unmarked(prompt[at]));
}

/** A message without the marks of a cache, which move from one message to the next. */
function unmarked(message: unknown): string {
  return JSON.stringify(message, (name, value: unknown) => (name === "providerOptions" ? undefined : value));
}

interface SentPrompt {
  /** `provider:model`. */
  readonly model: string;
  /** JSON of a {@link SentRequest}, made at once, because a caller may change its objects later. */
  readonly request: string;
  /** The session's last edit when the prompt was made. */
  readonly edit: object;
  /** Epoch ms. */
  readonly at: number;
}

/** The prompts that an agent last sent to its models, one a session. */
export class SentPrompts {
  readonly #now: () => number;
  readonly #sent = new Map<string, SentPrompt>();

  constructor(now: () => number) {
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
    const request = encode(options);
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
    return this.#now() - at < KEPT_FOR_MS;
  }
}

/** Null for a request that JSON does not hold whole, such as one with the bytes of a file. */
function encode(options: LanguageModelV4CallOptions): string | null {
  const request = Object.fromEntries(CACHED_BY.map((name) => [name, options[name]]));
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

/** `provider:model`, by which a prompt and a model that continues it are compared. */
export function nameOf({ provider, modelId }: AnyModel): string {
  return `${provider}:${modelId}`;
}

type Ask = (options: LanguageModelV4CallOptions) => PromiseLike<unknown>;

/** The same model, except that `call` makes each of its calls by `ask`. */
export function wrapCalls<M extends AnyModel>(
  model: M,
  call: (ask: Ask, options: LanguageModelV4CallOptions) => PromiseLike<unknown>,
): M {
  return new Proxy(model, {
    get(target, name) {
      // Getters and methods run on the model itself, because they may use private fields.
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const own = value.bind(target) as Ask;
      const isCall = name === "doStream" || name === "doGenerate";
      return isCall ? (options: LanguageModelV4CallOptions) => call(own, options) : own;
    },
  });
}
