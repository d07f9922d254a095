/**
 * One session, as the agent's own code uses it: how it is configured, and compaction. Its messages (session-messages.ts), its
 * notes and what the agent's rooms add are parts of it.
 */
import type { UIMessage } from "ai";
import type { History } from "../memory/messages/history.ts";
import { findNewest } from "../memory/sessions/lineage.ts";
import type { CommitResult, OverlayRecord } from "../memory/overlays/overlays.ts";
import type { ExpandOptions } from "../memory/overlays/session-overlays.ts";
import { inputs, parseInput, type CompactOptions } from "./inputs.ts";
import type { RunRecord } from "../memory/runs/runs.ts";
import { PalimpsestError } from "../errors.ts";
import type { Waiting } from "../steps/decide/why-not.ts";
import { listUsage, promptTokens, recordUsage, type ModelUsage, type UsageReport } from "./reports/usage.ts";
import { diffSummaries, type SummaryDiff } from "../steps/recall/diff-summaries.ts";
import { addMethods, type Methods } from "./compose.ts";
import { Configured } from "./configured.ts";
import type { Told } from "./core.ts";
import type { AgentCore, CoreWith } from "./agent-core.ts";
import type { Rooms, SessionMethodsOf } from "./extension.ts";
import { SessionNotes } from "./notes/session-notes.ts";
import { SessionMessages } from "./session-messages.ts";
import { SessionState } from "./session-state.ts";
import type { PlanReport } from "./reports/explain.ts";
import { reportPlan, type PlanQuestion } from "./reports/plan.ts";
import type { SessionSettings } from "./settings.ts";
import { askForRun } from "./runs/ask.ts";
import type { MaskReport } from "../memory/masks/session-masks.ts";
import type { Rents } from "../steps/decide/rent.ts";
import { rentsNow } from "./runs/rents.ts";
import { findReasonToWait } from "./runs/trigger.ts";
import type { BulletSource } from "../steps/draft/provenance.ts";
import { visibleSpan } from "./runs/visible-span.ts";

/** Anything that holds a core: an agent made with `withCompaction`, and its rooms. */
export interface CompactionHost<R extends Rooms = Rooms> {
  readonly palimpsest: CoreWith<R>;
}

/** The ledger row of the asked-for run, and whether it was already at work on this branch. */
export interface CompactReceipt {
  readonly run: RunRecord;
  readonly joined: boolean;
}

/** Where a session stands. Cheap enough to ask for after every append. */
export interface SessionStatus {
  readonly leafId: string | null;
  /** What a provider would count for the active branch's view: the estimate until {@link Session.recordUsage} was told. */
  readonly viewTokens: number;
  readonly thresholdTokens: number | null;
  readonly liveRunIds: readonly string[];
  /** With `auto`: what it has cost to carry what could have gone, and what an edit would cost; null for a number. */
  readonly rents: Rents | null;
  /** Up to where older tool outputs are masked; null where none are. */
  readonly masked: MaskReport | null;
  /** What keeps this branch from being compacted by itself now; null without a policy, and when the next append will. */
  readonly waiting: Waiting | null;
  /** Messages that are too long to be searched whole, of those that a search has seen. */
  readonly partlySearched: number;
}

/**
 * Bullets of a summary against those that it replaced; `gone` when the messages under it were deleted, `withheld` when some
 * under it, or under those, were edited since.
 */
export type CompactionDiff =
  | ({ readonly kind: "diff"; readonly overlayId: string; readonly replaced: readonly string[] } & SummaryDiff)
  | { readonly kind: "gone" }
  | { readonly kind: "withheld" };

/** A session of an agent with these rooms. */
export type SessionOf<R extends Rooms> = Session & SessionMethodsOf<R>;

// Its parts are added as it is made.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging
export interface Session extends Methods<SessionMessages>, Methods<SessionNotes> {}

export class Session extends Configured {
  readonly #core: AgentCore;
  readonly #state: SessionState;

