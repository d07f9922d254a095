/**
 * The strata: a path as one page of writing, and the layers over it.
 *
 * Job: from what a view shows and the records of its overlays to places between 0 (the top of the page) and 1 (its end),
 * by tokens of the originals, what the model sees of them with some more room. Boundary: pure, and no content is needed: an overlay's record says what it is made of. Safe
 * with any records: one that is missing, circular or cannot be placed is told of, not drawn.
 */
import type { OverlayRecord } from "../../src/memory/overlays/record.ts";
import type { ViewElement } from "../../src/memory/messages/view.ts";

/** A piece of the conversation as it was written: a message, or a chunk under a layer. */
export interface Strip {
  readonly fromId: string;
  readonly toId: string;
  readonly from: number;
  readonly to: number;
  /** Under a layer: the model does not see it. */
  readonly hidden: boolean;
}

export interface Sheet {
  readonly overlay: OverlayRecord;
  readonly from: number;
  readonly to: number;
  /** 0 lies on the writing; each further one on what it covers. */
  readonly height: number;
  /** `shown`: a model reads it. `beneath`: in force under another one. `gone`: rolled back, or given way to an edit. */
  readonly place: "shown" | "beneath" | "gone";
}

export interface Strata {
  /** Estimated tokens of the originals on this path. */
  readonly tokens: number;
  readonly strips: readonly Strip[];
  /** The narrowest first: drawn in this order, each lies on those before it. */
  readonly sheets: readonly Sheet[];
  /** Overlays of other branches, or over messages that are no more. */
  readonly elsewhere: readonly OverlayRecord[];
}

type Found = Omit<Sheet, "height">;

/** Least share of the page for what the model sees as it was written: a long past would leave it no line. */
const SEEN_SHARE = 0.2;

export function layStrata(elements: readonly ViewElement[], overlays: readonly OverlayRecord[]): Strata {
  const plain = write(elements, overlays, 1);
  const seen = plain.strips.reduce((sum, strip) => sum + (strip.hidden ? 0 : strip.to - strip.from), 0);
  if (seen === 0 || seen >= SEEN_SHARE) return plain;
  return { ...write(elements, overlays, (SEEN_SHARE * (1 - seen)) / ((1 - SEEN_SHARE) * seen)), tokens: plain.tokens };
}

/** `room`: how much of the page a token takes that the model sees, for each of a hidden one. */
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

/** Written from top to bottom, in tokens. */
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
    // Set before its parts: a record that names itself ends here.
    this.#sheets.set(id, { overlay, from, to: from, place });
    for (const part of overlay.details.madeOf) {
      if (part.kind === "leaf") this.write({ ...part, hidden: true });
      else this.lay(part.id, "beneath");
    }
    if (this.#at === from) this.write({ ...overlay.span, tokens: overlay.spanTokens, hidden: true });
    this.#sheets.set(id, { overlay, from, to: this.#at, place });
  }

  /** Overlays that no other one names, by their ends. */
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

/** Each as low as it can lie above all narrower ones that it touches. */
function stack(found: readonly Found[]): Sheet[] {
  const laid: Sheet[] = [];
  const narrowFirst = found.toSorted((a, b) => a.to - a.from - (b.to - b.from) || a.overlay.n - b.overlay.n);
  for (const each of narrowFirst) {
    const under = laid.filter((sheet) => sheet.from < each.to && each.from < sheet.to);
    laid.push({ ...each, height: under.reduce((top, sheet) => Math.max(top, sheet.height + 1), 0) });
  }
  return laid;
}

/** A line of writing on the page. */
export interface InkLine {
  readonly at: number;
  /** 0 to 1 of the page's width. */
  readonly width: number;
  readonly hidden: boolean;
  /** First line of a strip: a little space stands before it. */
  readonly first: boolean;
}

/** `lines` lines of writing, as wide as an uneven hand writes; the last of a piece is short. The same every time. */
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

/** Where notes in the margin stand so that none covers another: near their places, in their order, `gap` apart. */
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
