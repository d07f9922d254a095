/** Overlays in views, the ones that may be added, and the ones that give way. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { errorCode } from "../../src/errors.ts";
import type { History } from "../../src/memory/messages/history.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { Span } from "../../src/steps/plan/outline.ts";
import { fill, say, shown, span, steps, withProbe } from "./probe.ts";

function add(history: History, range: Span, summary: string): OverlayRecord {
  const result = history.overlays.add({ span: range, summary });
  if (result.kind === "stale") throw new Error(`stale: ${result.reason}`);
  return result.overlay;
}

function ids(messages: readonly UIMessage[]): string[] {
  return messages.map((message) => message.id);
}

describe("the view", () => {
  test("V1: what lies before an overlay is seen, wherever the overlay begins, also after the head was deleted", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      add(history, span("m2", "m4"), "early");
      add(history, span("m6", "m7"), "late");
      expect(shown(history)).toEqual(["m1", "[early]", "m5", "[late]", "m8", "m9"]);
      history.delete(["m1"]);
      expect(shown(history)).toEqual(["[early]", "m5", "[late]", "m8", "m9"]);
      expect(history.view().messages.length).toBe(5);
    });
  });

  test("the wider overlay wins whether it came first or last; a rollback shows the narrower again", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      const narrow = add(history, span("m2", "m4"), "narrow");
      const wide = add(history, span("m2", "m8"), "wide");
      add(history, span("m5", "m8"), "same end");
      expect(shown(history)).toEqual(["m1", "[wide]", "m9"]);
      expect(history.overlays.rollback(wide.id).state).toBe("rolled-back");
      expect(shown(history)).toEqual(["m1", "[narrow]", "[same end]", "m9"]);
      history.overlays.rollback(narrow.id);
      expect(shown(history)).toEqual(["m1", "m2", "m3", "m4", "[same end]", "m9"]);
      expect(history.overlays.list().map((each) => each.state)).toEqual(["rolled-back", "rolled-back", "active"]);
    });
  });

  test("a new overlay over exactly the span of another is the one that is seen", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 5);
      add(history, span("m1", "m4"), "a longer first summary of it");
      add(history, span("m1", "m4"), "second");
      expect(shown(history)).toEqual(["[second]", "m5"]);
    });
  });

  test("an overlay is not seen from a sibling branch; one that leaves inside a wider one sees the narrower", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 8);
      add(history, span("m1", "m3"), "narrow");
      add(history, span("m1", "m6"), "wide");
      history.append(say("b1"), "m4");
      history.append(say("c1"), "m2");
      expect(shown(history, "m8")).toEqual(["[wide]", "m7", "m8"]);
      expect(shown(history, "b1")).toEqual(["[narrow]", "m4", "b1"]);
      expect(shown(history, "c1")).toEqual(["m1", "m2", "c1"]);
      expect(shown(history, "m6")).toEqual(["[wide]"]);
      expect(shown(history, "m5")).toEqual(["[narrow]", "m4", "m5"]);
    });
  });

  test("an overlay that ends inside a message leaves the rest of it, under an id of its own", async () => {
    await withProbe(({ history }) => {
      history.append(say("m1"));
      history.append(steps("turn", "one", "two", "three", "four"));
      add(history, span("m1", "turn", [0, 1]), "start");
      expect(shown(history)).toEqual(["[start]", "turn:2-"]);
      const [, rest] = history.view().messages;
      expect(rest?.parts).toEqual(steps("turn", "three", "four").parts);
      expect(history.outline()?.rows[1]).toMatchObject({ id: "turn", firstStep: 2, complete: true, texts: [2, 3] });
      expect(history.append(rest as UIMessage)).toEqual({ inserted: false, synthetic: true, message: rest });
      add(history, span("turn", "turn", [2, 2]), "more");
      expect(shown(history)).toEqual(["[start]", "[more]", "turn:3-"]);
      add(history, span("m1", "turn", [0, 2]), "both");
      expect(shown(history)).toEqual(["[both]", "turn:3-"]);
      expect(history.tokens()).toBe(history.view().tokens);
    });
  });

  test("a summary that a client echoes back is not stored; one that was never shown is refused", async () => {
    await withProbe(({ history, memory }) => {
      fill(history, 1, 5);
      add(history, span("m1", "m4"), "S");
      const view = history.view().messages;
      for (const message of view)
        expect(history.append({ ...message, parts: [...message.parts] }).inserted).toBe(false);
      for (const message of view.slice(0, 1)) {
        expect(history.upsert(message)).toEqual({ inserted: false, synthetic: true, message });
        expect(history.update(message)).toBeNull();
      }
      expect(history.view().messages).toEqual(view);
      expect(history.pathLength()).toBe(5);
      let code: string | undefined;
      try {
        memory.session("other").append(view[0] as UIMessage);
      } catch (error) {
        code = errorCode(error);
      }
      expect(code).toBe("reserved_id");
    });
  });

  test("M1: the originals under an overlay are there, in full and in order, whatever its state", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 4);
      history.append(steps("turn", "one", "two"));
      const inner = add(history, span("m2", "m3"), "inner");
      const outer = add(history, span("m2", "turn", [0, 0]), "outer");
      expect(history.overlays.expand(inner.id)).toEqual([say("m2"), say("m3")]);
      expect(ids(history.overlays.expand(outer.id))).toEqual(["m2", "m3", "m4", "palimpsest:slice:0-0:turn"]);
      history.overlays.rollback(outer.id);
      expect(history.overlays.expand(outer.id).length).toBe(4);
      expect(ids([...history.originals()])).toEqual(["m1", "m2", "m3", "m4", "turn"]);
      history.delete(["m3"]);
      expect(history.overlays.expand(inner.id)).toEqual([]);
    });
  });
});

describe("the commit fence", () => {
  test("C1: a run commits once, however often it asks and whatever became of its overlay", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 6);
      const input = {
        span: span("m1", "m4"),
        summary: "S",
        runId: "run-1",
        digest: history.spans.digest(span("m1", "m4"))?.digest ?? "",
      };
      const first = history.overlays.add(input);
      expect(first.kind).toBe("applied");
      expect(history.overlays.add({ ...input, summary: "late attempt" })).toEqual({ ...first, kind: "already" });
      if (first.kind === "applied") history.overlays.rollback(first.overlay.id);
      expect(history.overlays.add(input).kind).toBe("already");
      history.update(say("m2", "changed since"));
      history.delete(["m4"]);
      expect(history.overlays.add(input).kind).toBe("already");
      expect(shown(history).length).toBe(5);
    });
  });

  test("C3: a span that changed, was deleted, cleared or cleared and refilled is not summarised by an old summary", async () => {
    await withProbe(({ memory }) => {
      const changes: [string, (history: History) => void, string][] = [
        ["an edit", (history) => history.update(say("m2", "other")), "changed"],
        ["a delete inside", (history) => history.delete(["m2"]), "changed"],
        ["a delete of its start", (history) => history.delete(["m1"]), "gone"],
        ["a delete of its end", (history) => history.delete(["m3"]), "gone"],
        ["a clear", (history) => history.clear(), "gone"],
        ["nothing", () => undefined, ""],
        ["growth", (history) => fill(history, 7, 9), ""],
        ["another branch", (history) => history.append(say("b"), "m2"), ""],
      ];
      for (const [name, change, reason] of changes) {
        const history = memory.session(name);
        fill(history, 1, 6);
        const digest = history.spans.digest(span("m1", "m3"))?.digest ?? "";
        change(history);
        const result = history.overlays.add({ span: span("m1", "m3"), summary: "S", digest, runId: "run" });
        expect(result, name).toMatchObject(reason === "" ? { kind: "applied" } : { kind: "stale", reason });
        expect(history.overlays.list().length, name).toBe(reason === "" ? 1 : 0);
      }
    });
  });

  test("C2: overlays may lie beside or inside each other, never across; digests agree however a span is covered", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      const digest = history.spans.digest(span("m1", "m8"))?.digest ?? "";
      add(history, span("m3", "m5"), "S");
      for (const [from, to] of [
        ["m1", "m4"],
        ["m4", "m8"],
      ] as const) {
        expect(history.overlays.add({ span: span(from, to), summary: "S" })).toEqual({
          kind: "stale",
          reason: "overlap",
        });
      }
      expect(history.spans.digest(span("m1", "m8"))?.digest).toBe(digest);
      const planned = { span: span("m1", "m8"), summary: "T", digest, runId: "run-1", overlayIds: [] };
      expect(history.overlays.add(planned)).toMatchObject({ kind: "applied", rebased: true });
      const inside = { span: span("m6", "m7"), summary: "U", runId: "run-2", overlayIds: [] };
      expect(history.overlays.add(inside)).toMatchObject({ kind: "applied", rebased: true });
      expect(shown(history)).toEqual(["[T]", "m9"]);
    });
  });

  test("C3: a digest is the same whether an overlay inside ends within a message or left force, so it can be put back, in a fork too", async () => {
    await withProbe(({ history, memory }) => {
      history.append(say("m1"));
      history.append(steps("turn", "one", "two", "three"));
      history.append(say("m2"));
      const whole = span("m1", "m2");
      const digest = history.spans.digest(whole)?.digest ?? "";
      const { id: inner } = add(history, span("m1", "turn", [0, 1]), "inner");
      expect(history.spans.digest(whole)?.digest).toBe(digest);
      const { id: outer } = add(history, whole, "outer");
      history.overlays.rollback(inner);
      const fork = memory.sessions.fork("", { id: "fork", atMessageId: "m2" });
      for (const each of [history, memory.session(fork.id)]) {
        expect(each.overlays.get(outer)?.spanDigest).toBe(each.spans.sourceDigest(whole));
        each.overlays.rollback(outer);
        expect(each.overlays.restore(outer).kind).toBe("applied");
      }
    });
  });

  test("C2: an overlay of a branch does not stand in the way of one of its sibling", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 4);
      history.append(say("b1"), "m2");
      history.append(say("b2"));
      add(history, span("m2", "b1"), "B");
      expect(history.overlays.add({ span: span("m1", "m3"), summary: "M" }).kind).toBe("applied");
      expect(shown(history, "m4")).toEqual(["[M]", "m4"]);
      expect(shown(history, "b2")).toEqual(["m1", "[B]", "b2"]);
    });
  });

  test("V3: a summary that is not smaller than what it replaces is refused", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 3);
      const result = history.overlays.add({ span: span("m1", "m1"), summary: "long ".repeat(300) });
      expect(result).toEqual({ kind: "stale", reason: "larger" });
    });
  });

  test("a range that is none is refused with both of its ends named", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 4);
      history.append(say("b1"), "m2");
      const reversed = (): unknown => history.overlays.add({ span: span("m3", "m1"), summary: "S" });
      expect(reversed).toThrow(/^\[invalid_range\].*"m3".*"m1"/);
      expect(() => history.overlays.add({ span: span("m3", "b1"), summary: "S" })).toThrow(/"m3".*"b1"/);
      expect(() => history.overlays.add({ span: span("m1", "m1", [2, 1]), summary: "S" })).toThrow("[invalid_range]");
      expect(() => history.overlays.add({ span: span("m1", "m2", [5, 5]), summary: "S" })).toThrow("[invalid_range]");
      expect(() => history.overlays.add({ span: span("m1", "nobody"), summary: "S" })).toThrow(
        '[unknown_message] There is no message "nobody"',
      );
      expect(() => history.overlays.add({ span: span("m1", "m2"), summary: " \n" })).toThrow("[invalid_input]");
      expect(history.spans.digest(span("m3", "b1"))).toBeNull();
      expect(history.overlays.list()).toEqual([]);
    });
  });

  test("what the summariser is given is the messages of the span, hidden ones too, cut where the span is cut", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 3);
      history.append(steps("turn", "one", "two", "three"));
      add(history, span("m1", "m2"), "S");
      const given = history.spans.messages(span("m1", "turn", [0, 1]));
      expect(given?.map(({ id }) => id)).toEqual(["m1", "m2", "m3", "palimpsest:slice:0-1:turn"]);
      expect(history.spans.digest(span("m1", "turn", [0, 1]))).toMatchObject({ elements: 3, messages: 4 });
    });
  });
});

describe("giving way", () => {
  test("an edit or delete under overlays takes out those that cover it, on every branch, and no other", async () => {
    await withProbe(({ history }) => {
      const build = (): void => {
        history.clear();
        fill(history, 1, 9);
        add(history, span("m2", "m3"), "low");
        add(history, span("m5", "m6"), "high");
        add(history, span("m2", "m8"), "wide");
        history.append(say("b1"), "m4");
        history.append(say("b2"));
        add(history, span("m4", "b1"), "branch");
      };
      build();
      history.update(say("m5", "edited"));
      expect(shown(history, "m9")).toEqual(["m1", "[low]", "m4", "m5", "m6", "m7", "m8", "m9"]);
      expect(shown(history, "b2")).toEqual(["m1", "[low]", "[branch]", "b2"]);
      build();
      history.delete(["m4"]);
      expect(shown(history, "m9")).toEqual(["m1", "[low]", "[high]", "m7", "m8", "m9"]);
      expect(shown(history, "b2")).toEqual(["m1", "[low]", "b1", "b2"]);
      build();
      history.delete(["m2", "m6"]);
      expect(shown(history, "m9")).toEqual(["m1", "m3", "m4", "m5", "m7", "m8", "m9"]);
      build();
      history.update(say("b1", "edited"));
      expect(shown(history, "b2")).toEqual(["m1", "[low]", "m4", "b1", "b2"]);
      expect(shown(history, "m9")).toEqual(["m1", "[wide]", "m9"]);
      expect(history.view("b2").messages.some((each) => JSON.stringify(each).includes("edited"))).toBe(true);
    });
  });

  test("compaction goes on after the end of an overlay was deleted", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      add(history, span("m2", "m4"), "first");
      history.delete(["m4"]);
      expect(shown(history)).toEqual(["m1", "m2", "m3", "m5", "m6", "m7", "m8", "m9"]);
      add(history, span("m2", "m7"), "second");
      history.delete(["m1"]);
      expect(shown(history)).toEqual(["[second]", "m8", "m9"]);
    });
  });

  test("an overlay over the first steps of a message lives on while the message grows, not when they change", async () => {
    await withProbe(({ history }) => {
      history.append(say("m1"));
      history.append(steps("turn", "one", "two", "three"));
      const range = span("m1", "turn", [0, 1]);
      const digest = history.spans.digest(range)?.digest ?? "";
      history.update(steps("turn", "one", "two", "three", "four"));
      expect(history.overlays.add({ span: range, summary: "S", digest }).kind).toBe("applied");
      history.update(steps("turn", "one", "two", "three", "four", "five"));
      expect(shown(history)).toEqual(["[S]", "turn:2-"]);
      expect(history.tokens()).toBe(history.view().tokens);
      history.update(steps("turn", "one", "other", "three"));
      expect(shown(history)).toEqual(["m1", "turn"]);
      expect(history.overlays.add({ span: range, summary: "S", digest })).toMatchObject({
        kind: "stale",
        reason: "changed",
      });
    });
  });

  test("what was rolled back may be said again", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 5);
      const first = add(history, span("m1", "m4"), "S");
      expect(history.overlays.add({ span: span("m1", "m4"), summary: "S" })).toMatchObject({ kind: "already" });
      history.overlays.rollback(first.id);
      expect(add(history, span("m1", "m4"), "S").id).not.toBe(first.id);
      expect(shown(history)).toEqual(["[S]", "m5"]);
    });
  });
});
