/**
 * The room of prompt caches. It remembers the prompt that the agent last sent, so that a summary can continue it.
 *
 * It stores nothing: what it remembers is in memory, for as long as a provider's cache holds it.
 */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { LanguageModel } from "ai";
import type { Methods } from "../agent/compose.ts";
import type { Core } from "../agent/core.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { DEFAULT_PRICES } from "../limits.ts";
import { wrapCalls } from "./wrap-calls.ts";
import { SentPrompts } from "./sent.ts";

/** Time (ms) for which a prompt counts as cached. Large providers keep one for five minutes after its last use. */
const KEPT_FOR_MS = 240_000;

export interface PromptCacheOptions {
  /** Time (ms) for which the provider keeps a prompt after it was last sent. Default four minutes. */
  readonly keptForMs?: number | undefined;
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
  rememberPrompt<M extends Exclude<LanguageModel, string>>(model: M): M {
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
  return before.every((message, at) => withoutMarks(message) === withoutMarks(prompt[at]));
}

/** A message without the marks of a cache, which move from one message to the next. */
function withoutMarks(message: unknown): string {
  return JSON.stringify(message, (name, value: unknown) => (name === "providerOptions" ? undefined : value));
}

/** `provider:model`, by which a prompt and a model that continues it are compared. */
export function nameOf({ provider, modelId }: Exclude<LanguageModel, string>): string {
  return `${provider}:${modelId}`;
}

/** The methods that the room adds to a session. */
export interface PromptCacheMethods extends Methods<SessionPrompts> {}

// A prompt is remembered by the agent's own code alone.
const NO_CALLS = {};

/** The room as an agent is declared with it. */
export interface PromptCacheExtension extends Extension<PromptCacheMethods, object, typeof NO_CALLS> {}

/** Remembers prompts, as in `withCompaction(Base, { rooms: [promptCache()] })`. Throws `invalid_options`. */
export function promptCache(options: PromptCacheOptions = {}): PromptCacheExtension {
  checkFields("promptCache", options, { keptForMs: true });
  const { keptForMs = KEPT_FOR_MS } = options;
  if (!Number.isFinite(keptForMs) || keptForMs <= 0) {
    throw new PalimpsestError(
      "invalid_options",
      `keptForMs is ${inWords(keptForMs)}: give the milliseconds for which your provider keeps a prompt, such as ${KEPT_FOR_MS}.`,
    );
  }
  return { name: "prompt-cache", calls: NO_CALLS, install: (core: Core) => install(core, keptForMs) };
}

function install(core: Core, keptForMs: number): Installed<PromptCacheMethods, object> {
  const sent = new SentPrompts(keptForMs, () => core.platform.now());
  const forget = (sessionId: string): void => sent.forget(sessionId);
  return {
    session: (state) => new SessionPrompts(state, sent),
    cleared: forget,
    deleted: forget,
    sent: (sessionId, model) => {
      const { secretRules } = core.settings.get(sessionId);
      // The prompt holds what redaction takes out of a summariser's input.
      if (secretRules !== null) return null;
      const request = sent.read(sessionId, model, core.memory.session(sessionId).lastEdit);
      const prices = core.settings.get(sessionId).when?.prices ?? DEFAULT_PRICES;
      return request === null ? null : { request, prices };
    },
  };
}
