/**
 * Checks an agent against every invariant of ARCHITECTURE.md and against its twins.
 *
 * Reads only. One synchronous pass inside the object does all the reading, so that no run moves meanwhile.
 */
import { Session } from "../../../src/agent/sessions/session.ts";
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import type { Draft } from "../../../src/memory/drafts.ts";
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { notesOf } from "../../../src/notes/versions.ts";
import type { View } from "../../../src/memory/messages/visible.ts";
import { MIN_VIEW_TOKENS } from "../../../src/limits.ts";
import { WHOLE_MESSAGE } from "../../../src/steps/plan/outline.ts";
import { hasResult, isSaid, toolPart } from "../../../src/steps/message/message.ts";
import { tables } from "../../rows.ts";
import { callsAndResults } from "../../steps/conversations.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { checkBlock } from "../blocks.ts";
import { checkForgotten } from "./forgotten.ts";
import { checkInstructions } from "./instructions.ts";
import { checkNotes } from "./notes.ts";
import { checkOverlays } from "./overlays.ts";
import { seatChildren } from "./split.ts";
import type { PaidDrafts } from "./paid.ts";
import { marksIn } from "../said.ts";
import { count } from "../tally.ts";
import { weigh, type TwinElement } from "../twin.ts";
import { holds, type Seat, type World } from "../world.ts";
import { rowsOf } from "../../rows.ts";

/** Most leaves of one session that one look checks, the newest ones. */
const LEAVES = 4;
const LEDGER_PAGE = 100;
/** Most vain runs in a row between two looks. Several branches may each have had one. */
const MAX_VAIN_RUNS = 20;
const ROOMS = [100, 300, 900, 2_500] as const;

export interface CheckOptions {
  /** Looks at every session, all of its branches, and all tables. Otherwise it looks at what the last operation touched or what changed. */
  readonly thorough: boolean;
  /** The number of the operation before. It also varies what is looked at. */
  readonly n: number;
  readonly paid: PaidDrafts;
}

type Seen = { readonly seat: Seat; readonly views: readonly View[]; readonly drafts: ReadonlySet<string> };

export async function check(world: World, options: CheckOptions): Promise<void> {
  const seen = await world.inside((instance, storage) => {
    seatChildren(world, instance);
    const seen = world.seats.flatMap((seat) => checkSeat(world, { instance, storage, seat }, options));
    if (options.thorough || world.buried.size > 0) checkBuried(world, storage);
    return seen;
  });
  options.paid.check(world, seen);
  for (const { seat, views } of seen) {
    await checkBlock(world, seat);
    for (const view of views) await checkConverts(world, seat, view);
    if (views.length > 0 && options.n % 3 === 0) await checkFits(world, seat, options.n);
  }
}

interface Place {
  readonly instance: PalimpsestAgent;
  readonly storage: DurableObjectStorage;
  readonly seat: Seat;
}

function checkSeat(world: World, { instance, storage, seat }: Place, options: CheckOptions): Seen[] {
  const { memory, runs: ledger } = instance.palimpsest;
  const history = memory.session(seat.id);
  const overlays = history.overlays.list();
  const runs = ledger.list(seat.id, { limit: LEDGER_PAGE });
  const changed = seat.touched || stateOf(overlays, runs) !== stateOf(seat.overlays, seat.runs);
  if (!changed && !options.thorough) return [];
  const touched = seat.touched;
  seat.touched = false;
  checkRuns(world, seat, runs);
  checkOverlays(world, { seat, overlays, runs, quiet: !touched });
  const notes = notesOf(instance.palimpsest, history);
  const currentOf = (leaf: string) => notes.current(leaf);
  checkNotes(world, { seat, versions: notes.list(), runs, overlays, currentOf });
  checkForgotten(world, seat, { overlays, notes, storage: options.thorough ? storage : null });
  seat.overlays = overlays;
  seat.runs = runs;
  holds(
    "M1",
    history.leafId() === seat.twin.leaf,
    () => `the leaf of ${seat.id} is ${history.leafId()}, not ${seat.twin.leaf}`,
  );
  const leaves = seat.twin.leaves.toReversed().slice(0, options.thorough ? Number.POSITIVE_INFINITY : LEAVES);
  const views = leaves.map((leaf) => {
    checkMessages(seat, leaf, [...history.originals(leaf)]);
    const view = history.view(leaf);
    checkView(world, { seat, leaf, view, overlays, tokens: history.tokens(leaf) });
    return view;
  });
  count(world.tally.checks, "M1", leaves.length);
  const rows = rowsOf(storage, "palimpsest_drafts").filter((row) => row["session_id"] === seat.id);
  // An extractive summary may say the same as a refused answer.
  const sound = rows.filter(({ details }) => {
    const { problems, degraded } = JSON.parse(details as string) as Draft;
    return problems.length === 0 && !degraded;
  });
  return [{ seat, views, drafts: new Set(sound.map(({ text }) => text as string)) }];
}

