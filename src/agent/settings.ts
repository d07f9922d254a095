/**
 * What a session was configured with. Settings live in memory and come from code at every wake-up, so a deployed change
 * of policy takes effect with the next run; a run keeps the policy that it started with, in its ledger row.
 */
import type { UIMessage } from "ai";
import type { RunRecord, Trigger } from "../memory/runs/runs.ts";
import type { OverlayRecord } from "../memory/overlays/overlays.ts";
import type { NotesShapeOptions } from "../steps/notes/document.ts";
import type { NotesRangeOptions } from "../steps/notes/range.ts";
import { PalimpsestError } from "../errors.ts";
import { checkFields, type FieldNames } from "../known-fields.ts";
import type { SecretRules } from "../redact/secret-rules.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import type { PreviewOptions } from "../steps/view/preview.ts";
import { resolvePolicy, type Policy, type PolicyOptions } from "../steps/plan/policy.ts";
import { resolveWhen, type When, type WhenOptions } from "../steps/decide/when.ts";
import { ESTIMATE, guardCounter } from "./token-counter.ts";
import { DEFAULT_TEMPLATE, parseTemplate, type Template, type TemplateInput } from "../steps/draft/template.ts";

/** A summary that the caller made: the range it replaces, both ends included, by message (or overlay) id. */
export interface InlineSummary {
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
}

/** What a function is told beside the view. */
export interface InlineContext {
  readonly sessionId: string;
  /** The same when the function is called again for one run, because the object died. */
  readonly runId: string;
  readonly trigger: Trigger;
  /** What the summary should attend to, in a person's words. */
  readonly focus: string | null;
  /** Aborted once nobody wants the answer any more: the time is over, or the run was ended. */
  readonly signal: AbortSignal;
}

/** Replaces the durable workflow for one session: gets the view, returns a summary, or null for nothing to do. */
export type InlineCompaction = (
  messages: readonly UIMessage[],
  context: InlineContext,
) => Promise<InlineSummary | null> | InlineSummary | null;

/** Returns what the model should know besides, or nothing. `run.id` tells one call from another, and is the same when it is told again. */
export type AfterCompaction = (event: {
  readonly sessionId: string;
  readonly run: RunRecord;
  readonly overlay: OverlayRecord;
}) => string | null | undefined | void | Promise<string | null | undefined | void>;

export interface ApprovalOptions {
  /** How long a summary waits for a person (ms). Default a day. */
  readonly timeoutMs?: number | undefined;
  /** What silence means: `discard` (default) leaves the view as it is, `apply` commits the summary. */
  readonly onTimeout?: "apply" | "discard" | undefined;
}

export type ApprovalSettings = Required<{ [Name in keyof ApprovalOptions]: NonNullable<ApprovalOptions[Name]> }>;

export interface KeepNotesOptions extends NotesShapeOptions {
  /** New tokens after which the notes are brought up to date. Default: 10,000, at most a sixth of the threshold, at least 1,500 or a quarter of it. */
  readonly growthTokens?: number | undefined;
  /** Tool calls that must have come as well. Default: 3. */
  readonly toolCalls?: number | undefined;
  /** What a compaction keeps behind the notes. Only positive numbers count. Default: 10,000 tokens and 5 messages with text, at most 40,000 tokens. */
  readonly keep?: NotesRangeOptions | undefined;
  /** How long a compaction waits for an update that is at work (ms). Default: 15,000. */
  readonly waitMs?: number | undefined;
  /** Shows the notes to the model all the time, as a read-only context block of this label. Default: it does not. */
  readonly asBlock?: string | undefined;
}

