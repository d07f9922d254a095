/**
 * A session of any version of the SDK under its own compaction function.
 *
 * It compacts whenever the project's estimate of its view is over the threshold after an append. The SDK's own trigger does the same by its
 * own estimate. In 0.32 that estimate cannot be replaced and gives three quarters of ours, so the SDK would get a larger view at the same
 * threshold.
 */
import type { UIMessage } from "ai";
import { RECALL_TOKENS } from "../../../src/recall/recall.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import type { Appended, Spent, Terms } from "../../policies/host.ts";
import { Bill, summarise } from "../../policies/summariser.ts";
import { weigh } from "../../policies/weigh.ts";
import type { HostedMethods } from "./hosted.ts";

/** The calls that both versions have. */
export interface SdkSession {
  append(message: UIMessage): Promise<unknown>;
  view(): Promise<unknown>;
  /** Null when it found nothing to compact. */
  compact(): Promise<unknown>;
  search(question: string): Promise<readonly { readonly content: string }[]>;
  /** Sets its own compaction function, with this summariser and tail. */
  configure(summarise: (prompt: string) => Promise<string>, tailTokens: number): void;
}

export class SdkHosted implements HostedMethods {
  readonly #session: SdkSession;
  readonly #bill = new Bill();
  #terms: Terms | null = null;
  #tokens = 0;

  constructor(session: SdkSession) {
    this.#session = session;
  }

  async begin(terms: Terms): Promise<void> {
    this.#terms = terms;
  }

  async store(message: UIMessage, tailTokens: number): Promise<Appended> {
    const terms = this.#terms;
    if (terms === null) throw new Error("Begin first.");
    await this.#session.append(message);
    this.#tokens += weigh([message]);
    if (this.#tokens <= terms.thresholdTokens) return { compacted: false, tokens: this.#tokens };
    this.#session.configure(async (prompt) => {
      const answer = await summarise(prompt);
      this.#bill.add(answer);
      return answer.text;
    }, tailTokens);
    const compacted = (await this.#session.compact()) !== null;
    this.#tokens = weigh(await this.shown());
    return { compacted, tokens: this.#tokens };
  }

  async shown(): Promise<UIMessage[]> {
    return (await this.#session.view()) as UIMessage[];
  }

  /** Its full-text search, which answers with whole messages. It may return as many tokens of them as one `recall` of ours. */
  async lookUp(question: string): Promise<string> {
    const found: string[] = [];
    let left = RECALL_TOKENS;
    for (const { content } of await this.#session.search(question)) {
      const tokens = estimateTokens(content);
      found.push(tokens <= left ? content : content.slice(0, Math.floor((content.length * left) / tokens)));
      left -= tokens;
      if (left <= 0) break;
    }
    return found.join("\n\n");
  }

  async spent(): Promise<Spent> {
    return this.#bill.spent;
  }
}
