/** Sessions themselves. Each is alone with its content, copied exactly, deleted whole and listed cheaply. */
import { describe, expect, test } from "vitest";
import { Drafts } from "../../src/memory/drafts.ts";
import type { History } from "../../src/memory/messages/history.ts";
import { draft, fill, measure, say, shown, span, steps, withProbe } from "./probe.ts";
import { codeOf } from "../thrown.ts";

function ids(history: History, leafId?: string): string[] {
  return [...history.originals(leafId)].map((message) => message.id);
}

describe("a session's row", () => {
  test("holds what it was created with, and sums what each call cost", async () => {
    await withProbe(({ memory: { sessions } }) => {
      const parent = sessions.create("p", "Parent");
      const child = sessions.create("c", "  Child ", { parentSessionId: "p", model: "big", source: "mail" });
      expect(child).toEqual({
        id: "c",
        name: "Child",
        createdAt: 1_000,
        lastMessageAt: null,
        parentSessionId: "p",
        model: "big",
        source: "mail",
        metadata: null,
        inputTokens: 0,
        outputTokens: 0,
        cost: 0,
        endedAt: null,
        endReason: null,
        continuedBy: null,
      });
      sessions.addUsage("c", { inputTokens: 100, outputTokens: 20, cost: 0.25 });
      const used = sessions.addUsage("c", { inputTokens: 11, outputTokens: 2, cost: 0.5 });
      expect(used).toEqual({ ...child, inputTokens: 111, outputTokens: 22, cost: 0.75 });
      expect(sessions.get("p")).toEqual(parent);
      expect(sessions.rename("c", "Other").name).toBe("Other");
    });
  });

  test("is made by the first append to a session that nobody created", async () => {
    await withProbe(({ memory, history }) => {
      expect(memory.sessions.get("")).toBeNull();
      history.append(say("m1"));
      expect(memory.sessions.get("")).toMatchObject({ id: "", createdAt: 1_000, lastMessageAt: 1_000, source: null });
      expect(memory.sessions.create("x").id).toBe("x");
      memory.session("x").append(say("m1"));
      expect(memory.sessions.list({ limit: 10 }).map((each) => each.id)).toEqual(["x", ""]);
    });
  });

  test("is asked for by an id that exists, with numbers and names that make sense; nothing is written otherwise", async () => {
    await withProbe(({ memory: { sessions }, cost }) => {
      sessions.create("s", "S");
      const { rowsWritten } = cost(() => {
        expect(codeOf(() => sessions.rename("none", "x"))).toBe("unknown_session");
        expect(codeOf(() => sessions.addUsage("none", { inputTokens: 1, outputTokens: 1, cost: 0 }))).toBe(
          "unknown_session",
        );
        expect(codeOf(() => sessions.create("t", "T", { parentSessionId: "none" }))).toBe("unknown_session");
        expect(codeOf(() => sessions.fork("none", { id: "f", atMessageId: "m" }))).toBe("unknown_session");
        expect(codeOf(() => sessions.fork("s", { id: "f", atMessageId: "m" }))).toBe("unknown_message");
        for (const name of ["x".repeat(201), "two\nlines", "\ud800"]) {
          expect(
            codeOf(() => sessions.rename("s", name)),
            name,
          ).toBe("invalid_input");
          expect(
            codeOf(() => sessions.create("t", name)),
            name,
          ).toBe("invalid_input");
        }
        for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
          expect(codeOf(() => sessions.addUsage("s", { inputTokens: bad, outputTokens: 1, cost: 0 }))).toBe(
            "invalid_input",
          );
          expect(codeOf(() => sessions.addUsage("s", { inputTokens: 1, outputTokens: 1, cost: bad }))).toBe(
            "invalid_input",
          );
        }
      });
      expect(rowsWritten).toBe(0);
    });
  });

  test("goes by its first user message while it has no name, and forgets those words with the message (S2)", async () => {
    await withProbe(({ memory: { sessions }, history }) => {
      history.append(steps("hello", "Welcome"));
      expect(sessions.get("")?.name).toBeNull();
      history.append(say("m1", "Please  look at\nthe parser of the second compiler, because it drops a comma"));
      history.append(say("m2", "Something else"));
      expect(sessions.get("")?.name).toBe("Please look at the parser of the second compiler, because…");
      expect(sessions.list({ limit: 1 })[0]?.name).toBe("Please look at the parser of the second compiler, because…");
      history.update(say("m1", "Short"));
      expect(sessions.get("")?.name).toBe("Short");
      expect(sessions.rename("", "Mine").name).toBe("Mine");
      expect(sessions.rename("", " ").name).toBe("Short");
      history.clear();
      expect(sessions.get("")?.name).toBeNull();
    });
  });

  test("goes by a message that was split across rows, too", async () => {
    await withProbe(({ memory: { sessions }, history }) => {
      history.append(say("big", `Read this file: ${"x".repeat(2_000_000)}`));
      expect(sessions.get("")?.name).toBe(`Read this file: ${"x".repeat(43)}…`);
    });
  });
});

