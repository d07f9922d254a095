/** A conversation in the Agents SDK's sessions of version 0.20, compacted by its `createCompactFunction`. */
import type { UIMessage } from "ai";
import { Agent, type AgentContext } from "upstream-020";
import { Session } from "upstream-020/experimental/memory/session";
import { createCompactFunction } from "upstream-020/experimental/memory/utils";
import type { Terms } from "../../policies/host.ts";
import type { HostedMethods } from "./hosted.ts";
import { SdkHosted } from "./sdk-session.ts";

export class HostedSdk020 extends Agent implements HostedMethods {
  readonly #hosted: SdkHosted;

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    super(ctx, env);
    const session = Session.create(this);
    this.#hosted = new SdkHosted({
      append: (message) => session.appendMessage(message),
      view: () => session.getHistory(),
      compact: () => session.compact(),
      search: (question) => session.search(question),
      configure: (summarize, tailTokenBudget) =>
        void session.onCompaction(createCompactFunction({ summarize, tailTokenBudget })),
    });
  }

  async begin(terms: Terms) {
    return this.#hosted.begin(terms);
  }

  async store(message: UIMessage, tailTokens: number) {
    return this.#hosted.store(message, tailTokens);
  }

  async shown() {
    return this.#hosted.shown();
  }

  async lookUp(question: string) {
    return this.#hosted.lookUp(question);
  }

  async spent() {
    return this.#hosted.spent();
  }
}
