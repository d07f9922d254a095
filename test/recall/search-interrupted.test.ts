/** A search that lets other work in between, while messages change and objects end. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fill, say, withProbe } from "../memory/probe.ts";
import { tries } from "../tries.ts";

test.each(["a first search", "a later one"])(
  "S2: %s ends with its object: the next object finds each message once, and no word of a deleted one stays",
  async (which) => {
    await withProbe(({ memory, history, reopen }) => {
      if (which === "a later one") {
        fill(history, 1, 10);
        memory.search.find("message");
      }
      fill(history, 11, 900);
      history.append(say("last", "needle"));
      const pieces = memory.search.catchUp("");
      for (let n = 0; n < 3; n++) expect(pieces.next().done).toBe(false);
      const cold = reopen();
      cold.session("").delete(["m20"]);
      cold.session("").update(say("m21", "changed"));
      expect(cold.search.find("needle").map(({ id }) => id)).toEqual(["last"]);
      expect(cold.search.find("changed").map(({ id }) => id)).toEqual(["m21"]);
      const indexed = cold.db.run("SELECT rowid & 2147483647 AS seq FROM palimpsest_search ORDER BY rowid");
      expect(indexed).toEqual(cold.db.run("SELECT seq FROM palimpsest_messages ORDER BY seq"));
    });
  },
);

/** A slice indexes some 200 of these messages. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("append" as const), many: fc.integer({ min: 1, max: 700 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("index" as const), slices: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("reopen" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("find" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), at: fc.nat(2_000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("update" as const), at: fc.nat(2_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
);

test("S2, S3: the index has the present words of each message once, whatever interrupts a search and whatever changes meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 24 }), async (steps) => {
      await withProbe(({ memory, reopen }) => {
        let now = memory;
        let running = now.search.catchUp("s");
        const texts = new Map<string, string>();
        for (const [n, each] of steps.entries()) {
          const history = now.session("s");
          if (each.kind === "append") {
            for (let at = 0; at < each.many; at++) {
              const id = `m${n}.${at}`;
              texts.set(id, `first${n}x${at}`);
              history.append(say(id, `first${n}x${at}`));
            }
          } else if (each.kind === "index") {
            // One that ended before goes on as a new one, and one of an earlier object as nobody's.
            for (let slice = 0; slice < each.slices; slice++) {
              if (running.next().done === true) running = now.search.catchUp("s");
            }
          } else if (each.kind === "reopen") {
            now = reopen();
            running = now.search.catchUp("s");
          } else if (each.kind === "find") {
            now.search.find("first", { sessionId: "s" });
          } else if (each.kind === "clear") {
            history.clear();
            texts.clear();
          } else {
            const id = [...texts.keys()][each.at % Math.max(1, texts.size)];
            if (id === undefined) continue;
            if (each.kind === "delete") {
              history.delete([id]);
              texts.delete(id);
            } else {
              history.update(say(id, `second${n}`));
              texts.set(id, `second${n}`);
            }
          }
        }
        now.search.find("anything", { sessionId: "s" });
        const indexed = now.db.run<{ words: string }>("SELECT words FROM palimpsest_search").map(({ words }) => words);
        expect(indexed.toSorted()).toEqual([...texts.values()].toSorted());
      });
    }),
    { numRuns: tries(250) },
  );
});
