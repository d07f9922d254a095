/**
 * Draws the overlays over the path as layers. The messages lie at the bottom, each overlay is a band above the messages that it replaces,
 * and wider bands lie above narrower ones. Messages that the model still sees are solid.
 */
import { createPaint, type Paint } from "./paint.ts";
import { clip, columns, pad } from "./text.ts";

export interface Stratum {
  /** First and last message that the overlay replaces, counted from 0. */
  readonly from: number;
  readonly to: number;
  readonly label: string;
  /** False for an overlay that was rolled back or replaced. It is drawn dim and hides nothing. Default true. */
  readonly active?: boolean;
}

export interface Strata {
  readonly messages: number;
  readonly overlays: readonly Stratum[];
  readonly width: number;
  readonly paint?: Paint;
}

/** The drawing's lines. The bands come first, the widest on top, then the messages and their numbers. */
export function strata({ messages, overlays, width, paint = createPaint(false) }: Strata): string[] {
  const column = (message: number) => Math.round((message * width) / Math.max(1, messages));
  // A kept head or tail of one message stays visible, and so does an overlay of one message.
  const start = ({ from }: Stratum) => Math.min(width - 2, Math.max(from > 0 ? 1 : 0, column(from)));
  const end = (stratum: Stratum) => {
    const last = stratum.to < messages - 1 ? width - 1 : width;
    return Math.max(start(stratum) + 1, Math.min(last, column(stratum.to + 1)));
  };
  const lines = layers(overlays)
    .toReversed()
    .map((layer) => {
      let line = "";
      for (const band of layer.toSorted((a, b) => a.from - b.from)) {
        // Two neighbours that are narrower than a column may fall into the same one. It belongs to the first.
        const from = Math.max(start(band), columns(line));
        line = pad(line, from) + drawBand(band, Math.max(0, end(band) - from), paint);
      }
      return line;
    });
  const hidden = overlays.filter((overlay) => overlay.active !== false);
  let path = "";
  for (let at = 0; at < width; at++) {
    const covered = hidden.some((overlay) => at >= start(overlay) && at < end(overlay));
    path += covered ? paint("░", "dim") : paint("█", "green");
  }
  const last = String(messages);
  return [...lines, path, paint(`1${pad(last, width - 1, "right")}`, "dim")];
}

/** Overlays by height. Each lies as low as it can above all narrower ones that it overlaps. */
function layers(overlays: readonly Stratum[]): Stratum[][] {
  const stack: Stratum[][] = [];
  for (const overlay of overlays.toSorted((a, b) => a.to - a.from - (b.to - b.from))) {
    const top = stack.findLastIndex((layer) => layer.some((one) => one.from <= overlay.to && overlay.from <= one.to));
    const layer = stack[top + 1];
    if (layer === undefined) stack.push([overlay]);
    else layer.push(overlay);
  }
  return stack;
}

function drawBand(band: Stratum, width: number, paint: Paint): string {
  const styles = band.active === false ? (["dim"] as const) : (["cyan"] as const);
  if (width < 3) return paint("▀".repeat(width), ...styles);
  const room = width - 2;
  const label = columns(band.label) + 2 <= room ? ` ${band.label} ` : clip(band.label, room);
  const left = Math.floor((room - columns(label)) / 2);
  const right = room - columns(label) - left;
  return `${paint(`╭${"─".repeat(left)}`, ...styles)}${label}${paint(`${"─".repeat(right)}╮`, ...styles)}`;
}
