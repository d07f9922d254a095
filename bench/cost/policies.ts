/**
 * Plays policies of cost over one conversation without a Worker. Ours uses the product's own rule, and the SDK's its own function.
 */
import type { UIMessage } from "ai";
import { createCompactFunction } from "agents/sessions";
import { chargesOf, messageLine } from "../../src/prompt-cache/continue.ts";
import { type Prices, weighRent, type RentTerms } from "../../src/steps/decide/decide.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import type { Appended, Host, Spent } from "../policies/host.ts";
import { Bill, summarise } from "../policies/summariser.ts";
import { weigh } from "../policies/weigh.ts";
import { BilledView, itemOf, type Item, type Played, type Step } from "./view.ts";

/** Tokens of instructions around a summariser's source. */
const PROMPT_TOKENS = 1_500;
/** The share of its room that a summary took, in the mean of those that language models wrote at a threshold of 60,000. */
const FILLED = 0.64;
const HEAD_MESSAGES = 3;
/** The SDK's default tail in tokens, and the id of its summary. */
const SDK_TAIL = 20_000;
const SDK_SUMMARY = "compaction_1";
/** Newest steps that stay at any size, because the model has not answered them yet. */
const MIN_TAIL = 2;

export interface Conversation {
  readonly messages: readonly UIMessage[];
  readonly steps: readonly Step[];
}

/** Called after each request, with all that was bought so far. */
type OnRequest = (played: Played) => void;

/** Compacts nothing. */
export function playNothing({ steps }: Conversation, onRequest: OnRequest = () => undefined): Played {
  const view = new BilledView();
  for (const step of steps) {
    view.add(step);
    if (step.isRequest) onRequest(view.played);
  }
  return view.played;
}

/** Plays any other policy, by the view after each of its compactions. */
export async function playHost(
  conversation: Conversation,
  host: Pick<Host, "append" | "view" | "spent">,
): Promise<Played> {
  const view = new BilledView();
  const { steps } = conversation;
  let before: Spent = { calls: 0, inputTokens: 0, outputTokens: 0 };
  const byMessage = Map.groupBy(steps, ({ message }) => message.id);
  for (const [at, step] of steps.entries()) {
    view.add(step);
    if (steps[at + 1]?.at === step.at || !(await host.append(step.message)).compacted) continue;
    const spent = await host.spent();
    const input = spent.inputTokens - before.inputTokens;
    view.summarised({ input, output: spent.outputTokens - before.outputTokens, calls: spent.calls - before.calls });
    before = spent;
    const shown = await host.view();
    view.show(
      shown.flatMap((message) => {
        const known = byMessage.get(message.id);
        if (known !== undefined && weigh([message]) === sumOf(known)) return known.map((each) => itemOf(each));
        return [summaryItem(weigh([message]))];
      }),
    );
  }
  return view.played;
}

function sumOf(steps: readonly Step[]): number {
  return steps.reduce((sum, { tokens }) => sum + tokens, 0);
}

function summaryItem(tokens: number): Item {
  return { tokens, step: null };
}

/** The SDK's own function, called when the view is over the threshold after a message. */
export class SdkHost {
  readonly #thresholdTokens: number;
  readonly #bill = new Bill();
  readonly #compact: ReturnType<typeof createCompactFunction>;
  #messages: UIMessage[] = [];

