/** The Worker of agents whose base class keeps the messages. It uses the real packages with a scripted model. */
import { AIChatAgent } from "@cloudflare/ai-chat";
import { Agent, routeAgentRequest } from "agents";
import { classifyContextOverflow, ThinkHarness } from "agents/harness/think";
import { Sessions, type Session as SdkSession } from "agents/sessions";
import { isStepCount, streamText, type UIMessage } from "ai";
import { withCompaction as withPlainCompaction } from "../../src/agent/compacting-agent.ts";
import type { Session } from "../../src/agent/sessions/session.ts";
import { compactAfter, withCompaction } from "../../src/ai-chat/with-compaction.ts";
import { context } from "../../src/context/room.ts";
import { guardConnections } from "../../src/doors/guard.ts";
import { transcripts } from "../../src/import/room.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { ownFunction } from "../../src/own-function/room.ts";
import { promptCache } from "../../src/prompt-cache/remember.ts";
import { recall } from "../../src/recall/room.ts";
import { compactHarness } from "../../src/sessions-source/harness.ts";
import { embeddings } from "../../src/embeddings/search.ts";
import { durable, type WriteBack } from "../../src/sessions-source/durable.ts";
import { cachingModel } from "../prompt-cache/caching-provider.ts";
import { scriptedEmbed } from "../embeddings/scripted-embedder.ts";
import { chatModel, given, partOf, tools } from "./chat-model.ts";

export { CompactionWorkflow, StorageProbe } from "../worker.ts";

const byMeaning = recall({ embeddings: embeddings({ model: "scripted", embed: scriptedEmbed }) });

/**
 * The three lines of the guide, and a room. An agent's name begins with its special setup. `keeps-n` prunes, `narrow` hydrates little,
 * `idle` does not compact, and `cached` has a provider with a prompt cache.
 */
export class Chat extends withCompaction(AIChatAgent, {
  rooms: [byMeaning, promptCache(), ownFunction()],
})<Cloudflare.Env> {
  override compaction = compactionOf(this.name);
  override maxPersistedMessages = keepsOf(this.name);
  override hydrationByteBudget = this.name.includes("narrow") ? 4_000 : 32 * 1024 * 1024;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    const { COMPACTION_WORKFLOW: _left, ...rest } = env;
    super(ctx, isUnbound(ctx) ? (rest as Cloudflare.Env) : env);
    if (ctx.id.name?.startsWith("guarded") === true) guardConnections(this, ctx, { PALIMPSEST_CALLS_PER_SECOND: "10" });
  }

  override async onChatMessage(_onFinish: unknown, options?: { abortSignal?: AbortSignal | undefined }) {
    const part = partOf(this.name);
    const { model, tools: own = tools } = given.get(this.name) ?? {};
    const turn = await this.compacted({ tools: own });
    part.turns.push(turn.messages);
    return streamText({
      model: this.name.startsWith("cached")
        ? this.palimpsest.session().rememberPrompt(cachingModel(this.name, "own"))
        : (model ?? chatModel(this)),
      tools: own,
      ...turn,
      stopWhen: isStepCount(8),
      ...(options?.abortSignal !== undefined && { abortSignal: options.abortSignal }),
    }).toUIMessageStreamResponse();
  }
}

/** An agent that keeps its conversation in `agents/sessions`, and its summaries as well. `late-` names the threshold too early. */
export class Keeper extends withPlainCompaction(Agent) {
  readonly store = new Sessions();
  readonly told: WriteBack[] = [];
  /** Cleared by a test that wants a summary to be written later. */
  readonly writes = { open: true };

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.lifecycle.use(this.store);
    const session = this.store.session();
    const add = session.addCompaction.bind(session);
    session.addCompaction = async (...args) => {
      while (!this.writes.open) await scheduler.wait(1);
      return add(...args);
    };
    const onWriteBack = (result: WriteBack): void => void this.told.push(result);
    if (this.name.startsWith("late")) {
      session.compactAfter(2_000).onCompaction(durable(this, session, { onWriteBack }));
      return;
    }
    const configure = this.name.startsWith("counted") ? byMessages : smallChunks;
    session.onCompaction(durable(this, session, { configure, onWriteBack })).compactAfter(2_000);
  }
}

