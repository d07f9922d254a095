/**
 * Compares the bundle size of a chat on Palimpsest with the same chat on the Agents SDK's own sessions.
 *
 * wrangler bundles both, minified, as for a deploy. The gzip size counts, because Cloudflare limits it. Fails above the budget.
 *
 *     npm run size [-- --files]     files lists the 40 heaviest files of ours
 */
import { bundle, type Bundle } from "./size/bundle.ts";

/** A chat on Palimpsest weighs at most this many times the same chat on `agents/sessions`. The goal is 1.15. */
const MOST_TIMES_SDK = 1.32;

const [bare, sdk, ours] = await Promise.all([bundle("bare"), bundle("sdk"), bundle("ours")]);

console.log("| Worker | minified | gzip |\n| --- | ---: | ---: |");
row("the Agents SDK alone", bare);
row("a chat on agents/sessions", sdk);
row("the same chat on Palimpsest", ours);

console.log("\n| In a chat on Palimpsest | minified | in the one on agents/sessions |\n| --- | ---: | ---: |");
const theirs = sumBy(sdk.files, roomOf);
const rooms = [...sumBy(ours.files, roomOf)].toSorted(([, a], [, b]) => b - a);
for (const [room, bytes] of rooms.filter(([, bytes]) => bytes >= 1_000)) {
  console.log(`| ${room} | ${kib(bytes)} | ${kib(theirs.get(room) ?? 0)} |`);
}

if (process.argv.includes("--files")) {
  console.log();
  const own = [...ours.files].filter(([file]) => file.startsWith("src/")).toSorted(([, a], [, b]) => b - a);
  for (const [file, bytes] of own.slice(0, 40)) console.log(`${kib(bytes).padStart(10)}  ${file}`);
}

const times = ours.gzipBytes / sdk.gzipBytes;
const within = times <= MOST_TIMES_SDK;
console.log(
  `\nPalimpsest over agents/sessions: ${times.toFixed(3)}, at most ${MOST_TIMES_SDK}${within ? "" : ": FAILED"}`,
);
process.exit(within ? 0 : 1);

function row(what: string, { bytes, gzipBytes }: Bundle): void {
  console.log(`| ${what} | ${kib(bytes)} | ${kib(gzipBytes)} |`);
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function sumBy(files: ReadonlyMap<string, number>, keyOf: (file: string) => string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [file, bytes] of files) sums.set(keyOf(file), (sums.get(keyOf(file)) ?? 0) + bytes);
  return sums;
}

/** The name of a package, or of a folder of this project. */
function roomOf(file: string): string {
  const dependency = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
  if (dependency !== undefined) return dependency;
  return /^src\/(?:steps\/[^/]+(?=\/)|[^/.]+)/.exec(file)?.[0] ?? "the Worker itself";
}
