/**
 * Forecasts whether notes would be the summary of a run that started now, as values and as sentences.
 *
 * Uses {@link findNotes} like the run itself, so a plan and its run agree.
 */
import { HOOK_TOKENS } from "../limits.ts";
import type { WhyModel } from "../memory/runs/record.ts";
import type { Needs } from "../agent/core.ts";
import type { AskedRun, Foreseen, NotesForecast } from "../agent/hooks.ts";
import { findHelp, findNotes } from "./ready.ts";
import type { NotesNeeds } from "./versions.ts";
import type { Carried } from "../memory/overlays/overlay.ts";

/** Null where {@link findNotes} is null. */
export function foreseeNotes(
  core: Needs<NotesNeeds | "runs" | "settings" | "usage">,
  asked: AskedRun,
  carried: readonly Carried[],
): Foreseen | null {
  const verdict = findNotes(core, asked, carried);
  if (verdict === null) return null;
  if (verdict.kind === "ready") {
    const hookTokens = core.settings.get(asked.sessionId).afterCompaction === null ? 0 : HOOK_TOKENS;
    const { plan, version, tokensAfter } = verdict;
    const lines = [`Version ${version.n} of the notes is the summary: no model is asked.`];
    return { notes: { kind: "serve", version: version.n, expectedTokens: tokensAfter + hookTokens }, plan, lines };
  }
  const { reason, detail } = verdict;
  const waitsFor = findHelp(core, asked, verdict)?.id ?? null;
  const notes = { kind: "declined", reason, detail, advice: ADVICE[reason], waitsFor } as const;
  return { notes, plan: null, lines: describeDecline(notes) };
}

/** Sentences for a report whose run would ask a model. */
function describeDecline({ reason, detail, advice, waitsFor }: NotesForecast & { kind: "declined" }): string[] {
  const wait = waitsFor === null ? [] : ["It would wait for the update of the notes that is at work, and look again."];
  return [`A model is asked although notes are kept (${reason}): ${detail} ${advice}`, ...wait];
}

const NONE_DUE = "Nothing to do: no compaction is due.";
const REFRESH = "Wait for the notes to be brought up to date, or call refreshNotes.";
const MEND = "Read the notes (getNotes) and mend them by hand (updateNotes), or give them more room (maxTokens).";

const ADVICE = {
  "no-notes": REFRESH,
  "not-covered": REFRESH,
  "too-short": "Wait for more messages, or lower keep in keepNotes.",
  "too-recent": "Wait for more messages behind the notes, or lower keep in keepNotes.",
  "too-small": "Wait for more messages.",
  "asked-otherwise": "Leave out focus, fresh and rebuild for a compaction from notes.",
  unsound: MEND,
  "over-threshold": "Call refreshNotes, so that the notes tell of more, or lower keep in keepNotes.",
  empty: NONE_DUE,
  "under-threshold": NONE_DUE,
  "no-gap": NONE_DUE,
  "no-overlay": NONE_DUE,
  "window-too-small": NONE_DUE,
  gone: "Ask for a branch that is there.",
  changed: "Ask again: the messages changed meanwhile.",
  overlap: "Ask again: other summaries were laid meanwhile.",
  open: "Wait until the approval is given or refused.",
  larger: "Wait for more messages: the notes were no smaller than what they would replace.",
} as const satisfies Record<WhyModel["reason"], string>;
