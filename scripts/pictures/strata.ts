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
const HEIGHT = 330;
const LEFT = 20;
const RIGHT = 860;
/** The strip of messages, and the room above it for summaries. */
const CELLS_AT = 118;
const CELL_HEIGHT = 22;
const BAND_HEIGHT = 17;
/** The plot of tokens. */
const PLOT_TOP = 178;
const PLOT_BOTTOM = 300;
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
  .sheet-ink { fill: var(--sheet-ink); }
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
  const most = Math.max(...frames.map(({ storedTokens }) => storedTokens));
  const y = (tokens: number): number => round(PLOT_BOTTOM - ((PLOT_BOTTOM - PLOT_TOP) * tokens) / most);
  const line = (tokensOf: (frame: Frame) => number): string =>
    frames.map((frame, at) => `${at === 0 ? "M" : "L"}${x(at + 1)} ${y(tokensOf(frame))}`).join(" ");
  const last = frames.at(-1);
  const inForce = bands.filter(({ id }) => last?.overlays.includes(id) === true);
  const hidden = inForce.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const stored = last?.storedTokens ?? 0;
  const view = last?.viewTokens ?? 0;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">${frames.length} messages are stored, some ${thousands(stored)} tokens. ${inForce.length} summaries stand for ${hidden} of them, so the model sees some ${thousands(view)} tokens.</title>
<style>${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="10" />
<text x="${LEFT}" y="26">Every message stays stored. Summaries lie over the older ones, and later summaries over earlier ones.</text>
${frames.map((_, at) => drawCell(at, { x, frames, bands })).join("\n")}
${bands.map((band) => drawBand(band, { x, frames, lowest: CELLS_AT })).join("\n")}
<rect class="curtain" x="${LEFT - 4}" y="${CELLS_AT - 2}" width="${RIGHT - LEFT + 8}" height="${CELL_HEIGHT + 4}" />
<path class="stored" d="${line((frame) => frame.storedTokens)}" />
<path class="view" d="${line((frame) => frame.viewTokens)}" />
<rect class="curtain" x="${LEFT - 4}" y="${PLOT_TOP - 6}" width="${RIGHT - LEFT + 8}" height="${PLOT_BOTTOM - PLOT_TOP + 12}" />
<line class="threshold" x1="${LEFT}" x2="${RIGHT}" y1="${y(thresholdTokens)}" y2="${y(thresholdTokens)}" />
<text class="dim" x="${LEFT}" y="${y(thresholdTokens) - 6}">compact after ${thousands(thresholdTokens)} tokens</text>
<text class="dim" x="${LEFT}" y="${PLOT_TOP - 8}">Tokens stored, and tokens that the model sees</text>
<text x="${LEFT}" y="${HEIGHT - 10}">${frames.length} messages: ${thousands(stored)} tokens stored (dashed), ${thousands(view)} seen by the model (solid)</text>
</svg>
`;
}

interface Drawing {
  readonly x: (message: number) => number;
  readonly frames: readonly Frame[];
}

/** A message. It turns pale when a summary comes over it. */
function drawCell(at: number, { x, frames, bands }: Drawing & { readonly bands: readonly Band[] }): string {
  const place = `x="${x(at)}" y="${CELLS_AT}" width="${round(x(at + 1) - x(at) - 2)}" height="${CELL_HEIGHT}" rx="2"`;
  const covering = new Set(bands.filter(({ from, to }) => from <= at && at <= to).map(({ id }) => id));
  const isHidden = (frame: Frame | undefined): boolean => frame?.overlays.some((id) => covering.has(id)) === true;
  const plain = `<rect class="said" ${place} />`;
  if (!isHidden(frames.at(-1))) return plain;
  const since = frames.findIndex(isHidden);
  return `${plain}<rect class="pale appears" ${place} style="animation-delay: ${seconds(since, frames)}s" />`;
}

/** A summary. It turns pale when a wider one takes its place. */
function drawBand(band: Band, { x, frames, lowest }: Drawing & { readonly lowest: number }): string {
  const { id, from, to, level } = band;
  const since = frames.findIndex(({ overlays }) => overlays.includes(id));
  if (since < 0) return "";
  const until = frames.findLastIndex(({ overlays }) => overlays.includes(id)) + 1;
  const top = lowest - (level + 1) * (BAND_HEIGHT + 2) - 3;
  const width = round(x(to + 1) - x(from) - 2);
  const words = width > 150 ? `summary of ${to - from + 1} messages` : width > 70 ? `${to - from + 1} messages` : "";
  const label =
    words === "" ? "" : `<text class="sheet-ink" x="${x(from) + 6}" y="${top + 13}" font-size="11">${words}</text>`;
  const sheet = `<rect class="sheet" x="${x(from)}" y="${top}" width="${width}" height="${BAND_HEIGHT}" rx="3" />${label}`;
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
