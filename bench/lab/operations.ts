/** The operations that the stores are compared in, with their names and the state that each needs. */
import type { Counted, Operation } from "../objects/rig.ts";

/** One operation whose rows are counted. */
export interface Measured {
  readonly name: string;
  readonly operation: Counted;
  /** Runs after an eviction. */
  readonly cold?: boolean;
  /** Counted and timed once in an object, because it cannot be repeated or a repetition shows nothing new. */
  readonly once?: boolean;
  /**
   * Most rows that ours may read and write, at any stored size. Null where the operation must touch every message. Written rows are the
   * mean. See {@link WRITTEN_BY_APPEND}.
   */
  readonly most: readonly [read: number, written: number] | null;
}

/** Visible messages in every store. They are 3, a summary, and 10. */
export const VISIBLE = 14;

/**
 * Rows that an append of ours may write in the mean. It writes one, and one more for the index of ids every 64th time, which makes 1.02.
 */
const WRITTEN_BY_APPEND = 1.05;

/** Appending comes last, because it makes the view longer. */
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

/** On objects of their own, because the first search makes an index that every later write must maintain. */
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

/** The timed operations of the same lists. */
export interface Timed extends Measured {
  readonly operation: Operation;
  /** Who waits. It is the object itself after its start, another object in its process, or the harness in a process of its own. */
  readonly waits: "inside" | "beside" | "harness";
}

/** A start has no time of its own that could be measured. Instead, the first view is also timed from outside, with the start included. */
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

/** The largest size for versions of the SDK, because their paths end at 10,001 messages. */
export const LAST_OF_SDK = 9_000;

/** The size at which one operation of 0.20 takes a second and more. */
export const SLOW_OF_020 = 3_000;
