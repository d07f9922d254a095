/**
 * Any sequence of operations, faults and bad answers leaves every invariant standing. Lists that once broke one are played first. `npm run
 * sim` sets the length and the seed of a run. Without it this file plays a short one.
 */
import { afterAll, afterEach, expect, inject, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { breaches } from "../strict.ts";
import { drawOperations, EPISODE, type Operation } from "./operations.ts";
import { play, shrink, type Played } from "./play.ts";
import seeds from "./seeds.json";
import { addTally, emptyTally } from "./tally.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The settings of `npm run sim`. `operations` is 0 without it. */
    sim: { readonly operations: number; readonly seed: number; readonly shrinkMs: number };
  }
}

const { operations, seed, shrinkMs } = inject("sim");

skipRetryDelays();

const tally = emptyTally();

afterAll(() => tell({ kind: "tally", tally }));

// The platform refuses what production refuses (test/strict.ts).
afterEach(() => expect(breaches.splice(0)).toEqual([]));

/** Prints a line for the process that started this. */
function tell(what: object): void {
  if (operations > 0) console.log(`@sim ${JSON.stringify(what)}`);
}

async function playAndTell(list: readonly Operation[], name: string): Promise<void> {
  const played = await play(list);
  addTally(tally, played.tally);
  if (played.violation !== null) throw await tellViolation(list, name, played);
}

async function tellViolation(list: readonly Operation[], name: string, played: Played): Promise<Error> {
  const { invariant = "", detail = "" } = played.violation ?? {};
  const reached = list.slice(0, played.done);
  const until = performance.now() + shrinkMs;
  const shrunk = shrinkMs === 0 ? null : await shrink(reached, invariant, () => performance.now() < until);
  const log = shrunk?.played.log ?? played.log;
  tell({ kind: "violation", seed: name, invariant, detail, operations: shrunk?.operations ?? reached, log });
  const found = shrunk?.played.violation?.detail ?? detail;
  return new Error(
    `Seed ${name}: ${found}\nafter\n  ${log.join("\n  ")}\n(${shrunk === null ? "not shrunk" : "shrunk"})`,
  );
}

for (const { why, list } of seeds as readonly { why: string; list: readonly Operation[] }[]) {
  test(`what once broke an invariant breaks none: ${why}`, async () => {
    await playAndTell(list, why);
  });
}

test("no invariant breaks (M1, V1, V2, V3, C1, C2, C3, R1, R2, R3, R4, S1, S2)", { timeout: 3_600_000 }, async () => {
  const total = operations > 0 ? operations : EPISODE;
  for (let done = 0; done < total; done += EPISODE) {
    const own = seed + done / EPISODE;
    const list = drawOperations(own, Math.min(EPISODE, total - done));
    await playAndTell(list, `${own}`);
    tell({ kind: "episode", seed: `${own}`, operations: list.length });
  }
  expect(tally.checks["V1"]).toBeGreaterThan(0);
});
