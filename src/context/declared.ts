/**
 * A declared block, with its options checked and its provider made or taken. It reads nothing. Of the provider it calls only `init`, and
 * all checks come before.
 *
 * S1 rests on three rules. Our rows carry the scope's name. A writable provider object belongs to the first session of the first agent that
 * brings it, because agents in one isolate share the values of a module. A provider that takes its label from `init` gets one that no other
 * session has.
 */
import { PalimpsestError } from "../errors.ts";
import { checkFields, checkWhole, type FieldNames } from "../known-fields.ts";
import { MAX_BLOCK_BYTES, MAX_ENTRY_KEY_CHARS, MAX_LABEL_CHARS } from "../limits.ts";
import { providerShapeOf, type BlockProvider, type Shape } from "./provider.ts";
import { renderFill, type ContextBlock } from "./render.ts";
import { sessionScope, sqliteBlock, type BlockScope } from "./sqlite.ts";

/** Options of a context block, at its declaration. */
export interface BlockOptions {
  /** One line about the block's purpose. The model sees it in the prompt and in the tools. */
  readonly description?: string | undefined;
  /** Most estimated tokens of the text, or of one entry where the block is keyed. Default: none. */
  readonly maxTokens?: number | undefined;
  /** A provider, or a function that makes one for this session. Default: writable, in the agent's SQLite. */
  readonly provider?: BlockProvider | ((scope: BlockScope) => BlockProvider) | undefined;
  /**
   * Decides when a change is shown. With `wait` it is shown at the prompt's next refresh. With `remind`, `reminder()` also reports it
   * before. Default `wait`.
   */
  readonly whenChanged?: "wait" | "remind" | undefined;
  /** The text while nothing was written, for a block that is no list of entries. It is not stored. */
  readonly defaultContent?: string | undefined;
  /** True for a block that nobody writes, whatever its provider can do. Default false. */
  readonly readonly?: boolean | undefined;
  /** True for one content for all sessions of the agent that declare this label as shared. Default false. */
  readonly shared?: boolean | undefined;
  /** True for a text that is shown behind each new summary, such as a plan or a list of tasks. Default false. */
  readonly carry?: boolean | undefined;
}

export interface BlockConfig extends BlockOptions {
  /** Up to 64 characters in one line, without `@` and `:`. */
  readonly label: string;
}

export interface Declared {
  readonly config: BlockConfig;
  readonly scope: BlockScope;
  readonly provider: BlockProvider;
  readonly shape: Shape;
}

const BLOCK_OPTIONS: FieldNames<BlockOptions> = {
  description: true,
  maxTokens: true,
  provider: true,
  whenChanged: true,
  defaultContent: true,
  readonly: true,
  shared: true,
  carry: true,
};

/** Checks a declaration without making its provider. Throws `invalid_options`. */
export function checkBlock(label: string, options: BlockOptions = {}): void {
  checkLabel(label);
  checkFields(`Block "${label}"`, options, BLOCK_OPTIONS);
  const { maxTokens, defaultContent, readonly } = options;
  if (defaultContent !== undefined && (typeof defaultContent !== "string" || !defaultContent.isWellFormed())) {
    throw new PalimpsestError("invalid_options", `Block "${label}": defaultContent is a well-formed text.`);
  }
  if (readonly !== undefined && typeof readonly !== "boolean") {
    throw new PalimpsestError("invalid_options", `Block "${label}": readonly is true or false.`);
  }
  if (maxTokens !== undefined) checkWhole(`Block "${label}": maxTokens`, maxTokens, 1);
}

/** Makes the declaration. Throws `invalid_options`, and `provider_failed` when the caller's code throws while it makes the provider. */
export function declare(
  sessionId: string,
  config: BlockConfig,
  host: Pick<BlockScope, "agentId" | "statements" | "transaction">,
): Declared {
  const { label, ...options } = config;
  const { shared = false } = options;
  checkBlock(label, options);
  const blockId = { scope: shared ? SHARED_SCOPE : sessionScope(sessionId), label };
  const { agentId, statements, transaction } = host;
  const whose = shared ? null : sessionId;
  const scope: BlockScope = { agentId, sessionId: whose, label, blockId, statements, transaction };
  const given = config.provider ?? sqliteBlock;
  const provider = typeof given === "function" ? makeProvider(label, () => given(scope)) : given;
  const able = providerShapeOf(provider);
  const shape = config.readonly === true ? readOnly(able) : able;
  if (shape.keyed && config.defaultContent !== undefined) {
    throw new PalimpsestError("invalid_options", `Block "${label}" has entries: leave defaultContent out.`);
  }
  // A provider without `set` stores nothing of a session.
  if (shape.writable) claim(provider, scope);
  const declared = { config, scope, provider, shape };
  try {
    makeProvider(label, () => provider.init?.(shape.writable ? labelFor(scope) : label));
    return declared;
  } catch (error) {
    undeclare(declared);
    throw error;
  }
}

