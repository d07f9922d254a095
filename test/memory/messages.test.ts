/** Storing and reading messages. They come back as they were stored, and invalid ones are refused before any write. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { splitUtf8, utf8Length } from "../../src/memory/messages/content.ts";
import { hashId } from "../../src/steps/message/message.ts";
import { sliceMessageId } from "../../src/steps/view/view.ts";
import { SCHEMA_VERSION } from "../../src/memory/schema.ts";
import { draft, dump, fill, say, span, steps, withProbe } from "./probe.ts";
import { codeOf } from "../thrown.ts";

function ids(messages: readonly UIMessage[]): string[] {
  return messages.map((message) => message.id);
}

/** Many arrays, so deep inside. */
function nested(depth: number): unknown {
  let data: unknown = Array.from({ length: 300_000 }, () => []);
  for (let level = 0; level < depth; level++) data = { data };
  return data;
}

function holding(value: unknown): UIMessage {
  const data = { "odd key": [{ when: value }] };
  return {
    id: "x",
    role: "assistant",
    parts: [
      { type: "text", text: "" },
      { type: "data-x", data },
    ],
  };
}

/** What JSON would drop, change or never finish. */
function lossyValues(): unknown[] {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  let deep: unknown = 1;
  for (let n = 0; n < 100_000; n++) deep = [deep];
  const objects = [new Date(0), new Map(), new Set(), new URL("https://example.com"), new Uint8Array(1), cycle, deep];
  const primitives = [Number.NaN, Number.POSITIVE_INFINITY, 1n, Symbol("s"), () => 1];
  return [...objects, ...primitives, [undefined], Array(2), { toJSON: () => 1 }, { [Symbol("s")]: 1 }];
}

describe("a damaged row", () => {
  test("M1: takes no other message with it, and an update mends it", async () => {
    await withProbe(({ history, storage, reopen }) => {
      fill(history, 1, 3);
      storage.sql.exec("UPDATE palimpsest_messages SET content = '{' WHERE id = 'm2'");
      expect(ids(history.getHistory())).toEqual(["m1", "m2", "m3"]);
      expect(history.get("m2")?.parts).toMatchObject([{ text: expect.stringContaining("cannot be read") }]);
      expect(
        reopen()
          .search.find("message")
          .map((hit) => hit.id)
          .toSorted(),
      ).toEqual(["m1", "m2", "m3"]);
      history.update(say("m2", "mended"));
      expect(history.get("m2")).toEqual(say("m2", "mended"));
    });
  });
});