/** The state that a run changes in a session. */
function stateOf(overlays: readonly OverlayRecord[], runs: readonly RunRecord[]): string {
  return JSON.stringify([
    overlays.map(({ id, state }) => [id, state]),
    runs.map(({ id, state, steps }) => [id, state, steps.length]),
  ]);
}

function checkMessages(seat: Seat, leaf: string, stored: readonly UIMessage[]): void {
  const expected = seat.twin.messages(leaf);
  holds(
    "M1",
    stored.length === expected.length,
    () => `${seat.id} has ${stored.length} messages up to ${leaf}, not ${expected.length}`,
  );
  for (const [index, message] of expected.entries()) {
    const found = JSON.stringify(stored[index]);
    holds("M1", found === weigh(message).json, () => `${seat.id}: ${message.id} reads ${found?.slice(0, 300)}`);
  }
}

interface Shown {
  readonly seat: Seat;
  readonly leaf: string;
  readonly view: View;
  readonly overlays: readonly OverlayRecord[];
  readonly tokens: number;
}

function checkView(world: World, shown: Shown): void {
  const { seat, leaf, view, overlays, tokens } = shown;
  const { twin } = seat;
  const expected = twin.view(leaf, overlays);
  const elements = view.elements.map((each): TwinElement => {
    const { kind, id, tokens } = each;
    return each.kind === "message" ? { ...each, kind } : { kind, id, tokens, fromStep: 0, toStep: 0 };
  });
  const [got, wanted] = [elements, expected].map((list) => list.map(inWords).join(" "));
  holds("V1", got === wanted, () => `the view of ${seat.id} at ${leaf} is\n  ${got}\nand should be\n  ${wanted}`);
  const sum = expected.reduce((total, each) => total + each.tokens, 0);
  holds(
    "V1",
    sum === view.tokens && sum === tokens,
    () => `${seat.id} at ${leaf}: ${view.tokens} and ${tokens} tokens, not ${sum}`,
  );
  count(world.tally.checks, "V1");
  if (expected.some(({ kind }) => kind === "overlay")) count(world.tally.met, "views with summaries");
  checkWords(world, shown);
  checkInstructions(world, shown);
}

function inWords({ kind, id, fromStep, toStep, tokens }: TwinElement): string {
  return `${kind}:${id}[${fromStep}-${toStep === WHOLE_MESSAGE ? "end" : toStep}]=${tokens}`;
}

/** C3 and S1 for a reader. The view shows no word that no message on the path says now. */
function checkWords(world: World, { seat, leaf, view }: Shown): void {
  const said = new Set(seat.twin.messages(leaf).flatMap((message) => [...weigh(message).marks]));
  for (const word of marksIn(textOf(view))) {
    holds(
      "C3",
      said.has(word) || seat.inherited.has(word),
      () => `the view of ${seat.id} at ${leaf} says ${word}, which nobody on that path says now`,
    );
  }
  count(world.tally.checks, "C3, S1 (words)");
}

function textOf({ messages }: View): string {
  return messages.map(({ parts }) => JSON.stringify(parts)).join("\n");
}

