/**
 * A conversation as a policy of cost sees it: steps, what they weigh, which rare words they hold; and a view of it that is
 * billed request by request, as a provider with a prompt cache does.
 *
 * Boundary: no policy decides here. A view is a row of items; an edit says from which item on it changed, and what stood before
 * is read from the cache by the next request.
 */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/message/measure.ts";
import { messageSteps } from "../../src/steps/message/slice.ts";
import { jsonText, toolPart } from "../../src/steps/message/tool-parts.ts";
import { readSayings } from "../../src/steps/pinned/gather.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import type { Priced } from "../prices.ts";
import type { RareWords } from "../ruler/rare-words.ts";

/** A step of a conversation. */
export interface Step {
  readonly message: UIMessage;
  /** Its message's place, and its own in that. */
  readonly at: number;
  readonly step: number;
  readonly tokens: number;
  /** Of them, those that stubs would take away. */
  readonly maskable: number;
  /** What the model answered; 0 for a user's. */
  readonly answered: number;
  readonly isRequest: boolean;
  /** Rare words that its author wrote, and those that stand in its outputs. */
  readonly written: ReadonlySet<string>;
  readonly read: ReadonlySet<string>;
  /** Tokens of its outputs. */
  readonly outputTokens: number;
}

export function readSteps(messages: readonly UIMessage[], rareWords: RareWords): Step[] {
  return messages.flatMap((message, at) => {
    const measured = measureMessage(message, estimateTokens);
    const bare = measureMessage({ ...message, parts: message.parts.map(withoutOutput) }, estimateTokens);
    const maskable = new Map(measured.maskable ?? []);
    return messageSteps(message).map((parts, step): Step => {
      const sayings = readSayings({ ...message, parts: [...parts] });
      const wordsOf = (isRead: boolean): ReadonlySet<string> =>
        rareWords(sayings.flatMap(({ by, text }) => ((by === "output") === isRead ? [text] : [])).join("\n"));
      const tokens = measured.steps[step] ?? 0;
      const answered = bare.steps[step] ?? 0;
      const isRequest = message.role === "assistant";
      return {
        message,
        at,
        step,
        tokens,
        isRequest,
        maskable: maskable.get(step) ?? 0,
        answered: isRequest ? answered : 0,
        written: wordsOf(false),
        read: wordsOf(true),
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

/** What was said within so many tokens stands in any view: that it does tells nothing of a policy. */
const RECENT_TOKENS = 8_000;

/** Something that a view shows. */
export interface Item {
  readonly tokens: number;
  readonly words: readonly ReadonlySet<string>[];
  /** Null for what is no step of the conversation: a summary. */
  readonly step: Step | null;
  readonly isMasked: boolean;
}

/** What a conversation came to under a policy. */
export interface Played {
  readonly bought: Required<Priced>;
  readonly summariser: { readonly calls: number; readonly input: number; readonly output: number };
  readonly edits: number;
  readonly peak: number;
  readonly requests: number;
  /** Rare words that were written again after a while, those of them that the view showed then, and tokens of what would have to be read again for the rest. */
  readonly needed: number;
  readonly shown: number;
  readonly reread: number;
}

export class BilledView {
  #items: Item[] = [];
  /** Tokens from the beginning that the provider's cache holds. */
  #cached = 0;
  #tokens = 0;
  readonly #counts = new Map<string, number>();
  /** Where a word stood first, and after how many tokens of the conversation it stood last. */
  readonly #seen = new Map<string, { readonly first: Step; last: number }>();
  #told = 0;
  readonly #bought = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  readonly #summariser = { calls: 0, input: 0, output: 0 };
  #edits = 0;
  #peak = 0;
  #requests = 0;
  #needed = 0;
  #shown = 0;
  #reread = 0;

  get items(): readonly Item[] {
    return this.#items;
  }

  get tokens(): number {
    return this.#tokens;
  }

  get played(): Played {
    const { input, output } = this.#bought;
    return {
      bought: { ...this.#bought, input, output },
      summariser: { ...this.#summariser },
      edits: this.#edits,
      peak: this.#peak,
      requests: this.#requests,
      needed: this.#needed,
      shown: this.#shown,
      reread: this.#reread,
    };
  }

  /** A step comes to the view; a model's is answered to a request. */
  add(step: Step): void {
    if (step.isRequest) this.#send(step);
    this.#look(step);
    this.#items.push(itemOf(step));
    this.#count(itemOf(step), 1);
    this.#tokens += step.tokens;
    this.#told += step.tokens;
    for (const words of [step.written, step.read]) {
      for (const word of words) {
        const known = this.#seen.get(word);
        if (known === undefined) this.#seen.set(word, { first: step, last: this.#told });
        else known.last = this.#told;
      }
    }
  }

  /** Puts others in the place of items; the view's beginning before them stays in the cache. */
  edit(from: number, to: number, items: readonly Item[]): void {
    const before = this.#items.slice(0, from).reduce((sum, { tokens }) => sum + tokens, 0);
    for (const item of this.#items.slice(from, to)) this.#count(item, -1);
    for (const item of items) this.#count(item, 1);
    this.#items.splice(from, to - from, ...items);
    this.#tokens = this.#items.reduce((sum, { tokens }) => sum + tokens, 0);
    this.#cached = Math.min(this.#cached, before);
    this.#edits++;
  }

  /** These instead of what is shown; where both begin alike, the cache has it. */
  show(items: readonly Item[]): void {
    const differs = items.findIndex(({ step }, at) => step === null || step !== this.#items[at]?.step);
    const from = differs === -1 ? items.length : differs;
    this.edit(from, this.#items.length, items.slice(from));
  }

  summarised({ input, output, cacheRead = 0, calls = 1 }: Summarised): void {
    this.#summariser.calls += calls;
    this.#summariser.input += input;
    this.#summariser.output += output;
    this.#bought.cacheRead += cacheRead;
  }

  #send(step: Step): void {
    const read = Math.min(this.#cached, this.#tokens);
    this.#bought.cacheRead += read;
    this.#bought.cacheWrite += this.#tokens - read;
    this.#bought.output += step.answered;
    this.#cached = this.#tokens;
    this.#peak = Math.max(this.#peak, this.#tokens);
    this.#requests++;
  }

  #look(step: Step): void {
    const again = new Set<Step>();
    for (const word of step.written) {
      const known = this.#seen.get(word);
      if (known === undefined || this.#told - known.last < RECENT_TOKENS) continue;
      this.#needed++;
      if ((this.#counts.get(word) ?? 0) > 0) this.#shown++;
      else again.add(known.first);
    }
    for (const { tokens } of again) this.#reread += tokens;
  }

  #count({ words }: Item, by: number): void {
    for (const set of words) for (const word of set) this.#counts.set(word, (this.#counts.get(word) ?? 0) + by);
  }
}

interface Summarised {
  readonly input: number;
  readonly output: number;
  /** Of the live prompt, where the summariser went on from that. */
  readonly cacheRead?: number;
  readonly calls?: number;
}

export function itemOf(step: Step): Item {
  return { tokens: step.tokens, words: [step.written, step.read], step, isMasked: false };
}