function readOnly(shape: Shape): Shape {
  return { ...shape, writable: false, kind: shape.kind === "writable" ? "readonly" : shape.kind };
}

/** Takes a failed declaration back. Another declaration may claim the provider then. */
export function undeclare({ shape, provider }: Declared): void {
  if (shape.writable) release(provider);
}

/** Runs the caller's code that makes a provider. Throws `provider_failed` when that throws. */
export function makeProvider<T>(label: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (cause instanceof PalimpsestError) throw cause;
    throw new PalimpsestError(
      "provider_failed",
      `Block "${label}": its provider could not be made (${String(cause)}). Nothing was declared. See what it does before its first get().`,
      { cause },
    );
  }
}

function checkLabel(label: unknown): void {
  // "@" and ":" separate a label from a session's id and from a skill's key.
  const fits = typeof label === "string" && label.length <= MAX_LABEL_CHARS && label.isWellFormed();
  if (fits && label.trim() === label && /^[^@:\p{Cc}\p{Zl}\p{Zp}]+$/u.test(label)) return;
  throw new PalimpsestError(
    "invalid_options",
    `A block's label is 1 to ${MAX_LABEL_CHARS} characters in one line, without "@" and ":", and without spaces around it.`,
  );
}

/** The scope of blocks with `shared: true`. */
const SHARED_SCOPE = "shared";

/** Returns a label that no other session's block has. The default session and shared blocks keep the plain one. */
export function labelFor({ sessionId, label }: BlockScope): string {
  return sessionId === null || sessionId === "" ? label : `${label}@${sessionId}`;
}

/** Owner of each provider, with the number of its declarations. */
const owners = new WeakMap<BlockProvider, { readonly owner: string; readonly claims: number }>();

/** Claims the provider for this scope. Throws `invalid_options` when another scope owns it. */
export function claim(provider: BlockProvider, { agentId, sessionId, blockId }: BlockScope): void {
  const owner = JSON.stringify(sessionId === null ? [blockId.scope] : [agentId, blockId.scope]);
  const known = owners.get(provider);
  if (known !== undefined && known.owner !== owner) {
    throw new PalimpsestError(
      "invalid_options",
      `Block "${blockId.label}": this provider object already stores what another session writes, of this agent or another. Give a function (scope) => provider to make one per session, or say shared: true in every session that has the block.`,
    );
  }
  owners.set(provider, { owner, claims: (known?.claims ?? 0) + 1 });
}

/** Releases the claim of a failed declaration. The last release frees the provider. */
function release(provider: BlockProvider): void {
  const known = owners.get(provider);
  if (known === undefined || known.claims <= 1) owners.delete(provider);
  else owners.set(provider, { ...known, claims: known.claims - 1 });
}

/** A block's next text, with the block from which it was made. */
export interface Rewrite {
  readonly content: string;
  readonly before: ContextBlock | null;
}

/** Throws `block_full`. */
export function checkSize(
  { config, shape }: Pick<Declared, "config" | "shape">,
  { content, before, tokens }: Rewrite & { readonly tokens: number },
): void {
  const { label, maxTokens } = config;
  if (maxTokens !== undefined && tokens > maxTokens) {
    const holds =
      before === null ? "" : ` It holds ${before.content === "" ? "nothing" : renderFill(before.tokens, maxTokens)}.`;
    const what = shape.keyed ? "An entry of block" : "Block";
    const advice =
      before === null
        ? "Write a shorter text"
        : "Add less, or replace the whole text with a shorter one that keeps what still matters";
    throw new PalimpsestError(
      "block_full",
      `${what} "${label}" would be at ${renderFill(tokens, maxTokens)}.${holds} Nothing was written. ${advice}.`,
    );
  }
  if (new TextEncoder().encode(content).length > MAX_BLOCK_BYTES) {
    throw new PalimpsestError(
      "block_full",
      `A text in block "${label}" may take ${MAX_BLOCK_BYTES} bytes. Nothing was written. Write a shorter text.`,
    );
  }
}

/** Throws `invalid_input`. */
export function checkText(text: unknown): void {
  if (typeof text === "string" && text.isWellFormed()) return;
  const what = typeof text === "string" ? "holds half a character" : `is of type ${typeof text}`;
  throw new PalimpsestError("invalid_input", `This ${what}. Give a well-formed text.`);
}

/** Throws `invalid_input`. */
export function checkKey(key: unknown): void {
  if (typeof key === "string" && key.length <= MAX_ENTRY_KEY_CHARS && key.isWellFormed() && /^[^\p{Cc}]+$/u.test(key))
    return;
  throw new PalimpsestError("invalid_input", `A key is 1 to ${MAX_ENTRY_KEY_CHARS} characters in one line.`);
}