export interface SessionSettings {
  /** Null: never compacts by itself. */
  readonly policy: Policy | null;
  /** When a crossing of the threshold waits. Null with the policy. */
  readonly when: When | null;
  readonly template: Template;
  /** Tokens beside the messages: system prompt and tools. */
  readonly overheadTokens: number;
  /** What everything of the session is counted with; never throws. */
  readonly countTokens: CountTokens;
  /** From which size on a tool output is shown as a preview; null: never. */
  readonly previews: PreviewOptions | null;
  readonly inline: { readonly compact: InlineCompaction; readonly timeoutMs: number } | null;
  /** What blanks secrets before a summariser is shown what was said; null: nothing does. */
  readonly secretRules: SecretRules | null;
  /** Whether a person approves each summary before it is committed; null: nobody is asked. */
  readonly approval: ApprovalSettings | null;
  /** Null: no notes are kept. */
  readonly notes: KeepNotesOptions | null;
  /** Context blocks whose text is shown behind each new summary. */
  readonly carryBlocks: readonly string[];
  readonly afterCompaction: AfterCompaction | null;
  readonly onError: ((error: Error, run: RunRecord) => void | Promise<void>) | null;
}

export interface CompactAfterOptions extends Omit<PolicyOptions, "thresholdTokens">, WhenOptions {
  /** With `auto` only: most tokens that a view may have, overhead included. Default: four fifths of `windowTokens`. */
  readonly ceiling?: number | undefined;
  /** Tokens beside the messages that count against the threshold: system prompt and tools. Default 0. */
  readonly overheadTokens?: number | undefined;
  /**
   * What the session counts tokens with: summaries, notes, blocks and budgets, and messages stored from now on. Where it throws
   * or answers no number, the built-in estimate stands in, and a warning is logged once.
   */
  readonly tokenCounter?: CountTokens | undefined;
  /** The sections of a summary. */
  readonly template?: TemplateInput | undefined;
  /** Labels of context blocks, such as a plan or a list of tasks: what they say is shown behind each new summary. */
  readonly carryBlocks?: readonly string[] | undefined;
}

const COMPACT_AFTER: FieldNames<CompactAfterOptions> = {
  ceiling: true,
  protectHead: true,
  headTokenBudget: true,
  firstMessageTokens: true,
  openingTokens: true,
  tailTokenBudget: true,
  minTailMessages: true,
  summaryTokens: true,
  pinnedTokens: true,
  loadedTokens: true,
  stackTokens: true,
  share: true,
  maxSummaryRatio: true,
  minSpanTokens: true,
  chunkTokens: true,
  hardTokens: true,
  windowTokens: true,
  budget: true,
  maxBreakEvenCalls: true,
  prices: true,
  overheadTokens: true,
  tokenCounter: true,
  template: true,
  carryBlocks: true,
  model: true,
};

const UNCONFIGURED: SessionSettings = {
  policy: null,
  when: null,
  template: DEFAULT_TEMPLATE,
  overheadTokens: 0,
  countTokens: ESTIMATE,
  previews: null,
  inline: null,
  secretRules: null,
  approval: null,
  notes: null,
  carryBlocks: [],
  afterCompaction: null,
  onError: null,
};

export class SettingsTable {
  readonly #bySession = new Map<string, SessionSettings>();
  /** Those among them that no code has named. */
  readonly #unnamed = new Set<string>();
  readonly #tellEvery: ((sessionId: string) => void)[] = [];
  readonly #configure: (sessionId: string) => void;
  readonly #configured: (settings: SessionSettings) => void;

  /**
   * `configure` may call {@link set} for a session that no code has named yet, such as one that arrives over RPC. `configured`
   * is told of the settings of each that was, once all is in force that was said of it.
   */
  constructor(configure: (sessionId: string) => void, configured: (settings: SessionSettings) => void) {
    this.#configure = configure;
    this.#configured = configured;
  }