describe("appending", () => {
  test("undefined means the active leaf, null a new root, an id that message; the newest is the active leaf", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 3);
      history.append(say("branch"), "m1");
      expect(ids(history.getHistory())).toEqual(["m1", "branch"]);
      history.append(say("after"));
      expect(ids(history.getHistory())).toEqual(["m1", "branch", "after"]);
      history.append(say("root"), null);
      expect(ids(history.getHistory())).toEqual(["root"]);
      expect(ids(history.getHistory("m3"))).toEqual(["m1", "m2", "m3"]);
      expect(ids(history.branches("m1"))).toEqual(["m2", "branch"]);
      expect(ids(history.branches(null))).toEqual(["m1", "root"]);
      expect(history.isOnPath("m1", "after")).toBe(true);
      expect(history.isOnPath("m2", "after")).toBe(false);
      expect(history.latestLeaf()?.id).toBe("root");
    });
  });

  test("a repeated id changes nothing and returns what is stored, whatever else is wrong with it", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 2);
      const again = history.append(say("m1", "other"), "no such parent");
      expect(again).toEqual({ inserted: false, synthetic: false, message: say("m1") });
      expect(history.leafId()).toBe("m2");
    });
  });

  test("checks a message deep inside in the time that it takes near the surface", async () => {
    await withProbe(({ history }) => {
      const timed = (depth: number): number => {
        const times = [1, 2, 3].map((n) => {
          const message = holding(nested(depth));
          const began = performance.now();
          history.append({ ...message, id: `d${depth}.${n}` });
          return performance.now() - began;
        });
        return Math.min(...times);
      };
      timed(0);
      expect(timed(400)).toBeLessThan(4 * timed(1) + 50);
    });
  });

  test("refuses a message of more values than another object would get, and checks no longer than that takes", async () => {
    await withProbe(({ history, storage }) => {
      const data = Array.from({ length: 2_200_000 }, () => 1);
      expect(codeOf(() => history.append(holding(data)))).toBe("message_too_large");
      expect(dump(storage, "")["messages"]).toBe(0);
    });
  });

  test("refuses what it cannot keep, with a code and a path, and writes nothing", async () => {
    await withProbe(({ history, storage, cost }) => {
      fill(history, 1, 1);
      const before = dump(storage, "");
      const spent = cost(() => {
        for (const value of lossyValues())
          expect(codeOf(() => history.append(holding(value)))).toBe("not_serializable");
        expect(() => history.append(holding(new Date(0)))).toThrow('at parts[1].data["odd key"][0].when');
        const bad: unknown[] = [null, "text", {}, { ...say("a"), id: "" }, { ...say("a"), id: "i".repeat(513) }];
        bad.push({ ...say("a"), id: "\ud800" }, { ...say("a"), id: 7 }, { ...say("a"), role: "tool" });
        bad.push({ ...say("a"), parts: "text" }, { ...say("a"), parts: [null] });
        for (const each of bad) expect(codeOf(() => history.append(each as UIMessage))).toBe("invalid_message");
        expect(codeOf(() => history.append(say("x"), "nobody"))).toBe("unknown_parent");
        expect(codeOf(() => history.append(say("x"), "x"))).toBe("cyclic_parent");
        expect(codeOf(() => history.append(say("palimpsest:overlay:none")))).toBe("reserved_id");
        expect(codeOf(() => history.append(say("palimpsest:mine")))).toBe("reserved_id");
        expect(codeOf(() => history.append(say("big", "x".repeat(20_000_000))))).toBe("message_too_large");
        expect(codeOf(() => history.append(say("big", "文".repeat(6_000_000))))).toBe("message_too_large");
      });
      expect(spent.rowsWritten).toBe(0);
      expect(dump(storage, "")).toEqual(before);
      expect(codeOf(() => history.getHistory("nobody"))).toBe("unknown_leaf");
      expect(codeOf(() => history.overlays.expand("nothing"))).toBe("unknown_overlay");
    });
  });

  test("keeps every string: NUL, lone surrogates, quotes, any script; and leaves absent properties absent", async () => {
    await withProbe(({ history, reopen }) => {
      const odd = 'a\u0000b\ud800c\udc00 "quotes" \\ 日本語 👩‍👩‍👧 \u2028';
      const message: UIMessage = {
        id: "odd\u0000id",
        role: "user",
        metadata: { __proto__: null, [odd]: null, absent: undefined, zero: 0, nested: [[], {}] },
        parts: [{ type: "text", text: odd }],
      };
      history.append(message);
      const back = reopen().session("").get("odd\u0000id");
      expect(back).toEqual(message);
      expect(Object.keys(back?.metadata as object)).not.toContain("absent");
    });
  });

  test("a message of any size up to the limit comes back byte for byte, in any script, also after an update", async () => {
    await withProbe(({ history, reopen, storage }) => {
      for (const [n, unit] of ["x", "é", "文", "👩"].entries()) {
        const message = say(`big${n}`, `${"y".repeat(n)}${unit.repeat(2_000_000)}`);
        history.append(message);
        expect(reopen().session("").get(`big${n}`)).toEqual(message);
      }
      expect(dump(storage, "")["message_parts"]).toBe(1 + 2 + 3 + 4);
      history.update(say("big0", "small"));
      history.delete(["big1", "big2", "big3"]);
      expect(history.getHistory()).toEqual([say("big0", "small")]);
      expect(dump(storage, "")["message_parts"]).toBe(0);
    });
  });

  test("pieces are cut between code points and measured in UTF-8", () => {
    const text = "a文👩é".repeat(50);
    for (const max of [4, 5, 7, 64]) {
      const { bytes, pieces } = splitUtf8(text, max);
      expect(pieces.join("")).toBe(text);
      expect(bytes).toBe(new TextEncoder().encode(text).length);
      expect(pieces.every((piece) => piece.isWellFormed() && utf8Length(piece) <= max)).toBe(true);
    }
  });
});

