/**
 * Compares the bundle size of a chat on Palimpsest with the same chat on the Agents SDK's own sessions.
 *
 * Bundled is the built package, as a user installs it. wrangler bundles both chats, minified, as for a deploy. The gzip size counts,
 * because Cloudflare limits it. Fails above the budget. A chat on AIChatAgent and one on Think are weighed with and without us as well.
 *
 *     npm run size [-- --modules]     modules lists what each folder and each heavy file of `src` adds after gzip
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bundle, type Bundle } from "./size/bundle.ts";
import { weigh } from "./size/modules.ts";

/** A chat on Palimpsest weighs at most this many times the same chat on `agents/sessions`. The goal is 1.15. */
const MOST_TIMES_SDK = 1.25;
/** A file that adds fewer bytes after gzip is not listed. */
const LEAST_BYTES = 400;

await promisify(execFile)("npx", ["tsdown"]);
const [bare, sdk, ours] = await Promise.all([bundle("bare"), bundle("sdk"), bundle("ours")]);

console.log("| Worker | minified | gzip |\n| --- | ---: | ---: |");
row("the Agents SDK alone", bare);
row("a chat on agents/sessions", sdk);
row("the same chat on Palimpsest", ours);

console.log("\n| In a chat on Palimpsest | minified | in the one on agents/sessions |\n| --- | ---: | ---: |");
const theirs = sumBy(sdk.files, packageOf);
const packages = [...sumBy(ours.files, packageOf)].toSorted(([, a], [, b]) => b - a);
for (const [name, bytes] of packages.filter(([, bytes]) => bytes >= 1_000)) {
  console.log(`| ${name} | ${kib(bytes)} | ${kib(theirs.get(name) ?? 0)} |`);
}

if (process.argv.includes("--modules")) {
  const { all, folders, files } = await weigh();
  console.log("\n| Module, with what only it needs | its own, minified | added, gzip |\n| --- | ---: | ---: |");
  row("all of src", { bytes: all.minified, gzipBytes: all.gzip });
  for (const weights of [folders, files]) {
    const heavy = [...weights].filter(([, { gzip }]) => gzip >= LEAST_BYTES);
    for (const [name, { minified, gzip }] of heavy.toSorted(([, a], [, b]) => b.gzip - a.gzip)) {
      row(name, { bytes: minified, gzipBytes: gzip });
    }
  }
}

console.log("\n| A chat on | alone, gzip | with Palimpsest | times |\n| --- | ---: | ---: | ---: |");
for (const [host, alone, compacted] of [
  ["AIChatAgent", await bundle("stock-ai-chat"), await bundle("ai-chat")],
  ["Think", await bundle("stock-think"), await bundle("think")],
] as const) {
  const [without, times] = [alone.gzipBytes, (compacted.gzipBytes / alone.gzipBytes).toFixed(2)];
  console.log(`| ${host} | ${kib(without)} | ${kib(compacted.gzipBytes)} | ${times} |`);
}

const times = ours.gzipBytes / sdk.gzipBytes;
const within = times <= MOST_TIMES_SDK;
console.log(
  `\nPalimpsest over agents/sessions: ${times.toFixed(3)}, at most ${MOST_TIMES_SDK}${within ? "" : ": FAILED"}`,
);
process.exit(within ? 0 : 1);

function row(what: string, { bytes, gzipBytes }: Pick<Bundle, "bytes" | "gzipBytes">): void {
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

function packageOf(file: string): string {
  const dependency = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
  return dependency ?? (file.startsWith("dist/package/") ? "palimpsest" : "the Worker itself");
}
