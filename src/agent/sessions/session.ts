/**
 * One session, as the agent's own code uses it: its settings, its messages and its compactions. The additions of the agent's rooms are parts
 * of it.
 *
 * Each write is one transaction, in which the trigger may add a ledger row. Nothing here awaits a model or the start of a workflow, so an
 * append is as fast during a compaction as without one.
 */
import type { UIMessage, ToolSet } from "ai";
import type { History, AppendResult, RecentHistory } from "../../memory/messages/history.ts";
import { besideEarlier, type EndedInstruction, type Instruction } from "../../facts/fact.ts";
import { toRecord, type OverlayRecord } from "../../memory/overlays/overlay.ts";
import type { CommitResult, ExpandOptions, PastView } from "../../memory/overlays/overlays.ts";
import { findNewest } from "../../memory/sessions/statements.ts";
import {
  checkGiven,
  defined,
  given,
  inputs,
  parseInput,
  type CompactOptions,
  leafOf,
  parentOf,
  type LeafInput,
  type ParentInput,
} from "../inputs.ts";
import type { EndedRun, RunRecord } from "../../memory/runs/runs.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Waiting, Rent } from "../../steps/decide/decide.ts";
import { listUsage, promptTokens, recordUsage, type ModelUsage, unseenTokens } from "../reports/usage.ts";
import type { UsageReport } from "../reports/usage-report.ts";
import { addMethods, type Rooms, type SessionMethodsOf } from "../extension.ts";
import type { OpenPrompt, ThoughtsTable } from "../../memory/runs/usage.ts";
import { Configured } from "../configured.ts";
import type { BuilderCall } from "../settings.ts";
import type { AgentCore, CoreWith } from "../agent-core.ts";
import { SessionState, type WriteOptions, forgetWhatWasSaid } from "./session-state.ts";
import { askForRun, rentNow, settleAtPresentSize } from "../runs/trigger.ts";
import { chooseByHand, layByHand } from "../runs/read-beside.ts";
import { openSpan } from "../runs/read-slices.ts";
import { visibleSpan } from "../runs/sources.ts";
import { withinBytes } from "../../fit/within-bytes.ts";
import { MIN_VIEW_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { inTurns } from "../../steps/view/turns.ts";
import { asShown, type View, type ViewReading } from "../../memory/messages/visible.ts";
import {
  checkViewOptions,
  messageRoom,
  shapeView,
  withPreviews,
  type Arranging,
  type GetViewOptions,
  type ShownView,
} from "./shown-view.ts";

/** Default limit of the messages in a turn's prompt, in thresholds. Beyond it compaction does not keep up. */
const THRESHOLDS_IN_A_TURN = 2;

export type ChangeParts = (parts: UIMessage["parts"]) => UIMessage["parts"];

/** Anything that holds a core, such as an agent made with `withCompaction`. */
export interface CompactionHost<R extends Rooms = Rooms> {
  /** The inside of the agent. Its members are no part of the interface. */
  readonly palimpsest: CoreWith<R>;
}

/** The core of a host. Throws `not_configured` for anything else. */
export function coreOf<R extends Rooms>(host: CompactionHost<R>): CoreWith<R> {
  // Code without types may give an agent that was declared without compaction.
  const core = (host as Partial<CompactionHost<R>> | undefined)?.palimpsest;
  if (core !== undefined) return core;
  throw new PalimpsestError(
    "not_configured",
    "This agent has no compaction. Declare it as a class that extends withCompaction(Agent).",
  );
}

/** The ledger row of the requested run, and whether that run was already live on this branch. */
export interface CompactReceipt {
  /** The ledger row of the run, as it was when the call returned. */
  readonly run: RunRecord;
  /** True when the run was live before, so that none was started. */
  readonly joined: boolean;
}

/** A session's status. Cheap enough to ask for after every append. */
export interface SessionStatus {
  /** The newest message of the active branch. Null in an empty session. */
  readonly leafId: string | null;
  /** The provider's count of the active branch's view. It is the estimate until the first {@link Session.recordUsage}. */
  readonly viewTokens: number;
  /** Tokens of a view from which it is compacted. Null without a policy. */
  readonly thresholdTokens: number | null;
  /** The window of the conversation's model, as given or as assumed. Null without a policy, and with a number alone. */
  readonly windowTokens: number | null;
  /** Elements of that view. Each visible message, and each summary, is one. */
  readonly viewMessages: number;
  /** The bound on them. Null where only tokens count. */
  readonly maxMessages: number | null;
  /** Ids of the runs that have no outcome yet. */
  readonly liveRunIds: readonly string[];
  /** With `auto`, the cost so far of carrying content that could have gone, and the cost of a summary. Null for a fixed threshold. */
  readonly rent: Rent | null;
  /** Why this branch is not compacted automatically now. Null without a policy, and when the next append will start a run. */
  readonly waiting: Waiting | null;
  /** Messages that are too long to be indexed whole, among those that a search has seen. */
  readonly partlySearched: number;
  /** Whether a base class such as AIChatAgent keeps the messages. Then appends, forks and splits are refused. */
  readonly isHosted: boolean;
}

/** A session of an agent with these rooms. */
export type SessionOf<R extends Rooms> = Session & SessionMethodsOf<R>;

/** One conversation of an agent, with its settings, its messages and its summaries. Get one with {@link Session.create}. */
export class Session extends Configured {
  readonly #core: AgentCore;
  readonly #state: SessionState;

  private constructor(core: AgentCore, id: string) {
    super();
    this.#core = core;
    this.#state = new SessionState(core, id);
    for (const room of core.installed) addMethods(this, room.session(this.#state));
  }

  /**
   * A handle on the agent's default session. {@link forSession} names another. Builder calls may come in any order. They are collected, and
   * applied together before the session's first use.
   * @example const session = Session.create(this).compactAfter(60_000);
   */
  static create<R extends Rooms>(agent: CompactionHost<R>): SessionOf<R> {
    return new Session(coreOf(agent), "") as SessionOf<R>;
  }

  /** The id of the session. The default one is `""`. */
  get id(): string {
    return this.#state.id;
  }

  /**
   * Throws `invalid_input`.
   * @example const session = Session.create(this).forSession("chat-1");
   */
  forSession(sessionId: string): this {
    checkGiven(given.session, { sessionId });
    this.#state.id = sessionId;
    return this;
  }

  /** @internal */
  protected override collect(call: BuilderCall): this {
    this.#state.collect(call);
    return this;
  }

  /** Applies the builder calls. Happens automatically before the session is used. */
  apply(): void {
    this.#state.apply();
  }

  // --- history -------------------------------------------------------------------------------------------------------

  /**
   * `parent` undefined is the active leaf, null a new root. A known id changes nothing. See History.append for errors.
   * @example await session.appendMessage({ id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] });
   */
  async appendMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    const leafId = this.#state.stored.leafId();
    const continues = parentId === undefined || parentId === leafId ? leafId : null;
    return this.#state.write((history) => this.#noted(history, history.append(message, parentId)), { continues });
  }

  /**
   * Appends in order, all or none. Each message's parent is the one before it.
   * @example await session.appendAll([question, answer]);
   */
  async appendAll(messages: readonly UIMessage[], parent?: ParentInput): Promise<AppendResult[]> {
    const parentId = parentOf(parent);
    return this.#state.write((history) => {
      const results: AppendResult[] = [];
      for (const message of messages) {
        const before = results.findLast((result) => !result.synthetic)?.message.id;
        results.push(this.#noted(history, history.append(message, before ?? parentId)));
      }
      return results;
    });
  }

  /**
   * Stores the message, or replaces the one with its id. Streaming persistence calls it many times.
   * @example await session.upsertMessage({ ...answer, parts: [{ type: "text", text: "So far" }] });
   */
  async upsertMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    return this.#state.write((history) => this.#noted(history, history.upsert(message, parentId)));
  }

  /**
   * Null when there is no message with this id.
   * @example const updated = await session.updateMessage({ ...question, metadata: { isRead: true } });
   */
  async updateMessage(message: UIMessage): Promise<UIMessage | null> {
    return this.#state.write((history) => {
      const updated = history.update(message);
      if (updated !== null) this.#noteThoughts(history, updated);
      return updated;
    });
  }

  /**
   * Children of a deleted message move to its nearest surviving ancestor. Returns how many were deleted.
   * @example const deleted = await session.deleteMessages([question.id]);
   */
  async deleteMessages(ids: readonly string[]): Promise<number> {
    checkGiven(given.messages, { ids });
    return this.#state.write((history) => {
      const deleted = history.delete(ids);
      this.#core.trigger.measureAfresh(this.#state.id);
      return deleted;
    });
  }

  /**
   * Deletes the conversation's words (S2). These are messages, overlays, drafts, notes, search rows, the focus of runs, error texts of
   * failed calls, and the list of loaded skills. Live runs end as `stale`. Texts that were configured stay, which are context blocks, a
   * frozen prompt and the session's name. Numbers stay too, which are runs, sums and calibration.
   * @example await session.clearMessages();
   */
  async clearMessages(): Promise<void> {
    this.#state.write((history) => {
      history.clear();
      forgetWhatWasSaid(this.#core, this.#state.id);
    });
  }

  /**
   * @example const shown = await session.getHistory();
   */
  async getHistory(leaf?: LeafInput): Promise<UIMessage[]> {
    return this.#state.read((history) => history.getHistory(leafOf(leaf)));
  }

  /**
   * The path with overlays applied, one message at a time.
   * @example
   * for await (const { id, role } of session.history({ newestFirst: true })) {
   *   if (role === "user") return id;
   * }
   */
  async *history(options: { leafId?: string; newestFirst?: boolean } = {}): AsyncGenerator<UIMessage> {
    const checked = defined(parseInput(inputs.history, options));
    if (this.#state.isHosted) {
      const messages = await this.getHistory(checked.leafId);
      yield* checked.newestFirst === true ? messages.toReversed() : messages;
    } else {
      yield* this.#state.stored.history(checked);
    }
  }

  /**
   * @example const message = await session.getMessage("m1");
   */
  async getMessage(id: string): Promise<UIMessage | null> {
    checkGiven(given.message, { id });
    return this.#state.read((history) => history.get(id));
  }

  async getLatestLeaf(): Promise<UIMessage | null> {
    return this.#state.read((history) => history.latestLeaf());
  }

  /**
   * The messages with this parent. There are several where the conversation branches.
   * @example const answers = await session.getBranches(question.id);
   */
  async getBranches(id: string): Promise<UIMessage[]> {
    checkGiven(given.message, { id });
    return this.#state.read((history) => history.branches(id));
  }

  /** The id of this message's parent, by its id or by the id of a part of it in a view. Null for a root. Throws `unknown_message`. */
  async getParent(id: string): Promise<string | null> {
    checkGiven(given.shownMessage, { id });
    return this.#state.stored.parentOf(id);
  }

  /**
   * Returns a function that changes the parts of one stored message, each call in a transaction. Null when there is no such message. It
   * changes this very message or none. After a deletion of it, alone or with the session's messages, each call throws `unknown_message` and
   * writes nothing, even when another message has its id. Throws the errors of {@link updateMessage} too.
   */
  editor(id: string, options: WriteOptions = {}): ((change: ChangeParts) => void) | null {
    checkGiven(given.message, { id });
    const number = this.#state.stored.numberOf(id);
    if (number === null) return null;
    return (change) =>
      this.#state.write((history) => {
        const message = history.numberOf(id) === number ? history.get(id) : null;
        if (message !== null) {
          const updated = history.update({ ...message, parts: change(message.parts) });
          return updated === null ? undefined : this.#noteThoughts(history, updated);
        }
        throw new PalimpsestError(
          "unknown_message",
          `Message "${id}" was deleted from session "${this.#state.id}" meanwhile. Nothing was added: begin a new turn.`,
        );
      }, options);
  }

  async getPathLength(leaf?: LeafInput): Promise<number> {
    return this.#state.read((history) => history.pathLength(leafOf(leaf)));
  }

  /**
   * The newest part of the view within a byte budget, always with the leaf.
   * @example const { messages } = await session.getRecentHistory(100_000);
   */
  async getRecentHistory(maxBytes: number, options: { leafId?: string } = {}): Promise<RecentHistory> {
    const checked = defined(parseInput(inputs.branch, options));
    return this.#state.read((history) => history.recent(maxBytes, checked));
  }

  /**
   * The view for a model, with overlays applied, repaired so that the AI SDK and every provider accept it. With `maxTokens` it always fits, and
   * says how. Throws `invalid_options`, `unknown_leaf`, `unknown_overlay`.
   * @example
   * const { messages } = await session.getView({ maxTokens: 100_000 });
   * const prompt = await convertToModelMessages(messages);
   */
  async getView(options?: string | GetViewOptions): Promise<ShownView> {
    const view = await this.viewWith(options);
    const { apart = false, asOf, leafId } = checkViewOptions(options);
    const { thoughts } = this.#core;
    const messages = apart ? view.messages : thoughts.boundView(inTurns(view.messages));
    if (!apart && asOf === undefined) thoughts.showed(this.#state.id, leafId ?? this.#state.stored.leafId(), messages);
    return { ...view, messages: messages.map(asShown) };
  }

  /** As {@link getView}, with the messages apart, and arranged before the view is shortened or made to fit. @internal */
  async viewWith(options?: string | GetViewOptions, { as, arrange }: Arranging = {}): Promise<ShownView> {
    const checked = parseInput(inputs.getView, checkViewOptions(options));
    const { leafId, asOf } = checked;
    const { sameSession } = this.#state;
    const { core, id } = sameSession;
    const { rooms } = core;
    const reading: Omit<ViewReading, "overlays"> = {
      leavesOut: (behind) => rooms.leavesOut?.(id, behind) ?? new Set(),
      as,
    };
    const read = await sameSession.read<View | PastView>((history) =>
      asOf === undefined ? history.view(leafId, reading) : history.overlays.viewAsOf(asOf, reading),
    );
    const view = { ...read, messages: rooms.shown?.(id, read.messages) ?? read.messages };
    const previewed = withinBytes(withPreviews(core, id, view.messages));
    const { messages: shown, ...apart } = (await arrange?.(previewed)) ?? {
      messages: previewed,
      tokens: 0,
      reserved: 0,
    };
    return shapeView(core, id, { view, shown, options: checked, apart });
  }

  /**
   * Default limit of a turn's prompts in tokens. Undefined without a threshold. The rest of the prompt is added to it, so that no
   * provider's count can crowd the messages out.
   */
  get turnTokens(): number | undefined {
    const { policy } = this.#state.settings;
    if (policy === null) return undefined;
    const messages = Math.max(MIN_VIEW_TOKENS, policy.thresholdTokens * THRESHOLDS_IN_A_TURN);
    return messages + unseenTokens(this.#core, this.#state.id, 0);
  }

  /** Estimated tokens that messages may take in a prompt of so many, as the provider counts it. @internal */
  messageRoom(maxTokens: number): number {
    return messageRoom(this.#core, this.#state.id, maxTokens);
  }

  /** The counter of the whole session, which is `tokenCounter` or the built-in estimate. */
  get countTokens(): CountTokens {
    return this.#state.settings.countTokens;
  }

  /**
   * The view right after an overlay came into force, with the present messages, whatever happened to that overlay and to others since. It
   * omits every summary over messages that were edited or deleted since, and names those in `changed`. Throws `unknown_overlay`.
   * @example const { messages, changed } = await session.getViewAsOf(overlayId);
   */
  async getViewAsOf(overlayId: string): Promise<PastView> {
    checkGiven(given.overlay, { overlayId });
    return (await this.getView({ asOf: overlayId })) as ShownView & PastView;
  }

  /**
   * Tools for the model, from the agent's rooms. The set changes only with the configuration. So a prompt's cached prefix, which begins
   * with the tools, stays valid. The tools act on the session that continues the conversation, even after a split in the middle of a turn.
   * @example const tools = await session.tools();
   */
  async tools(): Promise<ToolSet> {
    // Read first, because that applies the settings of all sessions to this one, with its blocks.
    void this.#state.settings;
    const { core, id } = this.#state;
    return core.rooms.tools?.(id, () => findNewest(core.memory.statements, id)) ?? {};
  }

  #noted(history: History, result: AppendResult): AppendResult {
    if (!result.synthetic) this.#noteThoughts(history, result.message);
    return result;
  }

  /** Notes what the thoughts of a reply were made on, where it came behind a view that was handed out. */
  #noteThoughts(history: History, reply: UIMessage): void {
    this.#core.thoughts.stored(this.#state.id, reply, () => history.parentOf(reply.id));
  }

  // --- status --------------------------------------------------------------------------------------------------------

  /**
   * The session that continues the conversation after splits of this one, or itself without a split. Reads a row for each split.
   * @example const { id } = session.newest();
   */
  newest(): this {
    const id = findNewest(this.#core.memory.statements, this.id);
    // Of the same agent, so it has the same rooms.
    return id === this.id ? this : (new Session(this.#core, id) as this);
  }

  /** A handle of its own for a work that waits, because this one may name another session meanwhile (S1). @internal */
  get sameSession(): this {
    return new Session(this.#core, this.id) as this;
  }

  /** The end of a turn's prompt, which the agent's rooms add and which is not stored. Null for nothing. */
  async reminderOfRooms(): Promise<string | null> {
    this.apply();
    return this.#core.rooms.reminder?.(this.id) ?? null;
  }

  /** What the thoughts in this session's messages were made on. @internal */
  get thoughtNotes(): {
    readonly prefixes: ThoughtsTable["prefixes"];
    keep(prefixes: ReadonlyMap<string, string>): void;
  } {
    const { thoughts } = this.#core;
    return { prefixes: (marks) => thoughts.prefixes(marks), keep: (prefixes) => thoughts.put(this.id, prefixes) };
  }

  /** Notes that a prompt was made that ends with this message, whose answer the caller stores. @internal */
  promptOpened(leafId: string | null, madeOf: OpenPrompt["madeOf"]): void {
    this.#core.thoughts.opened(this.id, { leafId, madeOf });
  }

  /**
   * The sizes of the active view, its threshold, live runs, and what keeps the session from being compacted.
   * @example const { viewTokens, waiting } = await session.status();
   */
  async status(): Promise<SessionStatus> {
    return this.#state.read((history) => {
      const leafId = history.leafId();
      const decision = this.#core.trigger.decide(this.id, { leafId });
      return {
        leafId,
        viewTokens: promptTokens(this.#core, this.id),
        thresholdTokens: this.#state.settings.policy?.thresholdTokens ?? null,
        windowTokens: this.#state.settings.when?.windowTokens ?? null,
        viewMessages: history.size().messages,
        maxMessages: this.#state.settings.policy?.maxMessages ?? null,
        liveRunIds: this.#core.runs.live(this.id).map((run) => run.id),
        rent: rentNow(this.#core, this.id),
        waiting: decision.kind === "wait" ? decision.waiting : null,
        partlySearched: this.#core.rooms.countPartlySearched?.(this.id) ?? 0,
        isHosted: this.#state.isHosted,
      };
    });
  }

  /**
   * Whether a compaction is due and nothing keeps it from starting, as the trigger would decide now. It starts none. False while a run is
   * live, without a policy, and for each reason of {@link status}`.waiting`.
   * @example if (await session.needsCompaction()) await session.compact();
   */
  async needsCompaction(): Promise<boolean> {
    return this.#state.read(
      (history) => this.#core.trigger.decide(this.id, { leafId: history.leafId() }).kind === "start",
    );
  }

  /**
   * Records a provider's count of a model call on this session's view. It is the one call to make after a model call. From then on the
   * trigger and {@link status} use the provider's expected count, with system prompt and tools, and the session's sums include its tokens
   * and `cost`. Throws `invalid_input`, `unknown_leaf`.
   * @example await session.recordUsage({ inputTokens: 12_000, outputTokens: 300, model: "gpt-5" });
   */
  async recordUsage(report: UsageReport): Promise<void> {
    const checked = parseInput(inputs.recordUsage, report);
    const state = this.#state.sameSession;
    await state.read(() => state.write(() => recordUsage(this.#core, state.id, checked)));
  }

  /**
   * The recorded usage by model, the last called first. With the room of costs and prices, also what it cost by use.
   * @example const [newest] = await session.getUsage();
   */
  async getUsage(): Promise<ModelUsage[]> {
    return listUsage(this.#core, this.id);
  }

  // --- compaction ----------------------------------------------------------------------------------------------------

  /**
   * Asks for a run now, whatever the threshold says. Returns at once, and {@link ended} waits for the run. While the summariser is down or
   * the budget is spent, the run ends at once as `nothing` with that reason, unless `ignoreBudget` is true.
   * @example
   * const { run } = await session.compact({ focus: "the open bugs" });
   * const { outcome } = await session.ended(run.id);
   */
  async compact(options: CompactOptions = {}): Promise<CompactReceipt> {
    return this.#ask("manual", parseInput(inputs.compact, options));
  }

  /**
   * As {@link compact}, for a prompt that a provider refused as too long.
   * @example const { run } = await session.compactNow({ reason: "overflow" });
   */
  async compactNow(options: CompactOptions & { reason?: "overflow" | "manual" } = {}): Promise<CompactReceipt> {
    const { reason, ...checked } = parseInput(inputs.compactNow, options);
    return this.#ask(reason, checked);
  }

  /**
   * Resolves with the ledger row once the run has its outcome.
   * @example
   * const { run } = await session.compact();
   * const { outcome } = await session.ended(run.id);
   */
  async ended(runId: string): Promise<EndedRun> {
    checkGiven(given.run, { runId });
    return this.#core.ended(runId);
  }

  /**
   * The session's runs, newest first. `before` is the `n` of the last run of the page before. Throws `invalid_input`.
   * @example const [newest] = await session.runs({ limit: 1 });
   */
  async runs(options: { readonly limit?: number; readonly before?: number | undefined } = {}): Promise<RunRecord[]> {
    return this.#core.runs.list(this.id, defined(parseInput(inputs.runs, options)));
  }

  /**
   * Adds a caller's summary over a range of one path, both ends included, by ids as a view shows them. Removes invisible characters from
   * it. Beside it stand the user's newest words and the instructions of summaries that it covers. Throws `invalid_range`, also where its
   * messages change during the call, `invalid_input`, `unknown_message`.
   * @example const overlay = await session.addCompaction("Anna chose the blue one.", "m4", "m9");
   */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<OverlayRecord> {
    checkGiven(given.summary, { summary, fromMessageId, toMessageId });
    const state = this.#state.sameSession;
    const { span, survey } = await state.read((history) => {
      const named = visibleSpan(history, fromMessageId, toMessageId);
      return { span: named, survey: openSpan(this.#core, { sessionId: state.id, span: named }) };
    });
    const isUntouched = await survey();
    const commit = await state.read((): CommitResult => {
      if (!isUntouched()) return { kind: "stale", reason: "changed" };
      const made = chooseByHand(this.#core, state.id, { span, summary });
      return state.write(() => layByHand(this.#core, state.id, made));
    });
    if (commit.kind !== "stale") return commit.overlay;
    throw new PalimpsestError(
      "invalid_range",
      `The summary was not added (${commit.reason}). It must be smaller than what it replaces, tell of it as it is now, and cut no other.`,
    );
  }

  /**
   * All overlays in every state, oldest first. The text of one is withheld where its messages were edited or deleted since.
   * @example const overlays = await session.getCompactions();
   */
  async getCompactions(): Promise<OverlayRecord[]> {
    return this.#state.read((history) => history.overlays.list());
  }

  /**
   * The messages under an overlay, oldest first. They are the originals, all or in pages, or with `depth` the narrower summaries just
   * beneath. Throws `unknown_overlay`, `unknown_message` for `after`, `invalid_input`.
   * @example const originals = await session.expand(overlayId);
   */
  async expand(overlayId: string, options: ExpandOptions = {}): Promise<UIMessage[]> {
    checkGiven(given.overlay, { overlayId });
    const checked = parseInput(inputs.expand, options);
    return this.#state.read((history) => history.overlays.expand(overlayId, checked));
  }

  /**
   * Takes an overlay out of every view, so that the messages under it show again. Deletes nothing.
   * @example await session.rollback(overlayId);
   */
  async rollback(overlayId: string): Promise<void> {
    checkGiven(given.overlay, { overlayId });
    const undo = (history: History): void => {
      history.overlays.rollback(overlayId);
      settleAtPresentSize(this.#core, this.id);
    };
    this.#state.write(undo, { quiet: true });
  }

  /**
   * Puts an overlay that was rolled back, or gave way to an edit, into force again, through the fence of any commit. `stale` says why it no
   * longer fits, and then nothing changed. Throws `unknown_overlay`.
   * @example
   * await session.rollback(overlayId);
   * const { kind } = await session.restore(overlayId);
   */
  async restore(overlayId: string): Promise<CommitResult> {
    checkGiven(given.overlay, { overlayId });
    return this.#state.write((history) => history.overlays.restore(overlayId), { quiet: true });
  }

  /**
   * The user's standing instructions as the active view shows them beside its summaries, oldest first, and those that the user ended, with
   * the words that ended each. Those in messages that are still in view are not listed.
   * @example const { standing } = await session.getInstructions();
   */
  async getInstructions(): Promise<{ standing: readonly Instruction[]; ended: readonly EndedInstruction[] }> {
    return this.#state.read((history) => {
      const shown = history.elements().flatMap((each) => (each.kind === "overlay" ? [each] : []));
      const pinned = shown.map(({ overlay, isLast, showsInstructions }) => {
        const { pinned: all } = toRecord(overlay).details;
        return isLast ? all : { ...besideEarlier(all, showsInstructions), ended: showsInstructions ? all.ended : [] };
      });
      return { standing: pinned.flatMap((each) => each.instructions), ended: pinned.flatMap((each) => each.ended) };
    });
  }

  /**
   * Lets an instruction hold again that a summariser took for ended, by its words and its message as {@link getInstructions} lists them.
   * Only a still later message of the user ends it then. False where no summary of the active view lists it as ended. Throws `invalid_input`.
   * @example
   * const { ended } = await session.getInstructions();
   * for (const { quote, messageId } of ended) await session.restoreInstruction(quote, messageId);
   */
  async restoreInstruction(quote: string, messageId: string): Promise<boolean> {
    checkGiven(given.instruction, { quote, messageId });
    const restore = (history: History): boolean => {
      const shown = history.elements().flatMap((each) => (each.kind === "overlay" ? [each.overlay.overlayId] : []));
      return history.overlays.restoreInstruction({ quote, messageId }, shown);
    };
    return this.#state.write(restore, { quiet: true });
  }

  #ask(trigger: "manual" | "overflow", options: CompactOptions): CompactReceipt {
    const history = this.#state.stored;
    const leafId = options.leafId ?? history.leafId();
    if (leafId === null) throw this.#state.empty();
    history.mustHaveLeaf(leafId);
    this.#state.mustHavePolicy();
    return this.#core.db.transaction(() =>
      askForRun(this.#core, this.id, {
        trigger,
        leafId,
        focus: options.focus ?? null,
        fresh: options.fresh ?? false,
        manual: true,
        ignoreBudget: options.ignoreBudget ?? false,
        only: options.rebuild === true ? "rebuild" : undefined,
      }),
    );
  }
}