describe("a list", () => {
  test.each(["activity", "creation"] as const)(
    "by %s pages through all sessions once, also where many were created in one moment",
    async (order) => {
      await withProbe(({ memory }) => {
        const { sessions } = memory;
        const created = Array.from({ length: 23 }, (_, n) => sessions.create(`s${n}`).id);
        for (const id of created.slice(4, 9)) fill(memory.session(id), 1, 2);
        const seen: string[] = [];
        for (let page = sessions.list({ limit: 5, order }); page.length > 0;) {
          expect(page.length).toBeLessThanOrEqual(5);
          seen.push(...page.map((each) => each.id));
          const last = page.at(-1);
          // The place is known by its session as well.
          const before = last !== undefined && seen.length > 10 ? { id: last.id, createdAt: last.createdAt } : last;
          page = sessions.list({ limit: 5, order, before });
        }
        expect(seen.toSorted()).toEqual(created.toSorted());
      });
    },
  );

  test("begins with the session in which something was said last", async () => {
    await withProbe(({ memory, reopen }) => {
      for (const id of ["a", "b", "c"]) memory.sessions.create(id);
      const later = reopen();
      const { sessions } = later;
      fill(later.session("a"), 1, 60);
      expect(sessions.list({ limit: 2 }).map(({ id }) => id)).toEqual(["a", "c"]);
      expect(sessions.list({ limit: 2, order: "creation" }).map(({ id }) => id)).toEqual(["c", "b"]);
      // A row for each session, one for its newest message, and two for each title of the page.
      expect(measure(later, () => sessions.list({ limit: 1 })).rowsRead).toBeLessThanOrEqual(2 * 3 + 5);
    });
  });

  test("by creation reads at most four rows for each session of the page, however many there are and whatever they hold", async () => {
    await withProbe(({ memory, cost }) => {
      for (let n = 0; n < 300; n++) memory.sessions.create(`s${n}`, n % 2 === 0 ? `Session ${n}` : undefined);
      for (const { id } of memory.sessions.list({ limit: 10, order: "creation" })) fill(memory.session(id), 1, 50);
      const { rowsRead, rowsWritten } = cost(() => memory.sessions.list({ limit: 10, order: "creation" }));
      expect(rowsRead).toBeLessThanOrEqual(4 * 10 + 1);
      expect(rowsWritten).toBe(0);
    });
  });
});

