/**
 * Compaction for any agent class: `withCompaction(Base)`, and `CompactingAgent`, which is that of the SDK's Agent.
 *
 * Job: give a {@link Core} to an agent and a callable surface to the world. Thin on purpose: every method parses its
 * input and hands on. The port for workflows is reachable by binding only, never by a client.
 */
import { Agent, callable } from "agents";
import type { UIMessage } from "ai";
import type { AppendResult, RecentHistory } from "../memory/history.ts";
import type { ConversationEvent } from "../events/event.ts";
import type { PersistedTurn } from "../events/persist.ts";
import type { BranchTip } from "../memory/branch-tips.ts";
import type { SearchHit } from "../memory/search.ts";
import type { CommitResult, OverlayRecord } from "../memory/overlays.ts";
import type { PastView } from "../memory/time-travel.ts";
import type { SessionInfo } from "../memory/sessions.ts";
import type { BulletSource } from "../steps/provenance.ts";
import { CALLABLE } from "./callable.ts";
import { Core } from "./core.ts";
import type { PlanReport } from "./explain.ts";
import { inputs, parseInput } from "./inputs.ts";
import type { Recall } from "./recall.ts";
import { agentPlatform } from "./platform.ts";
import { SessionManager } from "./session-manager.ts";
import { addContextCalls } from "./context-calls.ts";
import { addRunCalls } from "./run-calls.ts";
import { callPort, RunPort } from "./run-port.ts";
import type { PortMethod } from "../workflows/port.ts";
import type { Notes } from "./session-notes.ts";
import { Session, type CompactionDiff, type CompactReceipt, type SessionStatus } from "./session.ts";
import type { ImportReceipt } from "./session-history.ts";
import type { ShownView } from "./shown-view.ts";

/** What the SDK is told about each method. */
const DESCRIPTION = "Palimpsest";

