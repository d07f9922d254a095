/**
 * A conversation as steps with their tokens, and a view of it that is billed request by request, as a provider with a prompt
 * cache bills it.
 *
 * Makes no decision of a policy. A view is a list of items. An edit names the first item that it changes, and the next request reads the
 * items before it from the cache.
 */
import type { UIMessage } from "ai";
import { measureMessage, messageSteps, jsonText, toolPart } from "../../src/steps/message/message.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import type { Priced } from "../prices.ts";

/** A step of a conversation. */
export interface Step {
  readonly message: UIMessage;
  /** Index of its message, and its own index in that message. */
  readonly at: number;
  readonly step: number;
  readonly tokens: number;
  /** Tokens of the model's answer. 0 for a user's step. */
  readonly answered: number;
  readonly isRequest: boolean;
  /** Tokens of its outputs. */
  readonly outputTokens: number;
}

export function readSteps(messages: readonly UIMessage[]): Step[] {
  return messages.flatMap((message, at) => {
    const measured = measureMessage(message, estimateTokens);
    const bare = measureMessage({ ...message, parts: message.parts.map(withoutOutput) }, estimateTokens);
    return messageSteps(message).map((_parts, step): Step => {
      const tokens = measured.steps[step] ?? 0;
      const answered = bare.steps[step] ?? 0;
      const isRequest = message.role === "assistant";
      return {
        message,
        at,
        step,
        tokens,
        isRequest,
        answered: isRequest ? answered : 0,
        outputTokens: tokens - answered,
      };
    });
  });
}

function withoutOutput(part: UIMessage["parts"][number]): UIMessage["parts"][number] {
  const tool = toolPart(part);
  return tool === null || jsonText(tool.errorText ?? tool.output) === ""
    ? part
    : ({ ...part, output: "", errorText: undefined } as typeof part);
}

/** An item of a view. */
export interface Item {
  readonly tokens: number;
  /** Null for a summary, which is no step of the conversation. */
  readonly step: Step | null;
}

/** The result of a conversation under a policy. */
export interface Played {
  readonly bought: Required<Priced>;
  /** `largest` has the tokens of its largest call, with those that it reads from the cache. */
  readonly summariser: {
    readonly calls: number;
    readonly input: number;
    readonly output: number;
    readonly largest: number;
  };
  readonly edits: number;
  readonly peak: number;
  readonly requests: number;
}

export class BilledView {
  #items: Item[] = [];
  /** Tokens from the start of the view that the provider's cache holds. */
  #cached = 0;
  #sent = 0;
  #tokens = 0;
  readonly #bought = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  readonly #summariser = { calls: 0, input: 0, output: 0, largest: 0 };
  #edits = 0;
  #peak = 0;
  #requests = 0;

  get items(): readonly Item[] {
    return this.#items;
  }

  get tokens(): number {
    return this.#tokens;
  }

  /** Tokens from the start that the provider's cache holds. */
  get cached(): number {
    return this.#cached;
  }

  /** Number of items that the last request held, as far as they still stand. */
  get sent(): number {
    return this.#sent;
  }

  get played(): Played {
    const { input, output } = this.#bought;
    return {
      bought: { ...this.#bought, input, output },
      summariser: { ...this.#summariser },
      edits: this.#edits,
      peak: this.#peak,
      requests: this.#requests,
    };
  }

  /** Adds a step to the view. A model's step answers a request. */
  add(step: Step): void {
    if (step.isRequest) this.#send(step);
    this.#items.push(itemOf(step));
    this.#tokens += step.tokens;
  }

  /** Replaces items. The view before them stays in the cache. */
  edit(from: number, to: number, items: readonly Item[]): void {
    const before = this.#items.slice(0, from).reduce((sum, { tokens }) => sum + tokens, 0);
    this.#items.splice(from, to - from, ...items);
    this.#sent = Math.min(this.#sent, from);
    this.#tokens = this.#items.reduce((sum, { tokens }) => sum + tokens, 0);
    this.#cached = Math.min(this.#cached, before);
    this.#edits++;
  }

  /** Replaces the whole view. The part where both begin alike stays in the cache. */
  show(items: readonly Item[]): void {
    const differs = items.findIndex(({ step }, at) => step === null || step !== this.#items[at]?.step);
    const from = differs === -1 ? items.length : differs;
    this.edit(from, this.#items.length, items.slice(from));
  }

  summarised({ input, output, cacheRead = 0, calls = 1 }: Summarised): void {
    this.#summariser.calls += calls;
    this.#summariser.input += input;
    this.#summariser.output += output;
    // Of several calls only the sum is known, so the mean stands for each.
    const one = (input + cacheRead + output) / Math.max(1, calls);
    this.#summariser.largest = Math.max(this.#summariser.largest, Math.round(one));
    this.#bought.cacheRead += cacheRead;
  }

  #send(step: Step): void {
    const read = Math.min(this.#cached, this.#tokens);
    this.#bought.cacheRead += read;
    this.#bought.cacheWrite += this.#tokens - read;
    this.#bought.output += step.answered;
    this.#cached = this.#tokens;
    this.#sent = this.#items.length;
    this.#peak = Math.max(this.#peak, this.#tokens);
    this.#requests++;
  }
}

interface Summarised {
  readonly input: number;
  readonly output: number;
  /** Tokens of the live prompt, where the summariser continued from it. */
  readonly cacheRead?: number;
  readonly calls?: number;
}

export function itemOf(step: Step): Item {
  return { tokens: step.tokens, step };
}
