/** No policy. All messages are sent every time. The other policies are compared with it. */
import type { UIMessage } from "ai";
import type { Appended, Host, Policy, Spent } from "./host.ts";
import { weigh } from "./weigh.ts";

export const none: Policy = { name: "none", open: async () => new Everything() };

class Everything implements Host {
  readonly name = "none";
  /** Nothing is hidden. */
  readonly recall = null;
  readonly #messages: UIMessage[] = [];
  #tokens = 0;

  async append(message: UIMessage): Promise<Appended> {
    this.#messages.push(message);
    this.#tokens += weigh([message]);
    return { compacted: false, tokens: this.#tokens };
  }

  async view(): Promise<readonly UIMessage[]> {
    return [...this.#messages];
  }

  async spent(): Promise<Spent> {
    return { calls: 0, inputTokens: 0, outputTokens: 0 };
  }

  async close(): Promise<void> {}
}
