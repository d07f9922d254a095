/**
 * The sessions of one agent: made, listed, named, copied and deleted by id, and what all of them have in common.
 *
 * It keeps nothing of its own, so a call works the same whether or not its session was touched since the last wake-up.
 * Methods on rows answer at once; those on messages are a {@link Session}'s.
 */
import type { UIMessage } from "ai";
import type { AppendResult } from "../memory/messages/history.ts";
import type { OverlayRecord } from "../memory/overlays/overlays.ts";
import type { CreateSessionOptions, ListSessionsOptions, SessionInfo } from "../memory/sessions/sessions.ts";
import type { LeafInput, ParentInput } from "./branch-input.ts";
import { addMethods } from "./compose.ts";
import { Configured } from "./configured.ts";
import type { Told } from "./core.ts";
import { inputs, parseInput } from "./inputs.ts";
import type { ManagerMethodsOf, Rooms } from "./extension.ts";
import { endRun } from "./runs/end-run.ts";
import { inheritDrafts } from "./runs/inherited-drafts.ts";
import { SessionState } from "./session-state.ts";
import { Session, type SessionOf, type CompactReceipt, type CompactionHost } from "./session.ts";
import { startSplit, type SplitOptions } from "./runs/split.ts";

/** A manager of the sessions of an agent with these rooms. */
export type ManagerOf<R extends Rooms> = SessionManager<R> & ManagerMethodsOf<R>;

export class SessionManager<R extends Rooms = Rooms> extends Configured {
  readonly #host: CompactionHost<R>;

  private constructor(host: CompactionHost<R>) {
    super();
    this.#host = host;
    const { palimpsest: core } = host;
    for (const part of core.rooms.managerParts({ core, tell: (told) => void this.tell(told) })) addMethods(this, part);
  }

  /** A handle on the agent's sessions. Builder calls may come in any order; a session's own settings go before them. */
  static create<R extends Rooms>(agent: CompactionHost<R>): ManagerOf<R> {
    return new SessionManager(agent) as ManagerOf<R>;
  }

