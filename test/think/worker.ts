/** Agents on the real Think with a scripted model. The part of a name before the first dash selects the agent's special setup. */
import {
  defaultContextOverflowClassifier,
  skills,
  Think,
  type SkillSource,
  type ThinkSession,
  type TurnContext,
} from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import type { UIMessage } from "ai";
import type { ContextConfig } from "agents/context";
import { guardConnections } from "../../src/doors/guard.ts";
import { compactAfter, withCompaction } from "../../src/think/with-compaction.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { promptCache } from "../../src/prompt-cache/remember.ts";
import { chatModel, given, tools } from "../ai-chat/chat-model.ts";
import { cachingModel } from "../prompt-cache/caching-provider.ts";

export { CompactionWorkflow } from "../worker.ts";

/** `idle` compacts on request alone, `counted` by the number of messages, `auto` goes by cost, `own` has a function, `cached` has a provider with a prompt cache, `guarded` and `reactive` have Think's guards against an overflow, and `skilled` has a skill. */
export class Thinker extends withCompaction(Think, {
  rooms: [promptCache()],
  convertDataPart: ({ data }) => ({ type: "text", text: `Selected: ${String(data)}` }),
})<Cloudflare.Env> {
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
      this.compaction = compactAfter("auto", { ceiling: 900_000, tail: 2_000 });
    if (ctx.id.name?.startsWith("counted-") === true) this.compaction = compactAfter(60_000, { maxMessages: 12 });
    if (ctx.id.name?.startsWith("guarded-") === true)
      guardConnections(this, ctx, { PALIMPSEST_CALLS_PER_SECOND: "10" });
  }

  is(kind: string): boolean {
    return this.name.startsWith(`${kind}-`);
  }

  override getModel() {
    if (this.is("cached")) return this.palimpsest.session().rememberPrompt(cachingModel(this.name, "own"));
    return given.get(this.name)?.model ?? chatModel(this);
  }

  override getTools() {
    return given.get(this.name)?.tools ?? tools;
  }

  override getSkills(): SkillSource[] {
    return this.is("skilled") ? [skills.fromManifest(MANIFEST)] : [];
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
    if (this.is("idle") || this.is("auto") || this.is("counted")) return session;
    if (this.is("cached")) return session.compactAfter(6_000);
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

/** What the skill says. */
export const SKILL = "Count every ledger twice, from both ends. ".repeat(12);
const MANIFEST = { id: "test", skills: [{ name: "counting", description: "How ledgers are counted.", body: SKILL }] };

/** An agent that works on a sub-agent. The sub-agent has no binding and is reached through its parents alone. */
export class Lineage extends Thinker {
  async store(path: readonly string[], messages: readonly UIMessage[]): Promise<void> {
    const [next, ...rest] = path;
    if (next !== undefined) return (await this.subAgent(Lineage, next)).store(rest, messages);
    for (const message of messages) await this.session.appendMessage(message);
  }

  async runsOf(path: readonly string[]): Promise<RunRecord[]> {
    const [next, ...rest] = path;
    if (next !== undefined) return (await this.subAgent(Lineage, next)).runsOf(rest);
    return this.palimpsest.runs.list("", { limit: 5 });
  }

  /** As JSON, the view and the transcript. */
  async lookAt(path: readonly string[]): Promise<readonly [view: string, whole: string]> {
    const [next, ...rest] = path;
    if (next !== undefined) return (await this.subAgent(Lineage, next)).lookAt(rest);
    const { messages } = await this.palimpsest.session().getView();
    return [JSON.stringify(messages), JSON.stringify(await this.session.getHistory())];
  }
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
