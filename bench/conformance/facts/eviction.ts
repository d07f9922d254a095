/** An object may be evicted at any moment. Stored data is there when it starts again. */
import assert from "node:assert/strict";
import { answering, area, goodSummary, ids, pause, turn, turns } from "../fact.ts";

export const EVICTION = area("eviction", {
  history: {
    says: "Messages, branches, summaries and the active leaf are there after an eviction.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      await store.append(turn(11), "m8");
      await store.addOverlay("Short.", "m2", "m7");
      const [before, aside] = [await store.history(), await store.history("m10")];
      await store.evict();
      assert.equal((await store.leaf())?.id, "m11");
      assert.deepEqual(ids(await store.history()), ids(before));
      assert.deepEqual(ids(await store.history("m10")), ids(aside));
    },
  },
  sessions: {
    says: "Named sessions are there after an eviction, each with its own.",
    async check(store) {
      await store.session("a").storeAll(turns(1, 3));
      await store.session("b").storeAll(turns(4, 6));
      await store.evict();
      assert.deepEqual(ids(await store.session("b").history()), ["m4", "m5", "m6"]);
      assert.deepEqual(ids(await store.session("a").history()), ["m1", "m2", "m3"]);
    },
  },
  prompt: {
    says: "The frozen prompt is the same string after an eviction, although a block changed before it.",
    async check(store) {
      await store.declare([{ label: "memory" }]);
      await store.setBlock("memory", "They like tea.");
      const frozen = await store.prompt();
      await store.setBlock("memory", "They like coffee.");
      await store.evict();
      await store.declare([{ label: "memory" }]);
      assert.equal(await store.prompt(), frozen);
      assert.equal(await store.block("memory"), "They like coffee.");
    },
  },
  search: {
    says: "Search finds what was stored before an eviction and what was stored after it.",
    async check(store) {
      await store.storeAll(turns(1, 3));
      await store.search("parser");
      await store.evict();
      await store.append(turn(4));
      assert.equal((await store.search("parser")).length, 4);
    },
  },
  "while summarising": {
    says: "A compaction during which the object is evicted is finished after it, without another append.",
    shows: "lost with the object",
    async check(store) {
      const { promise: begun, resolve: asked } = Promise.withResolvers<null>();
      const never = answering(() => {
        asked(null);
        return new Promise<string>(() => undefined);
      });
      await store.compactAfter(3_000, never.summariser);
      // Where an append waits for the summariser, this evicts the store in the middle of that append.
      const appended = (async () => {
        for (const message of turns(1, 40)) await store.append(message);
      })().catch(() => undefined);
      await Promise.race([begun, pause(10_000)]);
      await Promise.race([appended, pause(500)]);
      const stored = (await store.history()).length;
      await store.evict();
      await store.compactAfter(3_000, answering(goodSummary("KNOWN")).summariser);
      await store.settle();
      assert.ok((await store.history()).length < stored, `${stored} messages are still shown.`);
    },
  },
});
