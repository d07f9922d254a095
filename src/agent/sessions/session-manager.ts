/**
 * The sessions of one agent, made, listed, named, copied and deleted by id, with their common settings.
 *
 * Keeps no state, so a call works the same whether or not its session was touched since the last wake-up. Methods on rows answer
 * synchronously. Methods on messages delegate to a {@link Session}.
 */
import type { UIMessage } from "ai";
import type { AppendResult } from "../../memory/messages/history.ts";
import type { OverlayRecord } from "../../memory/overlays/overlay.ts";
import type { CreateSessionOptions, ListSessionsOptions, SessionInfo } from "../../memory/sessions/sessions.ts";
import { type LeafInput, type ParentInput, checkGiven, given, inputs, parseInput } from "../inputs.ts";
import { addMethods, type ManagerMethodsOf, type Rooms } from "../extension.ts";
import { Configured } from "../configured.ts";
import type { BuilderCall } from "../settings.ts";
import { inheritDrafts } from "../runs/sources.ts";
import { coreOf, Session, type SessionOf, type CompactReceipt, type CompactionHost } from "./session.ts";
import { splitWithSummary, startSplit, type SplitOptions } from "../runs/split.ts";

// A manager of the sessions of an agent with these rooms.
export type ManagerOf<R extends Rooms> = SessionManager<R> & ManagerMethodsOf<R>;

/** All sessions of an agent, and settings for each of them. Get one with {@link SessionManager.create}. */
export class SessionManager<R extends Rooms = Rooms> extends Configured {
  readonly #host: CompactionHost<R>;

  private constructor(host: CompactionHost<R>) {
    super();
    this.#host = host;
    const core = coreOf(host);
    const state = { core, collect: (call: BuilderCall) => void this.collect(call) };
    for (const { manager } of core.installed) if (manager !== undefined) addMethods(this, manager(state));
  }

  /**
   * A handle on the agent's sessions. Builder calls may come in any order. They apply before a session's own settings, which override them.
   * @example const sessions = SessionManager.create(this).compactAfter(60_000);
   */
  static create<R extends Rooms>(agent: CompactionHost<R>): ManagerOf<R> {
    return new SessionManager(agent) as ManagerOf<R>;
  }

  /** @internal */
  protected override collect(call: BuilderCall): this {
    this.#core.settings.collectForAll(call);
    return this;
  }

  // --- sessions ------------------------------------------------------------------------------------------------------

  /**
   * A session without a name is titled by the beginning of its first user message. Throws `invalid_input`, `unknown_session` for the
   * parent, `storage_full`.
   * @example const { id } = sessions.create("Holidays");
   */
  create(name?: string, options: CreateSessionOptions = {}): SessionInfo {
    return this.#sessions.create(crypto.randomUUID(), name, parseInput(inputs.createSession, options));
  }

  /** What is known of a session. Null when there is none. Throws `invalid_input`. */
  get(id: string): SessionInfo | null {
    checkGiven(given.session, { sessionId: id });
    return this.#sessions.get(id);
  }

