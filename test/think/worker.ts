/** Agents on the real Think with a scripted model. The part of a name before the first dash selects the agent's special setup. */
import { defaultContextOverflowClassifier, Think, type ThinkSession, type TurnContext } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import type { ContextConfig } from "agents/context";
import { guardConnections } from "../../src/doors/guard.ts";
import { compactAfter, withCompaction } from "../../src/think/with-compaction.ts";
import { chatModel, tools } from "../ai-chat/chat-model.ts";

export { CompactionWorkflow } from "../worker.ts";

/** `idle` compacts on request alone, `auto` masks older outputs by their cost, `own` has a function, `guarded` and `reactive` have Think's guards against an overflow. */
export class Thinker extends withCompaction(Think)<Cloudflare.Env> {
  /** Text that a reminder shows and tests change. */
  board = "Nothing is on the board.";
  /** How often a summary of the agent's own function was asked for. */
  asked = 0;
  override hydrationByteBudget = this.is("narrow") ? 4_000 : 32 * 1024 * 1024;
  override contextOverflow = this.is("reactive")
    ? { reactive: true }
    : this.is("proactive")
      ? { proactive: { maxInputTokens: 3_000 } }
      : {};
  override classifyChatError = defaultContextOverflowClassifier;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    if (ctx.id.name?.startsWith("auto-") === true)
      this.compaction = compactAfter("auto", { ceiling: 900_000, tailTokenBudget: 2_000 });
    if (ctx.id.name?.startsWith("guarded-") === true)
      guardConnections(this, ctx, { PALIMPSEST_CALLS_PER_SECOND: "10" });
  }

  is(kind: string): boolean {
    return this.name.startsWith(`${kind}-`);
  }

  override getModel() {
    return chatModel(this);
  }

  override getTools() {
    return tools;
  }

  override configureContext(): ContextConfig[] {
    return [
      {
        label: "board",
        description: "What hangs on the board.",
        whenChanged: "remind",
        provider: { get: async () => this.board },
      },
    ];
  }

  override configureSession(session: ThinkSession) {
    if (this.is("idle") || this.is("auto")) return session;
    if (this.is("broken")) return session.compactAfter(Number.NaN);
    if (this.is("own")) {
      return session
        .onCompaction(async (messages) => {
          this.asked++;
          const [first, last] = [messages.at(0), messages.at(-3)];
          if (first === undefined || last === undefined) return null;
          return { summary: "Summed up by hand.", fromMessageId: first.id, toMessageId: last.id };
        })
        .compactAfter(2_000);
    }
    return session.compactAfter(this.is("reactive") || this.is("proactive") ? 4_500 : 2_000);
  }

  override beforeTurn(context: TurnContext) {
    this.seen = context.messages.length;
    return this.is("replaced") ? { messages: [{ role: "user" as const, content: "Only this." }] } : undefined;
  }

  /** Messages that the author's own hook was shown. */
  seen = 0;
}

/** Think without changes. */
export class StockThink extends Think {
  override getModel() {
    return chatModel(this);
  }
}

export default {
  fetch: async (request, env) => (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
} satisfies ExportedHandler<Cloudflare.Env>;
