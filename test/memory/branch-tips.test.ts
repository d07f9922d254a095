/** Branch tips are all leaves of the tree, after any branch, append and delete. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { say, withProbe } from "./probe.ts";
import { tries } from "../tries.ts";

test("tips are the leaves of the tree, newest first, each with where its branch parts (M1)", async () => {
  await withProbe(({ history }) => {
    expect(history.branchTips()).toEqual([]);
    for (const id of ["a", "b", "c"]) history.append(say(id, `words of ${id}`));
    history.append(say("d", "another way"), "a");
    history.append(say("e", "and on"), "d");
    history.append(say("f", "the first again"), "c");
    expect(history.branchTips().map(({ leafId, partsAfterId }) => [leafId, partsAfterId])).toEqual([
      ["f", "c"],
      ["e", "a"],
    ]);
    expect(history.branchTips()[0]?.title).toBe("the first again");
  });
});

test("tips, and the newest leaf after each message, agree with a tree kept by hand, after any appends and deletes (M1)", async () => {
  const moves = fc.array(fc.record({ at: fc.nat(30), drop: fc.boolean() }), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(moves, async (plan) => {
      await withProbe(({ history }) => {
        const parents = new Map<string, string | null>();
        for (const [n, { at, drop }] of plan.entries()) {
          const ids = [...parents.keys()];
          const target = ids[at % Math.max(1, ids.length)];
          if (drop && target !== undefined) {
            history.delete([target]);
            const up = parents.get(target) ?? null;
            parents.delete(target);
            for (const [id, parent] of parents) if (parent === target) parents.set(id, up);
          } else {
            history.append(say(`m${n}`, "words"), target ?? null);
            parents.set(`m${n}`, target ?? null);
          }
        }
        const inside = new Set(parents.values());
        const leaves = [...parents.keys()].filter((id) => !inside.has(id));
        expect(new Set(history.branchTips().map((tip) => tip.leafId))).toEqual(new Set(leaves));
        const upFrom = (id: string): string[] => [id, ...(parents.has(id) ? above(parents.get(id) ?? null) : [])];
        const above = (id: string | null): string[] => (id === null ? [] : upFrom(id));
        for (const id of parents.keys()) {
          expect(history.leafAfter(id)).toBe(leaves.findLast((leaf) => upFrom(leaf).includes(id)));
        }
        expect(history.leafAfter("nobody")).toBeNull();
      });
    }),
    { numRuns: tries(40) },
  );
});