describe("finding by id", () => {
  test("two ids of one hash are told apart, warm and cold", async () => {
    const seen = new Map<number, string>();
    let pair: [string, string] | null = null;
    for (let n = 0; pair === null; n++) {
      const id = `id-${n}`;
      const twin = seen.get(hashId(id));
      if (twin !== undefined) pair = [twin, id];
      seen.set(hashId(id), id);
    }
    const [one, two] = pair;
    await withProbe(({ history, reopen }) => {
      history.append(say(one, "first"));
      expect([history.get(two), history.has(two), history.update(say(two))]).toEqual([null, false, null]);
      history.append(say(two, "second"));
      for (const each of [history, reopen().session("")]) {
        expect([each.get(one), each.get(two)]).toEqual([say(one, "first"), say(two, "second")]);
      }
    });
  });

  test("ids are found across pages of fingerprints, and a number is never given out twice", async () => {
    await withProbe(({ history, memory, storage, reopen }) => {
      fill(history, 1, 3);
      storage.sql.exec("UPDATE palimpsest_sessions SET next_seq = 65530");
      const cold = reopen().session("");
      fill(cold, 10, 100);
      const again = reopen().session("");
      for (const n of [1, 3, 10, 15, 16, 17, 60, 100]) expect(again.get(`m${n}`)?.id).toBe(`m${n}`);
      expect(again.get("m4")).toBeNull();
      expect(ids(again.getHistory()).length).toBe(94);
      again.delete(["m100"]);
      again.append(say("new"));
      again.clear();
      reopen().session("").append(say("last"));
      const { seq } = storage.sql.exec<{ seq: number }>("SELECT max(seq) AS seq FROM palimpsest_messages").one();
      expect(seq).toBe(65530 + 91 + 1);
      expect(memory.db.meter.rowsWritten).toBeGreaterThan(0);
    });
  });
});

describe("changing", () => {
  test("a delete in the middle keeps both sides, in bulk and across branches; the newest left is the leaf", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 6);
      history.append(say("b1"), "m3");
      history.append(say("b2"));
      expect(history.delete(["m2", "m3", "m3", "nobody"])).toBe(2);
      expect(ids(history.getHistory("m6"))).toEqual(["m1", "m4", "m5", "m6"]);
      expect(ids(history.getHistory())).toEqual(["m1", "b1", "b2"]);
      expect(ids(history.branches("m1"))).toEqual(["m4", "b1"]);
      history.delete(["m1"]);
      expect(ids(history.branches(null))).toEqual(["m4", "b1"]);
      history.delete(["b2", "b1"]);
      expect(history.leafId()).toBe("m6");
    });
  });

  test("a message's parent is what it hangs under as stored: also under a summary, of a part of it, and after a delete", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 4);
      history.append(say("other"), "m2");
      expect(["m1", "m2", "m4", "other"].map((id) => history.parentOf(id))).toEqual([null, "m1", "m3", "m2"]);
      expect(history.parentOf(sliceMessageId("m4", 1, 2))).toBe("m3");
      expect(history.overlays.add({ span: span("m1", "m3"), summary: "S" }).kind).toBe("applied");
      expect(history.parentOf("m4")).toBe("m3");
      history.delete(["m3"]);
      expect(history.parentOf("m4")).toBe("m2");
      for (const id of ["m3", "nobody"]) expect(codeOf(() => history.parentOf(id))).toBe("unknown_message");
    });
  });

  test("an upsert updates where the message stands, and never makes a cycle", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 4);
      expect(history.upsert(say("m2", "new"), "m1")).toMatchObject({ inserted: false });
      expect(history.upsert(say("m5"), "m2")).toMatchObject({ inserted: true });
      expect(ids(history.getHistory())).toEqual(["m1", "m2", "m5"]);
      expect(history.get("m2")).toEqual(say("m2", "new"));
      for (const parent of ["m2", "m3", "m5"]) {
        expect(codeOf(() => history.upsert(say("m2", "newer"), parent))).toBe("cyclic_parent");
      }
      expect(history.update(say("nobody"))).toBeNull();
    });
  });

  test("a transaction that throws leaves nothing, in storage or in memory", async () => {
    await withProbe(({ memory, history, storage }) => {
      const kept = memory.db.cached(new Map([["", "of rows that may be taken back"]]));
      fill(history, 1, 5);
      history.overlays.add({ span: span("m1", "m3"), summary: "S" });
      const [tokens, before] = [history.tokens(), dump(storage, "")];
      const walking = history.history({ newestFirst: true });
      walking.next();
      expect(() =>
        memory.db.transaction((): void => {
          fill(history, 6, 80);
          history.update(say("m2", "changed"));
          history.delete(["m1", "m80"]);
          history.clear();
          fill(history, 100, 101);
          throw new Error("on purpose");
        }),
      ).toThrow("on purpose");
      expect(kept.size).toBe(0);
      expect(dump(storage, "")).toEqual(before);
      expect(history.tokens()).toBe(tokens);
      expect([...walking].length).toBe(2);
      expect(history.getHistory().length).toBe(3);
      expect(history.append(say("m6")).inserted).toBe(true);
      expect(history.get("m100")).toBeNull();
      // @ts-expect-error work that returns a promise would go on after the transaction.
      const refused: unknown = () => memory.db.transaction(async () => 1);
      expect(refused).toBeTypeOf("function");
    });
  });

  test("S1: sessions share nothing, not even ids; S2: clear leaves nothing", async () => {
    await withProbe(({ memory, storage }) => {
      const [one, two] = [memory.session("one"), memory.session("two")];
      for (const session of [one, two]) {
        fill(session, 1, 70);
        session.append(say("big", "x".repeat(2_000_000)));
        session.overlays.add({ span: span("m1", "m9"), summary: `S of ${session.sessionId}` });
        memory.drafts.save(session.sessionId, draft("k", "text"));
      }
      one.update(say("m20", "only here"));
      one.delete(["m30"]);
      expect(two.get("m20")).toEqual(say("m20"));
      const before = dump(storage, "two");
      one.clear();
      expect(dump(storage, "one")).toEqual({ messages: 0, message_parts: 0, fingerprints: 0, overlays: 0, drafts: 0 });
      expect(dump(storage, "two")).toEqual(before);
      expect(one.view()).toEqual({ messages: [], tokens: 0, elements: [], leafId: null });
      expect(one.append(say("m1")).inserted).toBe(true);
      expect(codeOf(() => memory.session("x".repeat(201)))).toBe("invalid_input");
    });
  });
});

