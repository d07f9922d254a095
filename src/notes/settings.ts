/** Checks the options of `keepNotes` at once, and derives the numbers that depend on the threshold. */
import { checkBlock } from "../context/declared.ts";
import { checkFields, checkWhole, type FieldNames } from "../known-fields.ts";
import {
  LEAST_NOTES_GROWTH_SHARE,
  LEAST_NOTES_GROWTH_TOKENS,
  MAX_NOTES_WAIT_MS,
  NOTES_GROWTH_SHARE,
  NOTES_GROWTH_TOKENS,
  NOTES_PATIENCE,
  NOTES_TOOL_CALLS,
  NOTES_WAIT_MS,
} from "./limits.ts";
import { resolveNotesRange, type NotesPace, type NotesRange, type NotesRangeOptions } from "./steps/cut.ts";
import { resolveNotesShape, type NotesShape, type NotesShapeOptions } from "./steps/document.ts";
import type { When } from "../steps/decide/decide.ts";
import type { Policy } from "../steps/plan/policy.ts";
import type { SessionSettings } from "../agent/settings.ts";

/** When notes are updated, and what a compaction keeps beside them. */
export interface KeepNotesOptions extends NotesShapeOptions {
  /**
   * New tokens after which the notes are updated. By default an update comes with the compaction that it is for. With
   * `compactAfter("auto")` the default is 10,000 tokens, at most a sixth of the threshold, at least 1,500 or a quarter of it.
   */
  readonly growthTokens?: number | undefined;
  /** Tool calls that must have come as well. Default 3. */
  readonly toolCalls?: number | undefined;
  /**
   * The messages that a compaction keeps behind the notes. Only positive numbers count. The default is 10,000 tokens and 5 messages with
   * text, at most 40,000 tokens. Tokens are at most a quarter of the threshold.
   */
  readonly keep?: NotesRangeOptions | undefined;
  /** How long a compaction waits for a live update (ms). Default 15,000. */
  readonly waitMs?: number | undefined;
  /** Always shows the notes to the model, as a read-only context block of this label. Not shown by default. */
  readonly asBlock?: string | undefined;
}

/** The name under which the room keeps its settings. */
export const ROOM = "notes";

/** The options of a session's notes. Null where it keeps none. */
export function keptNotes({ rooms }: Pick<SessionSettings, "rooms">): KeepNotesOptions | null {
  return (rooms[ROOM] as KeepNotesOptions | undefined) ?? null;
}

export interface NotesSettings {
  readonly shape: NotesShape;
  readonly pace: NotesPace;
  /** Whether an update reads up to where a compaction would cut, and a compaction asks for one. */
  readonly forCompactions: boolean;
  readonly range: NotesRange;
  readonly waitMs: number;
}

const KEEP_NOTES: FieldNames<KeepNotesOptions> = {
  sections: true,
  sectionTokens: true,
  maxTokens: true,
  growthTokens: true,
  toolCalls: true,
  keep: true,
  waitMs: true,
  asBlock: true,
};

/** Throws `invalid_options`. */
export function checkNotes(options: KeepNotesOptions): void {
  checkFields("keepNotes", options, KEEP_NOTES);
  checkFields("keepNotes: keep", options.keep, { minTokens: true, minTextBlockMessages: true, maxTokens: true });
  // Whether the stated options fit together does not depend on the threshold.
  resolveNotesRange({ thresholdTokens: 1 }, options.keep ?? {});
  resolveNotesShape(options, null);
  const { growthTokens = 1, toolCalls = 0, waitMs = 0, asBlock } = options;
  checkWhole("keepNotes: growthTokens", growthTokens, 1);
  checkWhole("keepNotes: toolCalls", toolCalls, 0);
  checkWhole("keepNotes: waitMs", waitMs, 0, MAX_NOTES_WAIT_MS);
  if (asBlock !== undefined) checkBlock(asBlock);
}

/**
 * `rule` is that of the session. Where no growth is stated, updates come with the compactions that they are for, and before one only where
 * there is as much to read as one call takes. By rent, nobody knows at which size of the view a compaction comes, so they come by growth.
 */
export function resolveNotes(options: KeepNotesOptions, policy: Policy, rule: When["rule"] = "ceiling"): NotesSettings {
  const { thresholdTokens, chunkTokens } = policy;
  const range = resolveNotesRange(policy, options.keep ?? {});
  const forCompactions = options.growthTokens === undefined && rule === "ceiling";
  const growthTokens = options.growthTokens ?? growthUnder(thresholdTokens);
  const oneReading = chunkTokens + range.minTokens;
  return {
    shape: resolveNotesShape(options, thresholdTokens),
    pace: {
      leastTokens: forCompactions ? oneReading : growthTokens,
      mostTokens: forCompactions ? oneReading : growthTokens * NOTES_PATIENCE,
      toolCalls: options.toolCalls ?? NOTES_TOOL_CALLS,
    },
    forCompactions,
    range,
    waitMs: options.waitMs ?? NOTES_WAIT_MS,
  };
}

function growthUnder(thresholdTokens: number): number {
  const least = Math.min(LEAST_NOTES_GROWTH_TOKENS, Math.floor(thresholdTokens / LEAST_NOTES_GROWTH_SHARE));
  const share = Math.min(NOTES_GROWTH_TOKENS, Math.floor(thresholdTokens / NOTES_GROWTH_SHARE));
  return Math.max(1, least, share);
}

/** The sections and budgets of a session. A session without kept notes has them too, because a person may write some. */
export function notesShapeOf({ rooms, policy }: Pick<SessionSettings, "rooms" | "policy">): NotesShape {
  return resolveNotesShape(keptNotes({ rooms }) ?? {}, policy?.thresholdTokens ?? null);
}
