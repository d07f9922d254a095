/**
 * What was said in one session: messages in and out, each write one transaction.
 *
 * In that transaction the trigger may add a ledger row; nothing here awaits a model or the start of a workflow, so an
 * append returns as fast with a compaction under way as without.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { MIN_VIEW_TOKENS } from "../limits.ts";
import type { ConversationEvent } from "../events/event.ts";
import { appendEvents, deleteEvents, loadEvents, type LoadEventsOptions, type NewEvent } from "../events/log.ts";
import type { WorkingContext } from "../events/context.ts";
import { persistTurn, persistWorkingContext, type PersistedTurn, type Turn } from "../events/persist.ts";
import { exportJsonl } from "../import/export.ts";
import type { Format } from "../import/import.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import type { AppendResult, History, RecentHistory } from "../memory/messages/history.ts";
import type { PastView } from "../memory/overlays/time-travel.ts";
import type { View } from "../memory/messages/view.ts";
import { unseenTokens } from "./reports/usage.ts";
import { leafOf, parentOf, type LeafInput, type ParentInput } from "./branch-input.ts";
import { Configured } from "./configured.ts";
import { forgetWhatWasSaid } from "./clear-session.ts";
import type { Core } from "./core.ts";
import { noRules, redactionOf } from "./redaction.ts";
import { readFile, storeFile, type ImportTranscriptOptions } from "./importing.ts";
import { defined, inputs, parseInput } from "./inputs.ts";
import type { SessionSettings } from "./settings.ts";
import { shapeView, viewOptions, type GetViewOptions, type ShownView } from "./views/shown-view.ts";
import { startNotesIfDue } from "./notes/trigger.ts";
import { mendIfUncovered } from "./runs/mend.ts";
import { measureAfresh, triggerIfDue } from "./runs/trigger.ts";

/** Thresholds that the messages of a turn's prompt may take unless it is told the window: beyond, compaction is not keeping up. */
const THRESHOLDS_IN_A_TURN = 2;

export interface ImportReceipt {
  readonly format: Format;
  readonly name: string;
  readonly messages: number;
  /** How many were new: messages whose ids the session knew already were left alone. */
  readonly inserted: number;
  /** What was left out, in words. */
  readonly notes: readonly string[];
}

export interface WriteOptions {
  /** The leaf that is appended to, where that is known. */
  readonly continues?: string | null;
  /** Looks at no threshold: undoing a compaction by hand must not bring it straight back. */
  readonly quiet?: boolean;
}

export type ChangeParts = (parts: UIMessage["parts"]) => UIMessage["parts"];

export abstract class SessionHistory extends Configured {
  protected readonly core: Core;

  constructor(core: Core) {
    super();
    this.core = core;
  }

  abstract get id(): string;

  /** Puts into force what a builder was told. Happens by itself before the session is used. */
  abstract apply(): void;

  protected get settings(): SessionSettings {
    this.apply();
    return this.core.settings.get(this.id);
  }

  protected get stored(): History {
    this.apply();
    return this.core.memory.session(this.id);
  }

  // --- history -------------------------------------------------------------------------------------------------------

  /** `parent`: undefined is the active leaf, null a new root. A known id changes nothing. See History.append for errors. */
  async appendMessage(message: UIMessage, parent?: ParentInput): Promise<AppendResult> {
    const parentId = parentOf(parent);
    const leafId = this.stored.leafId();
    const continues = parentId === undefined || parentId === leafId ? leafId : null;
    return this.write((history) => history.append(message, parentId), { continues });
  }

