/** A summary covers a range of messages and loses none of them. */
import assert from "node:assert/strict";
import { area, ids, say, textOf, turn, turns } from "../fact.ts";
import type { Store } from "../store.ts";

async function shownOf(store: Store, leafId?: string): Promise<string> {
  const shown = await store.history(leafId);
  return shown.map((message) => /[A-Z]+!/.exec(textOf([message]))?.[0] ?? message.id).join(" ");
}

export const OVERLAYS = area("overlays", {
  replace: {
    says: "A summary stands in the place of its range, as one message, and the messages under it can still be read.",
    async check(store) {
      await store.storeAll(turns(1, 8));
      await store.addOverlay("SUM!", "m3", "m6");
      assert.equal(await shownOf(store), "m1 m2 SUM! m7 m8");
      assert.deepEqual(await store.get("m4"), turn(4));
    },
  },
  "over many rows": {
    says: "A range of any length is replaced, also across the fifty rows that are read at once.",
    async check(store) {
      await store.storeAll(turns(1, 130));
      await store.addOverlay("SUM!", "m3", "m127");
      assert.equal(await shownOf(store), "m1 m2 SUM! m128 m129 m130");
    },
  },
  wider: {
    says: "A wider summary from the same message takes the place of a narrower one.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      await store.addOverlay("NARROW!", "m2", "m4");
      await store.addOverlay("WIDE!", "m2", "m8");
      assert.equal(await shownOf(store), "m1 WIDE! m9 m10");
    },
  },
  "narrower after wider": {
    says: "A narrower summary that is added after a wider one does not bring hidden messages back.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      await store.addOverlay("WIDE!", "m2", "m9");
      await store.addOverlay("NARROW!", "m2", "m4").catch(() => undefined);
      assert.equal(await shownOf(store), "m1 WIDE! m10");
    },
  },
  "same range": {
    says: "Of two summaries over the same range, added at the same time, the later one is shown.",
    async check(store) {
      await store.storeAll(turns(1, 8));
      await store.addOverlay("FIRST! It is a little longer than the one that comes after it.", "m2", "m6");
      await store.addOverlay("SECOND!", "m2", "m6");
      assert.equal(await shownOf(store), "m1 SECOND! m7 m8");
    },
  },
  "two side by side": {
    says: "Two summaries side by side are both shown.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      await store.addOverlay("ONE!", "m2", "m4");
      await store.addOverlay("TWO!", "m5", "m8");
      assert.equal(await shownOf(store), "m1 ONE! TWO! m9 m10");
    },
  },
  overlapping: {
    says: "Summaries that cut through each other never hide a message that neither of the shown ones covers.",
    async check(store) {
      await store.storeAll(turns(1, 12));
      await store.addOverlay("ONE!", "m2", "m6");
      await store.addOverlay("TWO!", "m4", "m9").catch(() => undefined);
      const shown = await shownOf(store);
      assert.ok(["m1 ONE! m7 m8 m9 m10 m11 m12", "m1 m2 m3 TWO! m10 m11 m12"].includes(shown), shown);
    },
  },
  "sibling branch": {
    says: "A summary that ends on one branch is not shown on another, and one over their common part is shown on both.",
    async check(store) {
      await store.storeAll(turns(1, 8));
      await store.append(turn(9), "m5");
      await store.addOverlay("SIDE!", "m3", "m7");
      assert.equal(await shownOf(store, "m8"), "m1 m2 SIDE! m8");
      assert.equal(await shownOf(store, "m9"), "m1 m2 m3 m4 m5 m9");
      await store.addOverlay("COMMON!", "m1", "m2");
      assert.equal(await shownOf(store, "m9"), "COMMON! m3 m4 m5 m9");
    },
  },
  "no such range": {
    says: "A summary over messages that are not there, or from a newer to an older one, is not kept.",
    async check(store) {
      await store.storeAll(turns(1, 6));
      await store.addOverlay("UNKNOWN!", "m2", "m99").catch(() => undefined);
      await store.addOverlay("REVERSED!", "m5", "m2").catch(() => undefined);
      assert.deepEqual(await store.summaries(), []);
    },
  },
  "longer than its range": {
    says: "A summary that is longer than what it replaces is not shown.",
    shows: "growing summary",
    async check(store) {
      await store.storeAll(turns(1, 6));
      await store.addOverlay(`LONG! ${"and so on ".repeat(2_000)}`, "m2", "m4").catch(() => undefined);
      assert.equal(await shownOf(store), "m1 m2 m3 m4 m5 m6");
    },
  },
  "echoed by a client": {
    says: "A summary that a client sends back with the conversation is not stored as something that was said.",
    shows: "echoed summary",
    async check(store) {
      await store.storeAll(turns(1, 8));
      await store.addOverlay("SUM!", "m2", "m6");
      for (const message of await store.history()) await store.append(message);
      await store.append(turn(9));
      assert.equal(await shownOf(store), "m1 SUM! m7 m8 m9");
    },
  },
  "end deleted": {
    says: "Deleting an end of a summarised range loses none of its other messages.",
    shows: "deleted end",
    async check(store) {
      await store.storeAll(turns(1, 10));
      await store.addOverlay("SUM!", "m3", "m7");
      await store.remove(["m3", "m7"]);
      const shown = await shownOf(store);
      assert.ok(["m1 m2 m4 m5 m6 m8 m9 m10", "m1 m2 SUM! m8 m9 m10"].includes(shown), shown);
    },
  },
  "deleted text": {
    says: "Once a message is deleted, no summary that is shown still tells what it said.",
    async check(store) {
      await store.storeAll([...turns(1, 4), say("m5", "The code is 4711. ".repeat(20)), ...turns(6, 10)]);
      await store.addOverlay("SUM! The code is 4711.", "m3", "m7");
      await store.remove(["m5"]);
      assert.doesNotMatch(textOf(await store.history()), /4711/);
    },
  },
  "edited text": {
    says: "Once a message is edited, no summary that is shown still tells what it said before.",
    async check(store) {
      await store.storeAll([...turns(1, 4), say("m5", "The code is 4711. ".repeat(20)), ...turns(6, 10)]);
      await store.addOverlay("SUM! The code is 4711.", "m3", "m7");
      await store.update(say("m5", "The code is a secret. ".repeat(20)));
      assert.doesNotMatch(textOf(await store.history()), /4711/);
    },
  },
  "nothing written": {
    says: "Adding a summary changes no message: the originals come back byte for byte.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      await store.addOverlay("SUM!", "m2", "m18");
      for (const message of turns(1, 20)) assert.deepEqual(await store.get(message.id), message);
      assert.equal(ids(await store.branches("m5"))[0], "m6");
    },
  },
});