  constructor(thresholdTokens: number) {
    this.#thresholdTokens = thresholdTokens;
    this.#compact = createCompactFunction({
      // With a low threshold the default tail would leave nothing to compact.
      keepRecentTokens: Math.min(SDK_TAIL, Math.floor(thresholdTokens / 3)),
      summarize: async (prompt) => {
        const answer = await summarise(prompt);
        this.#bill.add(answer);
        return answer.text;
      },
    });
  }

  async append(message: UIMessage): Promise<Appended> {
    this.#messages.push(message);
    const tokens = weigh(this.#messages);
    const found = tokens <= this.#thresholdTokens ? null : await this.#compact(this.#messages);
    if (found === null) return { compacted: false, tokens };
    const before = this.#messages.findIndex(({ id }) => id === SDK_SUMMARY);
    const from = before === -1 ? this.#messages.findIndex(({ id }) => id === found.fromMessageId) : before;
    const to = this.#messages.findIndex(({ id }) => id === found.toMessageId);
    const summary: UIMessage = { id: SDK_SUMMARY, role: "assistant", parts: [{ type: "text", text: found.summary }] };
    this.#messages.splice(from, to - from + 1, summary);
    return { compacted: true, tokens: weigh(this.#messages) };
  }

  async view(): Promise<readonly UIMessage[]> {
    return this.#messages;
  }

  async spent(): Promise<Spent> {
    return this.#bill.spent;
  }
}

export interface RentOptions {
  readonly prices: Prices;
  readonly ceilingTokens: number;
  readonly protectTokens: number;
  /** Tokens of one summary, and of all that stand in a view. */
  readonly summaryTokens: number;
  readonly stackTokens: number;
  /** Most source tokens of one call. Larger outputs are cut. */
  readonly chunkTokens: number;
  readonly summariserShare: number;
  readonly alpha: number;
  /** Whether a summary may continue the prompt that was last sent, up to what is summarised. */
  readonly suffix: boolean;
}

/** Plays the rent rule. */
export function playRent(
  conversation: Conversation,
  options: RentOptions,
  onRequest: OnRequest = () => undefined,
): Played {
  return new Rented(conversation, options).play(onRequest);
}

class Rented {
  readonly #view = new BilledView();
  readonly #conversation: Conversation;
  readonly #options: RentOptions;
  #sinceSummary = 0;

  constructor(conversation: Conversation, options: RentOptions) {
    this.#conversation = conversation;
    this.#options = options;
  }

  play(onRequest: OnRequest): Played {
    for (const step of this.#conversation.steps) {
      this.#view.add(step);
      this.#decide();
      if (step.isRequest) onRequest(this.#view.played);
    }
    return this.#view.played;
  }

  #decide(): void {
    const steps = this.#view.items.map(({ tokens, step }) => ({
      tokens,
      role: step === null ? null : step.isRequest ? ("assistant" as const) : ("user" as const),
      message: step?.at ?? -1,
    }));
    const terms = this.#terms();
    const { isDue } = weighRent({ steps, sinceSummary: this.#sinceSummary }, terms);
    if (isDue || this.#view.tokens > this.#options.ceilingTokens) this.#summarise(terms);
  }

  #terms(): RentTerms {
    const { prices, protectTokens, summaryTokens, summariserShare, alpha } = this.#options;
    const head = this.#head();
    const { input, output } = prices;
    return {
      // The summariser has its own prices.
      prices: { ...prices, input: input * summariserShare, output: output * summariserShare },
      headTokens: sumOfItems(this.#view.items.slice(0, head)),
      tailTokens: protectTokens,
      summaryTokens,
      answerTokens: summaryTokens,
      promptTokens: PROMPT_TOKENS,
      alpha,
    };
  }

  /** Number of items that stay at the start. They are three messages, and at most a tenth of the ceiling. */
  #head(): number {
    let tokens = 0;
    for (const [at, { step, tokens: own }] of this.#view.items.entries()) {
      tokens += own;
      if (step === null || step.at >= HEAD_MESSAGES || tokens > this.#options.ceilingTokens / 10) return at;
    }
    return this.#view.items.length;
  }

  /** Summarises what no summary covers yet. Where another one has no room, those before it are folded in. */
  #summarise(terms: RentTerms): void {
    const { items } = this.#view;
    const { stackTokens, summaryTokens, chunkTokens, protectTokens, suffix } = this.#options;
    const start = this.#head();
    let [to, tail] = [items.length, 0];
    while (to > start && (items.length - to < MIN_TAIL || tail + (items[to - 1]?.tokens ?? 0) <= protectTokens)) {
      tail += items[--to]?.tokens ?? 0;
    }
    const standing = items.slice(start, to).filter(({ step }) => step === null);
    const hasRoom = sumOfItems(standing) + summaryTokens <= stackTokens;
    const from = hasRoom ? start + standing.length : start;
    const hidden = items.slice(from, to);
    if (sumOfItems(hidden) < terms.summaryTokens * 2) return;
    const sources = wholeMessages(hidden);
    const transcript = renderTranscript(sources.map((message) => ({ kind: "message", message })));
    // The call is also shown the summaries that stay, and those that it folds.
    const own = Math.min(estimateTokens(transcript), chunkTokens) + sumOfItems(standing) + PROMPT_TOKENS;
    const written = Math.min(Math.ceil(summaryTokens * FILLED), Math.ceil(sumOfItems(hidden) / 2));
    const cached = suffix ? this.#continues(to, { sources, own, terms }) : null;
    if (cached === null) this.#view.summarised({ input: own, output: written });
    else this.#view.summarised({ ...cached, output: written });
    this.#view.edit(from, to, [summaryItem(written)]);
    this.#sinceSummary = this.#view.items.length;
  }

  /**
   * What a call costs that continues the prompt last sent, which is cut behind the last hidden item. Null where the product would make the
   * plain call: the prompt ends before that item, the plain call is no dearer, or the model is not the agent's own.
   */
  #continues(
    to: number,
    {
      sources,
      own,
      terms,
    }: { readonly sources: readonly UIMessage[]; readonly own: number; readonly terms: RentTerms },
  ): { readonly input: number; readonly cacheRead: number } | null {
    if (this.#options.summariserShare !== 1 || to > this.#view.sent) return null;
    const prompt = sumOfItems(this.#view.items.slice(0, to));
    // What an edit changed since is no longer what the provider holds.
    const cacheRead = Math.min(prompt, this.#view.cached);
    const input = prompt - cacheRead + PROMPT_TOKENS + estimateTokens(sources.map(messageLine).join("\n"));
    const calls = { plainTokens: own, cachedTokens: cacheRead, addedTokens: input, answerTokens: terms.answerTokens };
    const { plain, continued } = chargesOf(calls, terms.prices);
    return continued < plain ? { input, cacheRead } : null;
  }
}

function sumOfItems(items: readonly Item[]): number {
  return items.reduce((sum, { tokens }) => sum + tokens, 0);
}

function wholeMessages(items: readonly Item[]): UIMessage[] {
  return [...new Set(items.flatMap(({ step }) => (step === null ? [] : [step.message])))];
}
