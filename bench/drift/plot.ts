/** Shares over compactions as an SVG: panels side by side, a line for each policy, named at its end. */

export interface Line {
  readonly name: string;
  /** From 0 to 1. */
  readonly values: readonly number[];
}

export interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

/** One of three that people with any colour vision tell apart, also on a dark page. */
const COLOURS = ["#c2554f", "#2f7fb8", "#3a9d5d"] as const;
const WIDTH = 400;
const HEIGHT = 240;
const PLOT = { left: 44, top: 40, width: 236, height: 160 } as const;
/** Least distance of two names, in pixels. */
const NAME_HEIGHT = 14;

/** A whole SVG document. Texts may hold any characters. */
export function drawPanels(panels: readonly Panel[], axis: string): string {
  const body = panels.map((panel, at) => `<g transform="translate(${at * WIDTH} 0)">${drawPanel(panel, axis)}</g>`);
  const size = `width="${panels.length * WIDTH}" height="${HEIGHT}" viewBox="0 0 ${panels.length * WIDTH} ${HEIGHT}"`;
  const style = `font-family="system-ui, sans-serif" font-size="11" fill="#808080"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>\n${body.join("\n")}\n</svg>\n`;
}

function drawPanel({ title, lines }: Panel, axis: string): string {
  const { left, top, width, height } = PLOT;
  const right = left + width;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = top + (1 - share) * height;
    const label = `<text x="${left - 6}" y="${y + 4}" text-anchor="end">${share * 100}%</text>`;
    return `<path d="M${left} ${y}H${right}" stroke="#808080" stroke-opacity="0.25"/>${label}`;
  });
  const longest = Math.max(...lines.map(({ values }) => values.length));
  const drawn = lines.map(({ values }, at) => {
    const points = values.map((value, n) => {
      const x = left + (width * n) / Math.max(1, longest - 1);
      return `${x.toFixed(1)},${(top + (1 - value) * height).toFixed(1)}`;
    });
    return `<polyline points="${points.join(" ")}" fill="none" stroke="${COLOURS[at % 3]}" stroke-width="2"/>`;
  });
  const names = placeNames(lines).map(({ name, y, at }) => {
    const text = escape(`${name} ${Math.round((lines[at]?.values.at(-1) ?? 0) * 100)}%`);
    return `<text x="${right + 6}" y="${(y + 4).toFixed(1)}" fill="${COLOURS[at % 3]}">${text}</text>`;
  });
  const heading = `<text x="${left}" y="18" font-size="13" font-weight="600">${escape(title)}</text>`;
  const below = `<text x="${right}" y="${top + height + 20}" text-anchor="end">${escape(`${longest} ${axis}`)}</text>`;
  return [heading, ...grid, ...drawn, ...names, below].join("\n");
}

/** Each name where its line ends, lower where another one stands there already. */
function placeNames(lines: readonly Line[]): { name: string; y: number; at: number }[] {
  const wanted = lines
    .map(({ name, values }, at) => ({ name, at, y: PLOT.top + (1 - (values.at(-1) ?? 0)) * PLOT.height }))
    .toSorted((one, other) => one.y - other.y);
  let free = 0;
  return wanted.map((each) => {
    const y = Math.max(each.y, free);
    free = y + NAME_HEIGHT;
    return { ...each, y };
  });
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
