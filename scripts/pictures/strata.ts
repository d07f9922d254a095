/**
 * Draws a conversation while it grows: its messages with the summaries over them, and the tokens that are stored and that a model sees.
 *
 * It is one SVG. It plays once where motion is wanted, ends as a still picture, and has colours for a light and a dark page.
 */

/** The conversation after one more message. */
export interface Frame {
  readonly storedTokens: number;
  readonly viewTokens: number;
  /** The summaries in force. */
  readonly overlays: readonly string[];
}

export interface Band {
  readonly id: string;
  /** First and last message under it, counted from 0. */
  readonly from: number;
  readonly to: number;
  readonly level: number;
}

export interface Conversation {
  readonly frames: readonly Frame[];
  readonly bands: readonly Band[];
  readonly thresholdTokens: number;
}

const WIDTH = 880;
const LEFT = 20;
const RIGHT = 860;
/** Where summaries begin, the height of one with its gap, and the height of the strip of messages below them. */
const BANDS_AT = 42;
const BAND_STEP = 19;
const CELL_HEIGHT = 22;
/** The plot of tokens, below the strip. */
const PLOT_HEIGHT = 120;
/** How long the picture plays (s). */
const PLAYS_S = 14;

const STYLE = `
  :root { --paper: #fbf7ec; --ink: #2b2118; --dim: #6e5f4e; --said: #23514a; --pale: #d8cfba; --sheet: #8a2f17; --sheet-ink: #fff; }
  @media (prefers-color-scheme: dark) {
    :root { --paper: #1c1814; --ink: #efe6d6; --dim: #b3a48f; --said: #7cc2b4; --pale: #4a4137; --sheet: #d9805f; --sheet-ink: #1c1814; }
  }
  text { font: 13px system-ui, sans-serif; fill: var(--ink); }
  .dim { fill: var(--dim); }
  .paper { fill: var(--paper); }
  .said { fill: var(--said); }
  .pale { fill: var(--pale); }
  .sheet { fill: var(--sheet); }
  .sheet-ink { fill: var(--sheet-ink); font-size: 11px; }
  .stored { fill: none; stroke: var(--dim); stroke-width: 2; stroke-dasharray: 6 3; }
  .view { fill: none; stroke: var(--said); stroke-width: 3; }
  .threshold { stroke: var(--sheet); stroke-width: 1.5; stroke-dasharray: 2 4; }
  .appears { animation: appears 0.4s both; }
  .leaves { animation: leaves 0.4s both; }
  .curtain { fill: var(--paper); animation: opens ${PLAYS_S}s linear both; transform-origin: ${RIGHT + 4}px 0; transform: scaleX(0); }
  @keyframes appears { from { opacity: 0; } }
  @keyframes leaves { to { opacity: 0.28; } }
  @keyframes opens { from { transform: scaleX(1); } }
  @media (prefers-reduced-motion: reduce) { .appears, .curtain { animation: none; } .leaves { animation: none; opacity: 0.28; } }`;

