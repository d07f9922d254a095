/**
 * Every error that Palimpsest throws on purpose, with a stable code.
 *
 * The `code` identifies an error and the class does not, because classes do not survive RPC. The message starts with the code in brackets,
 * so {@link errorCode} also works across a WebSocket or a Workflow. The text after it names the problem and a remedy.
 */

/** Each code, with whether a repeated call may succeed. */
const CODES = {
  unknown_parent: { retryable: false },
  unknown_leaf: { retryable: false },
  unknown_message: { retryable: false },
  unknown_session: { retryable: false },
  session_ended: { retryable: false },
  unknown_overlay: { retryable: false },
  unknown_run: { retryable: false },
  invalid_message: { retryable: false },
  not_serializable: { retryable: false },
  message_too_large: { retryable: false },
  reserved_id: { retryable: false },
  reserved_metadata: { retryable: false },
  cyclic_parent: { retryable: false },
  invalid_range: { retryable: false },
  invalid_options: { retryable: false },
  invalid_input: { retryable: false },
  invalid_state: { retryable: false },
  host_owns_messages: { retryable: false },
  conflict: { retryable: false },
  import_failed: { retryable: false },
  not_configured: { retryable: false },
  newer_schema: { retryable: false },
  storage_full: { retryable: true },
  broken_invariant: { retryable: false },
  model_failed: { retryable: true },
  unknown_block: { retryable: false },
  block_exists: { retryable: false },
  block_full: { retryable: false },
  readonly_block: { retryable: false },
  unknown_skill: { retryable: false },
  provider_failed: { retryable: true },
  unauthorized: { retryable: false },
  not_found: { retryable: false },
  too_large: { retryable: false },
  rate_limited: { retryable: true },
} as const satisfies Record<string, { retryable: boolean }>;

export type ErrorCode = keyof typeof CODES;

/** An error with a stable code and advice. `retryable` is true when the same call may succeed later. */
export class PalimpsestError extends Error {
  override readonly name = "PalimpsestError";
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
    this.retryable = CODES[code].retryable;
  }
}

/** The platform's messages for full storage. One at a commit breaks the object, so our code cannot replace it. */
const FULL = /SQLITE_FULL|database or disk is full/;

/**
 * Returns the code of an error made here, also after it crossed RPC and lost its class. Returns `storage_full` for the platform's error
 * about full storage, and `undefined` for any other error.
 */
export function errorCode(error: unknown): ErrorCode | undefined {
  const message = error instanceof Error ? error.message : "";
  const code = /^(?:\w*Error: )?\[(\w+)\] /.exec(message)?.[1];
  if (code !== undefined && Object.hasOwn(CODES, code)) return code as ErrorCode;
  return FULL.test(message) ? "storage_full" : undefined;
}

/** Asserts an invariant. A failure is a bug here, never bad input, and is not retried. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new PalimpsestError("broken_invariant", why);
}

/** Ends an exhaustive switch. A new member of a union fails to compile here, and throws at run time. */
export function unreachable(value: never): never {
  throw new PalimpsestError("broken_invariant", `Unexpected case: ${JSON.stringify(value)}`);
}
