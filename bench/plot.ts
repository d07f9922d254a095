/** Lines over an axis as an SVG: panels side by side, each line named at its end. Readable on light and dark pages. */

export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axis {
  readonly label: string;
  readonly scale: "linear" | "log";
  /** How the numbers along it are written. */
  readonly unit: "count" | "percent" | "ms";
}

export interface Panel {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
}

export interface Plot {
  /** Without folder and ending: in kebab case. */
  readonly file: string;
  /** What it shows, in words: also for those who do not see it. */
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Told apart with any colour vision, on white and on black. */
const COLOURS = ["#2f7fb8", "#c2554f", "#b8862f", "#8a63b8", "#3a9d5d", "#7a7a7a"] as const;
const DASHES = ["", "6 3", "2 3", "8 3 2 3", "10 4", "1 4"] as const;
const WIDTH = 440;
const HEIGHT = 260;
const BOX = { left: 60, top: 40, width: 240, height: 166 } as const;
/** Least distance of two names, in pixels. */
const NAME_HEIGHT = 14;

type Scale = (value: number) => number;

/** A whole SVG document. Texts may hold any characters. */
export function drawPlot({ title, panels }: Plot): string {
  const width = panels.length * WIDTH;
  const body = panels.map((panel, at) => `<g transform="translate(${at * WIDTH} 0)">\n${drawPanel(panel)}\n</g>`);
  const head = `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="11" fill="#808080">`;
  return `${head}\n<title>${escape(title)}</title>\n${body.join("\n")}\n</svg>\n`;
}

function drawPanel({ title, x, y, lines }: Panel): string {
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
  const drawn = lines.map((line, n) => {
    const path = line.points.map(([one, other]) => `${at(px(one))},${at(py(other))}`).join(" ");
    const dash = DASHES[n % DASHES.length];
    const dashed = dash === "" ? "" : ` stroke-dasharray="${dash}"`;
    return `<polyline points="${path}" fill="none" stroke="${colour(n)}" stroke-width="2"${dashed}/>`;
  });
  const names = placeNames(lines, py).map(
    ({ name, y: place, n }) =>
      `<text x="${left + width + 8}" y="${at(place + 4)}" fill="${colour(n)}">${escape(name)}</text>`,
  );
  return [
    `<text x="${left}" y="16" font-size="13" font-weight="600">${escape(title)}</text>`,
    `<text x="${left}" y="31">${escape(y.label)}</text>`,
    `<text x="${left + width}" y="${top + height + 34}" text-anchor="end">${escape(x.label)}</text>`,
    ...grid,
    ...below,
    ...drawn,
    ...names,
  ].join("\n");
}

/** From values to 0 … 1, and where to write numbers. A linear axis begins at 0; one of percent ends at 1. */
function scaleOf({ scale, unit }: Axis, values: readonly number[]): [Scale, number[]] {
  const most = Math.max(...values, unit === "percent" ? 1 : 0);
  if (scale === "linear") {
    const end = unit === "percent" ? 1 : roundUp(most);
    return [(value) => value / end, [0, 0.25, 0.5, 0.75, 1].map((share) => share * end)];
  }
  // A zero is drawn at the foot of a logarithmic axis, which is then 1 or below.
  const smallest = Math.floor(Math.log10(Math.min(...values.filter((value) => value > 0))));
  const least = values.includes(0) ? Math.min(0, smallest) : smallest;
  const end = Math.max(least + 1, Math.ceil(Math.log10(Math.max(1, most)) - 1e-9));
  const step = Math.ceil((end - least) / 5);
  const ticks = Array.from({ length: Math.floor((end - least) / step) + 1 }, (_, n) => 10 ** (least + n * step));
  return [(value) => (Math.log10(Math.max(10 ** least, value)) - least) / (end - least), ticks];
}

/** The next of 1, 2, 4, 8, 10 times a power of ten: quarters of it are short to write. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 4, 8, 10].find((factor) => factor * power >= value) ?? 10);
}

/** Each name where its line ends, lower where another one stands there already. */
function placeNames(lines: readonly Line[], py: Scale): { name: string; y: number; n: number }[] {
  const wanted = lines
    .map(({ name, points }, n) => ({ name, n, y: py(points.at(-1)?.[1] ?? 0) }))
    .toSorted((one, other) => one.y - other.y);
  let free = 0;
  return wanted.map((each) => {
    const y = Math.max(each.y, free);
    free = y + NAME_HEIGHT;
    return { ...each, y };
  });
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
