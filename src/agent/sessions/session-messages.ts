/**
 * The messages of one session, in and out. Each write is one transaction.
 *
 * In that transaction the trigger may add a ledger row. Nothing here awaits a model or the start of a workflow, so an append is as fast
 * during a compaction as without one.
 */
import type { ToolSet, UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { MIN_VIEW_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { repairMessages } from "../../steps/view/repair.ts";
import { inTurns } from "../../steps/view/turns.ts";
import { findNewest } from "../../memory/sessions/lineage.ts";
import type { PastView } from "../../memory/overlays/time-travel.ts";
import type { View, ViewReading } from "../../memory/messages/view.ts";
import type { AppendResult, History, RecentHistory } from "../../memory/messages/history.ts";
import { unseenTokens } from "../reports/usage.ts";
import { leafOf, parentOf, type LeafInput, type ParentInput } from "./branch-input.ts";
import { checkGiven, defined, given, inputs, parseInput } from "../inputs.ts";
import { forgetWhatWasSaid } from "./clear-session.ts";
import type { Core } from "../core.ts";
import {
  checkViewOptions,
  messageRoom,
  shapeView,
  withPreviews,
  type Arranging,
  type GetViewOptions,
  type ShownView,
} from "./shown-view.ts";
import type { SessionState, WriteOptions } from "./session-state.ts";

/** Default limit of the messages in a turn's prompt, in thresholds. Beyond it compaction does not keep up. */
const THRESHOLDS_IN_A_TURN = 2;

export type ChangeParts = (parts: UIMessage["parts"]) => UIMessage["parts"];

export class SessionMessages {
  readonly #state: SessionState;

  /** @internal */
  constructor(state: SessionState) {
    this.#state = state;
  }

  // --- history -------------------------------------------------------------------------------------------------------

  /** `parent` undefined is the active leaf, null a new root. A known id changes nothing. See History.append for errors. */
  async appendMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    const leafId = this.#state.stored.leafId();
    const continues = parentId === undefined || parentId === leafId ? leafId : null;
    return this.#state.write((history) => this.#noted(history, history.append(message, parentId)), { continues });
  }

  /** Appends in order, all or none. Each message's parent is the one before it. */
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

  /** Stores the message, or replaces the one with its id. Streaming persistence calls it many times. */
  async upsertMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    return this.#state.write((history) => this.#noted(history, history.upsert(message, parentId)));
  }

  /** Null when there is no message with this id. */
  async updateMessage(message: UIMessage): Promise<UIMessage | null> {
    return this.#state.write((history) => {
      const updated = history.update(message);
      if (updated !== null) this.#noteThoughts(history, updated);
      return updated;
    });
  }

  /** Children of a deleted message move to its nearest surviving ancestor. Returns how many were deleted. */
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
    checkGiven(given.message, { id });
    return this.#state.read((history) => history.get(id));
  }

  async getLatestLeaf(): Promise<UIMessage | null> {
    return this.#state.read((history) => history.latestLeaf());
  }

  /** The messages with this parent. There are several where the conversation branches. */
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

  /** The newest part of the view within a byte budget, always with the leaf. */
  async getRecentHistory(maxBytes: number, options: { leafId?: string } = {}): Promise<RecentHistory> {
    const checked = defined(parseInput(inputs.branch, options));
    return this.#state.read((history) => history.recent(maxBytes, checked));
  }

  /**
   * The view for a model, with overlays applied, repaired so that the AI SDK and every provider accept it. With `maxTokens` it always fits, and
   * says how. Throws `invalid_options`, `unknown_leaf`, `unknown_overlay`.
   */
  async getView(options?: string | GetViewOptions): Promise<ShownView> {
    const view = await this.viewWith(options);
    const { apart = false, asOf, leafId } = checkViewOptions(options);
    if (apart) return view;
    const { thoughts } = this.#core;
    const messages = thoughts.boundView(inTurns(view.messages));
    if (asOf === undefined) thoughts.showed(this.#state.id, leafId ?? this.#state.stored.leafId(), messages);
    return { ...view, messages };
  }

  /** As {@link getView}, with the messages apart, and arranged before the view is shortened or made to fit. @internal */
  async viewWith(options?: string | GetViewOptions, { as, arrange }: Arranging = {}): Promise<ShownView> {
    const checked = parseInput(inputs.getView, checkViewOptions(options));
    const { leafId, asOf } = checked;
    const { fixed } = this.#state;
    const { core, id } = fixed;
    const { rooms } = core;
    const reading: Pick<ViewReading, "leavesOut"> = {
      leavesOut: (behind) => rooms.leavesOut?.(id, behind) ?? new Set(),
    };
    const read = await fixed.read<View | PastView>((history) =>
      asOf === undefined ? history.view(leafId, reading) : history.overlays.viewAsOf(asOf, reading),
    );
    const begun = as === undefined ? read.messages : repairMessages(read.messages.map(as));
    const view = { ...read, messages: rooms.shown?.(id, begun) ?? begun };
    const previewed = withPreviews(core, id, view.messages);
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
   */
  async getViewAsOf(overlayId: string): Promise<PastView> {
    checkGiven(given.overlay, { overlayId });
    return (await this.getView({ asOf: overlayId })) as ShownView & PastView;
  }

  /**
   * Tools for the model, from the agent's rooms. The set changes only with the configuration. So a prompt's cached prefix, which begins
   * with the tools, stays valid. The tools act on the session that continues the conversation, even after a split in the middle of a turn.
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

  get #core(): Core {
    return this.#state.core;
  }
}
