/** Reading a part of a long conversation, or all of it. */
import assert from "node:assert/strict";
import { area, ids, say, textOf, turns } from "../fact.ts";

export const READING = area("reading", {
  "ten thousand": {
    says: "A path of 10,050 messages is read whole, its oldest message included.",
    shows: "end of the path",
    timeoutMs: 300_000,
    async check(store) {
      const messages = Array.from({ length: 10_050 }, (_, n) => say(`m${n + 1}`, `${n + 1}`));
      for (let at = 0; at < messages.length; at += 2_000) await store.storeAll(messages.slice(at, at + 2_000));
      const history = await store.history();
      assert.equal(history.length, 10_050);
      assert.equal(history[0]?.id, "m1");
    },
  },
  "newest first": {
    says: "The newest messages can be read first, the summary in its place.",
    async check(store) {
      await store.storeAll(turns(1, 60));
      await store.addOverlay("Short.", "m3", "m57");
      const read = await store.newest(5);
      assert.deepEqual(ids(read.slice(0, 3)), ["m60", "m59", "m58"]);
      assert.match(textOf(read.slice(3, 4)), /Short\./);
      assert.equal(read[4]?.id, "m2");
    },
  },
  "recent within a budget": {
    says: "The recent part of a path of several megabytes fits its byte budget, is a suffix, and says that it is a part.",
    async check(store) {
      await store.storeAll(Array.from({ length: 60 }, (_, n) => say(`m${n + 1}`, "x".repeat(100_000))));
      const { messages, truncated } = await store.recent(1_000_000);
      const bytes = messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
      assert.equal(truncated, true);
      assert.ok(bytes <= 1_000_000 && messages.length >= 8, `${messages.length} messages of ${bytes} bytes`);
      assert.deepEqual(ids(messages), ids(await store.history()).slice(-messages.length));
    },
  },
  "recent leaf": {
    says: "The leaf is part of the recent messages, whatever it weighs.",
    async check(store) {
      await store.storeAll([...turns(1, 3), say("m4", "x".repeat(10_000))]);
      assert.deepEqual(ids((await store.recent(100)).messages), ["m4"]);
    },
  },
  "recent and whole": {
    says: "Recent messages that are all there are do not claim to be a part, with 50 rows or with 51.",
    async check(store) {
      await store.storeAll(turns(1, 50));
      assert.equal((await store.recent(10_000_000)).truncated, false);
      await store.append(say("m51", "one more"));
      const { messages, truncated } = await store.recent(10_000_000);
      assert.deepEqual([messages.length, truncated], [51, false]);
    },
  },
  "unreadable row": {
    says: "A stored row that cannot be read does not keep the others from being read and found.",
    async check(store) {
      await store.storeAll(turns(1, 5));
      await store.corrupt("m3");
      assert.ok((await store.search("parser")).includes("m5"));
      const shown = ids(await store.history());
      assert.deepEqual(
        shown.filter((id) => id !== "m3"),
        ["m1", "m2", "m4", "m5"],
      );
    },
  },
  "shortened outputs": {
    says: "What is sent of an old, long tool output keeps its shape: a string stays a string, an object keeps its keys.",
    async check(store) {
      const long = "word ".repeat(2_000);
      const first = say("m1", "go", "assistant");
      first.parts.push(
        { type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output: long },
        {
          type: "tool-stat",
          toolCallId: "c2",
          state: "output-available",
          input: {},
          output: { path: "a.ts", text: long },
        },
      );
      const { result } = await store.truncate([first, ...turns(2, 30)]);
      const [, read, stat] = (result[0]?.parts ?? []) as { output?: unknown }[];
      assert.equal(typeof read?.output, "string");
      assert.deepEqual(Object.keys(stat?.output ?? {}), ["path", "text"]);
      assert.ok(JSON.stringify(result[0]).length < 5_000);
    },
  },
  "recent outputs": {
    says: "Recent messages are sent whole, and the stored messages are not touched by shortening.",
    async check(store) {
      const messages = [say("long", "word ".repeat(20_000)), ...turns(1, 30), say("last", "word ".repeat(20_000))];
      const before = structuredClone(messages);
      const { result, given } = await store.truncate(messages);
      assert.deepEqual(given, before);
      assert.deepEqual(result.at(-1), before.at(-1));
      assert.ok(textOf(result).length < textOf(before).length);
    },
  },
});
