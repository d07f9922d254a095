/**
 * Draws a path as one page, paler where an overlay hides it, with a note in the margin for each overlay.
 *
 * The page is decoration. The notes are buttons in the order of the page, so they work without a mouse or a picture.
 */
import { useMemo } from "react";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { ViewElement } from "../../src/memory/messages/visible.ts";
import { count, plural, short, when } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { gist } from "../reading/summary.ts";
import { inkLines, layStrata, spreadNotes, type Sheet } from "./layout.ts";

/** Pixels of a note's height in the margin, and of the smallest page. */
const NOTE = 42;
const PAGE = 460;
/** Pixels by which each overlay sticks out from under the one above it. */
const INSET = 9;
const LINES = 72;
/** Characters of a summary on its sheet. A tall sheet has room for that many. */
const SHEET_CHARS = 700;

export interface StrataProps {
  readonly elements: readonly ViewElement[];
  readonly overlays: readonly OverlayRecord[];
  readonly selected: string | null;
  readonly onSelect: (overlayId: string) => void;
}

export function StrataView({ elements, overlays, selected, onSelect }: StrataProps) {
  const strata = useMemo(() => layStrata(elements, overlays), [elements, overlays]);
  const ink = useMemo(() => inkLines(strata.strips, LINES), [strata]);
  const noted = strata.sheets.toSorted((a, b) => a.from - b.from || b.height - a.height);
  const height = Math.max(PAGE, noted.length * NOTE);
  const notes = spreadNotes(
    noted.map((sheet) => sheet.from * height),
    NOTE,
    height,
  );
  const top = Math.max(0, ...strata.sheets.map((sheet) => sheet.height));
  return (
    <div className="strata" style={{ height }}>
      <div className="leaf" style={{ marginInlineEnd: top * INSET }} aria-hidden="true">
        {ink.map((line) => (
          <i
            key={line.at}
            className={`ink ${line.hidden ? "ink-hidden" : ""} ${line.first ? "ink-first" : ""}`}
            style={{ top: `${line.at * 100}%`, width: `${line.width * 100}%` }}
          />
        ))}
        {strata.sheets.map((sheet) => (
          <SheetView
            key={sheet.overlay.id}
            sheet={sheet}
            inset={(top - sheet.height) * INSET}
            isSelected={sheet.overlay.id === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
      <ol className="margin">
        {noted.map((sheet, at) => (
          <li key={sheet.overlay.id} style={{ top: notes[at] ?? 0 }}>
            <button
              type="button"
              className={`note-button place-${sheet.place}`}
              aria-pressed={sheet.overlay.id === selected}
              data-overlay={sheet.overlay.id}
              onClick={() => onSelect(sheet.overlay.id)}
            >
              <span className="note-title">
                <b>Layer {sheet.overlay.n}</b>, {describePlace(sheet)}
              </span>
              <span className="note-size">
                {plural(sheet.overlay.spanMessages, "message")}, {short(sheet.overlay.spanTokens)} →{" "}
                {short(sheet.overlay.tokens)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </div>
  );
}

function SheetView(props: { sheet: Sheet; inset: number; isSelected: boolean; onSelect: (overlayId: string) => void }) {
  const { sheet, inset, isSelected, onSelect } = props;
  const { overlay, from, to, place } = sheet;
  const words = place === "shown" ? showInvisible(gist(overlay.summary, SHEET_CHARS)) : "";
  return (
    // For the mouse only. The keyboard uses the overlay's note in the margin.
    <button
      type="button"
      tabIndex={-1}
      className={`sheet place-${place} ${isSelected ? "sheet-selected" : ""}`}
      style={{ top: `${from * 100}%`, height: `${(to - from) * 100}%`, right: -inset }}
      title={`Layer ${overlay.n}, laid ${when(overlay.createdAt)}: ${count(overlay.spanTokens)} tokens told in ${count(overlay.tokens)}`}
      onClick={() => onSelect(overlay.id)}
    >
      <span className="sheet-words">{words}</span>
    </button>
  );
}

function describePlace({ place, overlay }: Sheet): string {
  if (place === "gone") return overlay.state === "rolled-back" ? "rolled back" : "given way";
  const level = `level ${overlay.details.level}`;
  return place === "beneath" ? `${level}, beneath` : level;
}
