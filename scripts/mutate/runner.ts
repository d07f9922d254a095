/**
 * Runs the tests of one source again and again in a process of its own. A mutant may never end, and then its owner stops this process.
 *
 * Takes the copy's root, a test project, the source's path and names of test files. Without names it takes all tests that import the
 * source. Answers `Ready` once, and then `Told` for each message.
 */
import { createVitest, type TestSpecification, type Vitest } from "vitest/node";

/** Sent once, when the tests pass on the unchanged source. */
export interface Ready {
  readonly kind: "ready";
  readonly testFiles: number;
  readonly ms: number;
}

export interface Told {
  readonly kind: "told";
  /** The first test that failed, or null where all passed. */
  readonly failed: string | null;
}

export interface Unusable {
  readonly kind: "unusable";
  readonly reason: string;
}

const [root = "", project = "", file = "", ...names] = process.argv.slice(2);

const vitest = await createVitest({
  root,
  project: [project],
  ...(names.length === 0 ? { related: [file] } : {}),
  watch: false,
  passWithNoTests: true,
  fileParallelism: false,
  maxWorkers: 1,
  bail: 1,
  reporters: [{}],
});
await begin(vitest);

async function begin(vitest: Vitest): Promise<void> {
  const began = performance.now();
  await vitest.standalone();
  const found = await vitest.getRelevantTestSpecifications(names);
  if (found.length === 0) return tell({ kind: "unusable", reason: `project ${project} has no test for it` });
  const times = new Map<TestSpecification, number>();
  for (const specification of found) {
    const started = performance.now();
    const failed = await run(vitest, [specification]);
    if (failed !== null) return tell({ kind: "unusable", reason: `${failed} fails on the source as it is` });
    times.set(specification, performance.now() - started);
  }
  // Quick files run first, because the first file finds most defects.
  const ordered = found.toSorted((one, other) => (times.get(one) ?? 0) - (times.get(other) ?? 0));
  process.on("message", () => {
    void (async () => {
      vitest.invalidateFile(file);
      for (const specification of ordered) {
        const failed = await run(vitest, [specification]);
        if (failed !== null) return tell({ kind: "told", failed });
      }
      tell({ kind: "told", failed: null });
    })();
  });
  tell({ kind: "ready", testFiles: found.length, ms: performance.now() - began });
}

async function run(vitest: Vitest, specifications: TestSpecification[]): Promise<string | null> {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  for (const module of testModules) {
    for (const test of module.children.allTests("failed")) return test.fullName;
    if (!module.ok()) return module.relativeModuleId;
  }
  return unhandledErrors.length > 0 ? "an error outside of every test" : null;
}

function tell(message: Ready | Told | Unusable): void {
  process.send?.(message);
}
