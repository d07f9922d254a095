/** Searching the messages. */
import assert from "node:assert/strict";
import { area, say, turns } from "../fact.ts";

export const SEARCH = area("search", {
  "all words": {
    says: "Words are found wherever they stand in a message, not only side by side.",
    async check(store) {
      await store.append(say("m1", "The deployment is scheduled for Friday."));
      await store.append(say("m2", "The deployment is done."));
      assert.deepEqual(await store.search("deployment Friday"), ["m1"]);
    },
  },
  "no spaces": {
    says: "A word inside a Chinese or Japanese sentence is found.",
    async check(store) {
      await store.append(say("m1", "部署计划在星期五进行。"));
      await store.append(say("m2", "金曜日にデプロイします。"));
      assert.deepEqual(await store.search("星期五"), ["m1"]);
      assert.deepEqual(await store.search("デプロイ"), ["m2"]);
    },
  },
  "large message": {
    says: "A message of more than two megabytes, stored before the first search, is found by its last word.",
    async check(store) {
      await store.append(say("m1", `${"filler ".repeat(350_000)} needle`));
      assert.deepEqual(await store.search("needle"), ["m1"]);
    },
  },
  hidden: {
    says: "Messages under a summary are found.",
    async check(store) {
      await store.storeAll([...turns(1, 3), say("m4", "A needle in the middle."), ...turns(5, 10)]);
      await store.addOverlay("Short.", "m2", "m8");
      assert.deepEqual(await store.search("needle"), ["m4"]);
    },
  },
  after: {
    says: "What is appended after the first search is found.",
    async check(store) {
      await store.append(say("m1", "hay"));
      assert.deepEqual(await store.search("needle"), []);
      await store.append(say("m2", "needle"));
      assert.deepEqual(await store.search("needle"), ["m2"]);
    },
  },
  update: {
    says: "After an update the new words are found and the old ones are not.",
    async check(store) {
      await store.append(say("m1", "hay"));
      assert.deepEqual(await store.search("hay"), ["m1"]);
      await store.update(say("m1", "needle"));
      assert.deepEqual(await store.search("hay"), []);
      assert.deepEqual(await store.search("needle"), ["m1"]);
    },
  },
  delete: {
    says: "What was deleted or cleared is not found.",
    async check(store) {
      await store.append(say("m1", "needle one"));
      await store.append(say("m2", "needle two"));
      assert.equal((await store.search("needle")).length, 2);
      await store.remove(["m1"]);
      assert.deepEqual(await store.search("needle"), ["m2"]);
      await store.clear();
      assert.deepEqual(await store.search("needle"), []);
    },
  },
  syntax: {
    says: "No query is a syntax error, and a search before anything was said finds nothing.",
    async check(store) {
      assert.deepEqual(await store.search("needle"), []);
      await store.append(say("m1", "A needle."));
      for (const query of ['"', "needle AND", "NOT", "(", "*", "a:b", "", "needle'", "^", "NEAR("])
        await store.search(query);
      assert.deepEqual(await store.search('needle"'), ["m1"]);
    },
  },
});