describe("a fork", () => {
  test("has the path's messages with their ids, order and sizes, and an equal view, at every message of a tree", async () => {
    await withProbe(({ memory, history, reopen }) => {
      fill(history, 1, 12);
      history.append(say("big", "b".repeat(2_500_000)));
      fill(history, 13, 16);
      // Nested, side by side, on another branch, rolled back, and inside one message.
      history.overlays.add({ span: span("m2", "m4"), summary: "two to four" });
      history.overlays.add({ span: span("m2", "m6"), summary: "two to six" });
      history.overlays.add({ span: span("m8", "m9"), summary: "eight, nine" });
      for (let n = 1; n <= 6; n++) history.append(say(`b${n}`), n === 1 ? "m5" : `b${n - 1}`);
      history.overlays.add({ span: span("m3", "b2"), summary: "crosses" });
      history.overlays.add({ span: span("b1", "b3"), summary: "on the branch" });
      history.append(steps("s", "one", "two", "three"));
      history.overlays.add({ span: span("b4", "s", [0, 2]), summary: "into s" });
      const undone = history.overlays.add({ span: span("m10", "m12"), summary: "undone" });
      if (undone.kind === "applied") history.overlays.rollback(undone.overlay.id);
      history.delete(["m7", "m11"]);
      const at = [...ids(history, "m16"), ...ids(history)];
      for (const [n, id] of at.entries()) {
        const fork = memory.sessions.fork("", { id: `f${n}`, atMessageId: id });
        expect(fork).toMatchObject({ parentSessionId: "", source: "fork" });
        for (const copy of [memory.session(fork.id), reopen().session(fork.id)]) {
          expect(copy.view()).toEqual(history.view(id));
          expect(copy.outline()).toEqual({ ...history.outline(id), sessionId: fork.id });
          expect([...copy.originals()]).toEqual([...history.originals(id)]);
          expect(copy.tokens()).toBe(history.tokens(id));
          for (const each of copy.overlays.list()) {
            expect(each).toEqual(history.overlays.get(each.id));
            expect([copy.has(each.span.fromId), copy.has(each.span.toId)]).toEqual([true, true]);
          }
        }
      }
    });
  });

  test("shares nothing with its parent afterwards: changes of either stay there (S1)", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 20);
      history.overlays.add({ span: span("m2", "m10"), summary: "S" });
      const before = history.view();
      memory.sessions.fork("", { id: "f", atMessageId: "m20" });
      const copy = memory.session("f");
      copy.update(say("m3", "changed"));
      copy.append(say("more"));
      copy.delete(["m1", "m20"]);
      expect(shown(copy)).toEqual(["m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", ...range(10, 19), "more"]);
      expect(copy.branches("m19").map((message) => message.id)).toEqual(["more"]);
      expect(history.view()).toEqual(before);
      const copied = copy.view();
      history.clear();
      expect(copy.view()).toEqual(copied);
      memory.sessions.delete("");
      expect(copy.view()).toEqual(copied);
      expect(memory.sessions.get("f")?.parentSessionId).toBeNull();
    });
  });

  test("pays for no chunk twice: a draft of its parents is found by its key, and kept when they are deleted (R3)", async () => {
    await withProbe(({ memory }) => {
      const drafts = new Drafts(memory.db, memory.statements, () => 1_000);
      for (const [id, parent] of [
        ["a", undefined],
        ["b", "a"],
        ["c", "b"],
        ["other", undefined],
      ] as const) {
        memory.sessions.create(id, id, parent === undefined ? {} : { parentSessionId: parent });
      }
      drafts.save("a", draft("key", "paid for"));
      expect(drafts.get("other", "key")).toBeNull();
      expect(drafts.get("c", "key")).toEqual(draft("key", "paid for"));
      memory.sessions.delete("a");
      expect(drafts.get("c", "key")).toEqual(draft("key", "paid for"));
      expect(drafts.get("b", "key")).toBeNull();
      drafts.save("c", draft("late", "of the child"));
      expect(drafts.get("b", "late")).toBeNull();
    });
  });

  test("happens whole or not at all, and costs a row for each message and three for each overlay, and three more", async () => {
    await withProbe(({ memory, history, cost }) => {
      fill(history, 1, 100);
      history.overlays.add({ span: span("m2", "m10"), summary: "S" });
      history.overlays.add({ span: span("m12", "m20"), summary: "S" });
      const { rowsRead, rowsWritten } = cost(() => memory.sessions.fork("", { id: "f", atMessageId: "m100" }));
      expect(rowsWritten).toBe(100 + 2 * 3 + 3);
      expect(rowsRead).toBeLessThanOrEqual(4 * 100 + 30);
      expect(() =>
        memory.db.transaction((): void => {
          memory.sessions.fork("", { id: "g", atMessageId: "m100" });
          throw new Error("no");
        }),
      ).toThrow("no");
      expect(memory.sessions.get("g")).toBeNull();
      expect(memory.session("g").view().elements).toEqual([]);
      expect(memory.sessions.fork("", { id: "g", atMessageId: "m3" }).id).toBe("g");
      expect(ids(memory.session("g"))).toEqual(["m1", "m2", "m3"]);
    });
  });
});