/** R1, R2, R4. Every outcome is final, a branch has one live run, and no series of vain runs. */
function checkRuns(world: World, seat: Seat, runs: readonly RunRecord[]): void {
  const last = Math.max(0, ...seat.runs.map(({ n }) => n));
  const vain = runs.filter(
    ({ n, trigger, outcome }) => n > last && trigger !== "manual" && outcome?.kind === "nothing",
  );
  holds(
    "R4",
    vain.length <= MAX_VAIN_RUNS,
    () => `${vain.length} runs of ${seat.id} came to nothing, one after another`,
  );
  const before = new Map(seat.runs.map((run) => [run.id, run]));
  for (const { id, outcome } of runs) {
    const known = before.get(id)?.outcome ?? null;
    const same = known === null || told(known) === told(outcome);
    holds("R1", same, () => `run ${id} had ${JSON.stringify(known)} and has ${JSON.stringify(outcome)}`);
    if (known !== null || outcome === null) continue;
    const degraded = "degraded" in outcome && outcome.degraded ? " (degraded)" : "";
    const why = "reason" in outcome && outcome.kind !== "failed" ? `: ${outcome.reason}` : "";
    count(world.tally.outcomes, `${outcome.kind}${why}${degraded}`);
  }
  const live = runs.filter(({ kind, outcome }) => outcome === null && kind !== "notes");
  for (const one of live) {
    for (const other of live) {
      if (one.n >= other.n) continue;
      const path = [seat.twin.path(one.leafId), seat.twin.path(other.leafId)] as const;
      const same = path[0].includes(other.leafId) || path[1].includes(one.leafId);
      holds("R2", !same, () => `runs ${one.id} and ${other.id} are both at work on the branch of ${other.leafId}`);
    }
  }
  count(world.tally.checks, "R1, R2, R4");
  if (live.length > 1) count(world.tally.met, "sessions with runs on two branches");
}

/** A clear removes the text of a failure or a refusal, but not the outcome itself. */
function told(outcome: RunRecord["outcome"]): string {
  if (outcome?.kind === "failed") return JSON.stringify({ ...outcome, reason: "" });
  return JSON.stringify(outcome?.kind === "nothing" ? { ...outcome, detail: "" } : outcome);
}

/** S2. No table holds words of cleared or deleted messages. */
function checkBuried(world: World, storage: DurableObjectStorage): void {
  for (const [table, text] of tables(storage)) {
    for (const word of marksIn(text)) holds("S2", !world.buried.has(word), () => `${table} still holds ${word}`);
  }
  count(world.tally.checks, "S2");
}

/** V2, on the messages for a model. */
async function checkConverts(world: World, seat: Seat, view: View): Promise<void> {
  const trouble = await findUnpaired(view.messages);
  holds("V2", trouble === null, () => `the view of ${seat.id} at ${view.leafId}: ${trouble}`);
  count(world.tally.checks, "V2");
}

async function findUnpaired(messages: UIMessage[]): Promise<string | null> {
  let prompt: ModelMessage[];
  try {
    prompt = await convertToModelMessages(messages);
  } catch (error) {
    return String(error);
  }
  const [calls, results] = callsAndResults(prompt);
  const once = new Set(calls).size === calls.length;
  const open = openCalls(messages);
  const closed = calls.filter((id) => !open.has(id));
  return once && closed.join() === results.join() ? null : `calls ${calls.join()}, results ${results.join()}`;
}

/** The calls of the newest message with content, which may still be answered. */
function openCalls(messages: readonly UIMessage[]): ReadonlySet<string> {
  const newest = messages.findLast(({ parts }) => parts.some(isSaid));
  const calls = newest?.parts.flatMap((part) => toolPart(part) ?? []) ?? [];
  return new Set(calls.filter((call) => !hasResult(call)).map(({ toolCallId }) => toolCallId));
}

async function checkFits(world: World, { id }: Seat, n: number): Promise<void> {
  const maxTokens = ROOMS[n % ROOMS.length] ?? ROOMS[0];
  const view = await world.inside((instance) => Session.create(instance).forSession(id).getView({ maxTokens }));
  const tokens = view.fitted?.promptTokens ?? Number.POSITIVE_INFINITY;
  // The rest of a prompt may leave the messages no room. They are then as small as they can be. An open call stays unchanged.
  const fits = tokens <= maxTokens || view.tokens <= MIN_VIEW_TOKENS || openCalls(view.messages).size > 0;
  holds(
    "fits",
    fits,
    () => `a view of ${id} for ${maxTokens} tokens takes ${tokens}, ${view.tokens} of them its messages`,
  );
  const trouble = await findUnpaired(view.messages);
  holds("V2", trouble === null, () => `a view of ${id} for ${maxTokens} tokens: ${trouble}`);
  count(world.tally.checks, "fits");
}