export function drawStrata({ frames, bands, thresholdTokens }: Conversation): string {
  const x = (message: number): number => round(LEFT + ((RIGHT - LEFT) * message) / frames.length);
  const cellsAt = BANDS_AT + BAND_STEP * (1 + Math.max(...bands.map(({ level }) => level))) + 2;
  const plotTop = cellsAt + CELL_HEIGHT + 40;
  const plotBottom = plotTop + PLOT_HEIGHT;
  const height = plotBottom + 36;
  const most = Math.max(...frames.map(({ storedTokens }) => storedTokens));
  const y = (tokens: number): number => round(plotBottom - (PLOT_HEIGHT * tokens) / most);
  const line = (tokensOf: (frame: Frame) => number): string =>
    frames.map((frame, at) => `${at === 0 ? "M" : "L"}${x(at + 1)} ${y(tokensOf(frame))}`).join(" ");
  const last = frames.at(-1);
  const inForce = bands.filter(({ id }) => last?.overlays.includes(id) === true);
  const hidden = inForce.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const stored = thousands(last?.storedTokens ?? 0);
  const view = thousands(last?.viewTokens ?? 0);
  const drawing = { x, frames, cellsAt };
  const curtain = (top: number, tall: number): string =>
    `<rect class="curtain" x="${LEFT - 4}" y="${top}" width="${RIGHT - LEFT + 8}" height="${tall}" />`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">
<title id="title">${frames.length} messages are stored, some ${stored} tokens. ${inForce.length} summaries stand for ${hidden} of them, so the model sees some ${view} tokens.</title>
<style>${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="10" />
<text x="${LEFT}" y="26">Every message stays stored. Summaries lie over the older ones, and later summaries over earlier ones.</text>
${frames.map((_, at) => drawCell(at, { ...drawing, bands })).join("\n")}
${curtain(cellsAt - 2, CELL_HEIGHT + 4)}
${bands.map((band) => drawBand(band, drawing)).join("\n")}
<text class="dim" x="${LEFT}" y="${plotTop - 12}">Tokens that are stored (dashed), and that the model sees (solid)</text>
<path class="stored" d="${line((frame) => frame.storedTokens)}" />
<path class="view" d="${line((frame) => frame.viewTokens)}" />
${curtain(plotTop - 6, PLOT_HEIGHT + 12)}
<line class="threshold" x1="${LEFT}" x2="${RIGHT}" y1="${y(thresholdTokens)}" y2="${y(thresholdTokens)}" />
<text class="dim" text-anchor="end" x="${RIGHT}" y="${y(thresholdTokens) - 6}">compact after ${thousands(thresholdTokens)} tokens</text>
<text x="${LEFT}" y="${height - 12}">${frames.length} messages: ${stored} tokens stored, ${view} seen by the model</text>
</svg>
`;
}

interface Drawing {
  readonly x: (message: number) => number;
  readonly frames: readonly Frame[];
  /** Where the strip of messages begins. */
  readonly cellsAt: number;
}

/** A message. It turns pale when a summary comes over it. */
function drawCell(at: number, { x, frames, cellsAt, bands }: Drawing & { readonly bands: readonly Band[] }): string {
  const place = `x="${x(at)}" y="${cellsAt}" width="${round(x(at + 1) - x(at) - 2)}" height="${CELL_HEIGHT}" rx="2"`;
  const covering = new Set(bands.filter(({ from, to }) => from <= at && at <= to).map(({ id }) => id));
  const isHidden = (frame: Frame | undefined): boolean => frame?.overlays.some((id) => covering.has(id)) === true;
  const plain = `<rect class="said" ${place} />`;
  if (!isHidden(frames.at(-1))) return plain;
  const since = frames.findIndex(isHidden);
  return `${plain}<rect class="pale appears" ${place} style="animation-delay: ${seconds(since, frames)}s" />`;
}

/** A summary. It turns pale when a wider one takes its place. */
function drawBand(band: Band, { x, frames, cellsAt }: Drawing): string {
  const { id, from, to, level } = band;
  const since = frames.findIndex(({ overlays }) => overlays.includes(id));
  if (since < 0) return "";
  const until = frames.findLastIndex(({ overlays }) => overlays.includes(id)) + 1;
  const top = cellsAt - (level + 1) * BAND_STEP - 2;
  const width = round(x(to + 1) - x(from) - 2);
  const words = width > 160 ? `summary of ${to - from + 1} messages` : width > 90 ? `${to - from + 1} messages` : "";
  const label = words === "" ? "" : `<text class="sheet-ink" x="${x(from) + 6}" y="${top + 13}">${words}</text>`;
  const sheet = `<rect class="sheet" x="${x(from)}" y="${top}" width="${width}" height="${BAND_STEP - 2}" rx="3" />${label}`;
  const shown = `<g class="appears" style="animation-delay: ${seconds(since, frames)}s">${sheet}</g>`;
  if (until >= frames.length) return shown;
  return `<g class="leaves" style="animation-delay: ${seconds(until, frames)}s">${shown}</g>`;
}

function seconds(frame: number, frames: readonly Frame[]): number {
  return round((PLAYS_S * (frame + 1)) / frames.length);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function thousands(tokens: number): string {
  return Math.round(tokens).toLocaleString("en-US");
}
