/** Draws line charts as SVG, with panels side by side and each line named at its end. Readable on light and dark pages. */

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  readonly label: string;
  readonly scale: "linear" | "log";
  /** The format of the numbers along it. */
  readonly unit: "count" | "percent" | "ms";
}

export interface Panel {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
  /** Draws a dot for each point and no line, for points without an order. */
  readonly dots?: boolean;
  /** Places on the horizontal axis where something happened. */
  readonly marks?: readonly { readonly x: number; readonly name: string }[];
}

export interface Plot {
  /** In kebab case, without folder and extension. */
  readonly file: string;
  /** Describes the plot in words, as alternative text too. */
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Distinguishable with any colour vision, on white and on black. */
const COLOURS = ["#2f7fb8", "#c2554f", "#b8862f", "#8a63b8", "#3a9d5d", "#7a7a7a"] as const;
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "10 4", "1 4"] as const;
/** A line of this name looks the same in all pictures. Other lines take the remaining styles in turn. */
const STYLE_OF: Readonly<Record<string, number>> = {
  ours: 0,
  "sdk 0.32": 1,
  "0.32": 1,
  "sdk 0.20": 2,
  "0.20": 2,
  "head and tail": 3,
  "ours with notes": 4,
  none: 5,
};
const WIDTH = 440;
const HEIGHT = 260;
const BOX = { left: 60, top: 40, width: 240, height: 166 } as const;
/** A panel's title with more characters is written smaller, so that it ends before the next panel. */
const LONG_TITLE = 44;
/** Least distance of two names in pixels. */
const NAME_HEIGHT = 14;
/** Names of marks stand on two lines in turn (pixels). */
const MARK_HEIGHT = 12;

type Scale = (value: number) => number;