function smallChunks(ours: Session): void {
  ours.compactAfter(2_000, { chunkTokens: 1_500 });
}

function byMessages(ours: Session): void {
  ours.compactAfter(60_000, { maxMessages: 12 });
}

/** An agent on the harness of the SDK. `idle` and `roomy` compact on request alone. */
export class Harnessed extends withPlainCompaction(Agent) {
  /** By id, the SDK's own sessions. */
  readonly kept = new Map<string, SdkSession>();
  readonly harness = compactHarness(
    this,
    (compaction) => {
      const { model = chatModel(this), tools: own = tools } = given.get(this.name) ?? {};
      return new ThinkHarness({ model, tools: own, maxSteps: 600, ...compaction });
    },
    {
      model: () => given.get(this.name)?.model ?? chatModel(this),
      configureSession: (session, id) => void this.kept.set(id, session),
      convertDataPart: ({ data }) => ({ type: "text", text: `Selected: ${String(data)}` }),
      hooks: {
        beforeTurn: () =>
          this.name.startsWith("replaced") ? { messages: [{ role: "user", content: "Only this." }] } : {},
        classifyError: classifyContextOverflow,
      },
    },
  );

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.lifecycle.use(this.harness);
  }

  override configureSession(session: Session): void {
    const threshold = this.name.startsWith("idle") ? 200_000 : this.name.startsWith("roomy") ? 4_500 : 2_000;
    session.compactAfter(threshold, { chunkTokens: 1_500 });
  }
}

/** A chat that works on a sub-agent. The sub-agent has no binding and is reached through its parents alone. */
export class Family extends Chat {
  async store(path: readonly string[], messages: readonly UIMessage[]): Promise<void> {
    const [next, ...rest] = path;
    if (next !== undefined) return (await this.subAgent(Family, next)).store(rest, messages);
    await this.persistMessages([...this.messages, ...messages]);
  }

  async runsOf(path: readonly string[]): Promise<RunRecord[]> {
    const [next, ...rest] = path;
    if (next !== undefined) return (await this.subAgent(Family, next)).runsOf(rest);
    return this.palimpsest.runs.list("", { limit: 5 });
  }

  /** As JSON. */
  async viewOf(path: readonly string[]): Promise<string> {
    const [next, ...rest] = path;
    if (next !== undefined) return (await this.subAgent(Family, next)).viewOf(rest);
    return JSON.stringify((await this.palimpsest.session().getView()).messages);
  }
}

/** A chat with an optional room, of which clients may use one call. */
export class RoomyChat extends withCompaction(AIChatAgent, {
  rooms: [transcripts(), context()],
  clients: ["watch", "exportTranscript"],
})<Cloudflare.Env> {
  get storage(): DurableObjectStorage {
    return this.ctx.storage;
  }
}

/** AIChatAgent without changes. */
export class StockChat extends AIChatAgent {}

/** An agent whose Worker was deployed without the Workflow. */
function isUnbound({ id }: DurableObjectState): boolean {
  return id.name?.startsWith("unbound") === true;
}

function compactionOf(name: string) {
  if (name.startsWith("idle")) return undefined;
  if (name.startsWith("counted")) return compactAfter(60_000, { maxMessages: 12 });
  return compactAfter(2_000, { chunkTokens: 1_500 });
}

function keepsOf(name: string): number | undefined {
  const keeps = /^keeps-(\d+)/.exec(name)?.[1];
  return keeps === undefined ? undefined : Number(keeps);
}

export default {
  fetch: async (request, env) => (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
} satisfies ExportedHandler<Cloudflare.Env>;
