/**
 * A view as it is handed out, after the session's settings and the caller's options.
 *
 * Applies previews, truncation and fitting, in this order, each only on request. It works on copies after the view was read, so it reads no
 * further row and stores nothing (M1). Safe because a limit is compared with the same calibrated count as the trigger's threshold
 * (src/agent/reports/usage.ts), and because invalid options are refused before any read.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { MIN_VIEW_TOKENS } from "../../limits.ts";
import type { PastView } from "../../memory/overlays/overlays.ts";
import type { View } from "../../memory/messages/visible.ts";
import { checkBudget, fitView, type Fitting } from "../../fit/fit-view.ts";
import { measureMessage } from "../../steps/message/message.ts";
import { previewOutputs } from "../../fit/preview.ts";
import { truncateOlderMessages, type TruncateOptions } from "../../fit/truncate.ts";
import { unseenTokens } from "../reports/usage.ts";
import type { Needs } from "../core.ts";

export interface GetViewOptions {
  /** The branch, which is the active one by default. */
  readonly leafId?: string | undefined;
  /** An overlay. Reads the view right after it came into force, on its own branch. See `getViewAsOf`. */
  readonly asOf?: string | undefined;
  /** Most tokens of the prompt as the provider would count it, with system prompt and tools. No limit by default. */
  readonly maxTokens?: number | undefined;
  /** Shortens long parts of older messages. Shortens nothing by default. */
  readonly truncate?: boolean | TruncateOptions | undefined;
  /**
   * Keeps the messages apart, each under its own id and role, as a page shows them. By default neighbours of one role are one message, because
   * some models want user and assistant to alternate.
   */
  readonly apart?: boolean | undefined;
}

/** How a view was made to fit, and the provider's expected count of the prompt now. */
export type Fitted = Fitting & {
  /**
   * Above `maxTokens` only where the rest of the prompt leaves the messages no room, or an open call takes more. An open call is not
   * shortened, because it runs with its input.
   */
  readonly promptTokens: number;
};

export interface ShownView extends View, Partial<Pick<PastView, "asOf" | "changed">> {
  /** Estimated tokens of the elements, or of the messages where they were previewed, shortened or fitted. */
  readonly tokens: number;
  /** Only where `maxTokens` was given. */
  readonly fitted?: Fitted;
}

/** What a turn does with the messages of a view before they are shortened. */
export interface Arranging {
  /** Replaces a message. */
  readonly as?: ((message: UIMessage) => UIMessage) | undefined;
  /** Takes out the turn's own messages. */
  readonly arrange?: (messages: UIMessage[]) => Promise<{ readonly messages: UIMessage[] } & Apart>;
}

/** Messages that stand behind those of the view, in estimated tokens. */
interface Apart {
  readonly tokens: number;
  /** What is left free for them. */
  readonly reserved: number;
}

/** Checks the options, and accepts a plain leaf id. Throws `invalid_options`. */
export function checkViewOptions(options: string | GetViewOptions | undefined): GetViewOptions {
  if (options === undefined || typeof options === "string") return { leafId: options };
  const { leafId, asOf, maxTokens, truncate } = options;
  if (leafId !== undefined && asOf !== undefined) {
    throw new PalimpsestError(
      "invalid_options",
      "A view as of an overlay is of that overlay's branch: leave leafId out.",
    );
  }
  if (maxTokens !== undefined) checkBudget("maxTokens", maxTokens);
  if (typeof truncate === "object") truncateOlderMessages([], truncate);
  return options;
}

/** The messages with the session's previews of outputs. */
export function withPreviews(core: Needs<"settings">, sessionId: string, messages: UIMessage[]): UIMessage[] {
  const { previews } = core.settings.get(sessionId);
  return previews === null ? messages : previewOutputs(messages, previews);
}

/** Applies the checked options to messages of the view. */
export function shapeView(
  core: Needs<"settings" | "usage">,
  sessionId: string,
  read: { view: View; shown: UIMessage[]; options: GetViewOptions; apart: Apart },
): ShownView {
  const { view, shown, options, apart } = read;
  const { countTokens, template } = core.settings.get(sessionId);
  const messages = truncated(shown, options.truncate);
  if (options.maxTokens === undefined) {
    if (messages === view.messages) return view;
    const tokens = messages.reduce((sum, message) => sum + measureMessage(message, countTokens).tokens, 0);
    return { ...view, messages, tokens };
  }
  const budget = Math.max(MIN_VIEW_TOKENS, messageRoom(core, sessionId, options.maxTokens) - apart.reserved);
  const { fitted, ...left } = fitView(messages, { budget, countTokens, template });
  const tokens = left.tokens + apart.tokens;
  return { ...view, ...left, fitted: { ...fitted, promptTokens: tokens + unseenTokens(core, sessionId, tokens) } };
}

/** The largest estimate of messages whose count by the provider is at most `maxTokens`, with the rest of the prompt. */
export function messageRoom(core: Needs<"settings" | "usage">, sessionId: string, maxTokens: number): number {
  return messageBudget(maxTokens, (tokens) => tokens + unseenTokens(core, sessionId, tokens));
}

function truncated(messages: UIMessage[], truncate: GetViewOptions["truncate"]): UIMessage[] {
  if (truncate === undefined || truncate === false) return messages;
  return truncateOlderMessages(messages, truncate === true ? {} : truncate);
}

/**
 * The largest estimate of a view whose count is at most `maxTokens`, or the smallest view's where none is. A binary search finds it,
 * because the count rises with the estimate and is never under half of it (steps/tokens/calibrate.ts).
 */
function messageBudget(maxTokens: number, count: (tokens: number) => number): number {
  let [fits, over] = [MIN_VIEW_TOKENS, Math.floor(maxTokens) * 2 + 2];
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2);
    if (count(middle) <= maxTokens) fits = middle;
    else over = middle;
  }
  return fits;
}
