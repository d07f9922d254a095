/** Masks of a conversation that is edited, shortened and branched: which words leave, and which stubs stay as they are. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { errorCode } from "../../src/errors.ts";
import type { History } from "../../src/memory/messages/history.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { tries } from "../tries.ts";
import { calls, detailsOf, hide, mask, masksOf, namesIn, tagsIn, text, work } from "./masked.ts";
import { measure, say, span, withProbe, type Probe } from "./probe.ts";

/** A mask over four messages, of which a summary hides the last two. Then an edit takes the names, and they are chosen anew. */
function renewBeforeSummary(history: History): void {
  for (const id of ["z", "a", "b", "c"]) history.append(work(id, 2));
  mask(history);
  for (const id of ["u", "v", "w"]) history.append(say(id));
  expect(hide(history, span("b", "c"))).toBe("applied");
  history.update(work("z", 2, 9));
  history.masks.renewNames(300);
  expect(namesIn(history)).not.toBe("");
}

test.each([
  ["deleted", (history: History) => history.delete(["b", "c"]), /parser[bc]s/],
  ["edited", (history: History) => history.update(work("b", 2, 20)), /parserbs[01]k/],
] as const)(
  "S2: words of an output that is %s leave, though a summary hid it when the names were chosen",
  async (_, change, gone) => {
    await withProbe(({ history, storage }) => {
      renewBeforeSummary(history);
      change(history);
      expect(JSON.stringify(masksOf(storage))).not.toMatch(gone);
    });
  },
);

test("a summary that is rolled back leaves stubs behind, though the names were chosen without them", async () => {
  await withProbe(({ history }) => {
    renewBeforeSummary(history);
    const [overlay] = history.overlays.list();
    history.overlays.rollback(overlay?.id ?? "");
    expect(text(history)).not.toMatch(/const parser[bc]s/);
    expect(history.tokens()).toBe(history.view().tokens);
  });
});

test("a branch keeps its stubs when the names of another are chosen anew", async () => {
  await withProbe(({ history }) => {
    for (const id of ["z", "a", "b"]) history.append(work(id, 2));
    mask(history);
    for (const id of ["c", "d"]) history.append(work(id, 2));
    mask(history);
    history.append(say("other"), "b");
    history.append(say("u"), "d");
    history.append(say("v"));
    expect(hide(history, span("b", "d"))).toBe("applied");
    history.update(work("z", 2, 9));
    const before = history.view("other");
    for (const id of ["w", "x"]) {
      history.masks.renewNames(300);
      history.append(say(id));
    }
    expect(history.view("other")).toEqual(before);
  });
});

test("a branch keeps the names that a summary of another hides", async () => {
  await withProbe(({ history }) => {
    for (const id of ["a", "b", "c", "d"]) history.append(work(id, 2));
    mask(history);
    history.append(say("other"), "d");
    history.append(say("u"), "d");
    history.append(say("v"));
    expect(hide(history, { ...span("c", "v"), toStep: WHOLE_MESSAGE })).toBe("applied");
    const before = history.view("other");
    expect(JSON.stringify(before)).toMatch(/parser[abcd]s/);
    history.masks.renewNames(300);
    expect(history.view("other")).toEqual(before);
  });
});

test("a branch keeps its stubs and names when messages of another are deleted, and so does its child", async () => {
  await withProbe(({ history, memory }) => {
    for (const id of ["a", "b"]) history.append(work(id, 2));
    // These words are in view, so the stubs of this branch are other ones.
    history.append(say("u", "parseras0k5 parseras0k6 parserbs0k5 parserbs0k6"));
    history.append(work("old", 2));
    mask(history);
    history.append(work("new", 2), "b");
    mask(history);
    const before = text(history);
    history.delete(["old", "u"]);
    expect(text(history)).toBe(before);
    memory.sessions.split("", { id: "child", name: null, detailsOf });
    expect(text(memory.session("child"))).toBe(before);
  });
});

test("names that a change took are chosen anew in the child of a split, too", async () => {
  await withProbe(({ history, memory }) => {
    for (const id of ["a", "b", "c"]) history.append(work(id, 2));
    mask(history);
    for (const id of ["u", "v"]) history.append(say(id));
    history.update(work("a", 2, 9));
    expect(namesIn(history)).toBe("");
    memory.sessions.split("", { id: "child", name: null, detailsOf });
    const child = memory.session("child");
    expect(namesIn(child)).toBe("");
    child.masks.renewNames(300);
    expect(namesIn(child)).not.toBe("");
  });
});

