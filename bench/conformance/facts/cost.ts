/** Rows that the platform bills. A written row costs a thousand times as much as a read one. */
import assert from "node:assert/strict";
import { area, say, turn, turns } from "../fact.ts";
import type { Store } from "../store.ts";

function atMost(rows: number, most: number): void {
  assert.ok(rows <= most, `${rows} rows, not ${most} at most.`);
}

async function written(store: Store, messages: ReturnType<typeof turns>): Promise<number> {
  let sum = 0;
  for (const message of messages) sum += (await store.rows("append", message)).written;
  return sum;
}

export const COST = area("cost", {
  append: {
    says: "Twenty appends write twenty rows.",
    async check(store) {
      await store.append(turn(1));
      atMost(await written(store, turns(2, 21)), 20);
    },
  },
  update: {
    says: "An update writes one row, and one that changes nothing writes none.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      atMost((await store.rows("update", say("m20", "changed"))).written, 1);
      atMost((await store.rows("update", say("m20", "changed"))).written, 0);
    },
  },
  "with search": {
    says: "Once there is a search index, an append writes two rows at most and an update three.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      await store.search("parser");
      atMost((await store.rows("append", turn(21))).written, 2);
      await store.search("parser");
      atMost((await store.rows("update", say("m10", "changed"))).written, 3);
    },
  },
  delete: {
    says: "Deleting the first nineteen of twenty messages writes a row for each, and two at most for the one that moves.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      atMost(
        (
          await store.rows(
            "remove",
            turns(1, 19).map(({ id }) => id),
          )
        ).written,
        21,
      );
    },
  },
  "append reads": {
    says: "An append to a thousand messages reads ten rows at most, and a hundred after a cold start.",
    async check(store) {
      await store.storeAll(turns(1, 1_000));
      await store.append(turn(1_001));
      atMost((await store.rows("append", turn(1_002))).read, 10);
      await store.evict();
      atMost((await store.rows("append", turn(1_003))).read, 100);
    },
  },
  "newest first": {
    says: "Reading the newest message of two hundred reads fewer than twelve rows, compacted or not.",
    async check(store) {
      await store.storeAll(turns(1, 200));
      await store.newest(1);
      atMost((await store.rows("newest", 1)).read, 11);
      await store.addOverlay("Short.", "m3", "m190");
      atMost((await store.rows("newest", 1)).read, 11);
    },
  },
  "compacted view": {
    says: "Reading 14 visible messages of two thousand reads two rows for each and four more, also after a cold start.",
    async check(store) {
      await store.storeAll(turns(1, 2_000));
      await store.addOverlay("Short.", "m4", "m1990");
      assert.equal((await store.history()).length, 14);
      atMost((await store.rows("history")).read, 32);
      await store.evict();
      atMost((await store.rows("history")).read, 32);
    },
  },
  children: {
    says: "Listing a message's children among two thousand reads ten rows at most.",
    async check(store) {
      await store.storeAll(turns(1, 2_000));
      await store.branches("m1000");
      atMost((await store.rows("branches", "m1000")).read, 10);
    },
  },
  "update reads": {
    says: "An update of the newest of two thousand messages reads ten rows at most, also once there is a search index.",
    async check(store) {
      await store.storeAll(turns(1, 2_000));
      await store.update(say("m2000", "once"));
      atMost((await store.rows("update", say("m2000", "twice"))).read, 10);
      await store.search("parser");
      atMost((await store.rows("update", say("m2000", "three times"))).read, 100);
    },
  },
});
