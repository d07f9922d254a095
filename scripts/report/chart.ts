/** Draws numbers over time as text. A line is made of braille dots, two columns by four rows of them per character. */
import { createPaint, type Paint, type Style } from "./paint.ts";
import { count, pad } from "./text.ts";

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  readonly style?: Style;
}

export interface LineChart {
  /** Drawn in order, so a later one covers an earlier one. */
  readonly series: readonly Series[];
  /** Characters of the whole chart, axis and labels included. */
  readonly width: number;
  /** Rows of the plot. The axis below takes two more lines. */
  readonly height: number;
  /** A value to mark with a dashed line. */
  readonly threshold?: number;
  /** Label under the right end of the horizontal axis. */
  readonly end?: string;
  readonly paint?: Paint;
}

/** The chart's lines. The vertical axis starts at zero. Each series is named at its right end, so no legend is needed. */
export function lineChart(chart: LineChart): string[] {
  const { series, height, threshold, end = "", paint = createPaint(false) } = chart;
  const top = niceTop(Math.max(...series.flatMap((one) => one.values), threshold ?? 0, 1));
  const axis = count(top).length;
  const ends = labelRows(chart, top);
  const labels = Math.max(0, ...[...ends.values()].map((label) => label.text.length));
  const plot = Math.max(10, chart.width - axis - 2 - (labels > 0 ? labels + 1 : 0));
  const canvas = new Canvas(plot, height);
  if (threshold !== undefined) canvas.dashes(threshold / top);
  for (const one of series) canvas.line(one, top);

  const lines: string[] = [];
  for (let row = 0; row < height; row++) {
    const tick = row === 0 ? count(top) : "";
    const label = ends.get(row);
    const tail = label === undefined ? "" : ` ${paint(label.text, ...label.styles)}`;
    lines.push(`${paint(pad(tick, axis, "right"), "dim")} ${paint("│", "dim")}${canvas.row(row, paint)}${tail}`);
  }
  lines.push(paint(`${pad("0", axis, "right")} └${"─".repeat(plot)}`, "dim"));
  lines.push(paint(`${" ".repeat(axis + 2)}${pad(end, plot, "right")}`, "dim"));
  return lines;
}

interface Label {
  readonly text: string;
  readonly styles: readonly Style[];
}

/** The row of each series' label, which is the row where the series ends or the nearest free one. */
function labelRows({ series, height, threshold }: LineChart, top: number): Map<number, Label> {
  const rows = new Map<number, Label>();
  const place = (value: number, label: Label) => {
    const wanted = Math.min(height - 1, Math.max(0, Math.floor((1 - value / top) * height)));
    const free = [...Array(height).keys()]
      .filter((row) => !rows.has(row))
      .toSorted((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted))[0];
    if (free !== undefined) rows.set(free, label);
  };
  for (const one of series) {
    const end = one.values.at(-1) ?? 0;
    place(end, { text: `${one.name} ${count(end)}`, styles: one.style === undefined ? [] : [one.style] });
  }
  if (threshold !== undefined) place(threshold, { text: `threshold ${count(threshold)}`, styles: ["dim"] });
  return rows;
}

/** Braille dots by [row][column] of a character, as bits of its code point above U+2800. */
const DOTS = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

class Canvas {
  readonly #width: number;
  readonly #height: number;
  readonly #dots: Uint8Array;
  readonly #styles: (Style | undefined)[];

  constructor(width: number, height: number) {
    this.#width = width;
    this.#height = height;
    this.#dots = new Uint8Array(width * height);
    this.#styles = Array.from({ length: width * height });
  }

  line(series: Series, top: number): void {
    let previous: number | undefined;
    for (const [x, bucket] of buckets(series.values, this.#width * 2).entries()) {
      const y = this.#y(bucket.last / top);
      // From the column's highest value down to its last one, joined to where the column before ended.
      const from = Math.min(this.#y(bucket.high / top), y, previous ?? y);
      const to = Math.max(y, previous ?? y);
      for (let dot = from; dot <= to; dot++) this.#set(x, dot, series.style);
      previous = y;
    }
  }

  dashes(share: number): void {
    for (let x = 0; x < this.#width * 2; x++) if (x % 6 < 3) this.#set(x, this.#y(share), "dim");
  }

  row(row: number, paint: Paint): string {
    let text = "";
    for (let column = 0; column < this.#width; column++) {
      const cell = row * this.#width + column;
      const dots = this.#dots[cell] ?? 0;
      const style = this.#styles[cell];
      const character = dots === 0 ? " " : String.fromCodePoint(0x2800 + dots);
      text += style === undefined ? character : paint(character, style);
    }
    return text;
  }

  #y(share: number): number {
    const rows = this.#height * 4;
    return Math.min(rows - 1, Math.max(0, Math.round((1 - share) * (rows - 1))));
  }

  #set(x: number, y: number, style: Style | undefined): void {
    const cell = Math.floor(y / 4) * this.#width + Math.floor(x / 2);
    this.#dots[cell] = (this.#dots[cell] ?? 0) | (DOTS[y % 4]?.[x % 2] ?? 0);
    this.#styles[cell] = style;
  }
}

/** Spreads `values` over `width` columns. A column without a value of its own repeats the value before. */
function buckets(values: readonly number[], width: number): { high: number; last: number }[] {
  if (values.length === 0) return [];
  return Array.from({ length: width }, (_, column) => {
    const start = Math.floor((column * values.length) / width);
    const end = Math.max(start + 1, Math.floor(((column + 1) * values.length) / width));
    const inside = values.slice(start, end);
    return { high: Math.max(...inside), last: inside.at(-1) ?? 0 };
  });
}

/** The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 × 10ⁿ, so that the axis ends in a round number. */
function niceTop(value: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((each) => each * magnitude >= value) ?? 10;
  return step * magnitude;
}
