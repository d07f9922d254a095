/** Compacting with a model, with its prompts and the handling of its answers. */
import assert from "node:assert/strict";
import type { UIMessage } from "ai";
import { answering, area, goodSummary, ids, lost, marker, say, textOf, turn, turns } from "../fact.ts";

/** A message with a tool part, among enough turns to be worth a summary. */
function withTool(part: object): UIMessage[] {
  const message: UIMessage = { ...turn(10), parts: [...turn(10).parts, part as UIMessage["parts"][number]] };
  return [...turns(1, 9), message, ...turns(11, 40)];
}

export const SUMMARISER = area("summariser", {
  works: {
    says: "A model's summary replaces the middle: the newest messages stay, and nothing is neither shown nor summarised.",
    async check(store) {
      await store.storeAll(turns(1, 40));
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      assert.equal(await store.compact(summariser), true);
      const shown = await store.history();
      assert.match(textOf(shown), /KNOWN/);
      assert.deepEqual(ids(shown.slice(-2)), ["m39", "m40"]);
      assert.ok(shown.length < 20);
      assert.equal(await lost(store, { first: 1, last: 40, prompts }), 0);
    },
  },
  "too little": {
    says: "For five short messages no model is asked.",
    async check(store) {
      await store.storeAll(Array.from({ length: 5 }, (_, n) => say(`m${n + 1}`, "Hello.")));
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      assert.equal(await store.compact(summariser), false);
      assert.equal(prompts.length, 0);
    },
  },
  throws: {
    says: "A model that is down loses nothing, and the session goes on.",
    async check(store) {
      await store.storeAll(turns(1, 40));
      const { summariser } = answering(() => Promise.reject(new Error("The provider is down.")));
      await store.compact(summariser).catch(() => undefined);
      await store.append(turn(41));
      for (const message of turns(1, 41)) assert.deepEqual(await store.get(message.id), message);
      assert.equal((await store.history()).at(-1)?.id, "m41");
    },
  },
  blank: {
    says: "A model that answers nothing does not make a blank stand for what was said.",
    shows: "blank summary",
    async check(store) {
      await store.storeAll(turns(1, 40));
      await store.compact(answering("  \n ").summariser).catch(() => undefined);
      for (const summary of await store.summaries()) assert.notEqual(summary.trim(), "");
    },
  },
  refuses: {
    says: "A model's refusal does not stand for what was said.",
    async check(store) {
      await store.storeAll(turns(1, 40));
      await store.compact(answering("I'm sorry, but I can't help with that.").summariser);
      assert.doesNotMatch(textOf(await store.history()), /can't help with that/);
    },
  },
  "too long": {
    says: "A model that answers more than it was given does not make the view longer.",
    shows: "growing summary",
    async check(store) {
      await store.storeAll(turns(1, 40));
      const before = textOf(await store.history()).length;
      await store.compact(answering(goodSummary("KNOWN ".repeat(4_000))).summariser);
      assert.ok(textOf(await store.history()).length <= before);
    },
  },
  previous: {
    says: "The second summary is made from the first one and what came since.",
    async check(store) {
      await store.storeAll(turns(1, 40));
      await store.compact(answering(goodSummary("FIRST-ONE")).summariser);
      await store.storeAll(turns(41, 80));
      const { prompts, summariser } = answering(goodSummary("SECOND-ONE"));
      assert.equal(await store.compact(summariser), true);
      assert.match(prompts.join("\n"), /FIRST-ONE/);
      const shown = textOf(await store.history());
      assert.ok(shown.includes("SECOND-ONE") && !shown.includes("FIRST-ONE"));
    },
  },
  "two earlier ones": {
    says: "Of two summaries side by side, the content of both reaches the summary that replaces them.",
    shows: "one of two summaries",
    async check(store) {
      await store.storeAll(turns(1, 40));
      await store.addOverlay("FIRST-ONE", "m4", "m10");
      await store.addOverlay("SECOND-ONE", "m11", "m20");
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      const known = prompts.join("\n") + textOf(await store.history());
      assert.ok(known.includes("FIRST-ONE") && known.includes("SECOND-ONE"), "One of the two is lost.");
    },
  },
  "summary at the start": {
    says: "With a summary over the first messages, a compaction loses none of those right after it.",
    shows: "swallowed messages",
    async check(store) {
      await store.storeAll(turns(1, 40));
      await store.addOverlay("Short.", "m1", "m5");
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      assert.equal(await lost(store, { first: 6, last: 40, prompts }), 0);
    },
  },
  "start deleted": {
    says: "After the first messages of a compacted conversation are deleted, the next compaction loses nothing else.",
    shows: "swallowed messages",
    async check(store) {
      await store.storeAll(turns(1, 40));
      const first = answering(goodSummary("FIRST-ONE"));
      await store.compact(first.summariser);
      await store.remove(["m1", "m2"]);
      await store.storeAll(turns(41, 80));
      const second = answering(goodSummary("SECOND-ONE"));
      await store.compact(second.summariser);
      assert.equal(await lost(store, { first: 3, last: 80, prompts: [...first.prompts, ...second.prompts] }), 0);
    },
  },
  "room for an earlier one": {
    says: "A summary that takes in a large earlier one may be at least half as large; or the earlier one stays.",
    shows: "shrinking summary",
    async check(store) {
      await store.storeAll(turns(1, 60));
      await store.addOverlay(`FIRST-ONE ${"It was agreed to keep the trailing comma. ".repeat(150)}`, "m4", "m50");
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      const folding = prompts.filter((prompt) => prompt.includes("FIRST-ONE"));
      for (const prompt of folding) {
        // Each store says its budget in its own words.
        const [, told, size] = /(?:At most|Target) ~?(\d+) tokens|Size: (\d+)/.exec(prompt) ?? [];
        const budget = Number(told ?? size);
        assert.ok(budget >= 750, `Some 1,500 tokens are to be told in ${budget}.`);
      }
      assert.ok(folding.length > 0 || textOf(await store.history()).includes("FIRST-ONE"), "The earlier one is gone.");
    },
  },
  "object output": {
    says: "The model is shown what is in a tool's object output.",
    async check(store) {
      await store.storeAll(
        withTool({
          type: "tool-read",
          toolCallId: "c1",
          state: "output-available",
          input: {},
          output: { found: "NEEDLE" },
        }),
      );
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      assert.match(prompts.join("\n"), /NEEDLE/);
    },
  },
  "tool name": {
    says: "The model is shown a tool's name where the message has it in the part's type.",
    async check(store) {
      await store.storeAll(
        withTool({ type: "tool-getWeather", toolCallId: "c1", state: "output-available", input: {}, output: "mild" }),
      );
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      assert.match(prompts.join("\n"), /getWeather/);
    },
  },
  "tool error": {
    says: "The model is shown why a tool failed.",
    async check(store) {
      const part = {
        type: "tool-read",
        toolCallId: "c1",
        state: "output-error",
        input: {},
        errorText: "ENOENT: NEEDLE",
      };
      await store.storeAll(withTool(part));
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      assert.match(prompts.join("\n"), /NEEDLE/);
    },
  },
  "prompt size": {
    says: "No prompt is longer than a window of 128,000 tokens, however much there is to summarise.",
    shows: "prompt over the window",
    async check(store) {
      const page = "All of this was read out loud. ".repeat(1_000);
      await store.storeAll(Array.from({ length: 40 }, (_, n) => say(`m${n + 1}`, `${marker(n + 1)} ${page}`)));
      const { prompts, summariser } = answering(goodSummary("KNOWN"));
      await store.compact(summariser);
      const longest = Math.max(0, ...prompts.map((prompt) => prompt.length));
      assert.ok(longest > 0 && longest <= 4 * 128_000, `The longest prompt has ${longest} characters.`);
    },
  },
  "few messages, large tools": {
    says: "A conversation of four messages whose tool results fill the window can be compacted.",
    async check(store) {
      const work: UIMessage = { id: "m2", role: "assistant", parts: [] };
      for (let step = 1; step <= 20; step++) {
        const output = `${marker(step)} ${"A line of the file that was read. ".repeat(200)}`;
        work.parts.push({ type: "step-start" });
        work.parts.push({ type: "tool-read", toolCallId: `c${step}`, state: "output-available", input: {}, output });
      }
      await store.storeAll([turn(1), work, turn(3), turn(4)]);
      const before = textOf(await store.history()).length;
      await store.compact(answering(goodSummary("KNOWN")).summariser);
      assert.ok(textOf(await store.history()).length < before / 2);
    },
  },
});
