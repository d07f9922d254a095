/**
 * The room of own functions: a session's own code makes its summaries, in place of the durable workflow.
 *
 * Its runs have the ledger, the limits, the audit and the commit of every other run (runs.ts).
 */
import type { Core } from "../agent/core.ts";
import type { BuilderCall } from "../agent/settings.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import type { InlineCompaction, SessionSettings } from "../agent/settings.ts";
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { FunctionRuns } from "./runs.ts";

/** Default time limit of a session's own compaction function (ms). Slow models answer in minutes. */
export const DEFAULT_FUNCTION_LIMIT_MS = 300_000;

/** Largest setting of that time limit (ms). A function exists only in memory, and an object rarely lives longer. */
export const MAX_FUNCTION_LIMIT_MS = 3_600_000;

export interface OnCompactionOptions {
  /** Most time of the function in ms. Default five minutes, at most an hour. */
  readonly timeoutMs?: number | undefined;
}

/** Throws `invalid_options`. */
function resolveInline(
  compact: InlineCompaction,
  options: OnCompactionOptions,
): NonNullable<SessionSettings["inline"]> {
  checkFields("onCompaction", options, { timeoutMs: true });
  const { timeoutMs = DEFAULT_FUNCTION_LIMIT_MS } = options;
  if (typeof compact !== "function") {
    throw new PalimpsestError("invalid_options", "onCompaction takes a function that returns a summary, or null.");
  }
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_FUNCTION_LIMIT_MS) {
    throw new PalimpsestError(
      "invalid_options",
      `timeoutMs is ${inWords(timeoutMs)}: give whole milliseconds from 1 to ${MAX_FUNCTION_LIMIT_MS}.`,
    );
  }
  return { compact, timeoutMs };
}

/** The declaration that the room adds to a session and to a manager of sessions. */
export interface FunctionMethods {
  /**
   * Replaces the durable workflow by a caller's function, which is called off the append's path. After `timeoutMs`, five minutes by
   * default, its run ends as `failed` with the code `timed-out`. Throws `invalid_options`.
   */
  onCompaction(compact: InlineCompaction, options?: OnCompactionOptions): this;
}

class FunctionBuilder implements FunctionMethods {
  readonly #tell: (call: BuilderCall) => void;

  /** @internal */
  constructor(tell: (call: BuilderCall) => void) {
    this.#tell = tell;
  }

  onCompaction(compact: InlineCompaction, options: OnCompactionOptions = {}): this {
    const inline = resolveInline(compact, options);
    this.#tell({ settings: (settings) => ({ ...settings, inline }) });
    return this;
  }
}

// A function is declared in code and not from outside.
const NO_CALLS = {};

/** The room as an agent is declared with it. */
export interface OwnFunctionExtension extends Extension<FunctionMethods, FunctionMethods, typeof NO_CALLS> {}

/** Adds `onCompaction` to each session, as in `withCompaction(Base, { rooms: [ownFunction()] })`. */
export function ownFunction(): OwnFunctionExtension {
  return {
    name: "ownFunction",
    calls: NO_CALLS,
    install: (core: Core): Installed<FunctionMethods, FunctionMethods> => ({
      session: (state) => new FunctionBuilder((call) => state.tell(call)),
      manager: ({ tell }) => new FunctionBuilder(tell),
      functions: new FunctionRuns(core),
    }),
  };
}
