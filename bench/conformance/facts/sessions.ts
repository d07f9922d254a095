/** Several sessions in one object are isolated from each other. */
import assert from "node:assert/strict";
import { area, choose, ids, say, textOf, turn, turns } from "../fact.ts";

export const SESSIONS = area("sessions", {
  "same id": {
    says: "Two sessions may use the same message id.",
    shows: "ids across sessions",
    async check(store) {
      const [a, b] = [store.session("a"), store.session("b")];
      await a.append(say("m1", "said in a"));
      await b.append(say("m1", "said in b"));
      assert.match(textOf(await a.history()), /said in a/);
      assert.match(textOf(await b.history()), /said in b/);
    },
  },
  apart: {
    says: "Messages, summaries and clearing concern one session only.",
    async check(store) {
      const [a, b] = [store.session("a"), store.session("b")];
      await a.storeAll(turns(1, 10));
      await b.storeAll(turns(11, 20));
      await a.addOverlay("Short.", "m2", "m8");
      assert.deepEqual(await b.summaries(), []);
      assert.deepEqual(ids(await b.history()), ids(turns(11, 20)));
      await a.clear();
      assert.deepEqual(ids(await b.history()), ids(turns(11, 20)));
    },
  },
  "foreign parent": {
    says: "A parent in another session is not taken for one.",
    async check(store) {
      const [a, b] = [store.session("a"), store.session("b")];
      await a.storeAll(turns(1, 3));
      await b.append(turn(4), "m3").catch(() => undefined);
      assert.ok((await b.history()).every(({ id }) => id === "m4"));
      assert.deepEqual(await a.branches("m3"), []);
    },
  },
  search: {
    says: "A session's search finds nothing of another's, and a search of all finds both.",
    async check(store) {
      const [a, b] = [store.session("a"), store.session("b")];
      await a.append(say("m1", "a needle"));
      await b.append(say("m2", "another needle"));
      assert.deepEqual(await a.search("needle"), ["m1"]);
      assert.deepEqual((await store.searchAll("needle")).toSorted(), ["m1", "m2"]);
    },
  },
  compaction: {
    says: "A compaction of one session leaves another's messages and settings alone.",
    async check(store) {
      const [a, b] = [store.session("a"), store.session("b")];
      await a.storeAll(turns(1, 10));
      await b.storeAll(turns(11, 20));
      assert.equal(await a.compact(choose("m2", "m8")), true);
      assert.equal((await b.history()).length, 10);
      assert.deepEqual(await b.summaries(), []);
    },
  },
  fork: {
    says: "A fork has the path up to its message, and from then on the two go their own ways.",
    async check(store) {
      const a = store.session("a");
      await a.storeAll(turns(1, 10));
      const fork = store.session(await a.fork("m6"));
      assert.equal((await fork.history()).length, 6);
      await fork.append(say("other", "On its own way."));
      await a.append(turn(11));
      assert.equal((await a.history()).length, 11);
      assert.equal((await fork.history()).length, 7);
    },
  },
  "deleted, then used": {
    says: "A session that was deleted begins empty when its id is used again.",
    shows: "left behind",
    async check(store) {
      await store.declare([{ label: "memory" }]);
      const a = store.session("a");
      await a.append(say("m1", "The code is 4711."));
      await a.setBlock("memory", "The code is 4711.");
      await a.refreshPrompt();
      await a.deleteSession();
      assert.deepEqual(await a.history(), []);
      assert.doesNotMatch((await a.block("memory")) ?? "", /4711/);
      assert.doesNotMatch(await a.prompt(), /4711/);
    },
  },
  "nothing left": {
    says: "After a session is deleted no table holds anything that was said in it.",
    shows: "left behind",
    async check(store) {
      await store.declare([{ label: "memory" }]);
      const a = store.session("a");
      await a.storeAll([...turns(1, 5), say("m6", "xylophone"), ...turns(7, 12)]);
      await a.setBlock("memory", "xylophone");
      await a.refreshPrompt();
      await a.addOverlay("About a xylophone.", "m2", "m9");
      await a.search("xylophone");
      assert.ok(await store.holds("xylophone"));
      await a.deleteSession();
      assert.equal(await store.holds("xylophone"), false);
    },
  },
  "nothing left after clearing": {
    says: "After a clear no table holds anything of the messages.",
    async check(store) {
      await store.storeAll([...turns(1, 5), say("m6", "xylophone"), ...turns(7, 12)]);
      await store.addOverlay("About a xylophone.", "m2", "m9");
      await store.search("xylophone");
      await store.clear();
      assert.equal(await store.holds("xylophone"), false);
    },
  },
});
