/**
 * What was said in one session: messages in and out, each write one transaction.
 *
 * In that transaction the trigger may add a ledger row; nothing here awaits a model or the start of a workflow, so an
 * append returns as fast with a compaction under way as without.
 */
import type { ToolSet, UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { MIN_VIEW_TOKENS } from "../limits.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import { findNewest } from "../memory/sessions/lineage.ts";
import type { PastView } from "../memory/overlays/time-travel.ts";
import type { View } from "../memory/messages/view.ts";
import type { AppendResult, RecentHistory } from "../memory/messages/history.ts";
import { unseenTokens } from "./reports/usage.ts";
import { leafOf, parentOf, type LeafInput, type ParentInput } from "./branch-input.ts";
import { defined, inputs, parseInput } from "./inputs.ts";
import { forgetWhatWasSaid } from "./clear-session.ts";
import type { Core } from "./core.ts";
import { shapeView, viewOptions, type GetViewOptions, type ShownView } from "./views/shown-view.ts";
import { measureAfresh } from "./runs/trigger.ts";
import type { SessionState, WriteOptions } from "./session-state.ts";

/** Thresholds that the messages of a turn's prompt may take unless it is told the window: beyond, compaction is not keeping up. */
const THRESHOLDS_IN_A_TURN = 2;

export type ChangeParts = (parts: UIMessage["parts"]) => UIMessage["parts"];

export class SessionMessages {
  readonly #state: SessionState;

  constructor(state: SessionState) {
    this.#state = state;
  }

  // --- history -------------------------------------------------------------------------------------------------------

  /** `parent`: undefined is the active leaf, null a new root. A known id changes nothing. See History.append for errors. */
  async appendMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    const leafId = this.#state.stored.leafId();
    const continues = parentId === undefined || parentId === leafId ? leafId : null;
    return this.#state.write((history) => history.append(message, parentId), { continues });
  }

  /** Appends in order, all or none; each message's parent is the one before it. */
  async appendMessages(messages: readonly UIMessage[], parent?: ParentInput): Promise<AppendResult[]> {
    const parentId = parentOf(parent);
    return this.#state.write((history) => {
      const results: AppendResult[] = [];
      for (const message of messages) {
        const before = results.findLast((result) => !result.synthetic)?.message.id;
        results.push(history.append(message, before ?? parentId));
      }
      return results;
    });
  }

  /** Stores the message, or replaces the one with its id: what streaming persistence calls many times. */
  async upsertMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    return this.#state.write((history) => history.upsert(message, parentId));
  }

  /** Null when there is no message with this id. */
  async updateMessage(message: UIMessage): Promise<UIMessage | null> {
    return this.#state.write((history) => history.update(message));
  }

  /** Children of a deleted message move to its nearest surviving ancestor. Returns how many were deleted. */
  async deleteMessages(ids: readonly string[]): Promise<number> {
    return this.#state.write((history) => {
      const deleted = history.delete(ids);
      measureAfresh(this.#core, this.#state.id);
      return deleted;
    });
  }

  /**
   * Deletes what was said (S2): messages, overlays, drafts, notes, search rows, the focus of runs, the words in which
   * calls failed, and which skills were loaded into it. Live runs end as `stale`. What was written on purpose stays: context
   * blocks, a frozen prompt, the session's name; so do numbers: runs, sums, what was learned of the provider's counts.
   */
  async clearMessages(): Promise<void> {
    this.#state.write((history) => {
      history.clear();
      forgetWhatWasSaid(this.#core, this.#state.id);
    });
  }

  async getHistory(leaf?: LeafInput): Promise<UIMessage[]> {
    return this.#state.read((history) => history.getHistory(leafOf(leaf)));
  }

  /** The path with overlays applied, one message at a time. */
  async *history(options: { leafId?: string; newestFirst?: boolean } = {}): AsyncGenerator<UIMessage> {
    const checked = defined(parseInput(inputs.history, options));
    if (this.#state.isHosted) {
      const messages = await this.getHistory(checked.leafId);
      yield* checked.newestFirst === true ? messages.toReversed() : messages;
    } else {
      yield* this.#state.stored.history(checked);
    }
  }

  async getMessage(id: string): Promise<UIMessage | null> {
    return this.#state.read((history) => history.get(id));
  }

  async getLatestLeaf(): Promise<UIMessage | null> {
    return this.#state.read((history) => history.latestLeaf());
  }

  /** The messages whose parent this is: more than one where the conversation branches. */
  async getBranches(id: string): Promise<UIMessage[]> {
    return this.#state.read((history) => history.branches(id));
  }

  /**
   * The id of the message that this one hangs under, by its id or by that of a part of it in a view; null for a root.
   * Throws `unknown_message`.
   */
  async getParent(id: string): Promise<string | null> {
    return this.#state.stored.parentOf(id);
  }

  /**
   * Changes the parts of one stored message, call by call, each in a transaction; null when there is none. It is this very
   * message or none: once it was deleted, with the session's messages or alone, each call throws `unknown_message` and
   * writes nothing, also when another one has its id. Throws besides what {@link updateMessage} does.
   */
  editor(id: string, options: WriteOptions = {}): ((change: ChangeParts) => void) | null {
    const number = this.#state.stored.numberOf(id);
    if (number === null) return null;
    return (change) =>
      this.#state.write((history) => {
        const message = history.numberOf(id) === number ? history.get(id) : null;
        if (message !== null) return void history.update({ ...message, parts: change(message.parts) });
        throw new PalimpsestError(
          "unknown_message",
          `Message "${id}" was deleted from session "${this.#state.id}" meanwhile. Nothing was added to it: begin a new turn.`,
        );
      }, options);
  }

  async getPathLength(leaf?: LeafInput): Promise<number> {
    return this.#state.read((history) => history.pathLength(leafOf(leaf)));
  }

  /** The newest part of the view within a byte budget; the leaf always. */
  async getRecentHistory(maxBytes: number, options: { leafId?: string } = {}): Promise<RecentHistory> {
    const checked = defined(parseInput(inputs.branch, options));
    return this.#state.read((history) => history.recent(maxBytes, checked));
  }

  /**
   * What the model should see: overlays applied, repaired so that the AI SDK accepts it. With `maxTokens` it always fits,
   * and says what was done for that. Throws `invalid_options`, `unknown_leaf`, `unknown_overlay`.
   */
  async getView(options?: string | GetViewOptions): Promise<ShownView> {
    const checked = parseInput(inputs.getView, viewOptions(options));
    const { leafId, asOf } = checked;
    const view = await this.#state.read<View | PastView>((history) =>
      asOf === undefined ? history.view(leafId) : history.viewAsOf(asOf),
    );
    return shapeView(this.#core, this.#state.id, {
      view: { ...view, messages: this.#core.rooms.shown(this.#state.id, view.messages) },
      options: checked,
    });
  }

  /**
   * Tokens that a turn's prompts are kept under where it does not say: undefined without a threshold. What a prompt carries
   * beside its messages comes on top: whatever a provider reports, it cannot crowd them out.
   */
  get turnTokens(): number | undefined {
    const { policy } = this.#state.settings;
    if (policy === null) return undefined;
    const messages = Math.max(MIN_VIEW_TOKENS, policy.thresholdTokens * THRESHOLDS_IN_A_TURN);
    return messages + unseenTokens(this.#core, this.#state.id, 0);
  }

  /** What everything of the session is counted with: `tokenCounter`, or the built-in estimate. */
  get countTokens(): CountTokens {
    return this.#state.settings.countTokens;
  }

  /**
   * The view right after an overlay came into force, of messages as they are now: whatever became of that overlay and of
   * others since. No summary over messages that were edited or deleted since is in it; `changed` names those. Throws
   * `unknown_overlay`.
   */
  async getViewAsOf(overlayId: string): Promise<PastView> {
    const view = await this.#state.read((history) => history.viewAsOf(overlayId));
    return { ...view, messages: this.#core.rooms.shown(this.#state.id, view.messages) };
  }

  /**
   * Tools for the model, from the agent's rooms. The set changes only with the configuration, so that a prompt's cached
   * prefix, which begins with the tools, stays valid. They act where the conversation goes on, also when it is split in the
   * middle of a turn.
   */
  async tools(): Promise<ToolSet> {
    // Asked for first: that is when a session is told what all sessions are told, its blocks included.
    void this.#state.settings;
    const newest = (): string => findNewest(this.#core.memory.statements, this.#state.id);
    return this.#core.rooms.tools(this.#state.id, newest);
  }

  get #core(): Core {
    return this.#state.core;
  }
}
