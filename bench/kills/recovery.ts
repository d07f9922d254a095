/** One kill of the deployable Worker at a chosen moment of a run, and its recovery without help. */
import { PARALLEL_CHUNKS } from "../../src/limits.ts";
import type { Asked } from "../../test/kill/model-server.ts";
import { NOTED, SMALL, Stage } from "../../test/kill/stage.ts";
import { countDamaged } from "./damage.ts";
import { fatesOf, type Fates } from "./fates.ts";

/** A commit may be faster than the signal. Then nothing was shown, and the Worker is killed once more. */
const TRIES = 4;
export const FINISHED_CHUNKS = 2;
/** The call that is made as soon as the earlier answers are stored. It alone of all open calls is answered. */
const AIMED_AT = FINISHED_CHUNKS + PARALLEL_CHUNKS;
/** Eight chunks make three drafts of merges, and those one, whose step also commits. */
const LAST_MERGE = 12;

export interface Moment {
  readonly vars: Readonly<Record<string, string>>;
  /** Talks until a run is at that moment, and kills. Returns the ms from the moment to the signal, where that is known. */
  readonly die: (stage: Stage) => Promise<number | null>;
}

export const IN_SUMMARISER: Moment = { vars: SMALL, die: dieSummarising };
/** As the answer to the last merge leaves the model, which is stored and committed in one call of the agent. */
export const IN_LAST_MERGE: Moment = { vars: SMALL, die: dieInLastMerge };
export const IN_NOTES: Moment = { vars: NOTED, die: dieNoting };

/**
 * So many ms after an answer has left the model. The answer may be on its way to the Worker, in its memory, on its way into the ledger, or
 * stored.
 */
export function behindAnswer(delayMs: number): Moment {
  return { vars: SMALL, die: (stage) => dieBehindAnswer(stage, delayMs) };
}

/** The figures of one kill. Times in ms from the start of the new process. */
export interface Recovery {
  /** From the intended moment to the signal. */
  readonly sentAfter: number | null;
  readonly up: number;
  readonly resumed: number;
  readonly ended: number;
  readonly calls: number;
  /** Calls beyond those of an undisturbed run, which makes each call once. */
  readonly repeated: number;
  readonly fates: Fates;
  /** Messages that are lost, altered, or stored twice. */
  readonly damaged: number;
  readonly succeeded: boolean;
}

/** Throws when the run had ended before the Worker was dead at every try. */
export async function recover({ vars, die }: Moment): Promise<Recovery> {
  for (let tries = 0; tries < TRIES; tries++) {
    await using stage = await Stage.open(vars);
    const sentAfter = await die(stage);
    if ((await stage.ledger()).runs.some(({ outcome }) => outcome === null)) return await watch(stage, sentAfter);
  }
  throw new Error("The run had always ended before the Worker was dead.");
}

async function watch(stage: Stage, sentAfter: number | null): Promise<Recovery> {
  const { draftTexts } = await stage.ledger();
  const before = stage.model.asked.map((asked) => ({ ...asked }));
  stage.model.answers = () => true;
  const from = Date.now();
  let resumedAt = 0;
  const [up] = await Promise.all([
    stage.restart().then(() => Date.now()),
    stage.until(({ runs }) => {
      resumedAt = Math.max(...runs.map((run) => (run.outcome === null ? (run.heardAt ?? 0) : run.endedAt)));
      return resumedAt > from;
    }),
  ]);
  const { runs, messages: rows } = await stage.untilEnded();
  const { stored } = await stage.look();
  const { asked, timesAsked } = stage.model;
  return {
    sentAfter,
    up: up - from,
    resumed: resumedAt - from,
    ended: Math.max(...runs.map(({ endedAt }) => endedAt ?? Infinity)) - from,
    calls: asked.length,
    repeated: asked.length - timesAsked.size,
    fates: fatesOf({ before, after: asked.slice(before.length), drafts: draftTexts }),
    damaged: countDamaged({ said: stage.said, stored, rows }),
    succeeded: runs.every(
      ({ outcome }) => outcome?.kind === "noted" || (outcome?.kind === "applied" && !outcome.degraded),
    ),
  };
}

async function dieSummarising(stage: Stage): Promise<null> {
  await stage.approach();
  stage.model.answers = () => stage.model.asked.length <= FINISHED_CHUNKS;
  await Promise.all([stage.untilAsked(FINISHED_CHUNKS + PARALLEL_CHUNKS), stage.say()]);
  await stage.kill();
  return null;
}

async function dieInLastMerge(stage: Stage): Promise<number> {
  await stage.approach();
  return dieBehindCall(stage, LAST_MERGE, 0);
}

async function dieNoting(stage: Stage): Promise<null> {
  stage.model.answers = () => false;
  while (stage.model.asked.length === 0) await stage.say();
  if (stage.model.asked[0]?.kind !== "notes") throw new Error("It was a compaction that asked first.");
  await stage.kill();
  return null;
}

async function dieBehindAnswer(stage: Stage, delayMs: number): Promise<number> {
  await stage.approach();
  stage.model.answers = () => {
    const { length } = stage.model.asked;
    return length <= FINISHED_CHUNKS || length === AIMED_AT;
  };
  return dieBehindCall(stage, AIMED_AT, delayMs);
}

/** Appends the message that starts the run, and kills so many ms after the answer to its nth call has left the model. */
async function dieBehindCall(stage: Stage, nth: number, delayMs: number): Promise<number> {
  const isAimed = (asked: Asked): boolean => asked === stage.model.asked[nth - 1];
  const [sentAfter] = await Promise.all([stage.killBehindAnswer(isAimed, delayMs), stage.say()]);
  return sentAfter;
}