test.each([
  ["the message", 1, WHOLE_MESSAGE],
  ["a part of the message", 0.93, 1],
])(
  "where a summary hides %s with the names, they are chosen anew for the stubs that it left, in one row, also in the child of a split",
  async (_, share, toStep) => {
    await withProbe(({ history, memory, storage }) => {
      for (const id of ["a", "b", "c", "d", "e"]) history.append(work(id, 3));
      mask(history, share);
      for (const id of ["u", "v", "w"]) history.append(say(id));
      expect(hide(history, { ...span("d", "e"), toStep })).toBe("applied");
      expect([...tagsIn(namesIn(history))]).toEqual([]);
      memory.sessions.fork("", { id: "parent", atMessageId: "w" });
      memory.sessions.split("parent", { id: "child", name: null, detailsOf });
      for (const [id, each] of [
        ["", history],
        ["child", memory.session("child")],
      ] as const) {
        each.masks.renewNames(300);
        expect(namesIn(each)).toMatch(/parser[abc]s/);
        expect(namesIn(each)).not.toMatch(/parser[de]s/);
        expect(each.tokens()).toBe(each.view().tokens);
        const stored = masksOf(storage, id);
        expect(stored).toHaveLength(1);
        // The first append loads what later ones need.
        each.append(say("next"));
        each.masks.renewNames(300);
        const cost = measure(memory, () => {
          each.append(say("after"));
          each.masks.renewNames(300);
        });
        expect(cost).toEqual({ rowsRead: 0, rowsWritten: 1 });
        expect(masksOf(storage, id)).toEqual(stored);
      }
    });
  },
);

test("names are chosen once where summaries hide every line, and an append then reads and writes no mask", async () => {
  await withProbe(({ history, memory, storage }) => {
    for (const id of ["a", "b"]) history.append(work(id, 2));
    mask(history);
    for (const id of ["c", "d"]) history.append(work(id, 2));
    mask(history);
    for (const id of ["u", "v", "w"]) history.append(say(id));
    expect(hide(history, span("b", "b"))).toBe("applied");
    expect(hide(history, span("d", "d"))).toBe("applied");
    history.delete(["c"]);
    expect(namesIn(history)).toBe("");
    history.masks.renewNames(300);
    expect(namesIn(history)).not.toBe("");
    const stored = masksOf(storage);
    history.masks.rented();
    for (let n = 0; n < 3; n++) {
      const cost = measure(memory, () => {
        history.append(say(`m${n}`));
        history.masks.renewNames(300);
      });
      expect(cost).toEqual({ rowsRead: 0, rowsWritten: 1 });
    }
    expect(masksOf(storage)).toEqual(stored);
  });
});

test("names stand beside the last stub where the outputs behind it stay whole", async () => {
  await withProbe(({ history }) => {
    for (const id of ["a", "b", "c", "d"]) history.append(work(id, 2));
    const view = history.masks.rented();
    if (view === null) throw new Error("There is no view.");
    history.masks.mask(view, { toStep: 5, namesTokens: 300, whole: span("c", "c") });
    expect(JSON.stringify(history.view().messages[1])).toContain("Words of outputs");
    expect(history.tokens()).toBe(history.view().tokens);
  });
});

test("a reply that grows on one branch writes no mask of another", async () => {
  await withProbe(({ history, memory, storage }) => {
    history.append(say("u"));
    history.append(work("slow"));
    history.append(say("v"), "u");
    for (let n = 0; n < 5; n++) {
      history.append(work(`w${n}`));
      mask(history);
    }
    const before = masksOf(storage);
    const cost = measure(memory, () => history.update(work("slow", 2)));
    expect(cost.rowsWritten).toBe(1);
    expect(masksOf(storage)).toEqual(before);
  });
});

interface Act {
  readonly kind: "append" | "mask" | "hide" | "edit" | "delete" | "rollback" | "branch";
  readonly at: number;
  readonly count: number;
  readonly way: number;
}

/** A conversation of tool outputs, and the outputs that it has no more. */
class Talk {
  readonly #history: History;
  readonly #outputs = new Map<string, readonly number[]>();
  readonly gone = new Set<string>();
  #made = 0;

  constructor(history: History) {
    this.#history = history;
  }

