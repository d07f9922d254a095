/**
 * Compares the bundle size of a chat on Palimpsest with the same chat on the Agents SDK's own sessions.
 *
 * Bundled is the built package, as a user installs it. wrangler bundles both chats, minified, as for a deploy. The gzip size counts,
 * because Cloudflare limits it. A chat on AIChatAgent and one on Think are weighed with and without us as well, and the evaluation of each
 * module is timed. Fails above a budget.
 *
 *     npm run size [-- --modules]     modules lists what each folder and each heavy file of `src` adds after gzip
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { bundle, type Bundle } from "./size/bundle.ts";
import { evaluate } from "./size/evaluate.ts";
import { weigh } from "./size/modules.ts";

/** Each chat with Palimpsest weighs at most so many times the same chat without it. On `Agent` that is the one on `agents/sessions`. The goals are 1.18 and 1.20. */
const MOST_TIMES = { Agent: 1.25, AIChatAgent: 1.3, Think: 1.16 };
/** The evaluation of its module takes at most so many times as long. The goal is 1.15, and a busy machine measures up to a twentieth more. */
const MOST_TIMES_START = 1.2;
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

const hosts = [
  ["Agent", sdk, ours],
  ["AIChatAgent", await bundle("stock-ai-chat"), await bundle("ai-chat")],
  ["Think", await bundle("stock-think"), await bundle("think")],
] as const;
const startTimes = (starts: readonly number[], at: number): number => (starts[2 * at + 1] ?? 0) / (starts[2 * at] ?? 0);
const starts = await evaluate(
  hosts.flatMap(([, alone, compacted]) => [alone, compacted]),
  (least) => hosts.every((_, at) => startTimes(least, at) <= MOST_TIMES_START),
);
console.log("\n| A chat on | alone, gzip | with Palimpsest | times | start alone | with Palimpsest | times |");
console.log("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
const failures = hosts.flatMap(([host, alone, compacted], at) => {
  const times = compacted.gzipBytes / alone.gzipBytes;
  const [start = 0, compactedStart = 0] = starts.slice(2 * at, 2 * at + 2);
  const longer = startTimes(starts, at);
  const sizes = `${kib(alone.gzipBytes)} | ${kib(compacted.gzipBytes)} | ${times.toFixed(3)}`;
  console.log(
    `| ${host} | ${sizes} | ${start.toFixed(0)} ms | ${compactedStart.toFixed(0)} ms | ${longer.toFixed(2)} |`,
  );
  return [
    ...(times > MOST_TIMES[host]
      ? [`${host} weighs ${times.toFixed(3)} times as much, at most ${MOST_TIMES[host]}`]
      : []),
    ...(longer > MOST_TIMES_START
      ? [`${host} starts in ${longer.toFixed(2)} times the time, at most ${MOST_TIMES_START}`]
      : []),
  ];
});
for (const failure of failures) console.log(`FAILED: ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);

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