  get(sessionId: string): SessionSettings {
    if (!this.#bySession.has(sessionId)) {
      this.#bySession.set(sessionId, UNCONFIGURED);
      try {
        for (const tell of this.#tellEvery) tell(sessionId);
        this.#configure(sessionId);
        this.#unnamed.add(sessionId);
      } catch (error) {
        // Options that were refused are refused at every call: no session goes on without its policy unnoticed.
        this.#bySession.delete(sessionId);
        throw error;
      }
    }
    return this.#bySession.get(sessionId) ?? UNCONFIGURED;
  }

  set(sessionId: string, settings: SessionSettings): void {
    this.#bySession.set(sessionId, settings);
    this.#unnamed.delete(sessionId);
    queueMicrotask(() => this.#configured(this.#bySession.get(sessionId) ?? UNCONFIGURED));
  }

  /** What each session is told before any code of its own: those met from now on, and those that no code has named yet. */
  tellEvery(tell: (sessionId: string) => void): void {
    this.#tellEvery.push(tell);
    for (const sessionId of this.#unnamed) this.#bySession.delete(sessionId);
    this.#unnamed.clear();
  }
}

/** Tokens of a view, or `auto`: by what it costs to carry it, up to a ceiling. */
export type Threshold = number | "auto";

/** Of a window that is all that was said, what a view may take: the rest is for an answer, and for what comes in while a run is at work. */
const CEILING_OF_WINDOW = 0.8;
/** Recent tokens that stay by default where a view is edited by rent. Chosen in docs/decisions/0018. */
export const RENT_TAIL_TOKENS = 8_000;

/** What `compactAfter` changes about a session's settings. Checks at once. Throws `invalid_options`. */
export function compactAfter(
  threshold: Threshold,
  options: CompactAfterOptions = {},
): (settings: SessionSettings) => SessionSettings {
  checkFields("compactAfter", options, COMPACT_AFTER);
  const { overheadTokens, tokenCounter, template, carryBlocks, ceiling, ...rest } = options;
  const { hardTokens, windowTokens, budget, maxBreakEvenCalls, prices, ...limits } = rest;
  const thresholdTokens = resolveThreshold(threshold, { ceiling, windowTokens });
  const isAuto = threshold === "auto";
  const defaults = isAuto ? { tailTokenBudget: Math.min(RENT_TAIL_TOKENS, Math.floor(thresholdTokens / 3)) } : {};
  const hard = hardTokens ?? windowTokens;
  const policy = resolvePolicy({ ...defaults, ...limits, thresholdTokens, overheadTokens, hardTokens: hard });
  const waiting = { hardTokens, windowTokens, budget, prices };
  const when = resolveWhen(thresholdTokens, {
    ...waiting,
    // A rent says by itself whether an edit is worth it.
    maxBreakEvenCalls: isAuto ? (maxBreakEvenCalls ?? null) : maxBreakEvenCalls,
  });
  const sections = template === undefined ? null : parseTemplate(template);
  const counter = tokenCounter === undefined ? null : guardCounter(tokenCounter);
  return (settings) => ({
    ...settings,
    policy,
    when: { ...when, rule: isAuto ? "rent" : "ceiling" },
    overheadTokens: overheadTokens ?? settings.overheadTokens,
    countTokens: counter ?? settings.countTokens,
    template: sections ?? settings.template,
    carryBlocks: carryBlocks ?? settings.carryBlocks,
  });
}

function resolveThreshold(
  threshold: Threshold,
  { ceiling, windowTokens }: Pick<CompactAfterOptions, "ceiling" | "windowTokens">,
): number {
  if (threshold !== "auto") {
    if (ceiling === undefined) return threshold;
    throw invalidOptions(
      'ceiling goes with compactAfter("auto"): a number is a ceiling itself. Leave one of them out.',
    );
  }
  if (ceiling === undefined && windowTokens === undefined) {
    throw invalidOptions(
      'compactAfter("auto") needs a bound: give ceiling, the most tokens that a view may have, or windowTokens, the context window of the conversation\'s own model.',
    );
  }
  if (ceiling === undefined) return Math.floor((windowTokens ?? 0) * CEILING_OF_WINDOW);
  if (Number.isSafeInteger(ceiling) && ceiling >= 1 && ceiling <= (windowTokens ?? ceiling)) return ceiling;
  const most = windowTokens === undefined ? "" : ` and at most ${windowTokens}, the window`;
  throw invalidOptions(`ceiling is ${String(ceiling)}: give a whole number of at least 1${most}.`);
}

function invalidOptions(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