  protected override tell(told: Told): this {
    this.#core.settings.tellEvery((sessionId) => {
      const state = new SessionState(this.#core, sessionId);
      state.tell(told);
      state.apply();
    });
    return this;
  }

  // --- sessions ------------------------------------------------------------------------------------------------------

  /** Without a name it goes by the beginning of its first user message. Throws `invalid_input`, `unknown_session` for the parent. */
  create(name?: string, options: CreateSessionOptions = {}): SessionInfo {
    return this.#sessions.create(crypto.randomUUID(), name, parseInput(inputs.createSession, options));
  }

  get(id: string): SessionInfo | null {
    return this.#sessions.get(id);
  }

  /** A handle; the session need not exist yet. */
  getSession(id: string): SessionOf<R> {
    return Session.create(this.#host).forSession(id);
  }

  /** Newest first, by creation, 50 a page unless told. Reads four rows for a session at most. */
  list(options: Partial<ListSessionsOptions> = {}): SessionInfo[] {
    return this.#sessions.list(parseInput(inputs.listSessions, options));
  }

  /** A blank name gives the session its title back. Throws `unknown_session`, `invalid_input`. */
  rename(id: string, name: string): SessionInfo {
    return this.#sessions.rename(id, name);
  }

  /**
   * Adds to the session's sums what no {@link Session.recordUsage} was told: calls that were not made on its view, or
   * money alone. Throws `unknown_session`, `invalid_input`.
   */
  addUsage(id: string, ...usage: [inputTokens: number, outputTokens: number, cost?: number]): SessionInfo {
    const [inputTokens, outputTokens, cost = 0] = usage;
    return this.#sessions.addUsage(id, { inputTokens, outputTokens, cost });
  }

  /**
   * Deletes all that was stored of a session: messages, summaries, drafts, ledger, search, context blocks (S2). A fork
   * keeps the drafts of what it holds itself. Its live runs end as `cancelled`. False when there was no such session, so
   * that a repeated call does no harm.
   */
  async delete(id: string): Promise<boolean> {
    const core = this.#core;
    const { existed, live } = core.transaction(() => {
      const live = core.runs.live(id);
      inheritDrafts(core, id);
      core.memory.session(id).clear();
      for (const run of live) endRun(core, run, { kind: "cancelled" });
      // Every room that keeps rows of a session; a test looks through all tables for one that is missing here (S2).
      core.rooms.deleted(id);
      core.usage.delete(id);
      core.spend.delete(id);
      core.hookOutbox.removeSession(id);
      return { existed: core.memory.sessions.delete(id), live };
    });
    await core.dispatcher.stop(live);
    return existed;
  }

  /**
   * A new session that begins as a copy of the path up to a message, ids and summaries included, and knows where it came
   * from. Its context blocks, loaded skills and what it learned of its provider's counts are the parent's as they are
   * now; its sums begin at 0 and its prompt is not frozen. Compacting it again asks no model for what its parent has a
   * draft of. Writes a row for each message, block and entry. Throws `unknown_session`, `unknown_message`, `invalid_input`.
   */
  async fork(id: string, atMessageId: string, name?: string): Promise<SessionInfo> {
    const core = this.#core;
    return core.transaction<SessionInfo>(() => {
      const fork = this.#sessions.fork(id, { id: crypto.randomUUID(), atMessageId, name });
      core.rooms.copied(id, fork.id);
      core.usage.copy(id, fork.id);
      return fork;
    });
  }

  /**
   * Asks for a run that compacts the session, ends it and opens a child, which shows the same view, has the name unless
   * given one, and goes on with blocks, skills and counts as {@link fork} copies them. Returns at once: `Session.ended`
   * waits for the outcome, `split` with the child's id. Nothing is deleted: the parent is read as before, and refuses
   * further messages with `session_ended`. Throws `unknown_session`, `session_ended`, `invalid_input`, `invalid_state` for
   * a session without messages, `not_configured`.
   */
  async compactAndSplit(id: string, name?: string, options: SplitOptions = {}): Promise<CompactReceipt> {
    const core = this.#core;
    const checked = parseInput(inputs.split, { ...options, name });
    const receipt = core.transaction<CompactReceipt>(() => startSplit(core, id, checked));
    return receipt;
  }

  /** Where a conversation goes on that was split, once or often; the session itself otherwise. Throws `unknown_session`. */
  newestOf(id: string): SessionInfo {
    return this.#sessions.newestOf(id);
  }

  // --- messages, by session id ---------------------------------------------------------------------------------------

  async append(id: string, message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    return this.getSession(id).appendMessage(message, parent);
  }

  async upsert(id: string, message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    return this.getSession(id).upsertMessage(message, parent);
  }

  /** In order, all or none. Without a parent they continue from the session's leaf. */
  async appendAll(id: string, messages: readonly UIMessage[], parent?: ParentInput): Promise<AppendResult[]> {
    return this.getSession(id).appendMessages(messages, parent);
  }

  async getHistory(id: string, leaf?: LeafInput): Promise<UIMessage[]> {
    return this.getSession(id).getHistory(leaf);
  }

  /** Of the active path, hidden ones included. Reads a row for each. */
  async getMessageCount(id: string): Promise<number> {
    return this.getSession(id).getPathLength();
  }

  async clearMessages(id: string): Promise<void> {
    return this.getSession(id).clearMessages();
  }

  async deleteMessages(id: string, messageIds: readonly string[]): Promise<number> {
    return this.getSession(id).deleteMessages(messageIds);
  }

  async getBranches(id: string, messageId: string): Promise<UIMessage[]> {
    return this.getSession(id).getBranches(messageId);
  }

  /** As {@link Session.addCompaction}, over messages from the first to the last. */
  async addCompaction(
    id: string,
    summary: string,
    ...range: [fromMessageId: string, toMessageId: string]
  ): Promise<OverlayRecord> {
    return this.getSession(id).addCompaction(summary, ...range);
  }

  async getCompactions(id: string): Promise<OverlayRecord[]> {
    return this.getSession(id).getCompactions();
  }

  get #core() {
    return this.#host.palimpsest;
  }

  get #sessions() {
    return this.#core.memory.sessions;
  }
}
