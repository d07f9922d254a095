/**
 * The settings of a session. They live in memory and come from code at every wake-up, so a deployed change of policy takes effect with the
 * next run. A run keeps the policy that it started with in its ledger row.
 */
import type { UIMessage } from "ai";
import type { RunRecord, Trigger } from "../memory/runs/runs.ts";
import type { OverlayRecord } from "../memory/overlays/overlay.ts";
import { PalimpsestError } from "../errors.ts";
import { checkFields, type FieldNames, checkWhole } from "../known-fields.ts";
import type { SecretRules } from "../redact/secret-rules.ts";
import type { CountTokens } from "../steps/message/message.ts";
import type { PreviewOptions } from "../fit/preview.ts";
import { resolvePolicy, type HeadOptions, type Policy, type TailOptions } from "../steps/plan/policy.ts";
import { resolveWhen, type When, type WhenOptions } from "../steps/decide/decide.ts";
import { ESTIMATE, guardCounter } from "./token-counter.ts";
import { DEFAULT_TEMPLATE, parseTemplate, type Template, type TemplateInput } from "../steps/draft/prompt.ts";

/** A caller's summary with the range that it replaces, both ends included, by message or overlay id. */
export interface OwnSummary {
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
}

/** The second argument of a caller's function. */
export interface OwnFunctionContext {
  readonly sessionId: string;
  /** The same when the function is called again for one run, because the object died. */
  readonly runId: string;
  readonly trigger: Trigger;
  /** A person's words about the summary's focus. */
  readonly focus: string | null;
  /** Aborted once the answer is no longer wanted, because the time is over or the run was ended. */
  readonly signal: AbortSignal;
}

/** Replaces the durable workflow for one session. Receives the view, and returns a summary, or null for nothing to do. */
export type OwnFunction = (
  messages: readonly UIMessage[],
  context: OwnFunctionContext,
) => Promise<OwnSummary | null> | OwnSummary | null;

/** Returns a text that the model should get as well, or nothing. A repeated call for the same overlay has the same `run.id`. */
export type AfterCompaction = (event: {
  readonly sessionId: string;
  readonly run: RunRecord;
  readonly overlay: OverlayRecord;
}) => string | null | undefined | void | Promise<string | null | undefined | void>;

/** How a summary waits for a person. */
export interface ApprovalSettings {
  readonly timeoutMs: number;
  /** The effect of silence. */
  readonly onTimeout: "apply" | "discard";
}

/** Called for a run that ended as `failed`, and once for one whose summary no model made. */
export type OnCompactionError = (error: Error, run: RunRecord) => void | Promise<void>;

export interface SessionSettings {
  /** Null never compacts automatically. */
  readonly policy: Policy | null;
  /** When a crossing of the threshold waits. Null with the policy. */
  readonly when: When | null;
  readonly template: Template;
  /** Tokens beside the messages, for system prompt and tools. */
  readonly overheadTokens: number;
  /** The counter of the whole session. It never throws. */
  readonly countTokens: CountTokens;
  /** The size from which a tool output is shown as a preview. Null shows every output whole. */
  readonly previews: PreviewOptions | null;
  readonly ownFunction: { readonly compact: OwnFunction; readonly timeoutMs: number } | null;
  /** The rules that blank secrets before a summariser sees the conversation. Null for none. */
  readonly secretRules: SecretRules | null;
  /** Whether a person approves each summary before it is committed. Null asks nobody. */
  readonly approval: ApprovalSettings | null;
  /** What rooms keep of their own settings, by a room's name. */
  readonly rooms: Readonly<Record<string, unknown>>;
  readonly afterCompaction: AfterCompaction | null;
  readonly onError: OnCompactionError | null;
}