function mix(Base: typeof Agent<Cloudflare.Env>) {
  class Compacting extends addContextCalls(addRunCalls(Base)) {
    override readonly palimpsest: Core;

    constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
      super(ctx, env);
      const configure = (sessionId: string): void => {
        const session = this.#session(sessionId);
        this.configureSession(session);
        session.apply();
      };
      this.palimpsest = new Core(ctx.storage, agentPlatform(this, ctx, env), configure);
      // Once the subclass's fields are there too: they may name sessions.
      ctx.waitUntil(Promise.resolve().then(() => this.palimpsest.conductor.wake()));
    }

    /** Override to configure sessions that no other code names: `session.compactAfter(60_000)`. Called once per wake-up and session. */
    configureSession(_session: Session): void {}

    /** For workflows: all that one run may do to this agent. */
    async compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown> {
      return callPort(new RunPort(this.palimpsest, runId), method, args);
    }

    /** Called by the watchdog's alarm while runs are live. */
    async watchCompactions(): Promise<void> {
      await this.palimpsest.conductor.watch();
    }

    async append(input: unknown): Promise<AppendResult> {
      const { sessionId, message, parentId } = parseInput(inputs.append, input);
      return this.#session(sessionId).appendMessage(message, parentId);
    }

    async appendAll(input: unknown): Promise<AppendResult[]> {
      const { sessionId, messages, parentId } = parseInput(inputs.appendAll, input);
      return this.#session(sessionId).appendMessages(messages, parentId);
    }

    async upsert(input: unknown): Promise<AppendResult> {
      const { sessionId, message, parentId } = parseInput(inputs.upsert, input);
      return this.#session(sessionId).upsertMessage(message, parentId);
    }

    async update(input: unknown): Promise<UIMessage | null> {
      const { sessionId, message } = parseInput(inputs.update, input);
      return this.#session(sessionId).updateMessage(message);
    }

    async deleteMessages(input: unknown): Promise<number> {
      const { sessionId, ids } = parseInput(inputs.deleteMessages, input);
      return this.#session(sessionId).deleteMessages(ids);
    }

    async clearMessages(input: unknown): Promise<void> {
      return this.#session(parseInput(inputs.session, input).sessionId).clearMessages();
    }

    async getHistory(input: unknown): Promise<UIMessage[]> {
      const { sessionId, leafId } = parseInput(inputs.branch, input);
      return this.#session(sessionId).getHistory(leafId);
    }

    async getMessage(input: unknown): Promise<UIMessage | null> {
      const { sessionId, id } = parseInput(inputs.message, input);
      return this.#session(sessionId).getMessage(id);
    }

    async getBranches(input: unknown): Promise<UIMessage[]> {
      const { sessionId, id } = parseInput(inputs.message, input);
      return this.#session(sessionId).getBranches(id);
    }

    /** The id of the message that this one hangs under; null for a root. */
    async getParent(input: unknown): Promise<string | null> {
      const { sessionId, id } = parseInput(inputs.message, input);
      return this.#session(sessionId).getParent(id);
    }

    async getPathLength(input: unknown): Promise<number> {
      const { sessionId, leafId } = parseInput(inputs.branch, input);
      return this.#session(sessionId).getPathLength(leafId);
    }

    /** Where each branch has come to, newest first, the newest 100. */
    async listBranches(input: unknown): Promise<BranchTip[]> {
      return this.palimpsest.memory.session(parseInput(inputs.session, input).sessionId).branchTips();
    }

    /** The newest leaf of the branches that a message stands on: where reading on from it ends. Null for an unknown message. */
    async findLeaf(input: unknown): Promise<string | null> {
      const { sessionId, id } = parseInput(inputs.message, input);
      return this.palimpsest.memory.session(sessionId).leafAfter(id);
    }

    async getRecentHistory(input: unknown): Promise<RecentHistory> {
      const { sessionId, maxBytes, leafId } = parseInput(inputs.recent, input);
      return this.#session(sessionId).getRecentHistory(maxBytes, leafId === undefined ? {} : { leafId });
    }

    async getView(input: unknown): Promise<ShownView> {
      const { sessionId, ...options } = parseInput(inputs.view, input);
      return this.#session(sessionId).getView(options);
    }

    async status(input: unknown): Promise<SessionStatus> {
      return this.#session(parseInput(inputs.session, input).sessionId).status();
    }

    async search(input: unknown): Promise<SearchHit[]> {
      const { sessionId, query, limit } = parseInput(inputs.search, input);
      return this.#session(sessionId).search(query, { limit });
    }

    /** As `search`, over every session of the agent. */
    async searchSessions(input: unknown): Promise<SearchHit[]> {
      const { query, limit } = parseInput(inputs.searchSessions, input);
      return this.#manager.search(query, limit === undefined ? {} : { limit });
    }

    async loadEvents(input: unknown): Promise<ConversationEvent[]> {
      const { sessionId, ...options } = parseInput(inputs.loadEvents, input);
      return this.#session(sessionId).loadEvents(options);
    }

    async appendEvents(input: unknown): Promise<ConversationEvent[]> {
      const { sessionId, events } = parseInput(inputs.appendEvents, input);
      return this.#session(sessionId).appendEvents(events);
    }

    async deleteEvents(input: unknown): Promise<number> {
      const { sessionId, ids } = parseInput(inputs.deleteMessages, input);
      return this.#session(sessionId).deleteEvents(ids);
    }

    async persistTurn(input: unknown): Promise<PersistedTurn> {
      const { sessionId, ...turn } = parseInput(inputs.persistTurn, input);
      return this.#session(sessionId).persistTurn(turn);
    }

    async importTranscript(input: unknown): Promise<ImportReceipt> {
      const { sessionId, text, ...options } = parseInput(inputs.importTranscript, input);
      return this.#session(sessionId).importTranscript(text, options);
    }

    /** JSONL, whole: for a path of more than some 10 MB call `Session.exportTranscript` in the agent and stream it. */
    async exportTranscript(input: unknown): Promise<string> {
      const { sessionId, leafId, redact } = parseInput(inputs.exportTranscript, input);
      return (await Array.fromAsync(this.#session(sessionId).exportTranscript(leafId, { redact }))).join("");
    }

    async plan(input: unknown): Promise<PlanReport> {
      const { sessionId, ...options } = parseInput(inputs.plan, input);
      return this.#session(sessionId).plan(options);
    }

    async compact(input: unknown): Promise<CompactReceipt> {
      const { sessionId, ...options } = parseInput(inputs.compact, input);
      return this.#session(sessionId).compact(options);
    }

    async compactNow(input: unknown): Promise<CompactReceipt> {
      const { sessionId, ...options } = parseInput(inputs.compactNow, input);
      return this.#session(sessionId).compactNow(options);
    }

    async getCompactions(input: unknown): Promise<OverlayRecord[]> {
      return this.#session(parseInput(inputs.session, input).sessionId).getCompactions();
    }

    async expand(input: unknown): Promise<UIMessage[]> {
      const { sessionId, overlayId, ...options } = parseInput(inputs.expand, input);
      return this.#session(sessionId).expand(overlayId, options);
    }

    async rollback(input: unknown): Promise<void> {
      const { sessionId, overlayId } = parseInput(inputs.overlay, input);
      return this.#session(sessionId).rollback(overlayId);
    }

    async restore(input: unknown): Promise<CommitResult> {
      const { sessionId, overlayId } = parseInput(inputs.overlay, input);
      return this.#session(sessionId).restore(overlayId);
    }

    async getViewAsOf(input: unknown): Promise<PastView> {
      const { sessionId, overlayId } = parseInput(inputs.overlay, input);
      return this.#session(sessionId).getViewAsOf(overlayId);
    }

    async getProvenance(input: unknown): Promise<BulletSource[]> {
      const { sessionId, overlayId } = parseInput(inputs.overlay, input);
      return this.#session(sessionId).getProvenance(overlayId);
    }

    async diffCompaction(input: unknown): Promise<CompactionDiff> {
      const { sessionId, overlayId } = parseInput(inputs.overlay, input);
      return this.#session(sessionId).diffCompaction(overlayId);
    }

    /** Also for a workflow, which asks the same as the model's tool does. */
    async recall(input: unknown): Promise<Recall> {
      const { sessionId, ...request } = parseInput(inputs.recall, input);
      return this.#session(sessionId).recall(request);
    }

    async getNotes(input: unknown): Promise<Notes | null> {
      return this.#session(parseInput(inputs.session, input).sessionId).getNotes();
    }

    async updateNotes(input: unknown): Promise<Notes> {
      const { sessionId, ...edit } = parseInput(inputs.updateNotes, input);
      return this.#session(sessionId).updateNotes(edit);
    }

    /** Asks for an update of the notes now. */
    async refreshNotes(input: unknown): Promise<CompactReceipt> {
      return this.#session(parseInput(inputs.session, input).sessionId).refreshNotes();
    }

    async notesHistory(input: unknown): Promise<Notes[]> {
      return this.#session(parseInput(inputs.session, input).sessionId).notesHistory();
    }

    async createSession(input: unknown): Promise<SessionInfo> {
      const { name, ...options } = parseInput(inputs.createSession, input);
      return this.#manager.create(name, options);
    }

    async listSessions(input: unknown): Promise<SessionInfo[]> {
      return this.#manager.list(parseInput(inputs.listSessions, input));
    }

    /** Null when there is no such session. */
    async getSessionInfo(input: unknown): Promise<SessionInfo | null> {
      return this.#manager.get(parseInput(inputs.session, input).sessionId);
    }

    async renameSession(input: unknown): Promise<SessionInfo> {
      const { sessionId, name } = parseInput(inputs.renameSession, input);
      return this.#manager.rename(sessionId, name);
    }

    /** False when there was no such session. */
    async deleteSession(input: unknown): Promise<boolean> {
      return this.#manager.delete(parseInput(inputs.session, input).sessionId);
    }

    async forkSession(input: unknown): Promise<SessionInfo> {
      const { sessionId, atMessageId, name } = parseInput(inputs.forkSession, input);
      return this.#manager.fork(sessionId, atMessageId, name);
    }

    async compactAndSplit(input: unknown): Promise<CompactReceipt> {
      const { sessionId, name, ...options } = parseInput(inputs.compactAndSplit, input);
      return this.#manager.compactAndSplit(sessionId, name, options);
    }

    /** The session in which a conversation goes on; the one asked for while it has not ended. */
    async newestSession(input: unknown): Promise<SessionInfo> {
      return this.#manager.newestOf(parseInput(inputs.session, input).sessionId);
    }

    async addUsage(input: unknown): Promise<SessionInfo> {
      const { sessionId, inputTokens, outputTokens, cost } = parseInput(inputs.addUsage, input);
      return this.#manager.addUsage(sessionId, inputTokens, outputTokens, cost);
    }

    get #manager(): SessionManager {
      return SessionManager.create(this);
    }

    #session(sessionId: string): Session {
      return Session.create(this).forSession(sessionId);
    }
  }
  for (const name of CALLABLE) register(Compacting.prototype[name]);
  return Compacting;
}

