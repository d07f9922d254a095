/** Undo, redo, past views and the messages under summaries. An earlier view can be shown again, except for messages that changed since. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { NOTHING_PINNED } from "../../src/facts/fact.ts";
import type { History } from "../../src/memory/messages/history.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { listReplaced } from "../../src/memory/overlays/overlays.ts";
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

/** A past view as short words, with ids and `[summary]` for an overlay. */
function past(history: History, overlayId: string): string[] {
  const view = history.overlays.viewAsOf(overlayId);
  return view.elements.map((element) => {
    if (element.kind === "message") return element.id;
    return view.changed.includes(element.id) ? "[withheld]" : `[${history.overlays.get(element.id)?.summary ?? "?"}]`;
  });
}

function replacedBy({ overlays }: History, overlayId: string) {
  return listReplaced(overlays, overlays.mustGetRow(overlayId));
}

describe("the view as of an overlay", () => {
  test("is the view that there was right after it came into force, whatever came later", async () => {
    await withProbe(({ history, reopen }) => {
      fill(history, 1, 4);
      const then: [OverlayRecord, string[], UIMessage[]][] = [];
      const remember = (overlay: OverlayRecord): void =>
        void then.push([overlay, shown(history), history.view().messages]);
      remember(add(history, span("m1", "m2"), "one"));
      fill(history, 5, 8);
      remember(add(history, span("m4", "m6"), "two"));
      history.overlays.rollback(then[0]?.[0].id ?? "");
      fill(history, 9, 12);
      remember(add(history, span("m1", "m8"), "three"));
      history.overlays.restore(then[0]?.[0].id ?? "");
      history.overlays.rollback(then[2]?.[0].id ?? "");
      fill(history, 13, 14);
      remember(add(history, span("m9", "m11"), "four"));
      history.overlays.rollback(then[0]?.[0].id ?? "");
      for (const at of [history, reopen().session("")]) {
        for (const [overlay, words, messages] of then) {
          expect(past(at, overlay.id)).toEqual(words);
          expect(at.overlays.viewAsOf(overlay.id)).toMatchObject({ messages, changed: [], asOf: { n: overlay.n } });
        }
      }
      expect(then.map(([, words]) => words.join(" "))).toEqual([
        "[one] m3 m4",
        "[one] m3 [two] m7 m8",
        "[three] m9 m10 m11 m12",
        "[one] m3 [two] m7 m8 [four] m12 m13 m14",
      ]);
    });
  });

  test("is of the overlay's own branch", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 6);
      history.append(say("b1"), "m3");
      history.append(say("b2"));
      history.append(say("m7"), "m6");
      const branch = add(history, span("m1", "b1"), "branch");
      const main = add(history, span("m2", "m5"), "main");
      history.append(say("b3"), "b2");
      expect(past(history, branch.id)).toEqual(["[branch]", "b2"]);
      expect(past(history, main.id)).toEqual(["m1", "[main]", "m6", "m7"]);
      expect(history.overlays.viewAsOf(branch.id).leafId).toBe("b2");
    });
  });

  test("shows no summary over what was edited or deleted since, names it, and marks its place", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      const pinned = {
        ...NOTHING_PINNED,
        instructions: [{ quote: "a secret rule", messageId: "m3" }],
      };
      const added = history.overlays.add({ span: span("m2", "m3"), summary: "secret inner", details: { pinned } });
      const inner = added.kind === "stale" ? expect.fail(added.reason) : added.overlay;
      expect(JSON.stringify(history.overlays.viewAsOf(inner.id).messages)).toContain("a secret rule");
      const other = add(history, span("m6", "m7"), "other");
      const outer = add(history, span("m2", "m7"), "secret outer");
      history.update(say("m3", "edited"));
      expect(past(history, outer.id)).toEqual(["m1", "[withheld]", "m8", "m9"]);
      expect(past(history, other.id)).toEqual(["m1", "[withheld]", "m4", "m5", "[other]", "m8", "m9"]);
      for (const each of [inner, other, outer]) {
        const view = history.overlays.viewAsOf(each.id);
        expect(JSON.stringify(view.messages)).not.toContain("secret");
        expect(view.changed).toEqual([each.id === outer.id ? outer.id : inner.id]);
      }
      history.overlays.rollback(other.id);
      history.delete(["m6"]);
      // The end of the span is gone. Nothing marks the place, the remaining messages show, and the overlay is named.
      expect(past(history, other.id)).toEqual(["m1", "[withheld]", "m4", "m5", "m7", "m8", "m9"]);
      expect(history.overlays.viewAsOf(other.id).changed.toSorted()).toEqual([inner.id, other.id].toSorted());
      history.clear();
      expect(() => history.overlays.viewAsOf(other.id)).toThrow("[unknown_overlay]");
    });
  });
});