export interface CompactAfterOptions {
  /** The context window of the conversation's own model, in tokens. Past it nothing keeps a run from starting. */
  readonly windowTokens?: number | undefined;
  /** With `auto` only. Most tokens of a view, overhead included. The default is four fifths of `windowTokens`. */
  readonly ceiling?: number | undefined;
  /** Tokens beside the messages that count against the threshold, for system prompt and tools. Default 0. */
  readonly overheadTokens?: number | undefined;
  /** Messages at the start that stay, or `{ messages, tokens }`. Default 3, within a tenth of the threshold. */
  readonly head?: HeadOptions | undefined;
  /** Recent tokens that stay, or `{ tokens, messages }`. Default 20,000, at most a quarter of the threshold, and two messages at any size. */
  readonly tail?: TailOptions | undefined;
  /** The part of the threshold that all summaries of a view take, at most a third. Default: a quarter. */
  readonly share?: number | undefined;
  /** Compact also when the view has more than this many messages, each summary counted as one. */
  readonly maxMessages?: number | undefined;
  /** The session's choice of a summariser, by a name that its Workflow's `model()` knows. */
  readonly model?: string | undefined;
  /** The sections of a summary. */
  readonly template?: TemplateInput | undefined;
  /**
   * Counts the session's tokens, in summaries, blocks, budgets, what rooms keep, and messages stored from now on. Where it throws or returns no
   * number, the built-in estimate replaces it, and a warning is logged once.
   */
  readonly tokenCounter?: CountTokens | undefined;
  /** Tokens that summarising may cost, in and out of the summariser. Default: without bound. */
  readonly budget?: WhenOptions["budget"];
  /** Price ratios. Default: cache read 0.1, cache write 1.25, input 1, output 5. */
  readonly prices?: WhenOptions["prices"];
  /** For the rare model that reads long texts badly: most source tokens in one call of the summariser. It follows from the threshold and the model's window. */
  readonly chunkTokens?: number | undefined;
}

const COMPACT_AFTER: FieldNames<CompactAfterOptions> = {
  windowTokens: true,
  ceiling: true,
  overheadTokens: true,
  head: true,
  tail: true,
  share: true,
  maxMessages: true,
  model: true,
  template: true,
  tokenCounter: true,
  budget: true,
  prices: true,
  chunkTokens: true,
};

const UNCONFIGURED: SessionSettings = {
  policy: null,
  when: null,
  template: DEFAULT_TEMPLATE,
  overheadTokens: 0,
  countTokens: ESTIMATE,
  previews: null,
  ownFunction: null,
  secretRules: null,
  approval: null,
  rooms: {},
  afterCompaction: null,
  onError: null,
};

/** One builder call, which changes a session's settings or gives work to one of the agent's rooms. */
export interface BuilderCall {
  settings?(settings: SessionSettings): SessionSettings;
  /** The room's work, done once the session is used. */
  apply?(sessionId: string): void;
}

/** The session that a handle names, which may change between two builder calls. */
interface Handle {
  readonly id: string;
}

export class SettingsTable {
  readonly #bySession = new Map<string, SessionSettings>();
  /** The sessions that no code has named. */
  readonly #unnamed = new Set<string>();
  readonly #forEvery: BuilderCall[] = [];
  /** Builder calls whose session was not used afterwards yet. */
  readonly #pending = new Map<Handle, BuilderCall[]>();
  /** By session, the error of its builder calls. Every use of the session is then refused with it. */
  readonly #refused = new Map<string, unknown>();
  readonly #configure: (sessionId: string) => void;
  readonly #configured: (settings: SessionSettings) => void;

  /**
   * `configure` may call {@link set} for a session that no code has named yet, such as one that arrives over RPC. `configured` receives the
   * settings of each configured session, once all of its builder calls are in force.
   */
  constructor(configure: (sessionId: string) => void, configured: (settings: SessionSettings) => void) {
    this.#configure = configure;
    this.#configured = configured;
  }

