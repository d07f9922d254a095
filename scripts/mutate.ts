/**
 * `npm run mutate -- FILE…` breaks a source in one place at a time and expects its tests to fail. It prints the mutants that no test
 * notices. Each of them shows a missing test or code without effect.
 *
 * Copies the project, mutates the copy and counts. The original tree is only read. A mutant that takes much longer than the tests usually
 * do counts as noticed, because it would hang a build.
 */
import { execFileSync, fork, type ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { applyMutant, findMutants, type Mutant } from "./mutate/mutants.ts";
import type { Ready, Told, Unusable } from "./mutate/runner.ts";
import { duration, plural } from "./report/text.ts";

const USAGE = `npm run mutate -- [options] FILE…

  --project NAME   whose tests are run: pure (default), workerd
  --tests A,B      only the test files whose path holds one of these (default: all that import the source)
  --max N          at most so many mutants of a file, evenly spread (default: all)
  --lines A-B      only those of these lines
  --json           print the survivors as JSON
`;

const ROOT = resolve(import.meta.dirname, "..");
/** A mutant may take `MOST_TIMES` times as long as the tests, and `MOST_MORE_MS` more. */
const MOST_TIMES = 5;
const MOST_MORE_MS = 30_000;

interface Survivor extends Mutant {
  readonly file: string;
}

interface Options {
  readonly files: readonly string[];
  readonly project: string;
  readonly tests: readonly string[];
  readonly max: number;
  readonly lines: { readonly from: number; readonly to: number };
  readonly json: boolean;
}

function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      project: { type: "string", default: "pure" },
      tests: { type: "string", default: "" },
      max: { type: "string", default: "Infinity" },
      lines: { type: "string", default: "1-Infinity" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const [from = Number.NaN, to = Number.NaN] = values.lines.split("-").map(Number);
  const max = Number(values.max);
  if (values.help || positionals.length === 0 || !(max >= 1) || !(from <= to)) {
    console.error(USAGE);
    process.exit(values.help ? 0 : 2);
  }
  const files = positionals.map((file) => relative(ROOT, resolve(file)));
  const tests = values.tests.split(",").filter((name) => name !== "");
  return { files, project: values.project, tests, max, lines: { from, to }, json: values.json };
}

/** Copies the files that git tracks and those that it does not ignore, in their present state. */
function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), "palimpsest-mutate-"));
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: ROOT, encoding: "utf8" });
  for (const file of listed.split("\0").filter((name) => name !== "")) {
    cpSync(join(ROOT, file), join(copy, file), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** At most `most` items, evenly spread. */
function sample<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, n) => items[Math.floor((n * items.length) / most)]).filter(
    (item) => item !== undefined,
  );
}

/** The tests of one source, ready to run on its mutants. */
class Tests {
  readonly #begin: readonly string[];
  #process: ChildProcess | null = null;
  #limitMs = Infinity;

  constructor(copy: string, path: string, { project, tests }: Options) {
    this.#begin = [copy, project, path, ...tests];
  }

  /** Runs the tests on the unchanged source. */
  async start(): Promise<Ready | Unusable> {
    this.#process = fork(join(import.meta.dirname, "mutate/runner.ts"), this.#begin, { silent: true });
    const told = await this.#hear();
    if (told?.kind === "ready") this.#limitMs = MOST_TIMES * told.ms + MOST_MORE_MS;
    if (told?.kind === "ready" || told?.kind === "unusable") return told;
    return { kind: "unusable", reason: "its tests cannot be started" };
  }

  /** Returns the test that failed, or null where all passed. `recover` restores the source when a mutant does not end. */
  async run(recover: () => void): Promise<string | null> {
    this.#process?.send({ kind: "run" });
    const told = await this.#hear();
    if (told?.kind === "told") return told.failed;
    recover();
    this.stop();
    await this.start();
    return "(no end)";
  }

  stop(): void {
    this.#process?.kill("SIGKILL");
    this.#process = null;
  }

  /** Null when no message arrives in time. */
  #hear(): Promise<Ready | Told | Unusable | null> {
    const { promise, resolve } = Promise.withResolvers<Ready | Told | Unusable | null>();
    const timer = this.#limitMs === Infinity ? null : setTimeout(() => resolve(null), this.#limitMs);
    const gone = (): void => resolve(null);
    this.#process?.once("message", (told) => resolve(told as Ready | Told | Unusable)).once("exit", gone);
    return promise.finally(() => {
      if (timer !== null) clearTimeout(timer);
      this.#process?.off("exit", gone);
    });
  }
}

async function mutateFile(copy: string, file: string, options: Options): Promise<readonly Survivor[]> {
  const path = join(copy, file);
  const source = readFileSync(path, "utf8");
  const { from, to } = options.lines;
  const all = findMutants(path, source).filter(({ line }) => line >= from && line <= to);
  const mutants = sample(all, options.max);
  const tests = new Tests(copy, path, options);
  const began = performance.now();
  try {
    const ready = await tests.start();
    if (ready.kind === "unusable") {
      console.error(`${file}: ${ready.reason}`);
      return [];
    }
    const survivors: Survivor[] = [];
    for (const mutant of mutants) {
      writeFileSync(path, applyMutant(source, mutant));
      const failed = await tests.run(() => writeFileSync(path, source));
      if (failed === null) survivors.push({ file, ...mutant });
    }
    const took = duration(performance.now() - began);
    const of = all.length === mutants.length ? "" : ` of ${all.length}`;
    console.error(
      `${file}: ${survivors.length} of ${plural(mutants.length, "mutant")}${of} survived ${plural(ready.testFiles, "test file")}, in ${took}`,
    );
    return survivors;
  } finally {
    tests.stop();
    writeFileSync(path, source);
  }
}

function short(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 100);
}

function tell({ file, line, kind, before, after }: Survivor): string {
  return `${file}:${line} ${kind}: ${before === "" ? "" : `${short(before)}  →  `}${short(after)}`;
}

const options = readOptions();
const copy = copyProject();
const survivors: Survivor[] = [];
try {
  for (const file of options.files) survivors.push(...(await mutateFile(copy, file, options)));
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(options.json ? JSON.stringify(survivors, null, 2) : survivors.map(tell).join("\n"));
