/** The tests on docs/testing.md type-check in a project that follows the page. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../../..");
const example = join(root, "examples/minimal");
const folder = join(root, ".state", `testing-docs-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (file: string): string => readFileSync(join(root, file), "utf8");

test.each(["test/worker.ts", "vitest.config.ts", "tsconfig.json", "test/chat.test.ts"])(
  "docs/testing.md shows the example's %s, letter by letter",
  (file) => {
    expect(read("docs/testing.md")).toContain(read(`examples/minimal/${file}`).trimEnd());
  },
);

/** What `wrangler types` writes in the example. */
const WORKER_TYPES = `
/// <reference types="@cloudflare/workers-types" />
declare namespace Cloudflare {
  interface Env {
    ChatAgent: DurableObjectNamespace<import("${example}/worker.ts").ChatAgent>;
    COMPACTION_WORKFLOW: Workflow;
  }
}
`;

test("the tests of docs/testing.md type-check with the types and the files that the page names", () => {
  const { compilerOptions } = JSON.parse(read("tsconfig.json")) as {
    readonly compilerOptions: { readonly lib: readonly string[]; readonly paths: Record<string, readonly [string]> };
  };
  const paths = Object.entries(compilerOptions.paths).map(([name, [source]]) => [name, [join(root, source)]]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "worker-configuration.d.ts"), WORKER_TYPES);
  const config = {
    extends: join(example, "tsconfig.json"),
    // The package's sources stand in for its declarations, and use more of the language than the example.
    compilerOptions: { rootDir: root, lib: compilerOptions.lib, paths: Object.fromEntries(paths) },
    files: [join(folder, "worker-configuration.d.ts")],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { errors, files } = compile();
  expect(errors).toEqual([]);
  for (const file of ["test/chat.test.ts", "test/worker.ts", "hello.ts"]) expect(files).toContain(join(example, file));
});

function compile(): { readonly errors: readonly string[]; readonly files: readonly string[] } {
  try {
    const lines = execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--listFiles"], {
      encoding: "utf8",
    });
    return { errors: [], files: lines.split("\n") };
  } catch (error) {
    const lines = (error as { readonly stdout: string }).stdout.split("\n");
    return { errors: lines.filter((line) => line.includes("error TS")), files: lines };
  }
}