  get(sessionId: string): SessionSettings {
    if (!this.#bySession.has(sessionId)) {
      this.#bySession.set(sessionId, UNCONFIGURED);
      try {
        for (const call of this.#forEvery) this.#take(sessionId, [call]);
        this.#assertSound(sessionId);
        this.#configure(sessionId);
        this.#unnamed.add(sessionId);
      } catch (error) {
        // Refused options are refused at every call, so that no session goes on unnoticed without its policy.
        this.#bySession.delete(sessionId);
        throw error;
      }
    }
    return this.#bySession.get(sessionId) ?? UNCONFIGURED;
  }

  /** The one counter of a session, for everything that is counted in it. */
  counterOf(sessionId: string): CountTokens {
    return this.get(sessionId).countTokens;
  }

  /** Throws `not_configured`. */
  mustHavePolicy(sessionId: string): Policy {
    const { policy } = this.get(sessionId);
    if (policy !== null) return policy;
    throw new PalimpsestError(
      "not_configured",
      `Session "${sessionId}" has no compaction policy. Call compactAfter(tokens) on it, where it is created or in configureSession().`,
    );
  }

  set(sessionId: string, settings: SessionSettings): void {
    this.#bySession.set(sessionId, settings);
    this.#unnamed.delete(sessionId);
    queueMicrotask(() => this.#configured(this.#bySession.get(sessionId) ?? UNCONFIGURED));
  }

  /**
   * A builder call for each session, before any code of its own. It applies to sessions met from now on, and to those that no code has named
   * yet.
   */
  collectForAll(call: BuilderCall): void {
    this.#forEvery.push(call);
    for (const sessionId of this.#unnamed) this.#bySession.delete(sessionId);
    this.#unnamed.clear();
  }

  /** Keeps a builder call until the session is used, or until the present code has run. */
  collect(handle: Handle, call: BuilderCall): void {
    // A session may also be used without this handle, over RPC. The builder calls must be in force by then.
    if (this.#pending.size === 0) queueMicrotask(() => this.#takeAll());
    this.#pending.set(handle, [...(this.#pending.get(handle) ?? []), call]);
  }

  /** Applies pending builder calls, at every use of a session. Throws the error that one of its own caused. */
  apply(sessionId: string): void {
    this.#takeAll();
    this.#assertSound(sessionId);
  }

  /** Of every handle, because two may name one session. */
  #takeAll(): void {
    // In the order of the calls. A session that is configured on the way applies its new settings, and not the ones that wait here.
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const [{ id }, calls] of pending) this.#take(id, calls);
  }

  /** Never throws, because nobody may catch it. */
  #take(sessionId: string, calls: readonly BuilderCall[]): void {
    try {
      this.set(
        sessionId,
        calls.reduce((sofar, each) => each.settings?.(sofar) ?? sofar, this.get(sessionId)),
      );
      for (const each of calls) each.apply?.(sessionId);
    } catch (error) {
      // The error is in the code, so it stays until the object starts with other code.
      this.#refused.set(sessionId, error);
    }
  }

  #assertSound(sessionId: string): void {
    if (this.#refused.has(sessionId)) throw this.#refused.get(sessionId);
  }
}

/**
 * Tokens of a view, or `auto`, which weighs its carrying cost up to a ceiling. A model with its window, as `workersAi()` returns one, is
 * `auto` with that window.
 */
export type Threshold = number | "auto" | { readonly windowTokens: number };

/** The window that is assumed where none is given (tokens). Today's models for chats have at least that. */
export const ASSUMED_WINDOW_TOKENS = 128_000;

/** Share of the window that a view may take. The rest is for an answer, and for messages that come in during a run. */
const CEILING_OF_WINDOW = 0.8;
/** Recent tokens that stay by default where rents decide on edits. Chosen in docs/decisions/0018. */
export const RENT_TAIL_TOKENS = 8_000;

/** The change of a session's settings by `compactAfter`. Checks at once. Throws `invalid_options`. */
export function changedThreshold(
  given: Threshold = "auto",
  options: CompactAfterOptions = {},
): (settings: SessionSettings) => SessionSettings {
  checkFields("compactAfter", options, COMPACT_AFTER);
  const { windowTokens: stated, ceiling, tokenCounter, template, budget, prices, ...limits } = options;
  const { threshold, windowTokens } = readWindow(given, { ceiling, windowTokens: stated });
  const thresholdTokens = resolveThreshold(threshold, { ceiling, windowTokens });
  const isAuto = threshold === "auto";
  const autoTail = Math.min(RENT_TAIL_TOKENS, Math.floor(thresholdTokens / 3));
  const tail = isAuto && typeof limits.tail !== "number" ? { tokens: autoTail, ...limits.tail } : limits.tail;
  const policy = resolvePolicy({ ...limits, tail, thresholdTokens, hardTokens: windowTokens });
  const when = resolveWhen(thresholdTokens, { windowTokens, budget, prices });
  const sections = template === undefined ? null : parseTemplate(template);
  const counter = tokenCounter === undefined ? null : guardCounter(tokenCounter);
  return (settings) => ({
    ...settings,
    policy,
    when: { ...when, rule: isAuto ? "rent" : "ceiling" },
    overheadTokens: options.overheadTokens ?? settings.overheadTokens,
    countTokens: counter ?? settings.countTokens,
    template: sections ?? settings.template,
  });
}

/** Said once an isolate, because every wake-up declares its sessions again. */
let isAssumed = false;

/** A model's own window, or else the one that is assumed. */
function readWindow(
  given: Threshold,
  { ceiling, windowTokens }: Pick<CompactAfterOptions, "ceiling" | "windowTokens">,
): { readonly threshold: number | "auto"; readonly windowTokens: number | undefined } {
  if (typeof given === "object" && given !== null) {
    checkWhole("windowTokens", given.windowTokens, 1);
    return { threshold: "auto", windowTokens: windowTokens ?? given.windowTokens };
  }
  if (given !== "auto" || ceiling !== undefined || windowTokens !== undefined)
    return { threshold: given, windowTokens };
  if (!isAssumed) {
    console.info(
      `[palimpsest] compactAfter() was given no number and no window. It assumes a window of ${ASSUMED_WINDOW_TOKENS} tokens, and compacts by cost, at ${ASSUMED_WINDOW_TOKENS * CEILING_OF_WINDOW} tokens at the latest. Give windowTokens, the window of the conversation's model, or a number.`,
    );
  }
  isAssumed = true;
  return { threshold: given, windowTokens: ASSUMED_WINDOW_TOKENS };
}

function resolveThreshold(
  threshold: number | "auto",
  { ceiling, windowTokens }: Pick<CompactAfterOptions, "ceiling" | "windowTokens">,
): number {
  // Code without types may give a setting as it was read.
  if (typeof threshold !== "number" && threshold !== "auto") throw invalidOptions(adviceFor(threshold));
  if (threshold !== "auto") {
    if (ceiling === undefined) return threshold;
    throw invalidOptions('ceiling goes with compactAfter("auto"): a number is a ceiling itself. Leave one out.');
  }
  if (ceiling === undefined) return Math.floor((windowTokens ?? 0) * CEILING_OF_WINDOW);
  checkWhole("ceiling", ceiling, 1, windowTokens);
  return ceiling;
}

function adviceFor(threshold: unknown): string {
  const text = typeof threshold === "string" ? threshold.trim() : "";
  const number = Number(text === "" ? Number.NaN : text);
  const meant =
    text.toLowerCase() === "auto" ? '"auto"' : Number.isSafeInteger(number) && number >= 1 ? `${number}` : null;
  const write = meant === null ? 'a number of tokens, "auto", or nothing' : `compactAfter(${meant})`;
  return `compactAfter(${JSON.stringify(threshold) ?? String(threshold)}) is no threshold: write ${write}.`;
}

function invalidOptions(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
