/**
 * One session, as the agent's own code uses it: history, overlays and compaction behind one handle.
 *
 * Writes are one synchronous transaction each, in which the trigger may add a ledger row; nothing here awaits a model or
 * the start of a workflow, so an append returns as fast with a compaction under way as without (E1).
 */
import type { UIMessage } from "ai";
import type { AppendResult, History, RecentHistory } from "../memory/history.ts";
import type { View } from "../memory/view.ts";
import type { OverlayRecord } from "../memory/overlays.ts";
import type { RunRecord } from "../memory/runs.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_OUTLINE_ROWS } from "../limits.ts";
import { exportJsonl } from "../import/export.ts";
import { importTranscript, type Format } from "../import/import.ts";
import { WHOLE_MESSAGE } from "../steps/outline.ts";
import { planCut } from "../steps/plan.ts";
import type { Core } from "./core.ts";
import { explainPlan, type PlanReport } from "./explain.ts";
import {
  compactAfter,
  unconfigured,
  type CompactAfterOptions,
  type InlineCompaction,
  type SessionSettings,
} from "./settings.ts";
import { startOrJoin, triggerIfDue } from "./trigger.ts";

/** Anything that holds a core: an agent made with `withCompaction`. */
export interface CompactionHost {
  readonly palimpsest: Core;
}

export interface CompactOptions {
  /** What the summary should attend to, in a person's words. */
  readonly focus?: string | undefined;
  /** The branch to compact; the active one by default. */
  readonly leafId?: string | undefined;
}

/** The ledger row of the asked-for run, and whether it was already at work on this branch. */
export interface CompactReceipt {
  readonly run: RunRecord;
  readonly joined: boolean;
}

/** Where a session stands. Cheap enough to ask for after every append. */
export interface SessionStatus {
  readonly leafId: string | null;
  /** Of the active branch's view, overhead included. */
  readonly viewTokens: number;
  readonly thresholdTokens: number | null;
  readonly liveRunIds: readonly string[];
}

export interface ImportTranscriptOptions {
  readonly format?: Format | undefined;
  readonly index?: number | undefined;
}

export interface ImportReceipt {
  readonly format: Format;
  readonly name: string;
  readonly messages: number;
  /** How many were new: messages whose ids the session knew already were left alone. */
  readonly inserted: number;
  /** What was left out, in words. */
  readonly notes: readonly string[];
}

interface WriteOptions {
  /** The leaf that is appended to, where that is known. */
  readonly continues?: string | null;
  /** Looks at no threshold: undoing a compaction by hand must not bring it straight back. */
  readonly quiet?: boolean;
}

export class Session {
  readonly #core: Core;
  #id: string;
  #settings: SessionSettings | null = null;

  private constructor(core: Core, id: string) {
    this.#core = core;
    this.#id = id;
  }

  /** A handle on the agent's default session; {@link forSession} names another. Builder calls may come in any order. */
  static create(agent: CompactionHost): Session {
    return new Session(agent.palimpsest, "");
  }

  get id(): string {
    return this.#id;
  }

  forSession(sessionId: string): this {
    this.#id = sessionId;
    return this.#configure(this.#settings);
  }

  /**
   * Compacts when the view is estimated at more than `thresholdTokens`, through the durable workflow unless
   * {@link onCompaction} brings a function. Throws `invalid_options`.
   */
  compactAfter(thresholdTokens: number, options: CompactAfterOptions = {}): this {
    return this.#configure(compactAfter(this.#settings ?? unconfigured(), thresholdTokens, options));
  }

  /** Replaces the durable workflow by a function of the caller's, called off the append's path. */
  onCompaction(inline: InlineCompaction): this {
    return this.#configure({ ...(this.#settings ?? unconfigured()), inline });
  }

  /** Is told of every run that ends in `failed`. What it throws is swallowed. */
  onCompactionError(onError: NonNullable<SessionSettings["onError"]>): this {
    return this.#configure({ ...(this.#settings ?? unconfigured()), onError });
  }

