/** The operations that are held beside each other, store by store: what they are called, and what must be there first. */
import type { Counted, Operation } from "./objects/rig.ts";

/** Whose rows are counted. */
export interface Measured {
  readonly name: string;
  readonly operation: Counted;
  /** After an eviction. */
  readonly cold?: boolean;
  /** Counted and timed once in an object: it cannot be done again, or tells nothing new. */
  readonly once?: boolean;
  /** Rows that ours may read, and write, however much is stored; null where every message has to be. Of written ones the mean: see {@link WRITTEN_BY_APPEND}. */
  readonly most: readonly [read: number, written: number] | null;
}

/** Messages that every store shows of those that are stored: 3, a summary, and 10. */
export const VISIBLE = 14;

/** Rows that an append of ours may write in the mean: one, and every 64th time one more for the index of ids, which is 1.02. */
const WRITTEN_BY_APPEND = 1.05;

/** Appending comes last: it makes the view longer. */
const BEFORE_SEARCH: readonly Measured[] = [
  { name: "start", operation: "start", cold: true, most: [40, 0] },
  { name: "first view", operation: "view", cold: true, most: [2 * VISIBLE + 4, 0] },
  { name: "first append", operation: "append", cold: true, most: [2 * VISIBLE + 8, 1] },
  { name: "view", operation: "view", most: [2 * VISIBLE + 4, 0] },
  { name: "branches", operation: "branches", most: [4, 0] },
  { name: "update", operation: "update", most: [4, 1] },
  { name: "delete", operation: "delete", most: [32, 2] },
  { name: "append", operation: "append", most: [2, WRITTEN_BY_APPEND] },
];

/** The first search makes an index that must be kept up from then on: on objects of their own. */
const FROM_SEARCH: readonly Measured[] = [
  { name: "first search", operation: "search", once: true, most: null },
  { name: "search", operation: "search", most: [8, 0] },
  { name: "update, then", operation: "update", once: true, most: [8, 3] },
  { name: "delete, then", operation: "delete", once: true, most: [32, 3] },
  { name: "append, then", operation: "append", most: [2, 2] },
  { name: "fork", operation: "fork", once: true, most: null },
  { name: "search, then", operation: "search", once: true, most: [16, 8] },
  { name: "search, cold", operation: "search", cold: true, most: [8, 0] },
];

/** In this order, each list on fresh objects. */
export const OPERATIONS = [BEFORE_SEARCH, FROM_SEARCH] as const;

/** What is timed of the same lists. */
export interface Timed extends Measured {
  readonly operation: Operation;
  /** Who waits: the object itself, when it has started; another object in its process; or the harness, in a process of its own. */
  readonly waits: "inside" | "beside" | "harness";
}

/** A start takes no time of its own that could be told apart: instead, the first view is timed from outside as well, with the start in it. */
export function listTimed(operations: readonly Measured[]): readonly Timed[] {
  return operations.flatMap((measured): Timed[] => {
    const { name, operation } = measured;
    if (operation === "start") return [];
    const inside = { ...measured, operation, waits: "inside" } as const;
    if (name !== "first view") return [inside];
    return [
      inside,
      { ...inside, name: "first view, from outside", waits: "beside" },
      { ...inside, name: "first view, from the harness", waits: "harness" },
    ];
  });
}

/** Names of the operations whose growth is drawn. */
export const DRAWN: readonly string[] = ["first view", "view", "append", "search"];

/** Versions of the SDK are not asked beyond this size: a path of theirs ends at 10,001 messages. */
export const LAST_OF_SDK = 9_000;

/** Where one operation of 0.20 takes a second and more. */
export const SLOW_OF_020 = 3_000;
