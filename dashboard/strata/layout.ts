/**
 * Lays out a path and its overlays for the picture in strata.tsx.
 *
 * It maps a view and the records of its overlays to places between 0 (the top of the page) and 1 (its end), in proportion to the originals'
 * tokens. The visible part gets some more room. It is pure and needs no content, because an overlay's record lists its parts. Any records
 * are safe. One that is missing or circular, or has no place, is left out of the picture.
 */
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { ViewElement } from "../../src/memory/messages/visible.ts";

/** A piece of the original conversation, which is a message or a chunk under an overlay. */
export interface Strip {
  readonly fromId: string;
  readonly toId: string;
  readonly from: number;
  readonly to: number;
  /** True under an overlay. The model does not see it. */
  readonly hidden: boolean;
}

export interface Sheet {
  readonly overlay: OverlayRecord;
  readonly from: number;
  readonly to: number;
  /** 0 for an overlay directly on messages. Each overlay is one above those that it covers. */
  readonly height: number;
  /**
   * `shown` overlays are read by a model. `beneath` ones are in force under another one. `gone` ones were rolled back or invalidated by an
   * edit.
   */
  readonly place: "shown" | "beneath" | "gone";
}

export interface Strata {
  /** Estimated tokens of the originals on this path. */
  readonly tokens: number;
  readonly strips: readonly Strip[];
  /** The narrowest first. Drawn in this order, each covers the earlier ones. */
  readonly sheets: readonly Sheet[];
  /** Overlays of other branches, or over messages that no longer exist. */
  readonly elsewhere: readonly OverlayRecord[];
}

type Found = Omit<Sheet, "height">;

/** Least share of the page for visible messages. Without it, a long hidden past would leave them no line. */
const SEEN_SHARE = 0.2;

export function layStrata(elements: readonly ViewElement[], overlays: readonly OverlayRecord[]): Strata {
  const plain = write(elements, overlays, 1);
  const seen = plain.strips.reduce((sum, strip) => sum + (strip.hidden ? 0 : strip.to - strip.from), 0);
  if (seen === 0 || seen >= SEEN_SHARE) return plain;
  return { ...write(elements, overlays, (SEEN_SHARE * (1 - seen)) / ((1 - SEEN_SHARE) * seen)), tokens: plain.tokens };
}

/** `room` is the height of a visible token as a multiple of a hidden token's height. */
function write(elements: readonly ViewElement[], overlays: readonly OverlayRecord[], room: number): Strata {
  const page = new Page(overlays);
  for (const element of elements) {
    if (element.kind === "message")
      page.write({ fromId: element.id, toId: element.id, tokens: element.tokens * room, hidden: false });
    else page.lay(element.id, "shown");
  }
  page.placeOthers();
  return page.finish();
}

/** Builds the page from top to bottom, in tokens. */
class Page {
  readonly #records: ReadonlyMap<string, OverlayRecord>;
  readonly #strips: Strip[] = [];
  readonly #sheets = new Map<string, Found>();
  #at = 0;

  constructor(overlays: readonly OverlayRecord[]) {
    this.#records = new Map(overlays.map((overlay) => [overlay.id, overlay]));
  }

  write(piece: { fromId: string; toId: string; tokens: number; hidden: boolean }): void {
    const { tokens, ...strip } = piece;
    const from = this.#at;
    this.#at += Math.max(1, tokens);
    this.#strips.push({ ...strip, from, to: this.#at });
  }

  lay(id: string, place: Found["place"]): void {
    const overlay = this.#records.get(id);
    if (overlay === undefined || this.#sheets.has(id)) return;
    const from = this.#at;
    // Set before its parts, so that a record that contains itself ends here.
    this.#sheets.set(id, { overlay, from, to: from, place });
    for (const part of overlay.details.madeOf) {
      if (part.kind === "leaf") this.write({ ...part, hidden: true });
      else this.lay(part.id, "beneath");
    }
    if (this.#at === from) this.write({ ...overlay.span, tokens: overlay.spanTokens, hidden: true });
    this.#sheets.set(id, { overlay, from, to: this.#at, place });
  }

  /** Places the overlays that no other one contains, by their ends. */
  placeOthers(): void {
    for (const overlay of this.#records.values()) {
      if (this.#sheets.has(overlay.id)) continue;
      const from = this.#strips.find((strip) => strip.fromId === overlay.span.fromId)?.from;
      const to = this.#strips.findLast((strip) => strip.toId === overlay.span.toId)?.to;
      if (from === undefined || to === undefined || to <= from) continue;
      this.#sheets.set(overlay.id, { overlay, from, to, place: overlay.state === "active" ? "beneath" : "gone" });
    }
  }

  finish(): Strata {
    const tokens = Math.max(1, this.#at);
    const share = <T extends { from: number; to: number }>(each: T): T => ({
      ...each,
      from: each.from / tokens,
      to: each.to / tokens,
    });
    const elsewhere = [...this.#records.values()].filter((overlay) => !this.#sheets.has(overlay.id));
    return {
      tokens: this.#at,
      strips: this.#strips.map(share),
      sheets: stack([...this.#sheets.values()]).map(share),
      elsewhere,
    };
  }
}

/** Gives each overlay the lowest height above all narrower ones that it touches. */
function stack(found: readonly Found[]): Sheet[] {
  const laid: Sheet[] = [];
  const narrowFirst = found.toSorted((a, b) => a.to - a.from - (b.to - b.from) || a.overlay.n - b.overlay.n);
  for (const each of narrowFirst) {
    const under = laid.filter((sheet) => sheet.from < each.to && each.from < sheet.to);
    laid.push({ ...each, height: under.reduce((top, sheet) => Math.max(top, sheet.height + 1), 0) });
  }
  return laid;
}

/** A drawn line of the page. */
export interface InkLine {
  readonly at: number;
  /** Share of the page's width, from 0 to 1. */
  readonly width: number;
  readonly hidden: boolean;
  /** True for the first line of a strip, which has a little space before it. */
  readonly first: boolean;
}

/** Returns `lines` lines of uneven width. The last line of a strip is short. The result is always the same. */
export function inkLines(strips: readonly Strip[], lines: number): InkLine[] {
  let before: Strip | undefined;
  return Array.from({ length: lines }, (_, n) => (n + 0.5) / lines).flatMap((at, n) => {
    const strip = strips.find((each) => at >= each.from && at < each.to) ?? strips.at(-1);
    if (strip === undefined) return [];
    const first = strip !== before;
    before = strip;
    const last = at + 1 / lines >= strip.to;
    const uneven = ((n * 2_654_435_761) % 1_000) / 1_000;
    return [{ at, width: last ? 0.25 + 0.45 * uneven : 0.86 + 0.14 * uneven, hidden: strip.hidden, first }];
  });
}

/**
 * Returns positions for notes in the margin so that none covers another. They keep their order, stay near their places and are `gap` apart.
 */
export function spreadNotes(places: readonly number[], gap: number, height: number): number[] {
  const notes: number[] = [];
  for (const place of places) notes.push(Math.max(place, (notes.at(-1) ?? Number.NEGATIVE_INFINITY) + gap));
  let limit = height - gap;
  for (let at = notes.length - 1; at >= 0; at--) {
    notes[at] = Math.min(notes[at] ?? 0, limit);
    limit = (notes[at] ?? 0) - gap;
  }
  return notes;
}