  play({ kind, at, count, way }: Act): void {
    const ids = [...this.#outputs.keys()];
    const id = ids[at % Math.max(ids.length, 1)];
    const history = this.#history;
    if (kind === "append" || id === undefined) this.#append(count);
    else if (kind === "branch") this.#append(count, id);
    else if (kind === "mask") mask(history, count / 4);
    else if (kind === "edit") this.#edit(id, { at, way });
    else if (kind === "delete") {
      this.#drop(id, this.#outputs.get(id) ?? []);
      this.#outputs.delete(id);
      history.delete([id]);
    } else if (kind === "rollback") {
      const active = history.overlays.list().filter(({ state }) => state === "active");
      const overlay = active[at % Math.max(active.length, 1)];
      if (overlay !== undefined) history.overlays.rollback(overlay.id);
    } else {
      const last = ids[(at % ids.length) + count - 1] ?? id;
      hide(history, span(id, last, [way % 2, way === 0 ? 1 : WHOLE_MESSAGE]));
    }
  }

  #append(count: number, parentId?: string): void {
    const id = `m${this.#made}`;
    const outputs = Array.from({ length: count }, () => this.#made++);
    this.#history.append(calls(id, outputs), parentId);
    this.#outputs.set(id, outputs);
  }

  /** Writes one output anew, adds one, or removes the last. */
  #edit(id: string, { at, way }: { readonly at: number; readonly way: number }): void {
    const outputs = this.#outputs.get(id) ?? [];
    const own = at % outputs.length;
    const shorter = outputs.length > 1 ? outputs.slice(0, -1) : outputs;
    const next = way === 0 ? outputs.with(own, this.#made++) : way === 1 ? [...outputs, this.#made++] : shorter;
    this.#drop(
      id,
      outputs.filter((output) => !next.includes(output)),
    );
    this.#outputs.set(id, next);
    this.#history.update(calls(id, next));
  }

  #drop(id: string, outputs: readonly number[]): void {
    for (const output of outputs) this.gone.add(`parser${id}s${output}`);
  }
}

const acts = fc.array(
  fc.record<Act>({
    kind: fc.oneof(
      { weight: 7, arbitrary: fc.constant("append" as const) },
      { weight: 4, arbitrary: fc.constant("mask" as const) },
      { weight: 3, arbitrary: fc.constant("edit" as const) },
      { weight: 2, arbitrary: fc.constantFrom("hide" as const, "delete" as const) },
      { weight: 1, arbitrary: fc.constantFrom("rollback" as const, "branch" as const) },
    ),
    at: fc.nat(30),
    count: fc.integer({ min: 1, max: 4 }),
    way: fc.nat(2),
  }),
  { minLength: 20, maxLength: 50, size: "max" },
);

/** The masks of a session have words only of outputs that it holds. */
function mustHold({ storage, memory }: Probe, sessionId: string): void {
  const session = memory.session(sessionId);
  const held = tagsIn(JSON.stringify([session.view().messages, ...session.originals()]));
  for (const tag of tagsIn(JSON.stringify(masksOf(storage, sessionId)))) expect(held).toContain(tag);
}

test.each([true, false])(
  "S2, V1: so it is for any changes (names are chosen anew: %s), in a fork and in the child of a split",
  async (renews) => {
    await fc.assert(
      fc.asyncProperty(acts, fc.nat(30), (played, forkAt) =>
        withProbe((probe) => {
          const { history, memory, storage, reopen } = probe;
          const talk = new Talk(history);
          for (const act of played) {
            try {
              talk.play(act);
            } catch (error) {
              expect(["unknown_message", "invalid_range"]).toContain(errorCode(error));
            }
            if (renews) history.masks.renewNames(300);
            expect(history.tokens()).toBe(history.view().tokens);
            for (const tag of tagsIn(JSON.stringify(masksOf(storage)))) expect(talk.gone).not.toContain(tag);
          }
          const shown = history.view();
          expect(reopen().session("").view()).toEqual(shown);
          const path = [...history.originals()];
          const at = path[forkAt % Math.max(path.length, 1)];
          if (at === undefined) return;
          memory.sessions.fork("", { id: "fork", atMessageId: at.id });
          mustHold(probe, "fork");
          memory.sessions.split("", { id: "child", name: null, detailsOf });
          const { messages, tokens } = shown;
          expect(memory.session("child").view()).toMatchObject({ messages, tokens });
          mustHold(probe, "child");
        }),
      ),
      { numRuns: tries(150) },
    );
  },
);