describe("restore", () => {
  test("brings back in a fork what lay over one that had left force, whole or within a message, and not after an edit (C3)", async () => {
    await withProbe(({ memory, history }) => {
      fill(history, 1, 4);
      history.append(steps("turn", "one", "two", "three"));
      fill(history, 5, 9);
      const inner = add(history, span("m2", "turn", [0, 1]), "inner");
      const outer = add(history, span("m2", "m6"), "outer");
      history.overlays.rollback(inner.id);
      memory.sessions.fork(history.sessionId, { id: "fork", atMessageId: "m8" });
      const fork = memory.session("fork");
      expect(fork.overlays.list().map(({ id }) => id)).toEqual([outer.id]);
      const before = fork.view();
      fork.overlays.rollback(outer.id);
      expect(fork.overlays.get(outer.id)?.summary).toBe("outer");
      expect(fork.overlays.restore(outer.id)).toMatchObject({ kind: "applied" });
      expect(fork.view()).toEqual(before);
      fork.overlays.rollback(outer.id);
      fork.update(say("m5", "edited"));
      expect(fork.overlays.restore(outer.id)).toEqual({ kind: "stale", reason: "changed" });
      // The session that was forked has all that it had.
      history.overlays.rollback(outer.id);
      expect(history.overlays.restore(outer.id)).toMatchObject({ kind: "applied" });
    });
  });

  test("brings back what was rolled back or gave way, as long as its source is what it was (C3)", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      history.append(steps("turn", "one", "two", "three"));
      const narrow = add(history, span("m2", "m4"), "narrow");
      const wide = add(history, span("m2", "turn", [0, 1]), "wide");
      expect(history.overlays.restore(wide.id)).toMatchObject({ kind: "already" });
      const before = history.view();
      history.overlays.rollback(narrow.id);
      history.overlays.rollback(wide.id);
      expect(history.overlays.restore(wide.id)).toMatchObject({ kind: "applied", overlay: { state: "active" } });
      expect(history.view()).toEqual(before);
      expect(history.tokens()).toBe(before.tokens);
      history.update(say("m8", "edited"));
      expect(history.overlays.restore(wide.id)).toEqual({ kind: "stale", reason: "changed" });
      history.update(say("m8"));
      expect(history.overlays.restore(wide.id).kind).toBe("applied");
      expect(history.overlays.get(wide.id)?.changes.map((change) => change.state)).toEqual([
        "rolled-back",
        "active",
        "invalidated",
        "active",
      ]);
      expect(history.overlays.restore(narrow.id)).toMatchObject({ kind: "applied", rebased: true });
      expect(history.view()).toEqual(before);
    });
  });

  test("is refused by the fence of any commit: edited, deleted, crossed, larger; nothing changes (C2, C3, V3)", async () => {
    await withProbe(({ memory }) => {
      const cases: [string, (history: History) => void, object][] = [
        ["edited", (history) => history.update(say("m3", "edited")), { kind: "stale", reason: "changed" }],
        ["deleted inside", (history) => history.delete(["m3"]), { kind: "stale", reason: "changed" }],
        ["deleted end", (history) => history.delete(["m4"]), { kind: "stale", reason: "gone" }],
        ["crossed", (history) => add(history, span("m4", "m6"), "X"), { kind: "stale", reason: "overlap" }],
        ["larger", (history) => add(history, span("m2", "m4"), "X"), { kind: "stale", reason: "larger" }],
        ["wider", (history) => add(history, span("m1", "m6"), "X"), { kind: "applied", rebased: true }],
        [
          "beneath",
          (history) => add(history, span("m2", "m3"), "It could be shorter. ".repeat(6)),
          { kind: "applied" },
        ],
        ["grown", (history) => fill(history, 9, 11), { kind: "applied" }],
      ];
      for (const [name, change, result] of cases) {
        const history = memory.session(name);
        fill(history, 1, 8);
        const overlay = add(history, span("m2", "m4"), "the summary that is restored");
        history.overlays.rollback(overlay.id);
        change(history);
        const before = history.view();
        const restored = history.overlays.restore(overlay.id);
        expect(restored, name).toMatchObject(result);
        if (restored.kind === "stale") expect(history.view(), name).toEqual(before);
        expect(history.view().tokens, name).toBeLessThanOrEqual(before.tokens);
        expect(history.tokens(), name).toBe(history.view().tokens);
      }
      expect(() => memory.session("edited").overlays.restore("nobody")).toThrow("[unknown_overlay]");
    });
  });

  test("S1: knows no overlay of another session", async () => {
    await withProbe(({ history, memory }) => {
      fill(history, 1, 5);
      const { id } = add(history, span("m1", "m3"), "S");
      const other = memory.session("other");
      fill(other, 1, 5);
      for (const call of ["restore", "viewAsOf", "expand", "rollback"] as const) {
        expect(() => other.overlays[call](id)).toThrow("[unknown_overlay]");
      }
    });
  });
});