/** A whole SVG document. Texts may hold any characters. */
export function drawPlot({ title, panels }: Plot): string {
  const width = panels.length * WIDTH;
  const body = panels.map((panel, at) => `<g transform="translate(${at * WIDTH} 0)">\n${drawPanel(panel)}\n</g>`);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="11" fill="#808080">`;
  return `${head}\n<title>${escape(title)}</title>\n${body.join("\n")}\n</svg>\n`;
}

function drawPanel({ title, x, y, lines, dots = false, marks = [] }: Panel): string {
  const points = lines.flatMap((line) => line.points);
  const [xs, ys] = [points.map(([at]) => at), points.map(([, at]) => at)];
  const { left, top, width, height } = BOX;
  const [toX, xTicks] = scaleOf(x, xs);
  const [toY, yTicks] = scaleOf(y, ys);
  const px = (value: number): number => left + toX(value) * width;
  const py = (value: number): number => top + (1 - toY(value)) * height;
  const grid = yTicks.map(
    (tick) =>
      `<path d="M${left} ${at(py(tick))}H${left + width}" stroke="#808080" stroke-opacity="0.25"/><text x="${left - 6}" y="${at(py(tick) + 4)}" text-anchor="end">${write(tick, y.unit)}</text>`,
  );
  const below = xTicks.map(
    (tick) => `<text x="${at(px(tick))}" y="${top + height + 16}" text-anchor="middle">${write(tick, x.unit)}</text>`,
  );
  const marked = marks.map(
    ({ x: place, name }, n) =>
      `<path d="M${at(px(place))} ${top}V${top + height}" stroke="#808080" stroke-dasharray="2 2"/><text x="${at(px(place) + 3)}" y="${top + height - 5 - (n % 2) * MARK_HEIGHT}" font-size="10">${escape(name)}</text>`,
  );
  const styles = chooseStyles(lines);
  const drawn = lines.map((line, place) => {
    const n = styles[place] ?? place;
    if (dots) return drawDots(line, { px, py, n });
    const path = line.points.map(([one, other]) => `${at(px(one))},${at(py(other))}`).join(" ");
    const dash = DASHES[n % DASHES.length];
    const dashed = dash === "" ? "" : ` stroke-dasharray="${dash}"`;
    return `<polyline points="${path}" fill="none" stroke="${colour(n)}" stroke-width="2"${dashed}/>`;
  });
  const names = placeNames(lines, py).map(
    ({ name, y: place, n }) =>
      `<text x="${left + width + 8}" y="${at(place + 4)}" fill="${colour(styles[n] ?? n)}">${escape(name)}</text>`,
  );
  return [
    `<text x="${left}" y="16" font-size="${title.length > LONG_TITLE ? 11 : 13}" font-weight="600">${escape(title)}</text>`,
    `<text x="${left}" y="31">${escape(y.label)}</text>`,
    `<text x="${left + width}" y="${top + height + 34}" text-anchor="end">${escape(x.label)}</text>`,
    ...grid,
    ...below,
    ...marked,
    ...drawn,
    ...names,
  ].join("\n");
}

function drawDots({ points }: Line, { px, py, n }: { px: Scale; py: Scale; n: number }): string {
  const marks = points.map(([one, other]) => `<circle cx="${at(px(one))}" cy="${at(py(other))}" r="3"/>`);
  return `<g fill="${colour(n)}" fill-opacity="0.7">${marks.join("")}</g>`;
}

/** The index of a style for each line. A known name has a style of its own. */
function chooseStyles(lines: readonly Line[]): readonly number[] {
  const taken = new Set(lines.flatMap(({ name }) => STYLE_OF[name] ?? []));
  const free = COLOURS.map((_, n) => n).filter((n) => !taken.has(n));
  let next = 0;
  return lines.map(({ name }) => STYLE_OF[name] ?? free[next++ % Math.max(1, free.length)] ?? 0);
}

/** Maps values to 0 … 1 and lists the ticks. A linear axis begins at 0. A percent axis ends at 1. */
function scaleOf({ scale, unit }: Axis, values: readonly number[]): [Scale, number[]] {
  const most = Math.max(...values, unit === "percent" ? 1 : 0);
  if (scale === "linear") {
    const end = unit === "percent" ? 1 : roundUp(most);
    return [(value) => value / end, [0, 0.25, 0.5, 0.75, 1].map((share) => share * end)];
  }
  // A zero is drawn at the foot of a logarithmic axis, which is then at 1 or below.
  const smallest = Math.floor(Math.log10(Math.min(...values.filter((value) => value > 0))));
  const least = values.includes(0) ? Math.min(0, smallest) : smallest;
  const end = Math.max(least + 1, Math.ceil(Math.log10(Math.max(1, most)) - 1e-9));
  const step = Math.ceil((end - least) / 5);
  const ticks = Array.from({ length: Math.floor((end - least) / step) + 1 }, (_, n) => 10 ** (least + n * step));
  return [(value) => (Math.log10(Math.max(10 ** least, value)) - least) / (end - least), ticks];
}

/** The next of 1, 2, 4, 6, 8, 10 times a power of ten, because quarters of these are short to write. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 6, 8, 10].find((factor) => factor * power >= value) ?? 10);
}

/** Places each name where its line ends, lower where another name already stands, and never below the axis. */
function placeNames(lines: readonly Line[], py: Scale): { name: string; y: number; n: number }[] {
  const wanted = lines
    .map(({ name, points }, n) => ({ name, n, y: py(points.at(-1)?.[1] ?? 0) }))
    .toSorted((one, other) => one.y - other.y);
  let free = 0;
  const placed = wanted.map((each) => {
    const y = Math.max(each.y, free);
    free = y + NAME_HEIGHT;
    return { ...each, y };
  });
  const foot = BOX.top + BOX.height;
  return placed.map((each, at) => ({ ...each, y: Math.min(each.y, foot - (placed.length - 1 - at) * NAME_HEIGHT) }));
}

function write(value: number, unit: Axis["unit"]): string {
  if (unit === "percent") return `${Math.round(value * 100)} %`;
  const short = value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 3 });
  return unit === "ms" ? `${short} ms` : short;
}

function colour(n: number): string {
  return COLOURS[n % COLOURS.length] ?? "#808080";
}

function at(value: number): string {
  return value.toFixed(1);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