  private constructor(core: AgentCore, id: string) {
    super();
    this.#core = core;
    this.#state = new SessionState(core, id);
    addMethods(this, new SessionMessages(this.#state));
    addMethods(this, new SessionNotes(this.#state));
    for (const part of core.rooms.sessionParts(this.#state)) addMethods(this, part);
  }

  /**
   * A handle on the agent's default session; {@link forSession} names another. Builder calls may come in any order: they
   * are kept until all of them were made, and applied before the session is first used.
   */
  static create<R extends Rooms>(agent: CompactionHost<R>): SessionOf<R> {
    return new Session(agent.palimpsest, "") as SessionOf<R>;
  }

  get id(): string {
    return this.#state.id;
  }

  forSession(sessionId: string): this {
    this.#state.id = sessionId;
    return this;
  }

  protected override tell(told: Told): this {
    this.#state.tell(told);
    return this;
  }

  /** Puts into force what the builder was told. Happens by itself before the session is used. */
  apply(): void {
    this.#state.apply();
  }

  /** The session in which the conversation goes on once this one was split; itself until then. Reads a row for each split. */
  newest(): this {
    const id = findNewest(this.#core.memory.statements, this.id);
    // Of the same agent, so with the same rooms.
    return id === this.id ? this : (new Session(this.#core, id) as this);
  }

  /** What a turn's prompt ends with beside what is stored, from the agent's rooms; null for nothing. */
  async reminderOfRooms(): Promise<string | null> {
    this.apply();
    return this.#core.rooms.reminder(this.id);
  }

  async status(): Promise<SessionStatus> {
    return this.#state.read((history) => {
      const leafId = history.leafId();
      return {
        leafId,
        viewTokens: promptTokens(this.#core, this.id),
        thresholdTokens: this.#state.settings.policy?.thresholdTokens ?? null,
        liveRunIds: this.#core.runs.live(this.id).map((run) => run.id),
        rents: rentsNow(this.#core, this.id),
        masked: history.masks.report(),
        waiting: findReasonToWait(this.#core, this.id, { leafId }),
        partlySearched: this.#core.memory.search.countPartial(this.id),
      };
    });
  }

  /**
   * Tells what a provider counted for a model call on this session's view. From then on the trigger and {@link status}
   * see what it would count, system prompt and tools included, and the session's sums hold its tokens and `cost`: the
   * one thing to call after a model call. Throws `invalid_input`, `unknown_leaf`.
   */
  async recordUsage(report: UsageReport): Promise<void> {
    const checked = parseInput(inputs.recordUsage, report);
    await this.#state.read(() => this.#state.write(() => recordUsage(this.#core, this.id, checked)));
  }

  /** What was recorded, by model; the one that was called last comes first. */
  async getUsage(): Promise<ModelUsage[]> {
    return listUsage(this.#core, this.id);
  }

  // --- compaction ----------------------------------------------------------------------------------------------------

  /**
   * What a run would do now, and why, without doing it: the same code as the run's own planning. With `manual` as if asked
   * for by hand, with `rebuild` as `compact({ rebuild: true })`. It never says `window-too-small`: the summariser's window
   * is known where it is asked.
   */
  async plan(question: PlanQuestion = {}): Promise<PlanReport> {
    const asked = parseInput(inputs.plan, question);
    const policy = this.#policy();
    const report = await this.#core.read(this.id, () => reportPlan(this.#core, this.id, { ...asked, policy }));
    if (report === null) throw this.#empty();
    return report;
  }

  /**
   * Asks for a run now, whatever the threshold says. Returns at once; {@link ended} waits for it. While the summariser is
   * down or the budget is spent, the run ends at once as `nothing` with that reason, unless `ignoreBudget` is true.
   */
  async compact(options: CompactOptions = {}): Promise<CompactReceipt> {
    return this.#ask("manual", parseInput(inputs.compact, options));
  }

  /** As {@link compact}, for the moment when a provider refused a prompt as too long. */
  async compactNow(options: CompactOptions & { reason?: "overflow" | "manual" } = {}): Promise<CompactReceipt> {
    const { reason, ...checked } = parseInput(inputs.compactNow, options);
    return this.#ask(reason, checked);
  }

  /** Resolves with the ledger row once the run has its outcome. */
  async ended(runId: string): Promise<RunRecord> {
    return this.#core.ended(runId);
  }

  /**
   * Adds a summary of the caller's own over a range of one path, both ends included, by ids as a view shows them; without
   * the characters that nobody sees. Throws `invalid_range`, `invalid_input`, `unknown_message`.
   */
  async addCompaction(summary: string, fromMessageId: string, toMessageId: string): Promise<OverlayRecord> {
    const commit = await this.#state.read(() =>
      this.#state.write((history) => {
        const span = visibleSpan(history, fromMessageId, toMessageId);
        const { pinnedTokens, loadedTokens, stackTokens: namesTokens } = this.#state.settings.policy ?? {};
        return history.addOverlay({ span, summary, pinnedTokens, loadedTokens, namesTokens });
      }),
    );
    if (commit.kind !== "stale") return commit.overlay;
    throw new PalimpsestError(
      "invalid_range",
      `The summary was not added (${commit.reason}). It must be smaller than what it replaces, and may contain earlier summaries or lie beside them, not cut through them.`,
    );
  }

  /** In every state, oldest first. Of one whose messages were edited or deleted since, the words are withheld. */
  async getCompactions(): Promise<OverlayRecord[]> {
    return this.#state.read((history) => history.overlays());
  }

  /**
   * What lies under an overlay, oldest first: the originals, all or in pages, or with `depth` the narrower summaries just
   * beneath. Throws `unknown_overlay`, `unknown_message` for `after`, `invalid_input`.
   */
  async expand(overlayId: string, options: ExpandOptions = {}): Promise<UIMessage[]> {
    const checked = parseInput(inputs.expand, options);
    return this.#state.read((history) => history.expand(overlayId, checked));
  }

  /** Takes an overlay out of every view; what lies under it shows again. Nothing is deleted. */
  async rollback(overlayId: string): Promise<void> {
    const undo = (history: History): void => {
      history.rollback(overlayId);
      this.#core.runs.settle(this.id, promptTokens(this.#core, this.id));
    };
    this.#state.write(undo, { quiet: true });
  }

  /**
   * Puts an overlay that was rolled back, or gave way to an edit, into force again, through the fence of any commit: `stale`
   * says why it no longer fits, and nothing changed then. Throws `unknown_overlay`.
   */
  async restore(overlayId: string): Promise<CommitResult> {
    return this.#state.write((history) => history.restore(overlayId), { quiet: true });
  }

  /** Which messages each bullet of an overlay's summary comes from, by lines from 0. Throws `unknown_overlay`. */
  async getProvenance(overlayId: string): Promise<BulletSource[]> {
    return this.#state.stored.provenance(overlayId);
  }

  /** What an overlay's summary changed against the overlays that it took the place of. Throws `unknown_overlay`. */
  async diffCompaction(overlayId: string): Promise<CompactionDiff> {
    const replaced = this.#state.stored.replacedBy(overlayId);
    const overlay = this.#state.stored.overlays().find((each) => each.id === overlayId) ?? null;
    if (replaced === null || overlay === null) return { kind: "gone" };
    if ([overlay, ...replaced].some((each) => each.withheld === true)) return { kind: "withheld" };
    const { added, dropped, kept } = diffSummaries(
      replaced.map((each) => each.summary),
      overlay.summary,
    );
    return { kind: "diff", overlayId, replaced: replaced.map((each) => each.id), added, dropped, kept };
  }

  #ask(trigger: "manual" | "overflow", options: CompactOptions): CompactReceipt {
    const history = this.#state.stored;
    const leafId = options.leafId ?? history.leafId();
    if (leafId === null) throw this.#empty();
    if (!history.has(leafId))
      throw new PalimpsestError(
        "unknown_leaf",
        `There is no message "${leafId}" in session "${this.id}". Leave leafId out for the active branch.`,
      );
    this.#policy();
    const receipt = this.#core.transaction(() =>
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
    return receipt;
  }

  #empty(): PalimpsestError {
    return new PalimpsestError(
      "invalid_state",
      `Session "${this.id}" has no messages yet: there is nothing to compact.`,
    );
  }

  #policy(): NonNullable<SessionSettings["policy"]> {
    const { policy } = this.#state.settings;
    if (policy !== null) return policy;
    throw new PalimpsestError(
      "not_configured",
      `Session "${this.id}" has no compaction policy. Call compactAfter(tokens) on it, where it is created or in configureSession().`,
    );
  }
}
