/** Compacting with a function that names its range. */
import assert from "node:assert/strict";
import { area, choose, ids, marker, textOf, turn, turns } from "../fact.ts";
import type { Summariser } from "../store.ts";

export const COMPACTING = area("compacting", {
  "not configured": {
    says: "Asking for a compaction where none was configured is an error.",
    async check(store) {
      await store.storeAll(turns(1, 5));
      await assert.rejects(store.compact(null));
    },
  },
  declined: {
    says: "A function that answers null changes nothing.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      assert.equal(await store.compact({ choose: async () => null }), false);
      assert.deepEqual(ids(await store.history()), ids(turns(1, 10)));
      assert.deepEqual(await store.summaries(), []);
    },
  },
  applied: {
    says: "The range that a function names is replaced by its summary.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      assert.equal(await store.compact(choose("m2", "m8")), true);
      const shown = await store.history();
      assert.deepEqual([shown.length, shown[0]?.id, shown[2]?.id], [4, "m1", "m9"]);
    },
  },
  "from the shown summary": {
    says: "A second compaction may begin at the summary that is shown, and covers what that one covered.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      await store.compact(choose("m2", "m8"));
      const again: Summariser = {
        choose: async (visible) => ({
          summary: "In all: fine.",
          fromMessageId: visible[1]?.id ?? "",
          toMessageId: "m16",
        }),
      };
      assert.equal(await store.compact(again), true);
      const shown = await store.history();
      assert.deepEqual([shown.length, shown[0]?.id, shown[2]?.id], [6, "m1", "m17"]);
      assert.match(textOf(shown.slice(1, 2)), /In all: fine/);
    },
  },
  "first messages kept": {
    says: "Messages between an earlier summary and the range that a function names are not swallowed.",
    shows: "swallowed messages",
    async check(store) {
      await store.storeAll(turns(1, 20));
      await store.addOverlay("Short.", "m1", "m3");
      await store.compact(choose("m8", "m16"));
      const shown = textOf(await store.history());
      for (const n of [4, 5, 6, 7]) assert.ok(shown.includes(marker(n)), `Turn ${n} is neither shown nor summarised.`);
    },
  },
  "beside another branch": {
    says: "A branch is compacted although another branch has a summary of its own.",
    shows: "another branch",
    async check(store) {
      await store.storeAll(turns(1, 12));
      await store.addOverlay("Aside.", "m4", "m10");
      await store.append(turn(13), "m3");
      await store.storeAll(turns(14, 30));
      assert.equal(await store.compact(choose("m14", "m28")), true);
      const shown = await store.history();
      assert.deepEqual([shown.length, shown.at(-2)?.id], [7, "m29"]);
    },
  },
  "after a deleted end": {
    says: "After an end of a summarised range was deleted, the next compaction is in force.",
    shows: "deleted end",
    async check(store) {
      await store.storeAll(turns(1, 12));
      await store.compact(choose("m2", "m6"));
      await store.remove(["m2"]);
      await store.storeAll(turns(13, 20));
      const before = (await store.history()).length;
      await store.compact(choose("m7", "m18"));
      assert.ok((await store.history()).length < before);
    },
  },
  throws: {
    says: "A function that throws loses nothing, and the next compaction works.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      const failing: Summariser = { choose: () => Promise.reject(new Error("The provider is down.")) };
      await store.compact(failing).catch(() => undefined);
      assert.deepEqual(ids(await store.history()), ids(turns(1, 10)));
      assert.equal(await store.compact(choose("m2", "m8")), true);
    },
  },
  longer: {
    says: "A summary that is longer than the range that it was made of is not applied.",
    shows: "growing summary",
    async check(store) {
      await store.storeAll(turns(1, 10));
      const before = textOf(await store.history()).length;
      const summary = "And then something else happened. ".repeat(500);
      await store.compact({ choose: async () => ({ summary, fromMessageId: "m2", toMessageId: "m8" }) });
      assert.ok(textOf(await store.history()).length <= before);
    },
  },
  blank: {
    says: "A blank summary is not applied.",
    shows: "blank summary",
    async check(store) {
      await store.storeAll(turns(1, 10));
      const blank: Summariser = { choose: async () => ({ summary: " \n", fromMessageId: "m2", toMessageId: "m8" }) };
      await store.compact(blank).catch(() => undefined);
      assert.deepEqual(ids(await store.history()), ids(turns(1, 10)));
    },
  },
});
