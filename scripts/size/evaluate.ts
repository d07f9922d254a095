/**
 * How long the start of a Worker takes, that is the evaluation of its module: processor time in a Node process of its own, the least of several,
 * without the time that its code takes to be read.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Bundle } from "./bundle.ts";

const run = promisify(execFile);
/** A busy machine can only make a start longer, so more are tried while the least ones are not good enough. */
const TRIES = 9;
const MOST_TRIES = 18;
const MEASURE = `
import { readFileSync } from "node:fs";
import { SourceTextModule, SyntheticModule } from "node:vm";
// Of the platform's own modules every name is a class that does nothing.
const names = ["DurableObject", "EmailMessage", "NonRetryableError", "RpcStub", "RpcTarget", "WorkerEntrypoint", "WorkflowEntrypoint",
  "abortIsolate", "cache", "connect", "default", "env", "exports", "tracing", "waitUntil", "withEnv"];
const standIn = Object.fromEntries(names.map((name) => [name, class {}]));
const worker = new SourceTextModule(readFileSync(process.argv[2], "utf8"));
await worker.link(async (name) => {
  const values = name.startsWith("cloudflare:") ? standIn : await import(name);
  return new SyntheticModule(Object.keys(values), function () {
    for (const [key, value] of Object.entries(values)) this.setExport(key, value);
  });
});
const before = process.cpuUsage();
await worker.evaluate();
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1_000);
process.exit(0);
`;

/** Milliseconds for each Worker, tried in turn, so that a busy moment of the machine meets all of them. */
export async function evaluate(
  bundles: readonly Pick<Bundle, "code">[],
  isGood: (least: readonly number[]) => boolean,
): Promise<readonly number[]> {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-start-"));
  try {
    const measure = join(folder, "measure.mjs");
    await writeFile(measure, MEASURE);
    const files = bundles.map((_, at) => join(folder, `worker-${at}.mjs`));
    await Promise.all(files.map((file, at) => writeFile(file, bundles[at]?.code ?? "")));
    const least = files.map(() => Infinity);
    for (let round = 0; round < TRIES || (round < MOST_TRIES && !isGood(least)); round++) {
      for (const [at, file] of files.entries()) {
        const { stdout } = await run(process.execPath, ["--experimental-vm-modules", measure, file]);
        least[at] = Math.min(least[at] ?? Infinity, Number(stdout.trim().split("\n").at(-1)));
      }
    }
    return least;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
