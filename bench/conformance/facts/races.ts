/** Changes to a conversation while its summary is being written. */
import assert from "node:assert/strict";
import { answering, area, choose, goodSummary, ids, say, textOf, turn, turns } from "../fact.ts";
import type { Store } from "../store.ts";

/** Compacts, and runs `meanwhile` before the summary is answered. */
async function race(store: Store, meanwhile: () => Promise<unknown>): Promise<boolean> {
  await store.storeAll(turns(1, 12));
  return store.compact(choose("m3", "m8", meanwhile)).catch(() => false);
}

export const RACES = area("races", {
  append: {
    says: "What is appended meanwhile is kept, behind the summary.",
    async check(store) {
      assert.equal(await race(store, () => store.append(turn(13))), true);
      const shown = await store.history();
      assert.deepEqual(ids(shown.slice(3)), ["m9", "m10", "m11", "m12", "m13"]);
      assert.equal(shown.length, 8);
    },
  },
  clear: {
    says: "After a clear meanwhile nothing of the old conversation is stored.",
    shows: "outlives a clear",
    async check(store) {
      await race(store, () => store.clear());
      assert.deepEqual(await store.summaries(), []);
      assert.deepEqual(await store.history(), []);
    },
  },
  "clear, with a model": {
    says: "After a clear while the model is at work nothing of its summary is stored.",
    shows: "outlives a clear",
    async check(store) {
      await store.storeAll(turns(1, 40));
      const { summariser } = answering(async () => {
        await store.clear();
        return goodSummary("KNOWN");
      });
      await store.compact(summariser).catch(() => false);
      assert.deepEqual(await store.summaries(), []);
      await store.append(turn(1));
      assert.deepEqual(await store.history(), [turn(1)]);
    },
  },
  "clear and begin again": {
    says: "A conversation that was cleared and begun again with the same ids does not get the old one's summary.",
    shows: "outlives a clear",
    async check(store) {
      await race(store, async () => {
        await store.clear();
        await store.storeAll(
          turns(1, 12).map(({ id, role }) => say(id, `Something else, at length: ${id}. `.repeat(10), role)),
        );
      });
      assert.deepEqual(ids(await store.history()), ids(turns(1, 12)));
    },
  },
  "delete an end": {
    says: "An end of the range that is deleted meanwhile makes a summary that is not applied, and not kept as if it were.",
    shows: "outlives an edit",
    async check(store) {
      const applied = await race(store, () => store.remove(["m8"]));
      assert.deepEqual(
        ids(await store.history()),
        ids(turns(1, 12)).filter((id) => id !== "m8"),
      );
      assert.equal(applied, false);
      assert.deepEqual(await store.summaries(), []);
    },
  },
  "delete inside": {
    says: "A message of the range that is deleted meanwhile is in no summary that is shown.",
    shows: "outlives an edit",
    async check(store) {
      await race(store, () => store.remove(["m5"]));
      assert.deepEqual(
        ids(await store.history()),
        ids(turns(1, 12)).filter((id) => id !== "m5"),
      );
    },
  },
  edit: {
    says: "A message of the range that is edited meanwhile is not hidden under a summary of what it said before.",
    shows: "outlives an edit",
    async check(store) {
      await race(store, () => store.update(say("m5", "No: the other way round.")));
      assert.match(textOf(await store.history()), /the other way round/);
    },
  },
  "edit elsewhere": {
    says: "An edit outside the range does not keep a summary from being applied.",
    async check(store) {
      assert.equal(await race(store, () => store.update(say("m10", "Changed."))), true);
      const shown = await store.history();
      assert.equal(shown.length, 7);
      assert.match(textOf(shown), /Changed/);
    },
  },
  branch: {
    says: "A branch that leaves from inside the range meanwhile sees its own path whole.",
    async check(store) {
      await race(store, () => store.append(turn(13), "m5"));
      assert.deepEqual(ids(await store.history("m13")), ["m1", "m2", "m3", "m4", "m5", "m13"]);
    },
  },
  "other summary": {
    says: "A summary that is added meanwhile and cuts through the range makes no message vanish from both.",
    async check(store) {
      await race(store, () => store.addOverlay("Meanwhile.", "m6", "m10"));
      const shown = ids(await store.history()).filter((id) => /^m\d+$/.test(id));
      const either = ["m1 m2 m9 m10 m11 m12", "m1 m2 m3 m4 m5 m11 m12"];
      assert.ok(either.includes(shown.join(" ")), shown.join(" "));
    },
  },
  "two at once": {
    says: "Of two compactions at the same time, one leaves a summary.",
    shows: "one for each append",
    async check(store) {
      await store.storeAll(turns(1, 12));
      await Promise.allSettled([store.compact(choose("m3", "m8")), store.compact(choose("m3", "m8"))]);
      assert.equal((await store.summaries()).length, 1);
      assert.equal((await store.history()).length, 7);
    },
  },
});
