/**
 * Every error that Palimpsest throws on purpose, with a stable code.
 *
 * The `code` identifies an error and the class does not, because classes do not survive RPC. The message starts with the code in brackets,
 * so {@link errorCode} also works across a WebSocket or a Workflow. The text after it names the problem and a remedy.
 */

// Each code. True where a repeated call may succeed.
const RETRYABLE = {
  unknown_parent: false,
  unknown_leaf: false,
  unknown_message: false,
  unknown_session: false,
  session_ended: false,
  unknown_overlay: false,
  unknown_run: false,
  invalid_message: false,
  not_serializable: false,
  message_too_large: false,
  reserved_id: false,
  reserved_metadata: false,
  cyclic_parent: false,
  invalid_range: false,
  invalid_options: false,
  invalid_input: false,
  invalid_state: false,
  host_owns_messages: false,
  conflict: false,
  import_failed: false,
  not_configured: false,
  unknown_schema: false,
  storage_full: true,
  broken_invariant: false,
  model_failed: true,
  unknown_block: false,
  block_exists: false,
  block_full: false,
  readonly_block: false,
  unknown_skill: false,
  provider_failed: true,
  unauthorized: false,
  not_found: false,
  too_large: false,
  rate_limited: true,
} as const satisfies Record<string, boolean>;

/** The code of an error, which stays the same from release to release. It says what is wrong, and the message says what to do. */
export type ErrorCode = keyof typeof RETRYABLE;

/** An error with a stable code and advice. `retryable` is true when the same call may succeed later. */
export class PalimpsestError extends Error {
  override readonly name = "PalimpsestError";
  /** Tells errors apart, also where the class was lost on the way. See {@link errorCode}. */
  readonly code: ErrorCode;
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
    this.retryable = RETRYABLE[code];
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
  if (code !== undefined && Object.hasOwn(RETRYABLE, code)) return code as ErrorCode;
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

/** A wrong value as a message shows it. A string has quotes, so that `"3"` does not look like 3. */
export function inWords(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