describe("delete", () => {
  test("leaves no handle that remembers: the id starts anew, also through one that was held", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 10);
      history.tokens();
      memory.search.find("message");
      expect(memory.sessions.delete("")).toBe(true);
      expect(memory.sessions.delete("")).toBe(false);
      expect(history.view()).toEqual({ messages: [], tokens: 0, elements: [], leafId: null });
      expect(history.has("m1")).toBe(false);
      expect(memory.search.find("message")).toEqual([]);
      history.append(say("m1", "again"));
      expect(shown(history)).toEqual(["m1"]);
      expect(memory.sessions.get("")?.name).toBe("again");
      expect(memory.search.find("again").map((hit) => hit.id)).toEqual(["m1"]);
    });
  });

  test("writes each of the session's rows once and a few more, and nothing of the others", async () => {
    await withProbe(({ memory, reopen }) => {
      for (const id of ["a", "b"]) fill(memory.session(id), 1, 200);
      const before = memory.session("b").view();
      memory.sessions.create("first");
      memory.sessions.delete("first");
      const cold = reopen();
      const { rowsWritten } = measure(cold, () => cold.sessions.delete("a"));
      // Its messages, one page of fingerprints, its own row, and before that the last number given out.
      expect(rowsWritten).toBe(200 + 1 + 1 + 1);
      expect(cold.session("b").view()).toEqual(before);
    });
  });

  test("reads as many rows among many sessions as among few, and unlinks those that name it", async () => {
    const reads: number[] = [];
    for (const others of [20, 400]) {
      await withProbe(({ memory: { sessions }, cost }) => {
        for (let n = 0; n < others; n++) sessions.create(`other-${n}`);
        sessions.create("parent");
        sessions.create("child", undefined, { parentSessionId: "parent" });
        sessions.delete("other-0");
        reads.push(cost(() => sessions.delete("parent")).rowsRead);
        expect(sessions.get("child")?.parentSessionId).toBeNull();
        reads.push(cost(() => sessions.delete("other-1")).rowsRead);
      });
    }
    expect(reads.slice(0, 2)).toEqual(reads.slice(2));
  });

  test("a fork and a continuation keep the caller's words of where the session came from", async () => {
    await withProbe(({ memory }) => {
      memory.sessions.create("mailed", undefined, { source: "mail" });
      fill(memory.session("mailed"), 1, 3);
      const fork = memory.sessions.fork("mailed", { id: "fork", atMessageId: "m2" });
      expect(fork).toMatchObject({ source: "mail", parentSessionId: "mailed" });
      expect(fork.name).toMatch(/ \(fork\)$/);
      const again = memory.sessions.fork("fork", { id: "again", atMessageId: "m2" });
      expect(again).toMatchObject({ source: "mail" });
      expect(again.name).toMatch(/ \(fork 2\)$/);
      fill(memory.session("plain"), 1, 3);
      expect(memory.sessions.fork("plain", { id: "copy", atMessageId: "m2" }).source).toBe("fork");
      expect(memory.sessions.split("mailed", { id: "next", name: null, detailsOf: () => ({}) as never }).source).toBe(
        "mail",
      );
    });
  });
});

function range(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, n) => `m${first + n}`);
}