describe("beneath an overlay", () => {
  test("M1: its originals are paged in order, each exactly once, whatever the size of a page", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 20);
      history.append(steps("turn", "one", "two", "three"));
      const inner = add(history, span("m3", "m9"), "inner");
      const outer = add(history, span("m2", "turn", [0, 1]), "outer");
      const all = history.overlays.expand(outer.id);
      expect(ids(all)).toEqual([...Array.from({ length: 19 }, (_, n) => `m${n + 2}`), "palimpsest:slice:0-1:turn"]);
      for (const limit of [1, 3, 20, 100]) {
        const read: UIMessage[] = [];
        for (let page: UIMessage[] = [], after: string | undefined; ; after = page.at(-1)?.id) {
          page = history.overlays.expand(outer.id, { limit, after });
          read.push(...page);
          if (page.length < limit) break;
        }
        expect(read).toEqual(all);
      }
      expect(history.overlays.expand(inner.id, { limit: 2, after: "m8" })).toEqual([say("m9")]);
      expect(() => history.overlays.expand(outer.id, { after: "m1" })).toThrow(
        '[unknown_message] There is no "m1" under',
      );
      expect(() => history.overlays.expand(outer.id, { limit: 0 })).toThrow("[invalid_options]");
      expect(() => history.overlays.expand(outer.id, { depth: 1.5 })).toThrow("[invalid_options]");
    });
  });

  test("one layer at a time: the narrower overlays stand as their summaries, the older one under its own successor", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 9);
      add(history, span("m2", "m3"), "low");
      const old = add(history, span("m2", "m7"), "an older and longer summary of it");
      const middle = add(history, span("m2", "m7"), "middle");
      const top = add(history, span("m1", "m8"), "top");
      const layer = (id: string, depth?: number): string[] =>
        history.overlays.expand(id, { depth }).map((message) => {
          const overlay = history.overlays.list().find((each) => message.id.endsWith(each.id));
          return overlay === undefined ? message.id : `[${overlay.summary}]`;
        });
      expect(layer(top.id, 1)).toEqual(["m1", "[middle]", "m8"]);
      expect(layer(middle.id, 1)).toEqual([`[${old.summary}]`]);
      expect(layer(top.id, 3)).toEqual(["m1", "[low]", "m4", "m5", "m6", "m7", "m8"]);
      expect(layer(top.id, 4)).toEqual(ids(history.overlays.expand(top.id)));
      const [, shownSummary] = history.overlays.expand(top.id, { depth: 1, limit: 2 });
      expect(ids(history.overlays.expand(top.id, { depth: 1, after: shownSummary?.id }))).toEqual(["m8"]);
      history.overlays.rollback(middle.id);
      expect(layer(top.id, 1)).toEqual(["m1", `[${old.summary}]`, "m8"]);
    });
  });

  test("what an overlay replaced is known, as it was when it came", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 12);
      const one = add(history, span("m2", "m3"), "one");
      const two = add(history, span("m5", "m6"), "two");
      const wide = add(history, span("m1", "m8"), "wide");
      history.overlays.rollback(one.id);
      add(history, span("m2", "m4"), "later");
      expect(replacedBy(history, wide.id)?.map(({ overlayId }) => overlayId)).toEqual([one.id, two.id]);
      expect(replacedBy(history, one.id)).toEqual([]);
      history.delete(["m8"]);
      expect(replacedBy(history, wide.id)).toBeNull();
    });
  });
});