/** What `@callable()` does, without decorator syntax: this file then needs no transform in a user's build. */
function register(method: (input: unknown) => Promise<unknown>): void {
  callable({ description: DESCRIPTION })(method, {} as ClassMethodDecoratorContext);
}

type Compacting = InstanceType<ReturnType<typeof mix>>;

/** An agent with what `withCompaction` adds. */
export type CompactionSurface = Compacting;

/** Adds durable compaction to an agent class: `class Chat extends withCompaction(AIChatAgent<Env>) {}`. */
export function withCompaction<Env extends Cloudflare.Env, Base extends Agent<Env>>(
  base: new (ctx: DurableObjectState, env: Env) => Base,
): new (ctx: DurableObjectState, env: Env) => Base & CompactionSurface {
  return mix(base as unknown as typeof Agent<Cloudflare.Env>) as unknown as new (
    ctx: DurableObjectState,
    env: Env,
  ) => Base & CompactionSurface;
}

/** The Agents SDK's Agent with durable compaction: `class Chat extends CompactingAgent<Env> {}`. */
export const CompactingAgent = withCompaction(Agent) as unknown as new <
  Env extends Cloudflare.Env = Cloudflare.Env,
  State = unknown,
>(
  ctx: DurableObjectState,
  env: Env,
) => Agent<Env, State> & CompactionSurface;
