/**
 * The same chat four times: AIChatAgent and Think as they come, and with compaction of ours.
 *
 * All of them ask the provider that the case starts (provider.ts). A model's name says what is asked and whose conversation it is.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { AIChatAgent } from "@cloudflare/ai-chat";
import { Think, type ThinkSession } from "@cloudflare/think";
import { routeAgentRequest } from "agents";
import { createCompactFunction } from "agents/sessions";
import { convertToModelMessages, generateText, streamText } from "ai";
import { CompactionWorkflow as Base } from "../../src/workflows/workflow.ts";
import type { ModelRequest, SummaryModel } from "../../src/model/chosen.ts";
import { compactAfter, withCompaction } from "../../src/ai-chat/with-compaction.ts";
import { withCompaction as withThinkCompaction } from "../../src/think/with-compaction.ts";
import { Meter } from "../objects/meter.ts";
import { answerRows } from "./rows.ts";
import { CHUNK_TOKENS, COUNTED, SUMMARISER_WINDOW, TAIL_TOKENS, THRESHOLD, type Asked } from "./terms.ts";

interface Env extends Cloudflare.Env {
  readonly PROVIDER_URL: string;
}

function model({ PROVIDER_URL: baseURL }: Env, asked: Asked, name: string) {
  return createOpenAICompatible({ name: "bench", baseURL, includeUsage: true })(`${asked} ${name}`);
}

export class StockChat extends AIChatAgent<Env> {
  readonly #meter: Meter;

  constructor(ctx: DurableObjectState, env: Env) {
    const meter = new Meter(ctx.storage, true);
    super(ctx, env);
    this.#meter = meter;
  }

  override async onChatMessage() {
    const messages = await convertToModelMessages(this.messages);
    return streamText({ model: model(this.env, "chat", this.name), messages }).toUIMessageStreamResponse();
  }

  override async onRequest(request: Request): Promise<Response> {
    const { ctx } = this;
    const answer = await answerRows(request, { meter: this.#meter, ctx, session: this.sessions.session() });
    return answer ?? super.onRequest(request);
  }
}

export class OurChat extends withCompaction(AIChatAgent)<Env> {
  readonly #meter: Meter;
  override compaction = this.name.startsWith(COUNTED)
    ? undefined
    : compactAfter(THRESHOLD, { tail: TAIL_TOKENS, chunkTokens: CHUNK_TOKENS });

  constructor(ctx: DurableObjectState, env: Env) {
    const meter = new Meter(ctx.storage, true);
    super(ctx, env);
    this.#meter = meter;
  }

  override async onChatMessage() {
    const turn = await this.compacted();
    return streamText({ model: model(this.env, "chat", this.name), ...turn }).toUIMessageStreamResponse();
  }

  override async onRequest(request: Request): Promise<Response> {
    const { ctx } = this;
    const answer = await answerRows(request, { meter: this.#meter, ctx, session: this.sessions.session() });
    return answer ?? super.onRequest(request);
  }
}

export class StockThink extends Think<Env> {
  override getModel() {
    return model(this.env, "chat", this.name);
  }

  override configureSession(session: ThinkSession) {
    const summarize = async (prompt: string): Promise<string> =>
      (await generateText({ model: model(this.env, "summary", this.name), prompt })).text;
    const compact = createCompactFunction({ summarize, keepRecentTokens: TAIL_TOKENS });
    return session.onCompaction(compact).compactAfter(THRESHOLD);
  }
}

export class OurThink extends withThinkCompaction(Think)<Env> {
  override compaction = compactAfter(THRESHOLD, { tail: TAIL_TOKENS, chunkTokens: CHUNK_TOKENS });

  override getModel() {
    return model(this.env, "chat", this.name);
  }
}

export class CompactionWorkflow extends Base {
  protected override async model({ agentName }: ModelRequest): Promise<SummaryModel> {
    return { model: model(this.env as Env, "summary", agentName), windowTokens: SUMMARISER_WINDOW };
  }
}

export default {
  fetch: async (request: Request, env: Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
} satisfies ExportedHandler<Env>;
