/**
 * The requests that an agent sends to its model over a conversation, and the part of each that the provider's prompt cache still holds.
 *
 * Pure. A request holds the view and the earlier steps of the same message. The cache is assumed to hold the previous request, and to be
 * read as far as both requests begin alike, in whole steps.
 */
import type { UIMessage } from "ai";
import { measureMessage, messageSteps } from "../../src/steps/message/message.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export interface Sent {
  readonly requests: number;
  /** Tokens of all requests, `cached` and `written` together. */
  readonly tokens: number;
  /** Tokens read from the cache. */
  readonly cached: number;
  /** Tokens written to the cache. */
  readonly written: number;
  /** Tokens of the model's answers, with text, reasoning and calls. */
  readonly answered: number;
  /** Tokens of the largest request. */
  readonly peak: number;
}

/** A step of a prompt, as a provider compares it. */
interface Unit {
  readonly key: string;
  readonly tokens: number;
}

const NOTHING: Sent = { requests: 0, tokens: 0, cached: 0, written: 0, answered: 0, peak: 0 };

export class Requests {
  #view: Unit[] = [];
  #last: readonly Unit[] = [];
  #sent: Sent = NOTHING;

  get sent(): Sent {
    return this.#sent;
  }

  /** Replaces the view after a compaction. */
  look(view: readonly UIMessage[]): void {
    this.#view = view.flatMap(unitsOf);
  }

  /** Adds a message to the view. Each step of an assistant's message answers one request. */
  add(message: UIMessage): void {
    const units = unitsOf(message);
    if (message.role === "assistant") {
      units.forEach((_, step) => this.#send([...this.#view, ...units.slice(0, step)]));
      this.#sent = { ...this.#sent, answered: this.#sent.answered + answeredIn(message) };
    }
    this.#view = [...this.#view, ...units];
  }

  #send(prompt: readonly Unit[]): void {
    const differs = prompt.findIndex(({ key }, at) => key !== this.#last[at]?.key);
    const tokens = weigh(prompt);
    const cached = weigh(differs === -1 ? prompt : prompt.slice(0, differs));
    this.#last = prompt;
    const { requests, peak, ...sums } = this.#sent;
    this.#sent = {
      ...this.#sent,
      requests: requests + 1,
      tokens: sums.tokens + tokens,
      cached: sums.cached + cached,
      written: sums.written + tokens - cached,
      peak: Math.max(peak, tokens),
    };
  }
}

function unitsOf(message: UIMessage): Unit[] {
  const { steps } = measureMessage(message, estimateTokens);
  return messageSteps(message).map((parts, step) => ({
    key: `${message.role} ${JSON.stringify(parts)}`,
    tokens: steps[step] ?? 0,
  }));
}

/** Tokens of a message without the outputs of its tools. */
function answeredIn(message: UIMessage): number {
  const parts = message.parts.map((part) =>
    "toolCallId" in part ? ({ ...part, output: "", errorText: undefined } as typeof part) : part,
  );
  return measureMessage({ ...message, parts }, estimateTokens).tokens;
}

function weigh(units: readonly Unit[]): number {
  return units.reduce((sum, { tokens }) => sum + tokens, 0);
}
