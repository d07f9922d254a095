/** Automatic compaction. */
import assert from "node:assert/strict";
import { answering, area, choose, ids, pause, turn, turns } from "../fact.ts";
import type { Summariser } from "../store.ts";

/** Counts its calls and the most of them at the same time. */
function counting(answer: () => Promise<null> = async () => null) {
  const calls = { all: 0, now: 0, most: 0 };
  const summariser: Summariser = {
    choose: async () => {
      calls.all += 1;
      calls.now += 1;
      calls.most = Math.max(calls.most, calls.now);
      try {
        return await answer();
      } finally {
        calls.now -= 1;
      }
    },
  };
  return { calls, summariser };
}

export const TRIGGER = area("trigger", {
  under: {
    says: "Under the threshold nothing is summarised.",
    async check(store) {
      const { calls, summariser } = counting();
      await store.compactAfter(10_000, summariser);
      for (const message of turns(1, 10)) await store.append(message);
      await store.settle();
      assert.equal(calls.all, 0);
    },
  },
  over: {
    says: "Over the threshold a conversation is compacted by itself.",
    async check(store) {
      await store.compactAfter(600, choose("m2", "m8"));
      for (const message of turns(1, 10)) await store.append(message);
      await store.settle();
      assert.equal((await store.summaries()).length, 1);
      assert.ok((await store.history()).length < 10);
    },
  },
  zero: {
    says: "A threshold of 0 is refused or compacts at once; it is not taken for none.",
    async check(store) {
      const refused = await store.compactAfter(0, choose("m2", "m4")).then(
        () => false,
        () => true,
      );
      if (refused) return;
      for (const message of turns(1, 6)) await store.append(message);
      await store.settle();
      assert.ok((await store.summaries()).length > 0);
    },
  },
  "broken counter": {
    says: "A token counter that answers NaN is survived, and does not make every append compact.",
    async check(store) {
      const { calls, summariser } = counting();
      await store.compactAfter(100_000, summariser, { brokenCounter: true });
      for (const message of turns(1, 5)) await store.append(message);
      await store.settle();
      assert.equal(calls.all, 0);
      assert.equal((await store.history()).length, 5);
    },
  },
  "append does not wait": {
    says: "An append returns while the summariser that it set off is still at work.",
    shows: "waiting append",
    async check(store) {
      const { promise: answered, resolve: answer } = Promise.withResolvers<null>();
      await store.compactAfter(
        600,
        choose("m2", "m8", () => answered),
      );
      const appended = (async () => {
        for (const message of turns(1, 12)) await store.append(message);
        return true;
      })();
      const early = await Promise.race([appended, pause(2_000).then(() => false)]);
      answer(null);
      await appended;
      await store.settle();
      assert.ok(early, "No answer for two seconds.");
    },
  },
  "one at a time": {
    says: "Appends at the same time set off one compaction, not one each.",
    shows: "one for each append",
    async check(store) {
      await store.storeAll(turns(1, 20));
      const { calls, summariser } = counting(() => pause(100).then(() => null));
      await store.compactAfter(600, summariser);
      await Promise.all(turns(21, 25).map((message) => store.append(message)));
      await store.settle();
      assert.ok(calls.most === 1, `${calls.most} at the same time.`);
    },
  },
  "summariser that is down": {
    says: "A summariser that is down is not called again for every append.",
    shows: "asked at every append",
    async check(store) {
      await store.storeAll(turns(1, 20));
      const { calls, summariser } = counting(() => Promise.reject(new Error("The provider is down.")));
      await store.compactAfter(600, summariser);
      for (const message of turns(21, 30)) {
        await store.append(message);
        await store.settle();
      }
      assert.ok(calls.all >= 1 && calls.all <= 5, `${calls.all} calls for 10 appends.`);
    },
  },
  "summariser that declines": {
    says: "A function that declines is not called again for every append.",
    shows: "asked at every append",
    async check(store) {
      await store.storeAll(turns(1, 20));
      const { calls, summariser } = counting();
      await store.compactAfter(600, summariser);
      for (const message of turns(21, 30)) {
        await store.append(message);
        await store.settle();
      }
      assert.ok(calls.all >= 1 && calls.all <= 5, `${calls.all} calls for 10 appends.`);
    },
  },
  "model that answers nothing": {
    says: "A model that answers nothing is not asked again for every append.",
    shows: "asked at every append",
    async check(store) {
      await store.storeAll(turns(1, 40));
      const { prompts, summariser } = answering(" ");
      await store.compactAfter(3_000, summariser);
      for (const message of turns(41, 60)) {
        await store.append(message);
        await store.settle();
      }
      assert.ok(prompts.length >= 1 && prompts.length <= 10, `${prompts.length} calls for 20 appends.`);
    },
  },
  "nothing to gain": {
    says: "A compaction that brings next to nothing is not made again for every append.",
    shows: "no gain",
    async check(store) {
      await store.storeAll(turns(1, 20));
      let calls = 0;
      const summariser: Summariser = {
        choose: async (visible) => {
          calls += 1;
          const [from, to] = [visible[1]?.id ?? "", visible[2]?.id ?? ""];
          return { summary: "They spoke about the parser. ".repeat(12), fromMessageId: from, toMessageId: to };
        },
      };
      await store.compactAfter(600, summariser);
      for (const message of turns(21, 30)) {
        await store.append(message);
        await store.settle();
      }
      assert.ok(calls >= 1 && calls <= 5, `${calls} calls for 10 appends.`);
    },
  },
  "failure is told": {
    says: "A summariser that throws is told to the error handler.",
    shows: "untold failure",
    async check(store) {
      await store.storeAll(turns(1, 20));
      let told = 0;
      const { summariser } = counting(() => Promise.reject(new Error("The provider is down.")));
      await store.compactAfter(600, summariser, {
        onError: async () => {
          told += 1;
        },
      });
      await store.append(turn(21));
      await store.settle();
      await pause(100);
      assert.equal(told, 1);
    },
  },
  "handler that throws": {
    says: "An error handler that throws itself harms neither the append nor the session.",
    async check(store) {
      await store.storeAll(turns(1, 20));
      const { summariser } = counting(() => Promise.reject(new Error("The provider is down.")));
      await store.compactAfter(600, summariser, { onError: () => Promise.reject(new Error("So is this.")) });
      await store.append(turn(21));
      await store.settle();
      await store.append(turn(22));
      assert.deepEqual(ids(await store.history()), ids(turns(1, 22)));
    },
  },
});
