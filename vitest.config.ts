import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import agents from "agents/vite";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { keepFilesInMemory } from "./test/in-memory.ts";
import { verbsPlugin } from "./test/verbs.ts";

/** `npm test` tries what a change most likely breaks, and `npm run test:all`, which CI runs, tries everything (test/tries.ts). */
const everything = process.env["PALIMPSEST_TESTS"] === "all";
/** Of which examples properties are tried. Every run tries the same ones, and another seed tries others. */
const seed = Number(process.env["PALIMPSEST_SEED"] ?? 1);
const everywhere = { provide: { everything, seed }, setupFiles: ["./test/tries.ts"] };

/** A test that takes so long hangs. Properties try up to twelve times as many examples where everything is tried, beside others on a busy machine. */
const PATIENCE_MS = everything ? 240_000 : 60_000;

/** How long the simulator plays and from which seed on, as scripts/sim.ts sets it. */
const sim = {
  operations: Number(process.env["PALIMPSEST_SIM_OPERATIONS"] ?? 0),
  seed: Number(process.env["PALIMPSEST_SIM_SEED"] ?? 1),
  shrinkMs: Number(process.env["PALIMPSEST_SIM_SHRINK_MS"] ?? 0),
};

// Long runs fill more than memory should hold, and see the disk that production has.
if (!everything && sim.operations === 0) keepFilesInMemory();

/** Whether the crash matrix disturbs every place of a run or a sample (test/workflows/faults/crash-matrix.test.ts). */
const matrix = {
  full: everything || process.env["PALIMPSEST_MATRIX"] === "full",
};

/** In a browser, with a Worker that is killed again and again, with a Worker of its own for an example, or with a deploy's build. */
const LONG = everything
  ? []
  : [
      "test/e2e/**",
      "test/kill/notes.test.ts",
      "test/cli/deploy.test.ts",
      "test/examples/{ai-chat,first-blocks,page,sessions,think}.test.ts",
      "test/examples/chat/*.test.ts",
    ];

/** The package's subpaths as their sources, as tsconfig.json names them. */
const { compilerOptions } = JSON.parse(readFileSync("tsconfig.json", "utf8")) as {
  readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> };
};
const SOURCES = Object.entries(compilerOptions.paths).map(([name, [source]]) => ({
  find: new RegExp(`^${name}$`),
  replacement: resolve(source),
}));

/**
 * Projects in the order of their start. Those that wait for processes come first, and the others of few files beside them. A project's
 * first file waits until its modules are loaded, so `workerd` comes behind the longest files of `pure`.
 */
const ORDER = ["bundle", "example", "faults", "think", "hosts", "pure", "workerd"];

class Overlapping extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own method
    const longestFirst = await super.sort(files);
    const byProject = [...Map.groupBy(longestFirst, ({ project }) => project.name)];
    return byProject
      .toSorted(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b))
      .flatMap(([name, own]) => (name === "pure" ? own.toReversed() : own));
  }
}

/** One command: pure code in plain Node, everything durable in workerd, and the real Worker killed from outside. */
export default defineConfig({
  test: {
    // Many tests wait for a Worker more than they compute, so three of them run at once on two cores.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    sequence: { sequencer: Overlapping },
    projects: [
      {
        test: {
          ...everywhere,
          name: "pure",
          // A room brings its Workflow's steps along, which no pure test runs.
          alias: { "cloudflare:workflows": new URL("test/no-workflows.ts", import.meta.url).pathname },
          environment: "node",
          // Loading modules anew for each file would take a third of the time.
          isolate: false,
          include: [
            "test/{bench,steps,facts,fit,*/steps,compat,react,import,model,providers,scripts,dashboard,{context,costs,events,prompt-cache,redact}/pure}/**/*.test.ts",
          ],
          testTimeout: PATIENCE_MS,
        },
      },
      {
        plugins: [
          verbsPlugin,
          cloudflareTest({
            wrangler: { configPath: "./test/wrangler.jsonc" },
            remoteBindings: false,
          }),
        ],
        // The page is built where a browser opens it.
        resolve: {
          alias: [
            ...SOURCES,
            { find: "#page-files", replacement: new URL("test/page/page-files.ts", import.meta.url).pathname },
          ],
        },
        test: {
          setupFiles: everywhere.setupFiles,
          name: "workerd",
          include: [
            "test/{memory,agent,approval,embeddings,inspect,notes,own-function,page,recall,sim,turn,workflows,doors,{context,costs,events,prompt-cache,redact}/workerd}/**/*.test.ts",
          ],
          exclude: ["test/*/steps/**", "test/workflows/faults/faults.test.ts"],
          // One Worker for all files, because starting one takes longer than most files. Every test has agents of its own.
          isolate: false,
          provide: { ...everywhere.provide, sim, matrix },
          testTimeout: PATIENCE_MS,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./test/wrangler.jsonc" },
            remoteBindings: false,
          }),
        ],
        test: {
          ...everywhere,
          name: "faults",
          // A Worker of its own, because each of its tests changes what all later instances of the Workflow do.
          include: ["test/workflows/faults/faults.test.ts"],
          testTimeout: PATIENCE_MS,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./test/ai-chat/wrangler.jsonc" },
            remoteBindings: false,
          }),
        ],
        test: {
          ...everywhere,
          name: "hosts",
          isolate: false,
          include: ["test/{ai-chat,sessions-source}/**/*.test.ts"],
          testTimeout: PATIENCE_MS,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./test/think/wrangler.jsonc" },
            remoteBindings: false,
          }),
        ],
        resolve: { alias: { "just-bash": new URL("test/think/no-bash.ts", import.meta.url).pathname } },
        test: {
          name: "think",
          provide: everywhere.provide,
          // One file: Think brings so many modules that a second file's worker is not started with them.
          include: ["test/think/**/*.test.ts"],
          testTimeout: PATIENCE_MS,
        },
      },
      {
        // An example's own tests, as its reader runs them, against the sources.
        resolve: { alias: SOURCES },
        plugins: [
          agents(),
          cloudflareTest({
            wrangler: { configPath: "./examples/minimal/test/wrangler.jsonc" },
            remoteBindings: false,
          }),
        ],
        test: {
          name: "example",
          include: ["examples/minimal/test/*.test.ts"],
          testTimeout: PATIENCE_MS,
        },
      },
      {
        test: {
          ...everywhere,
          name: "bundle",
          environment: "node",
          include: ["test/{e2e,kill,examples,cli}/**/*.test.ts"],
          exclude: LONG,
          testTimeout: 240_000,
          // A hook builds and starts a Worker and its page, which takes a busy machine more than the usual ten seconds.
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
