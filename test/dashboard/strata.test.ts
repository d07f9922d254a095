/** The strata. Every layer lies over the messages that it covers, on one page, for any records. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  fillDetails,
  type OverlayDetails,
  type OverlayRecord,
  type OverlayState,
} from "../../src/memory/overlays/overlay.ts";
import type { ViewElement } from "../../src/memory/messages/visible.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { inkLines, layStrata, spreadNotes } from "../../dashboard/strata/layout.ts";

const span = (fromId: string, toId: string) => ({ fromId, fromStep: 0, toId, toStep: WHOLE_MESSAGE });
const leaf = (fromId: string, toId: string, tokens: number) =>
  ({ kind: "leaf", ...span(fromId, toId), digest: "", draftKey: "", tokens }) as const;
const message = (id: string, tokens: number): ViewElement => ({
  kind: "message",
  id,
  fromStep: 0,
  toStep: WHOLE_MESSAGE,
  tokens,
});

interface Laid {
  readonly from: string;
  readonly to: string;
  readonly madeOf?: OverlayDetails["madeOf"];
  readonly state?: OverlayState;
  readonly tokens?: number;
}

function overlay(n: number, { from, to, madeOf = [], state = "active", tokens = 100 }: Laid): OverlayRecord {
  return {
    id: `o${n}`,
    n,
    state,
    span: span(from, to),
    summary: "## Goal\n- go on",
    tokens: 10,
    spanTokens: tokens,
    spanMessages: 3,
    spanDigest: "",
    runId: null,
    details: fillDetails({ madeOf }),
    createdAt: n,
    changes: [],
  };
}

const shown = (id: string): ViewElement => ({ kind: "overlay", id, span: span("a", "b"), tokens: 10 });

describe("layers on the page", () => {
  const overlays = [
    overlay(1, { from: "b", to: "c", madeOf: [leaf("b", "c", 300)] }),
    overlay(2, { from: "b", to: "e", madeOf: [{ kind: "overlay", id: "o1" }, leaf("d", "e", 100)] }),
    overlay(3, { from: "f", to: "f", state: "rolled-back" }),
    overlay(4, { from: "x", to: "y" }),
  ];
  const strata = layStrata([message("a", 100), shown("o2"), message("f", 500)], overlays);
  const sheet = (n: number) => strata.sheets.find((each) => each.overlay.n === n);

  test("a layer that was folded in lies beneath the one that folded it, over its own messages alone", () => {
    expect(strata.tokens).toBe(1_000);
    expect(sheet(2)).toMatchObject({ from: 0.1, to: 0.5, height: 1, place: "shown" });
    expect(sheet(1)).toMatchObject({ from: 0.1, to: 0.4, height: 0, place: "beneath" });
  });

  test("one that was rolled back is drawn over the messages that show again; one of another branch is told of, not drawn", () => {
    expect(sheet(3)).toMatchObject({ from: 0.5, to: 1, height: 0, place: "gone" });
    expect(strata.elsewhere.map(({ n }) => n)).toEqual([4]);
  });

  test("records that name themselves or each other, or one that is not there, end in a page all the same", () => {
    const circular = [
      overlay(1, { from: "a", to: "b", madeOf: [{ kind: "overlay", id: "o2" }] }),
      overlay(2, {
        from: "a",
        to: "b",
        madeOf: [
          { kind: "overlay", id: "o1" },
          { kind: "overlay", id: "gone" },
        ],
      }),
    ];
    expect(layStrata([shown("o1"), shown("nobody")], circular).sheets).toHaveLength(2);
  });

  test("what the model sees keeps a fifth of the page, however long the past is", () => {
    const long = [overlay(1, { from: "a", to: "b", madeOf: [leaf("a", "b", 1_000_000)] })];
    const { strips, tokens } = layStrata([shown("o1"), message("c", 100)], long);
    expect(tokens).toBe(1_000_100);
    expect(strips.at(-1)?.from).toBeCloseTo(0.8, 5);
  });
});

test("any view lies on one page: strips side by side from 0 to 1, sheets inside it, none at the height of one that it touches", () => {
  const part = fc.record({ tokens: fc.nat(5_000), layers: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 30 }), (parts) => {
      const overlays: OverlayRecord[] = [];
      const elements = parts.map(({ tokens, layers }, at): ViewElement => {
        if (layers === 0) return message(`m${at}`, tokens);
        let madeOf: OverlayDetails["madeOf"] = [leaf(`m${at}`, `m${at}z`, tokens)];
        for (let layer = 0; layer < layers; layer++) {
          const laid = overlay(overlays.length + 1, { from: `m${at}`, to: `m${at}z`, madeOf });
          overlays.push(laid);
          madeOf = [{ kind: "overlay", id: laid.id }];
        }
        return shown(overlays.at(-1)?.id ?? "");
      });
      const { strips, sheets, elsewhere } = layStrata(elements, overlays);
      expect(elsewhere).toEqual([]);
      expect(strips).toHaveLength(parts.length);
      for (const [at, strip] of strips.entries()) expect(strip.from).toBeCloseTo(strips[at - 1]?.to ?? 0, 9);
      expect(strips.at(-1)?.to).toBeCloseTo(1, 9);
      for (const one of sheets) {
        expect(one.from).toBeGreaterThanOrEqual(0);
        expect(one.to).toBeLessThanOrEqual(1 + 1e-9);
        const beside = sheets.filter((each) => each !== one && each.from < one.to && one.from < each.to);
        expect(beside.map(({ height }) => height)).not.toContain(one.height);
      }
      const lines = inkLines(strips, 40);
      expect(lines).toHaveLength(40);
      for (const { width } of lines) expect(width).toBeLessThanOrEqual(1);
    }),
  );
});

test("notes in the margin never cover each other and never leave the page, as long as they fit on it", () => {
  const places = fc.array(fc.integer({ min: 0, max: 1_000 }), { maxLength: 20 });
  fc.assert(
    fc.property(places, (unsorted) => {
      const sorted = unsorted.toSorted((a, b) => a - b);
      const notes = spreadNotes(sorted, 40, 1_000);
      for (const [at, note] of notes.entries()) {
        expect(note).toBeGreaterThanOrEqual(at === 0 ? 0 : (notes[at - 1] ?? 0) + 40);
        expect(note).toBeLessThanOrEqual(960);
      }
    }),
  );
});
