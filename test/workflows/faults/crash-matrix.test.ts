/**
 * The crash matrix, with every durable place of a run and every fault that can happen there.
 *
 * `npm test` disturbs two shapes at every place and a sample of each other one, as the names of the tests say. `PALIMPSEST_MATRIX=full`,
 * which CI sets, disturbs all of them at every place.
 *
 * Each run is played once undisturbed, to count the calls of its port and the results of its steps. Then, for each of these places and each
 * fault, the same run in a new agent must end as the undisturbed one did, with the same overlays, view, ledger and drafts.
 */
import pMap from "p-map";
import { describe, expect, inject, test } from "vitest";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { digest } from "../../../src/steps/text/digest.ts";
import { skipRetryDelays } from "../../agents.ts";
import { FAULTS, type Fault, type FaultPlan } from "./faulty-run.ts";
import { happen, SHAPES, type Ending, type Shape } from "./faulty-shapes.ts";

declare module "vitest" {
  interface ProvidedContext {
    matrix: { full: boolean };
  }
}

skipRetryDelays();

/** Runs at the same time, because each waits for its engine more than it works. */
const AT_ONCE = 8;

/** The shape that is disturbed at every place. The others are sampled, unless everything runs or `PALIMPSEST_MATRIX=full` asks for it. */
const WHOLE = new Set(["one chunk"]);
const SAMPLE = 1;
// Of the environment nothing reaches the platform's runtime but what the configuration hands over.
const { full } = inject("matrix");
const seed = String(inject("seed"));

/** Faults that take away a step under way, with the answer that it may hold. All others leave it to be stored again. */
const GIVES_UP: ReadonlySet<Fault> = new Set(["comes late", "restart after"]);

/** Disturbed places of all places, by shape and fault. */
const counted: Record<string, Record<string, string>> = {};

/** What models were asked in all runs under one fault, beside what the same runs ask undisturbed. */
interface Asking {
  runs: number;
  calls: number;
  /** Calls beyond those of the undisturbed run. */
  again: number;
  /** Of these, such as had got a sound answer before, which was not stored. */
  answered: number;
  /** Of these, such as had got an answer before that an audit refused, and that was not stored. */
  refused: number;
  /** Calls whose sound answer was already stored, so they were paid for twice. */
  stored: number;
  /** Sound answers asked for again that were not on their way into the store while their step was given up. */
  beyond: number;
}

const asking = new Map<Fault, Asking>();

function isWhole({ name }: Shape): boolean {
  return full || WHOLE.has(name);
}

/** The places of one row of the matrix, or the seed's choice of them. */
function places(shape: Shape, { plan }: Ending, fault: Fault): number[] {
  const { name } = shape;
  const count = fault === "result lost" ? plan.steps.length : plan.calls.length;
  const all = Array.from({ length: count }, (_, index) => index + 1);
  const drawn = (at: number): string => digest(seed, name, fault, String(at));
  const chosen = isWhole(shape) ? all : all.toSorted((a, b) => (drawn(a) < drawn(b) ? -1 : 1)).slice(0, SAMPLE);
  (counted[name] ??= {})[fault] = `${chosen.length} of ${count}`;
  return chosen;
}

describe.for(SHAPES)("$name", (shape: Shape) => {
  let calm: Promise<Ending> | undefined;
  const undisturbed = (): Promise<Ending> => (calm ??= happen(shape));

  test("undisturbed, it is applied", async () => {
    const { run, state } = await undisturbed();
    expect(run.outcome?.kind).toBe(shape.splits ? "split" : "applied");
    expect(state).toMatchObject({ schedules: 0, status: { liveRunIds: [] } });
  });

  const where = isWhole(shape) ? "at every place" : `at ${SAMPLE} of its places, drawn by the seed`;

  test.for(FAULTS)(`%s, ${where}: it ends as if nothing had happened (M1, V1, C1, R1, R3)`, async (fault) => {
    const expected = await undisturbed();
    const disturb = async (at: number): Promise<void> => {
      const ending = await happen(shape, fault, at);
      count(fault, ending, expected);
      expectSame(ending, expected);
    };
    const disturbed = places(shape, expected, fault);
    expect(disturbed.length).toBeGreaterThan(0);
    await pMap(disturbed, disturb, { concurrency: AT_ONCE });
  });
});

test("what was disturbed: places by shape and fault", () => {
  // A line each, which the benchmark reads.
  for (const [shape, row] of Object.entries(counted)) console.log(`@matrix ${JSON.stringify({ shape, places: row })}`);
  for (const [fault, row] of asking) console.log(`@asked ${JSON.stringify({ fault, ...row })}`);
  expect(Object.keys(counted)).toEqual(SHAPES.map(({ name }) => name));
  expect([...asking.keys()].toSorted()).toEqual(FAULTS.toSorted());
});

/** Counted before any assertion, so that a run that ends differently is counted as well. */
function count(fault: Fault, { plan, paid }: Ending, expected: Ending): void {
  const row = asking.get(fault) ?? { runs: 0, calls: 0, again: 0, answered: 0, refused: 0, stored: 0, beyond: 0 };
  const answered = paid.answers - expected.paid.answers;
  asking.set(fault, {
    runs: row.runs + 1,
    calls: row.calls + paid.asked,
    again: row.again + paid.asked - expected.paid.asked,
    answered: row.answered + answered,
    refused: row.refused + paid.unsound - expected.paid.unsound,
    stored: row.stored + paid.twice,
    beyond: row.beyond + Math.max(0, answered - mayAskAgain(plan)),
  });
}

/** What was on its way into the store may be asked for again where its step was given up, and nothing else. */
function mayAskAgain({ fault, underWay }: FaultPlan): number {
  return fault !== null && GIVES_UP.has(fault) ? underWay : 0;
}

/** An attempt that reads its source late may be asking its model when the run ends. That call is on the bill by estimate. */
function mayBeAsking({ fault, calls, at }: FaultPlan): number {
  return fault === "comes late" && calls[at - 1] === "read" ? 1 : 0;
}

function expectSame(ending: Ending, expected: Ending): void {
  const { plan, run, state, paid } = ending;
  const place = plan.fault === "result lost" ? plan.steps[plan.at - 1] : plan.calls[plan.at - 1];
  const where = `${plan.fault}: ${plan.at}, ${place}`;
  expect(plan.fired, where).toBe(true);
  expect(state, where).toEqual(expected.state);
  expect(paid.twice, where).toBe(0);
  expect(paid.answers, where).toBeLessThanOrEqual(expected.paid.answers + mayAskAgain(plan));
  expect(paid.unsound, where).toBeLessThanOrEqual(expected.paid.unsound + mayAskAgain(plan));
  // The ledger holds every call that was reported to it, all that the run needed, and none twice.
  expect(run.modelCalls, where).toBeGreaterThanOrEqual(expected.run.modelCalls);
  expect(run.modelCalls, where).toBeLessThanOrEqual(paid.answers + paid.unsound + mayBeAsking(plan));
  if (plan.late === null && run.modelCalls > 0 && run.modelCalls === expected.run.modelCalls) {
    expect(tokensOf(run), where).toEqual(tokensOf(expected.run));
  }
}

function tokensOf({ inputTokens, outputTokens }: RunRecord): readonly number[] {
  return [inputTokens, outputTokens];
}
