/**
 * A view as it is handed out: what a session's settings and the caller's options make of what was read.
 *
 * Job: previews, truncation and fitting, in this order, each only where asked for. Boundary: on copies, after the view was
 * read: no row more is read, and nothing is stored (M1). Safe because a limit is held against the same calibrated count
 * as the trigger's threshold (usage.ts), and because options are refused before anything is read.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { MIN_VIEW_TOKENS } from "../../limits.ts";
import type { PastView } from "../../memory/overlays/time-travel.ts";
import type { View } from "../../memory/messages/view.ts";
import { checkRoom, fitView, type Fitting } from "../../steps/view/fit-view.ts";
import { measureMessage } from "../../steps/message/measure.ts";
import { previewOutputs } from "../../steps/view/preview.ts";
import { truncateOlderMessages, type TruncateOptions } from "../../steps/view/truncate.ts";
import { unseenTokens } from "../reports/usage.ts";
import type { Needs } from "../core.ts";

export interface GetViewOptions {
  /** The branch; the active one by default. */
  readonly leafId?: string | undefined;
  /** An overlay: the view right after it came into force, of its own branch. See `getViewAsOf`. */
  readonly asOf?: string | undefined;
  /** Most tokens of the prompt as the provider would count it, system prompt and tools included. Default: no limit. */
  readonly maxTokens?: number | undefined;
  /** Shortens what is long in older messages. Default: nothing is shortened. */
  readonly truncate?: boolean | TruncateOptions | undefined;
}

/** What was done to make a view fit, and what a provider would count for the prompt now. */
export type Fitted = Fitting & {
  /**
   * Over `maxTokens` only where what the prompt carries beside the messages leaves them no room, or a call that is still to be
   * answered takes more: it is run with what was asked.
   */
  readonly promptTokens: number;
};

export interface ShownView extends View, Partial<Pick<PastView, "asOf" | "changed">> {
  /** Estimated: of the elements, or of the messages where they were previewed, shortened or fitted. */
  readonly tokens: number;
  /** Only where `maxTokens` was given. */
  readonly fitted?: Fitted;
}

/** The options, also of a plain leaf id. Throws `invalid_options`. */
export function viewOptions(options: string | GetViewOptions | undefined): GetViewOptions {
  if (options === undefined || typeof options === "string") return { leafId: options };
  const { leafId, asOf, maxTokens, truncate } = options;
  if (leafId !== undefined && asOf !== undefined) {
    throw new PalimpsestError(
      "invalid_options",
      "A view as of an overlay is of that overlay's branch: leave leafId out.",
    );
  }
  if (maxTokens !== undefined) checkRoom("maxTokens", maxTokens);
  if (typeof truncate === "object") truncateOlderMessages([], truncate);
  return options;
}

/** The view that was read, as the session's settings and the checked options say. */
export function shapeView(
  core: Needs<"settings" | "usage">,
  sessionId: string,
  read: { view: View; options: GetViewOptions },
): ShownView {
  const { view, options } = read;
  const { previews, countTokens, template } = core.settings.get(sessionId);
  const previewed = previews === null ? view.messages : previewOutputs(view.messages, previews);
  const messages = truncated(previewed, options.truncate);
  if (options.maxTokens === undefined) {
    if (messages === view.messages) return view;
    const tokens = messages.reduce((sum, message) => sum + measureMessage(message, countTokens).tokens, 0);
    return { ...view, messages, tokens };
  }
  const count = (tokens: number): number => tokens + unseenTokens(core, sessionId, tokens);
  const room = roomWithin(options.maxTokens, count);
  const { fitted, ...left } = fitView(messages, { room, countTokens, template });
  return { ...view, ...left, fitted: { ...fitted, promptTokens: count(left.tokens) } };
}

function truncated(messages: UIMessage[], truncate: GetViewOptions["truncate"]): UIMessage[] {
  if (truncate === undefined || truncate === false) return messages;
  return truncateOlderMessages(messages, truncate === true ? {} : truncate);
}

/**
 * The largest estimate of a view that is counted at `maxTokens` at most; the smallest view's where none is. Found by
 * halving: the count rises with the estimate, and is never under half of it (steps/calibrate.ts).
 */
function roomWithin(maxTokens: number, count: (tokens: number) => number): number {
  let [fits, over] = [MIN_VIEW_TOKENS, Math.floor(maxTokens) * 2 + 2];
  while (over - fits > 1) {
    const middle = Math.floor((fits + over) / 2);
    if (count(middle) <= maxTokens) fits = middle;
    else over = middle;
  }
  return fits;
}