  /**
   * A handle. The session need not exist yet.
   * @example const { messages } = await sessions.getSession(sessionId).getView();
   */
  getSession(id: string): SessionOf<R> {
    return Session.create(this.#host).forSession(id);
  }

  /**
   * By their newest message, newest first, 50 a page by default. Reads two rows for each session of the agent. With `order: "creation"` it
   * reads at most four for each session of the page.
   * @example const newest = sessions.list({ limit: 10 });
   */
  list(options: Partial<ListSessionsOptions> = {}): SessionInfo[] {
    return this.#sessions.list(parseInput(inputs.listSessions, options));
  }

  /**
   * A blank name restores the session's title. Throws `unknown_session`, `invalid_input`.
   * @example sessions.rename(sessionId, "Holidays in June");
   */
  rename(id: string, name: string): SessionInfo {
    checkGiven(given.session, { sessionId: id });
    return this.#sessions.rename(id, name);
  }

  /**
   * Adds usage to the session's sums that was not recorded with {@link Session.recordUsage}, such as calls that were not made on its view,
   * or money alone. Throws `unknown_session`, `invalid_input`.
   */
  addUsage(id: string, ...usage: [inputTokens: number, outputTokens: number, cost?: number]): SessionInfo {
    checkGiven(given.session, { sessionId: id });
    const [inputTokens, outputTokens, cost = 0] = usage;
    return this.#sessions.addUsage(id, { inputTokens, outputTokens, cost });
  }

  /**
   * Deletes everything that was stored of a session, which is messages, summaries, drafts, ledger, search, context blocks (S2). A fork
   * keeps the drafts of messages that it holds itself. Live runs of the session end as `cancelled`. False when there was no such session,
   * so a repeated call does no harm.
   * @example const existed = await sessions.delete(sessionId);
   */
  async delete(id: string): Promise<boolean> {
    checkGiven(given.session, { sessionId: id });
    const core = this.#core;
    const { existed, live } = core.db.transaction(() => {
      const live = core.runs.live(id);
      inheritDrafts(core, id);
      core.memory.session(id).clear();
      for (const run of live) core.endRun(run, { kind: "cancelled" });
      // Every store with rows of a session. A test looks through all tables for one that is missing here (S2).
      core.rooms.deleted?.(id);
      core.usage.delete(id);
      core.thoughts.delete(id);
      core.spend.delete(id);
      core.hookOutbox.removeSession(id);
      return { existed: core.memory.sessions.delete(id), live };
    });
    await core.dispatcher.stop(live);
    return existed;
  }

  /**
   * Makes a new session as a copy of the path up to a message, with ids and summaries, and records its parent. Context blocks, loaded
   * skills and calibration are the parent's present ones. The sums begin at 0 and the prompt is not frozen. A compaction of it asks no
   * model where the parent has a draft. Writes a row for each message, block and entry. Throws `unknown_session`, `unknown_message`,
   * `invalid_input`, `storage_full`.
   * @example const fork = await sessions.fork(sessionId, question.id, "Another try");
   */
  async fork(id: string, atMessageId: string, name?: string): Promise<SessionInfo> {
    checkGiven(given.fork, { sessionId: id, atMessageId });
    const core = this.#core;
    return core.db.transaction<SessionInfo>(() => {
      const fork = this.#sessions.fork(id, { id: crypto.randomUUID(), atMessageId, name });
      core.rooms.copied?.(id, fork.id);
      core.usage.copy(id, fork.id);
      return fork;
    });
  }

  /**
   * Asks for a run that compacts the session, ends it and opens a child. A compaction that is at work becomes that run. The child shows the
   * same view, has the parent's name unless given another, and gets blocks, skills and calibration as {@link fork} copies them. Returns at
   * once. `Session.ended` waits for the outcome, `split` with the child's id. Nothing is deleted. The parent stays readable, and refuses
   * further messages with `session_ended`. Throws `unknown_session`, `session_ended`, `invalid_input`, `invalid_state` for a session without
   * messages, `not_configured`. With `summary` the split is done on return, the child begins with that summary alone, and one that is no
   * smaller than the view is `invalid_range`.
   * @example
   * const { run } = await sessions.compactAndSplit(sessionId);
   * const { outcome } = await sessions.getSession(sessionId).ended(run.id);
   */
  async compactAndSplit(id: string, name?: string, options: SplitOptions = {}): Promise<CompactReceipt> {
    checkGiven(given.session, { sessionId: id });
    const core = this.#core;
    const checked = parseInput(inputs.split, { ...options, name });
    const { summary } = checked;
    if (summary !== undefined) return { run: await splitWithSummary(core, id, { ...checked, summary }), joined: false };
    return core.db.transaction<CompactReceipt>(() => startSplit(core, id, checked));
  }

  /**
   * The session that continues a split conversation, after any number of splits. Without a split it is the session itself. Throws
   * `unknown_session`.
   * @example const { id } = sessions.newestOf(sessionId);
   */
  newestOf(id: string): SessionInfo {
    checkGiven(given.session, { sessionId: id });
    return this.#sessions.newestOf(id);
  }

  // --- messages, by session id ---------------------------------------------------------------------------------------

  /** As {@link Session.appendMessage}. A session that does not exist is made. */
  async append(id: string, message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    return this.getSession(id).appendMessage(message, parent);
  }

  /** As {@link Session.upsertMessage}. */
  async upsert(id: string, message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    return this.getSession(id).upsertMessage(message, parent);
  }

  /** In order, all or none. Without a parent they continue from the session's leaf. */
  async appendAll(id: string, messages: readonly UIMessage[], parent?: ParentInput): Promise<AppendResult[]> {
    return this.getSession(id).appendAll(messages, parent);
  }

  /** As {@link Session.getHistory}, which is the view of a branch, oldest first. */
  async getHistory(id: string, leaf?: LeafInput): Promise<UIMessage[]> {
    return this.getSession(id).getHistory(leaf);
  }

  /** Messages of the active path, hidden ones included. Reads a row for each. */
  async getMessageCount(id: string): Promise<number> {
    return this.getSession(id).getPathLength();
  }

  /** As {@link Session.clearMessages}. The session keeps its name, its blocks and its sums. */
  async clearMessages(id: string): Promise<void> {
    return this.getSession(id).clearMessages();
  }

  /** As {@link Session.deleteMessages}. Returns how many were deleted. */
  async deleteMessages(id: string, messageIds: readonly string[]): Promise<number> {
    return this.getSession(id).deleteMessages(messageIds);
  }

  /** As {@link Session.getBranches}, which are the messages that answer this one. */
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

  /** As {@link Session.getCompactions}, which are all summaries in every state, oldest first. */
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
