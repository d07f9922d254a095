/** A conversation is a tree of messages, and messages are returned as they were stored. */
import assert from "node:assert/strict";
import { area, ids, say, turn, turns } from "../fact.ts";

export const TREE = area("tree", {
  chain: {
    says: "Messages that are appended come back in order, from the root to the leaf.",
    async check(store) {
      for (const message of turns(1, 5)) await store.append(message);
      assert.deepEqual(ids(await store.history()), ["m1", "m2", "m3", "m4", "m5"]);
    },
  },
  whole: {
    says: "A message comes back equal: metadata, tool parts, data parts, and characters of any kind.",
    async check(store) {
      const message = {
        ...say("m1", "emoji 🧵, combining é, right-to-left שלום, NUL \u0000, tab \t", "assistant"),
        metadata: { nested: { list: [1, null, "two", { three: true }] } },
      };
      message.parts.push(
        { type: "tool-getWeather", toolCallId: "c1", state: "output-available", input: { a: [] }, output: { b: null } },
        { type: "data-chart", data: { points: [1.5, -2] } },
      );
      await store.append(message);
      assert.deepEqual(await store.get("m1"), message);
    },
  },
  "new root": {
    says: "A null parent makes a new root, and the path from it holds no older message.",
    async check(store) {
      await store.storeAll(turns(1, 3));
      await store.append(turn(4), null);
      assert.deepEqual(ids(await store.history()), ["m4"]);
      assert.deepEqual(ids(await store.history("m3")), ["m1", "m2", "m3"]);
    },
  },
  branch: {
    says: "The newest message is the active leaf, on whichever branch it is; every other branch can still be read by its leaf.",
    async check(store) {
      await store.storeAll(turns(1, 4));
      await store.append(turn(5), "m2");
      assert.equal((await store.leaf())?.id, "m5");
      assert.deepEqual(ids(await store.history()), ["m1", "m2", "m5"]);
      assert.deepEqual(ids(await store.history("m4")), ["m1", "m2", "m3", "m4"]);
    },
  },
  children: {
    says: "A message's children are listed, one for each branch.",
    async check(store) {
      await store.storeAll(turns(1, 3));
      await store.append(turn(4), "m2");
      assert.deepEqual(ids(await store.branches("m2")).toSorted(), ["m3", "m4"]);
      assert.deepEqual(ids(await store.branches("m4")), []);
    },
  },
  "path length": {
    says: "The length of a path counts the messages under a summary too.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      await store.addOverlay("Short.", "m3", "m15");
      assert.equal(await store.pathLength(), 20);
    },
  },
  "same id twice": {
    says: "Appending a known id changes nothing: the first content stays.",
    async check(store) {
      await store.append(turn(1));
      await store.append(say("m1", "something else"));
      assert.deepEqual(await store.history(), [turn(1)]);
    },
  },
  upsert: {
    says: "An upsert stores a new message, and replaces a known one where it stands.",
    async check(store) {
      for (const message of turns(1, 3)) await store.upsert(message);
      await store.upsert(say("m2", "changed"));
      assert.deepEqual(await store.history(), [turn(1), say("m2", "changed"), turn(3)]);
    },
  },
  update: {
    says: "An update replaces the content, and one of an unknown id stores nothing.",
    async check(store) {
      await store.storeAll(turns(1, 3));
      await store.update(say("m2", "changed"));
      await store.update(say("unknown", "nothing"));
      assert.equal(await store.get("unknown"), null);
      assert.deepEqual(await store.history(), [turn(1), say("m2", "changed"), turn(3)]);
    },
  },
  "append all": {
    says: "Appending many to a session that has messages already continues from its leaf.",
    shows: "new root",
    async check(store) {
      await store.appendAll(turns(1, 2));
      await store.appendAll(turns(3, 4));
      assert.deepEqual(ids(await store.history()), ["m1", "m2", "m3", "m4"]);
    },
  },
  "delete in the middle": {
    says: "Deleting a message in the middle of a path keeps what is older and what is newer.",
    shows: "beheaded path",
    async check(store) {
      await store.storeAll(turns(1, 6));
      await store.remove(["m2"]);
      assert.deepEqual(ids(await store.history()), ["m1", "m3", "m4", "m5", "m6"]);
    },
  },
  "delete the leaf": {
    says: "When the leaf is deleted its parent is the leaf.",
    async check(store) {
      await store.storeAll(turns(1, 3));
      await store.remove(["m3"]);
      assert.equal((await store.leaf())?.id, "m2");
    },
  },
  "delete where it branches": {
    says: "Deleting several messages around a fork keeps both branches on what is left of their path.",
    shows: "beheaded path",
    async check(store) {
      await store.storeAll(turns(1, 5));
      await store.append(turn(6), "m3");
      await store.remove(["m2", "m3"]);
      assert.deepEqual(ids(await store.history("m5")), ["m1", "m4", "m5"]);
      assert.deepEqual(ids(await store.history("m6")), ["m1", "m6"]);
      assert.deepEqual(ids(await store.branches("m1")).toSorted(), ["m4", "m6"]);
    },
  },
  clear: {
    says: "Clearing takes out messages and summaries, and the next message is a root.",
    async check(store) {
      await store.storeAll(turns(1, 10));
      await store.addOverlay("Short.", "m2", "m8");
      await store.clear();
      assert.deepEqual(await store.history(), []);
      assert.deepEqual(await store.summaries(), []);
      await store.append(turn(1));
      assert.deepEqual(ids(await store.history()), ["m1"]);
    },
  },
  "large message": {
    says: "A message of three megabytes is stored and comes back equal.",
    shows: "large message",
    async check(store) {
      const message = say("m1", "large ".repeat(500_000));
      await store.append(message);
      assert.ok((await store.history())[0]?.parts.length === 1);
      assert.deepEqual(await store.get("m1"), message);
    },
  },
});
