/** Messages with long tool outputs for tests of masks, and what a view and the rows of masks have of them. */
import type { UIMessage } from "ai";
import type { History } from "../../src/memory/messages/history.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlays.ts";
import type { Span } from "../../src/steps/plan/outline.ts";
import { rowsOf } from "../rows.ts";

/** Words that stand in one output and nowhere else. */
function output(tag: string): string {
  return Array.from({ length: 24 }, (_, at) => `export const parser${tag}k${at} = read(${at});`).join("\n");
}

/** An assistant's message with a call in each step. */
export function work(id: string, count = 1, from = 0): UIMessage {
  return calls(
    id,
    Array.from({ length: count }, (_, at) => from + at),
  );
}

/** Like {@link work}, with the tag of each output. */
export function calls(id: string, tags: readonly number[]): UIMessage {
  return {
    id,
    role: "assistant",
    parts: tags.flatMap((tag, step): UIMessage["parts"] => {
      const call = { toolCallId: `${id}.${step}`, input: { step }, output: output(`${id}s${tag}`) };
      return [{ type: "step-start" }, { type: "tool-read", state: "output-available", ...call }];
    }),
  };
}

/** Masks the active view up to the last maskable step of a share of it. */
export function mask(history: History, share = 1, namesTokens = 300): boolean {
  const view = history.masks.rented();
  const steps = view?.steps.flatMap(({ maskable }, step) => (maskable > 0 ? [step] : [])) ?? [];
  const toStep = steps[Math.ceil(steps.length * share) - 1];
  return view !== null && toStep !== undefined && history.masks.mask(view, { toStep, namesTokens, whole: null });
}

/** Hides a span under a summary that has no names beside it. */
export function hide(history: History, over: Span): string {
  return history.overlays.add({ span: over, summary: "read", namesTokens: 0, pinnedTokens: 0, loadedTokens: 0 }).kind;
}

export function masksOf(storage: DurableObjectStorage, sessionId = "") {
  return rowsOf(storage, "palimpsest_masks").filter((row) => row["session_id"] === sessionId);
}

/** The names beside the last stub. Empty where there are none. */
export function namesIn(history: History): string {
  return /Words of outputs[^"]*/.exec(text(history))?.[0] ?? "";
}

export const detailsOf = ({ details }: OverlayRecord) => ({ ...details, madeOf: [], draftKey: null });
export const text = (history: History): string => JSON.stringify(history.view().messages);
/** The outputs whose words a text has. */
export const tagsIn = (said: string): Set<string> => new Set(said.match(/parser\w+?s\d+(?=k\d)/g));