  #configure(settings: SessionSettings | null): this {
    this.#settings = settings;
    if (settings !== null) this.#core.settings.set(this.#id, settings);
    return this;
  }

  get #history(): History {
    return this.#core.memory.session(this.#id);
  }

  // --- history -------------------------------------------------------------------------------------------------------

  /** `parentId`: undefined is the active leaf, null a new root. A known id changes nothing. See History.append for errors. */
  async appendMessage(message: UIMessage, parentId?: string | null): Promise<AppendResult> {
    const leafId = this.#history.leafId();
    const continues = parentId === undefined || parentId === leafId ? leafId : null;
    return this.#write((history) => history.append(message, parentId), { continues });
  }

  /** Appends in order, all or none; each message's parent is the one before it. */
  async appendMessages(messages: readonly UIMessage[], parentId?: string | null): Promise<AppendResult[]> {
    return this.#write((history) => {
      const results: AppendResult[] = [];
      for (const message of messages) {
        const before = results.findLast((result) => !result.synthetic)?.message.id;
        results.push(history.append(message, before ?? parentId));
      }
      return results;
    });
  }

  /** Stores the message, or replaces the one with its id: what streaming persistence calls many times. */
  async upsertMessage(message: UIMessage, parentId?: string | null): Promise<AppendResult> {
    return this.#write((history) => history.upsert(message, parentId));
  }

  /** Null when there is no message with this id. */
  async updateMessage(message: UIMessage): Promise<UIMessage | null> {
    return this.#write((history) => history.update(message));
  }

  /** Children of a deleted message move to its nearest surviving ancestor. Returns how many were deleted. */
  async deleteMessages(ids: readonly string[]): Promise<number> {
    return this.#write((history) => history.delete(ids));
  }

  /** Empties the session: messages, overlays, drafts. Live runs end as `stale`. */
  async clearMessages(): Promise<void> {
    this.#write((history) => {
      history.clear();
      for (const run of this.#core.runs.live(this.#id)) this.#core.runs.end(run.id, { kind: "stale", reason: "gone" });
    });
  }

  async getHistory(leafId?: string): Promise<UIMessage[]> {
    return this.#history.getHistory(leafId);
  }

  /** The path with overlays applied, one message at a time. */
  async *history(options: { leafId?: string; newestFirst?: boolean } = {}): AsyncGenerator<UIMessage> {
    yield* this.#history.history(options);
  }

  async getMessage(id: string): Promise<UIMessage | null> {
    return this.#history.get(id);
  }

  async getLatestLeaf(): Promise<UIMessage | null> {
    return this.#history.latestLeaf();
  }

  /** The messages whose parent this is: more than one where the conversation branches. */
  async getBranches(id: string): Promise<UIMessage[]> {
    return this.#history.branches(id);
  }

  async getPathLength(leafId?: string): Promise<number> {
    return this.#history.pathLength(leafId);
  }

  /** The newest part of the view within a byte budget; the leaf always. */
  async getRecentHistory(maxBytes: number, options: { leafId?: string } = {}): Promise<RecentHistory> {
    return this.#history.recent(maxBytes, options);
  }

  /** What the model should see: overlays applied, repaired so that the AI SDK accepts it. */
  async getView(leafId?: string): Promise<View> {
    return this.#history.view(leafId);
  }

  async status(): Promise<SessionStatus> {
    const { policy, overheadTokens } = this.#core.settings.get(this.#id);
    return {
      leafId: this.#history.leafId(),
      viewTokens: this.#history.tokens() + overheadTokens,
      thresholdTokens: policy?.thresholdTokens ?? null,
      liveRunIds: this.#core.runs.live(this.#id).map((run) => run.id),
    };
  }

  // --- transcripts ---------------------------------------------------------------------------------------------------

  /**
   * Appends a transcript file's conversation, its branches included, all or nothing. A file that holds several needs
   * `index`, from 0. Throws `import_failed` naming each bad line, and what appending throws.
   */
  async importTranscript(text: string, options: ImportTranscriptOptions = {}): Promise<ImportReceipt> {
    const { format, index } = options;
    const { conversations, notes, ...found } = importTranscript(text, format === undefined ? {} : { format });
    const conversation = conversations[index ?? 0];
    if (conversation === undefined || (index === undefined && conversations.length > 1)) {
      throw new PalimpsestError(
        "invalid_input",
        `The file holds ${conversations.length} conversations. Pass index, 0 to ${conversations.length - 1}, to choose one.`,
      );
    }
    const inserted = this.#write((history) => {
      const { messages, branches } = conversation;
      return messages.filter((message) => history.append(message, branches.get(message.id)).inserted).length;
    });
    return { format: found.format, name: conversation.name, messages: conversation.messages.length, inserted, notes };
  }

  /** The path as it was stored, a JSON `UIMessage` a line. */
  async *exportTranscript(leafId?: string): AsyncGenerator<string> {
    yield* exportJsonl(this.#history.originals(leafId));
  }

  // --- compaction ----------------------------------------------------------------------------------------------------

  /** What a run would do now, and why, without doing it: the same code as the run's own planning. */
  async plan(options: { leafId?: string | undefined; force?: boolean } = {}): Promise<PlanReport> {
    const { policy, overheadTokens } = this.#policy();
    const outline = this.#history.outline(options.leafId, { overheadTokens, maxRows: MAX_OUTLINE_ROWS });
    if (outline === null) throw this.#empty();
    return explainPlan(outline, policy, planCut(outline, policy, { force: options.force ?? false }));
  }

  /** Asks for a run now, whatever the threshold says. Returns at once; {@link ended} waits for it. */
  async compact(options: CompactOptions = {}): Promise<CompactReceipt> {
    return this.#ask("manual", options);
  }

  /** As {@link compact}, for the moment when a provider refused a prompt as too long. */
  async compactNow(options: CompactOptions & { reason?: "overflow" | "manual" } = {}): Promise<CompactReceipt> {
    return this.#ask(options.reason ?? "overflow", options);
  }

  /** Resolves with the ledger row once the run has its outcome. */
  async ended(runId: string): Promise<RunRecord> {
    return this.#core.ended(runId);
  }

  /** Adds a summary of the caller's own over a range of one path, both ends included. Throws `invalid_range`. */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<OverlayRecord> {
    const span = { fromId: fromMessageId, fromStep: 0, toId: toMessageId, toStep: WHOLE_MESSAGE };
    const commit = this.#write((history) =>
      history.addOverlay({
        span,
        summary,
        details: { model: "caller", degraded: false, trigger: "manual", focus: null },
      }),
    );
    if (commit.kind !== "stale") return commit.overlay;
    throw new PalimpsestError(
      "invalid_range",
      `The summary was not added (${commit.reason}). It must be smaller than what it replaces, and may contain earlier summaries or lie beside them, not cut through them.`,
    );
  }

  async getCompactions(): Promise<OverlayRecord[]> {
    return this.#history.overlays();
  }

  /** The originals under an overlay, oldest first. Throws `unknown_overlay`. */
  async expand(overlayId: string): Promise<UIMessage[]> {
    return this.#history.expand(overlayId);
  }

  /** Takes an overlay out of every view; what lies under it shows again. Nothing is deleted. */
  async rollback(overlayId: string): Promise<void> {
    this.#write((history) => history.rollback(overlayId), { quiet: true });
  }

  #ask(trigger: "manual" | "overflow", options: CompactOptions): CompactReceipt {
    const history = this.#history;
    const leafId = options.leafId ?? history.leafId();
    if (leafId === null) throw this.#empty();
    if (!history.has(leafId))
      throw new PalimpsestError(
        "unknown_leaf",
        `There is no message "${leafId}" in session "${this.#id}". Leave leafId out for the active branch.`,
      );
    this.#policy();
    const receipt = this.#core.transaction(() =>
      startOrJoin(this.#core, this.#id, { trigger, leafId, focus: options.focus ?? null, force: true }),
    );
    this.#core.conductor.dispatchPending();
    return receipt;
  }

  #empty(): PalimpsestError {
    return new PalimpsestError(
      "invalid_state",
      `Session "${this.#id}" has no messages yet: there is nothing to compact.`,
    );
  }

  #policy(): { policy: NonNullable<SessionSettings["policy"]>; overheadTokens: number } {
    const { policy, overheadTokens } = this.#core.settings.get(this.#id);
    if (policy !== null) return { policy, overheadTokens };
    throw new PalimpsestError(
      "not_configured",
      `Session "${this.#id}" has no compaction policy. Call compactAfter(tokens) on it, or return settings for it from configureSession().`,
    );
  }

  /** One transaction: the change and, if it made the view too large, the run that will see to it. */
  #write<T>(change: (history: History) => T, options: WriteOptions = {}): T {
    const result = this.#core.transaction<{ value: T }>(() => {
      const value = change(this.#history);
      if (options.quiet !== true) triggerIfDue(this.#core, this.#id, options.continues);
      return { value };
    });
    this.#core.conductor.dispatchPending();
    return result.value;
  }
}
