/**
 * Checks the invariants of notes. Notes tell only what was read (C3), versions only grow, one update runs at a time (R2), and an overlay
 * from notes covers no more than they did.
 */
import { NOTES_VERSIONS } from "../../../src/notes/limits.ts";
import type { NotesVersion } from "../../../src/notes/versions.ts";
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { marksIn } from "../said.ts";
import { count } from "../tally.ts";
import { weigh } from "../twin.ts";
import { holds, type Seat, type World } from "../world.ts";

export interface Noted {
  readonly seat: Seat;
  /** Newest first. */
  readonly versions: readonly NotesVersion[];
  readonly runs: readonly RunRecord[];
  readonly overlays: readonly OverlayRecord[];
  readonly currentOf: (leafId: string) => NotesVersion | null;
}

export function checkNotes(world: World, noted: Noted): void {
  const { seat, versions, runs } = noted;
  const live = runs.filter(({ kind, outcome }) => kind === "notes" && outcome === null);
  holds("R2", live.length <= 1, () => `${live.map(({ id }) => id).join(" and ")} both update the notes of ${seat.id}`);
  checkGrowth(seat, versions);
  const known = new Set(seat.notes.map(({ n }) => n));
  for (const version of versions) if (!known.has(version.n)) checkRead(world, noted, version);
  for (const leaf of seat.twin.leaves) checkBranch(world, noted, leaf);
  checkServed(world, noted);
  seat.notes = versions;
  if (versions.length > 0) count(world.tally.checks, "notes");
}

/** The fields of a version that must never change. */
function told({ sections, covered, by, runId }: NotesVersion): string {
  return JSON.stringify([sections, covered, by, runId]);
}

function checkGrowth({ id, notes: before }: Seat, versions: readonly NotesVersion[]): void {
  const numbers = versions.map(({ n }) => n);
  const newest = before[0]?.n ?? 0;
  holds("notes", (numbers[0] ?? 0) >= newest, () => `${id} had version ${newest} of its notes and has ${numbers[0]}`);
  // Versions may have gaps, because a fork receives only the versions of its path.
  const falls = numbers.every((n, at) => at === 0 || n < (numbers[at - 1] ?? 0));
  holds("notes", falls && numbers.length <= NOTES_VERSIONS, () => `${id} has versions ${numbers.join()} of its notes`);
  for (const version of versions) {
    const was = before.find(({ n }) => n === version.n);
    if (was === undefined) continue;
    holds("notes", told(was) === told(version), () => `version ${version.n} of ${id} was written again`);
    holds("C3", was.standing || !version.standing, () => `version ${version.n} of ${id} is in use again`);
  }
}

/** Checks that every newly covered message was shown to the model, or stood under a summary. */
function checkRead(world: World, { seat, versions, runs, overlays }: Noted, version: NotesVersion): void {
  const { twin } = seat;
  const run = runs.find(({ id }) => id === version.runId);
  if (
    run?.kind !== "notes" ||
    run.notes === null ||
    version.by !== "update" ||
    version.covered.kind !== "to" ||
    !version.standing
  )
    return;
  const { baseN, span, digest } = run.notes;
  const { messageId } = version.covered;
  holds("notes", messageId === span.toId, () => `run ${run.id} read up to ${span.toId} and covers ${messageId}`);
  const path = twin.path(messageId);
  const base = [...versions, ...seat.notes].find(({ n }) => n === baseN)?.covered;
  // Several updates have passed since the last look, and the last one replaced the base of the first.
  if (base === undefined && baseN > 0) return;
  const behind = base?.kind === "to" ? path.indexOf(base.messageId) + 1 : 0;
  // A fork inherits drafts. So an answer for the same source counts as read by this run, in whatever session it was given.
  const everywhere = [...runs, ...world.seats.flatMap((each) => each.runs)];
  const same = everywhere.filter((each) => each.kind === "notes" && each.notes?.digest === digest).map(({ id }) => id);
  const read = new Set([...seat.claimed, ...same.flatMap((id) => [...(world.model.read.get(id) ?? [])])]);
  for (const id of path.slice(behind)) {
    const [mark] = weigh(twin.find(id)!).marks;
    if (mark === undefined || read.has(mark) || seat.inherited.has(mark) || isUnder(seat, overlays, id)) continue;
    holds("notes", false, () => `version ${version.n} of ${seat.id} covers ${id}, which run ${run.id} did not read`);
  }
  count(world.tally.met, "updates whose reading was checked");
}

function isUnder({ twin }: Seat, overlays: readonly OverlayRecord[], id: string): boolean {
  return overlays.some(({ span }) => {
    const path = twin.path(span.toId);
    return path.indexOf(span.fromId) !== -1 && path.indexOf(id) >= path.indexOf(span.fromId);
  });
}

/** Checks that the notes in use on a branch belong to that branch, and hold only words that its messages still say. */
function checkBranch(world: World, { seat, currentOf }: Noted, leaf: string): void {
  const current = currentOf(leaf);
  if (current === null) return;
  const { covered, sections, n } = current;
  const path = seat.twin.path(leaf);
  const on = covered.kind !== "to" || path.includes(covered.messageId);
  holds("A5", on && current.standing, () => `version ${n} of ${seat.id} is used on the branch of ${leaf}`);
  const said = new Set(seat.twin.messages(leaf).flatMap((message) => [...weigh(message).marks]));
  for (const word of marksIn(JSON.stringify(sections))) {
    holds(
      "C3",
      said.has(word) || seat.inherited.has(word),
      () => `version ${n} of ${seat.id} says ${word}, which nobody on the path to ${leaf} says now`,
    );
  }
  count(world.tally.checks, "A5, C3 (notes)");
}

/** Checks that an overlay that a run took from notes ends where they ended, or before. */
function checkServed(world: World, { seat, overlays, runs, versions }: Noted): void {
  const before = new Set(seat.overlays.map(({ id }) => id));
  for (const { id, runId, span, details } of overlays) {
    const run = runs.find((each) => each.id === runId);
    const version = versions.find(({ n }) => n === details.notesVersion);
    if (before.has(id) || run === undefined || version === undefined) continue;
    holds(
      "notes",
      run.path === "notes" && run.modelCalls === 0,
      () => `run ${run.id} asked a model and took the notes`,
    );
    count(world.tally.met, "overlays from notes");
    if (version.covered.kind !== "to" || !version.standing) continue;
    const path = seat.twin.path(version.covered.messageId);
    holds(
      "notes",
      path.includes(span.toId),
      () => `${id} of ${seat.id} hides ${span.toId}; the notes end at ${path.at(-1)}`,
    );
  }
}