  /** Appends in order, all or none; each message's parent is the one before it. */
  async appendMessages(messages: readonly UIMessage[], parent?: ParentInput): Promise<AppendResult[]> {
    const parentId = parentOf(parent);
    return this.write((history) => {
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
    return this.write((history) => history.upsert(message, parentId));
  }

  /** Null when there is no message with this id. */
  async updateMessage(message: UIMessage): Promise<UIMessage | null> {
    return this.write((history) => history.update(message));
  }

  /** Children of a deleted message move to its nearest surviving ancestor. Returns how many were deleted. */
  async deleteMessages(ids: readonly string[]): Promise<number> {
    return this.write((history) => {
      const deleted = history.delete(ids);
      measureAfresh(this.core, this.id);
      return deleted;
    });
  }

  /**
   * Deletes what was said (S2): messages, overlays, drafts, notes, search rows, the focus of runs, the words in which
   * calls failed, and which skills were loaded into it. Live runs end as `stale`. What was written on purpose stays: context
   * blocks, a frozen prompt, the session's name; so do numbers: runs, sums, what was learned of the provider's counts.
   */
  async clearMessages(): Promise<void> {
    this.write((history) => {
      history.clear();
      forgetWhatWasSaid(this.core, this.id);
    });
  }

  async getHistory(leaf?: LeafInput): Promise<UIMessage[]> {
    return this.read((history) => history.getHistory(leafOf(leaf)));
  }

  /** The path with overlays applied, one message at a time. */
  async *history(options: { leafId?: string; newestFirst?: boolean } = {}): AsyncGenerator<UIMessage> {
    const checked = defined(parseInput(inputs.history, options));
    if (this.isHosted) {
      const messages = await this.getHistory(checked.leafId);
      yield* checked.newestFirst === true ? messages.toReversed() : messages;
    } else {
      yield* this.stored.history(checked);
    }
  }

  async getMessage(id: string): Promise<UIMessage | null> {
    return this.read((history) => history.get(id));
  }

  async getLatestLeaf(): Promise<UIMessage | null> {
    return this.read((history) => history.latestLeaf());
  }

  /** The messages whose parent this is: more than one where the conversation branches. */
  async getBranches(id: string): Promise<UIMessage[]> {
    return this.read((history) => history.branches(id));
  }

  /**
   * The id of the message that this one hangs under, by its id or by that of a part of it in a view; null for a root.
   * Throws `unknown_message`.
   */
  async getParent(id: string): Promise<string | null> {
    return this.stored.parentOf(id);
  }

  /**
   * Changes the parts of one stored message, call by call, each in a transaction; null when there is none. It is this very
   * message or none: once it was deleted, with the session's messages or alone, each call throws `unknown_message` and
   * writes nothing, also when another one has its id. Throws besides what {@link updateMessage} does.
   */
  editor(id: string, options: WriteOptions = {}): ((change: ChangeParts) => void) | null {
    const number = this.stored.numberOf(id);
    if (number === null) return null;
    return (change) =>
      this.write((history) => {
        const message = history.numberOf(id) === number ? history.get(id) : null;
        if (message !== null) return void history.update({ ...message, parts: change(message.parts) });
        throw new PalimpsestError(
          "unknown_message",
          `Message "${id}" was deleted from session "${this.id}" meanwhile. Nothing was added to it: begin a new turn.`,
        );
      }, options);
  }

  async getPathLength(leaf?: LeafInput): Promise<number> {
    return this.stored.pathLength(leafOf(leaf));
  }

  /** The newest part of the view within a byte budget; the leaf always. */
  async getRecentHistory(maxBytes: number, options: { leafId?: string } = {}): Promise<RecentHistory> {
    const checked = defined(parseInput(inputs.branch, options));
    return this.read((history) => history.recent(maxBytes, checked));
  }

  /**
   * What the model should see: overlays applied, repaired so that the AI SDK accepts it. With `maxTokens` it always fits,
   * and says what was done for that. Throws `invalid_options`, `unknown_leaf`, `unknown_overlay`.
   */
  async getView(options?: string | GetViewOptions): Promise<ShownView> {
    const checked = parseInput(inputs.getView, viewOptions(options));
    const { leafId, asOf } = checked;
    const view = await this.read<View | PastView>((history) =>
      asOf === undefined ? history.view(leafId) : history.viewAsOf(asOf),
    );
    return shapeView(this.core, this.id, { view: { ...view, messages: this.shown(view.messages) }, options: checked });
  }

  /** What of a view's messages is shown: a place for what the context says about it. */
  protected shown(messages: UIMessage[]): UIMessage[] {
    return messages;
  }

  /**
   * Tokens that a turn's prompts are kept under where it does not say: undefined without a threshold. What a prompt carries
   * beside its messages comes on top: whatever a provider reports, it cannot crowd them out.
   */
  get turnTokens(): number | undefined {
    const { policy } = this.settings;
    if (policy === null) return undefined;
    const messages = Math.max(MIN_VIEW_TOKENS, policy.thresholdTokens * THRESHOLDS_IN_A_TURN);
    return messages + unseenTokens(this.core, this.id, 0);
  }

  /** What everything of the session is counted with: `tokenCounter`, or the built-in estimate. */
  get countTokens(): CountTokens {
    return this.settings.countTokens;
  }

  // --- events --------------------------------------------------------------------------------------------------------

  /** The newest events of the view, oldest first: a projection of the same rows as messages. See src/events/log.ts. */
  async loadEvents(options: LoadEventsOptions = {}): Promise<ConversationEvent[]> {
    this.apply();
    const checked = parseInput(inputs.loadEvents, options);
    return this.read(() => loadEvents(this.core.memory, this.id, checked));
  }

  /** All or none; an event that is there already changes nothing. */
  async appendEvents(events: readonly NewEvent[]): Promise<ConversationEvent[]> {
    return this.write(() => appendEvents(this.core.memory, this.id, events));
  }

  /** Returns how many were deleted; a call takes its result with it. */
  async deleteEvents(ids: readonly string[]): Promise<number> {
    return this.write(() => deleteEvents(this.core.memory, this.id, ids));
  }

  /** A whole turn at once, behind what came meanwhile: two requests never see each other's half turns. */
  async persistTurn(turn: Turn): Promise<PersistedTurn> {
    const checked = parseInput(inputs.persistTurn, turn);
    return this.write(() => persistTurn(this.core.memory, this.id, checked));
  }

  /** The same for what was added to a context that {@link loadEvents} and `buildWorkingContext` made. */
  async persistWorkingContext(context: WorkingContext): Promise<PersistedTurn> {
    return this.write(() => persistWorkingContext(this.core.memory, this.id, context));
  }

  // --- transcripts ---------------------------------------------------------------------------------------------------

  /**
   * Appends a transcript file's conversation, its branches included, all or nothing: read in pieces, between which others
   * are answered, and stored in one transaction behind what they said. A file that holds several needs `index`, from 0.
   * Throws `import_failed` naming the first bad lines, `rate_limited` while others are being read, and what appending throws.
   */
  async importTranscript(text: string, options: ImportTranscriptOptions = {}): Promise<ImportReceipt> {
    const checked = parseInput(inputs.importTranscript, options);
    const { sessions } = this.core.memory;
    const existed = sessions.get(this.id) !== null;
    const { encoded, conversation, ...read } = await readFile(this.core, this.stored, { text, ...checked });
    // It may have been deleted meanwhile: then nothing brings it back.
    if (existed) sessions.mustGet(this.id);
    const inserted = this.write((history) => storeFile(history, conversation, encoded));
    return { ...read, name: conversation.name, messages: conversation.messages.length, inserted };
  }

  /**
   * The path as it was stored, a JSON `UIMessage` a line; with `redact`, without what the session's rules take for a secret.
   * Throws `not_configured` where it has none.
   */
  async *exportTranscript(leafId?: string, options: { redact?: boolean } = {}): AsyncGenerator<string> {
    const { redact } = parseInput(inputs.exportTranscript, options);
    const messages = this.isHosted
      ? await this.read((history) => [...history.originals(leafId)])
      : this.stored.originals(leafId);
    const { secretRules } = this.settings;
    if (redact && secretRules === null) throw noRules(this.id);
    yield* exportJsonl(redact ? Iterator.from(messages).map(redactionOf({ secretRules }).message) : messages);
  }

  /** True where a host keeps the messages: reading may wait. */
  protected get isHosted(): boolean {
    return this.core.hosted.has(this.id);
  }

  /** Reads of the history, once everything that it needs is at hand. */
  protected async read<T>(work: (history: History) => T): Promise<T> {
    this.apply();
    return this.core.read(this.id, () => work(this.stored));
  }

  /** One transaction: the change and, if it made the view too large, the run that will see to it. */
  protected write<T>(change: (history: History) => T, options: WriteOptions = {}): T {
    const result = this.core.transaction<{ value: T }>(() => {
      const value = change(this.stored);
      if (options.quiet !== true) triggerIfDue(this.core, this.id, options.continues);
      mendIfUncovered(this.core, this.id);
      if (options.quiet !== true) startNotesIfDue(this.core, this.id);
      return { value };
    });
    return result.value;
  }
}
