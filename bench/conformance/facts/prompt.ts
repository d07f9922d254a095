/** The system prompt and its blocks. */
import assert from "node:assert/strict";
import { area, choose, turns } from "../fact.ts";

export const PROMPT = area("prompt", {
  frozen: {
    says: "The prompt is the same string until it is refreshed, whatever becomes of the blocks meanwhile.",
    async check(store) {
      await store.declare([{ label: "soul", text: "Be brief." }, { label: "memory" }]);
      const first = await store.prompt();
      assert.match(first, /Be brief/);
      await store.setBlock("memory", "They like tea.");
      assert.equal(await store.prompt(), first);
      assert.match(await store.refreshPrompt(), /They like tea/);
      assert.match(await store.prompt(), /They like tea/);
    },
  },
  readonly: {
    says: "A block that nobody can write refuses to be written.",
    async check(store) {
      await store.declare([{ label: "soul", text: "Be brief." }]);
      await assert.rejects(store.setBlock("soul", "Be long."));
      assert.equal(await store.block("soul"), "Be brief.");
    },
  },
  "token limit": {
    says: "A block refuses what is over its token limit, and keeps what it had.",
    async check(store) {
      await store.declare([{ label: "memory", maxTokens: 20 }]);
      await store.setBlock("memory", "short");
      await assert.rejects(store.setBlock("memory", "far too much ".repeat(100)));
      assert.equal(await store.block("memory"), "short");
    },
  },
  "empty text": {
    says: "A prompt that was frozen while its blocks were empty stays so until it is refreshed.",
    async check(store) {
      await store.declare([{ label: "memory" }]);
      const first = await store.prompt();
      await store.setBlock("memory", "They like tea.");
      assert.equal(await store.prompt(), first);
      assert.doesNotMatch(first, /tea/);
    },
  },
  "own block": {
    says: "A block that all sessions have holds something else in each.",
    async check(store) {
      await store.declare([{ label: "memory" }]);
      await store.session("a").setBlock("memory", "They like tea.");
      assert.doesNotMatch((await store.session("b").block("memory")) ?? "", /tea/);
      assert.doesNotMatch(await store.session("b").refreshPrompt(), /tea/);
    },
  },
  "one provider object": {
    says: "One provider object that is handed to all sessions is refused, or does not show one's content to another.",
    async check(store) {
      const refused = await store.declare([{ label: "memory", oneObject: true }]).then(
        () => false,
        (error: unknown) => {
          if (error instanceof Error && /no such thing/.test(error.message)) throw error;
          return true;
        },
      );
      if (refused) return;
      await store.session("a").setBlock("memory", "They like tea.");
      assert.doesNotMatch(await store.session("b").refreshPrompt(), /tea/);
    },
  },
  "not by compacting": {
    says: "A compaction does not lose what a block holds.",
    async check(store) {
      await store.declare([{ label: "memory" }]);
      await store.setBlock("memory", "They like tea.");
      await store.storeAll(turns(1, 10));
      await store.compact(choose("m2", "m8"));
      assert.equal(await store.block("memory"), "They like tea.");
    },
  },
});
