/**
 * The operations on an agent, as a list that a seed draws.
 *
 * An operation names no existing thing. Its numbers pick from the things that exist when it is played. So any part of a list can be played
 * too, which shrinking a list needs.
 */
import { seeded } from "./random.ts";

/** Relative frequency of each operation. */
const WEIGHTS = {
  // appends
  say: 14,
  talk: 14,
  rule: 3,
  lift: 1,
  order: 1,
  callTools: 6,
  callApart: 4,
  huge: 2,
  file: 2,
  // changes of messages and sessions
  upsert: 3,
  grow: 4,
  edit: 4,
  deleteSome: 3,
  branch: 4,
  regenerate: 2,
  root: 1,
  clear: 0.6,
  dropSession: 0.6,
  fork: 1.2,
  split: 1,
  // compaction by hand
  compact: 5,
  rebuild: 1.5,
  cover: 2,
  rollback: 2,
  restore: 2,
  cancel: 1.5,
  pause: 2,
  resume: 3,
  retry: 2,
  usage: 2,
  search: 1,
  // files, and forged messages
  importFile: 2,
  forgeRecord: 0.6,
  // notes
  keepNotes: 5,
  refreshNotes: 3,
  writeNotes: 2,
  // a function of the session's own, and the blocks beside its messages
  bringFunction: 3,
  writeBlock: 2,
  // the model, the clock, the platform
  mood: 9,
  answer: 8,
  pass: 5,
  watch: 5,
  evict: 1.5,
  abort: 1.5,
  terminate: 0.5,
} as const satisfies Record<string, number>;

export type Verb = keyof typeof WEIGHTS;

export interface Operation {
  readonly do: Verb;
  /** Its place in the list as drawn. Its texts are made of this number, so they stay when other operations are dropped. */
  readonly n: number;
  /** Picks the session. */
  readonly session: number;
  /** Pick the target, the size and the way. */
  readonly at: number;
  readonly size: number;
  readonly way: number;
  /** True when the next operation does not wait for the live runs to go as far as they can. */
  readonly hurry: boolean;
}

/** Operations of one agent's life, enough for a session to be folded a few times. */
export const EPISODE = 150;

const VERBS = Object.keys(WEIGHTS) as [Verb, ...Verb[]];
const TOTAL = VERBS.reduce((sum, verb) => sum + WEIGHTS[verb], 0);
const NUMBERS = 10_000;
const HURRIED = 0.2;

export function drawOperations(seed: number, count: number): Operation[] {
  const random = seeded(seed);
  const verb = (): Verb => {
    let left = (random.below(1_000_000) / 1_000_000) * TOTAL;
    return VERBS.find((each) => (left -= WEIGHTS[each]) < 0) ?? VERBS[0];
  };
  return Array.from({ length: count }, (_, n) => ({
    do: verb(),
    n,
    session: random.below(NUMBERS),
    at: random.below(NUMBERS),
    size: random.below(NUMBERS),
    way: random.below(NUMBERS),
    hurry: random.chance(HURRIED),
  }));
}
