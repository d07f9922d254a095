/**
 * A summariser that forgets. At every pass it keeps the given facts except for a few that it drops at random.
 *
 * Facts are names and rules of the source, at most as many per chunk as every compared policy has room for. So it measures the loss of
 * rewriting, not the loss of a budget. A draft fills its budget, as models do. Safe to compare between policies and runs, because chance
 * comes from the seed alone.
 */
import type { UIMessage } from "ai";
import { gatherFacts } from "../../src/facts/gather.ts";
import type { Summariser } from "./compact.ts";

export interface Lossy {
  /** Share of the facts that one pass drops. */
  readonly loss: number;
  /** Facts that are taken from one chunk. */
  readonly perChunk: number;
  readonly seed: number;
}

/** A fact that a chunk's summary should keep. */
export interface Told {
  readonly value: string;
  readonly rule: boolean;
}

/** The user's rules, at most a quarter of all, and names evenly from the whole chunk. */
function factsOf(messages: readonly UIMessage[], most: number): Told[] {
  const { rules, words } = gatherFacts(messages);
  const names = words.rows.map(([value]) => ({ kind: "name", value }));
  const ruled = rules.slice(-Math.ceil(most / 4));
  const room = Math.min(most - ruled.length, names.length);
  const named = Array.from({ length: room }, (_, n) => names[Math.floor((n * names.length) / room)]);
  return [...ruled, ...named].flatMap((fact) =>
    fact === undefined ? [] : [{ value: fact.value.replaceAll("\n", " "), rule: fact.kind === "rule" }],
  );
}

/** Calls `taken` with the facts of each chunk when it is summarised for the first time. */
export function forgetful(lossy: Lossy, taken: (facts: readonly Told[]) => void): Summariser {
  const chance = mulberry(lossy.seed);
  const keep = (facts: readonly string[]): string => facts.filter(() => chance() >= lossy.loss).join("\n");
  return {
    tell: (messages, tokens) => {
      const facts = factsOf(messages, lossy.perChunk);
      taken(facts);
      return { text: keep(facts.map(({ value }) => value)), tokens };
    },
    fold: (drafts, tokens) => {
      const facts = [...new Set(drafts.flatMap(({ text }) => text.split("\n")))].filter((fact) => fact !== "");
      const given = drafts.reduce((sum, draft) => sum + draft.tokens, 0);
      return { text: keep(facts), tokens: Math.min(tokens, given) };
    },
  };
}

/** Pseudo-random numbers from 0 to 1, the same for a seed. 32 bits of state, mixed well enough for drawing lots. */
export function mulberry(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