describe("reading", () => {
  test("a path of 12,000 messages is read whole, whichever way", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 12_000);
      expect(history.getHistory().length).toBe(12_000);
      expect(history.pathLength()).toBe(12_000);
      expect(history.view().elements.length).toBe(12_000);
      expect([...history.history()][0]?.id).toBe("m1");
      const outline = history.outline(null, { maxRows: 10, overheadTokens: 5 });
      expect(outline).toMatchObject({ truncated: true, overheadTokens: 5, leafId: "m12000" });
      expect(outline?.rows.map((row) => row.id).at(-1)).toBe("m10");
    });
  });

  test("recent messages fit their budget, the leaf whatever it weighs", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      const size = utf8Length(JSON.stringify(say("m1")));
      expect(history.recent(0)).toEqual({ messages: [say("m9")], truncated: true, bytes: size });
      expect(ids(history.recent(3 * size).messages)).toEqual(["m7", "m8", "m9"]);
      expect(history.recent(9 * size)).toMatchObject({ truncated: false, bytes: 9 * size });
    });
  });

  test("V2: a view pairs every tool call but those of the newest message; the history shows it as it was stored", async () => {
    await withProbe(({ history }) => {
      history.append(say("ask"));
      const call = { type: "dynamic-tool", toolName: "look", toolCallId: "c1", state: "input-available", input: {} };
      history.append({ id: "call", role: "assistant", parts: [call] as UIMessage["parts"] });
      expect(history.getHistory()[1]?.parts[0]).toMatchObject({ state: "input-available" });
      expect(history.view().messages[1]?.parts[0]).toMatchObject({ state: "input-available" });
      expect(history.outline()?.rows[1]?.calls).toEqual([["c1", 0]]);
      history.append(say("go on"));
      expect(history.getHistory()[1]?.parts[0]).toMatchObject({ state: "input-available" });
      expect(history.view().messages[1]?.parts[0]).toMatchObject({ state: "output-error" });
    });
  });

  test("a stream leaves out what is deleted under it; newest first it says that it lost its place", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 5);
      const oldestFirst = history.history();
      oldestFirst.next();
      const newestFirst = history.history({ newestFirst: true });
      newestFirst.next();
      history.delete(["m4"]);
      expect(ids([...oldestFirst])).toEqual(["m2", "m3", "m5"]);
      expect(codeOf(() => [...newestFirst])).toBe("invalid_state");
    });
  });
});

describe("the schema", () => {
  test("M2: opens again as it is, and refuses a database of newer code", async () => {
    await withProbe(({ history, reopen, storage }) => {
      history.append(steps("m1", "kept"));
      expect(reopen().session("").getHistory()).toEqual([steps("m1", "kept")]);
      storage.sql.exec("UPDATE palimpsest_schema SET version = ?", SCHEMA_VERSION + 1);
      expect(codeOf(() => reopen())).toBe("unknown_schema");
    });
  });

  test("M2: refuses a database with tables that it does not know, and changes nothing in it", async () => {
    await withProbe(({ history, reopen, storage }) => {
      history.append(steps("m1", "kept"));
      const made = () => storage.sql.exec<{ made: string }>("SELECT made FROM palimpsest_schema").one().made;
      const ours = made();
      storage.sql.exec("UPDATE palimpsest_schema SET made = made || ' overlays drafts'");
      expect(() => reopen()).toThrow(/^\[unknown_schema\] .*: overlays, drafts\./);
      expect(made()).toBe(`${ours} overlays drafts`);
      storage.sql.exec("UPDATE palimpsest_schema SET made = ?", ours);
      expect(reopen().session("").getHistory()).toEqual([steps("m1", "kept")]);
    });
  });
});
