/**
 * Plays a list of operations on a fresh agent and checks everything after each of them. Also shrinks a list that breaks a promise.
 */
import { act } from "./acts/acts.ts";
import { PaidDrafts } from "./check/paid.ts";
import { check } from "./check/check.ts";
import type { Operation } from "./operations.ts";
import { count, type Tally } from "./tally.ts";
import { Violation, World } from "./world.ts";

export interface Played {
  readonly violation: { readonly invariant: string; readonly detail: string } | null;
  /** Operations that were begun. */
  readonly done: number;
  readonly log: readonly string[];
  readonly tally: Tally;
}

/** Number of operations between two thorough checks. */
const THOROUGH_EVERY = 25;

let worlds = 0;

export async function play(operations: readonly Operation[]): Promise<Played> {
  const world = new World(`sim-${worlds++}`);
  const paid = new PaidDrafts(world.model);
  let done = 0;
  try {
    for (const op of operations) {
      done++;
      await act(world, op);
      if (!op.hurry) await world.settle();
      await check(world, { thorough: op.n % THOROUGH_EVERY === 0, n: op.n, paid });
    }
    await world.endAll();
    await check(world, { thorough: true, n: 0, paid });
    await buryAll(world, paid);
    return played(world, done, null);
  } catch (error) {
    const invariant = error instanceof Violation ? error.invariant : "no surprises";
    return played(world, done, { invariant, detail: error instanceof Error ? error.message : String(error) });
  } finally {
    world.dispose();
  }
}

async function buryAll(world: World, paid: PaidDrafts): Promise<void> {
  for (const seat of world.seats) {
    await world.agent.deleteSession({ sessionId: seat.id });
    world.bury(seat, { blockToo: true });
    seat.touched = true;
    await check(world, { thorough: true, n: 0, paid });
  }
}

function played(world: World, done: number, violation: Played["violation"]): Played {
  for (const [mood, calls] of world.model.counts) count(world.tally.answers, mood, calls);
  return { violation, done, log: world.log, tally: world.tally };
}

/**
 * The shortest list that still breaks the same promise. It first drops whole verbs, then smaller and smaller stretches, until `mayGoOn` is
 * false. Null when the list does not break it a second time, because then timing played a part that no seed holds.
 */
export async function shrink(
  operations: readonly Operation[],
  invariant: string,
  mayGoOn: () => boolean,
): Promise<{ operations: readonly Operation[]; played: Played } | null> {
  const again = await play(operations);
  if (again.violation?.invariant !== invariant) return null;
  let best = { operations: upTo(operations, again), played: again };
  const tryWithout = async (leave: (op: Operation, at: number) => boolean): Promise<boolean> => {
    const rest = best.operations.filter((op, at) => !leave(op, at));
    if (rest.length === best.operations.length || !mayGoOn()) return false;
    const result = await play(rest);
    if (result.violation?.invariant !== invariant) return false;
    best = { operations: upTo(rest, result), played: result };
    return true;
  };
  for (const verb of new Set(operations.map((op) => op.do))) await tryWithout((op) => op.do === verb);
  for (let size = Math.ceil(best.operations.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.operations.length && mayGoOn();) {
      if (!(await tryWithout((_, at) => at >= from && at < from + size))) from += size;
    }
  }
  return best;
}

/** Operations after the violation played no part in it. */
function upTo(operations: readonly Operation[], { done }: Played): readonly Operation[] {
  return operations.slice(0, done);
}
