/** Redaction is an optional room. A bundle that does not pass its rules on does not include them, and the docs about it hold. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { rules as library } from "@secretlint/secretlint-rule-preset-recommend";
import { expect, test } from "vitest";
import { build, type Rolldown } from "vite";
import { secretRules } from "../../../src/redact/secret-rules.ts";

const ROOT = join(import.meta.dirname, "../../..");

async function bundle(entry: string, external: RegExp): Promise<Rolldown.OutputChunk[]> {
  const built = await build({
    root: ROOT,
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      minify: true,
      lib: { entry: join(ROOT, entry), formats: ["es"] },
      rolldownOptions: { external },
    },
  });
  const [output] = Array.isArray(built) ? built : [built];
  if (output === undefined || !("output" in output)) throw new Error("Nothing was built.");
  return output.output.filter((each) => each.type === "chunk");
}

test("a Worker that imports the library and not its rules bundles none of them", async () => {
  const chunks = await bundle("src/index.ts", /^(?![./])/);
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds);
  expect(modules.some((id) => id.includes("/src/agent/redaction.ts"))).toBe(true);
  expect(modules.filter((id) => id.includes("/src/redact/"))).toEqual([]);
});

test("the rules with their library weigh no more than the docs say, and not much less", async () => {
  const [chunk] = await bundle("src/redact/secret-rules.ts", /^node:/);
  const code = chunk?.code ?? "";
  const doc = await readFile(join(ROOT, "docs/redaction.md"), "utf8");
  const [, most = "", mostCompressed = ""] = /less than (\d+) kB, compressed (\d+) kB/.exec(doc) ?? [];
  for (const [weight, said] of [
    [code.length, Number(most)],
    [gzipSync(code).length, Number(mostCompressed)],
  ] as const) {
    expect(weight / 1_000).toBeLessThan(said);
    expect(weight / 1_000).toBeGreaterThan(said * 0.8);
  }
});

test("what the docs measured is these rules, with the library that is installed", async () => {
  const doc = await readFile(join(ROOT, "docs/redaction.md"), "utf8");
  expect(doc).toContain(`Rules \`${secretRules().id}\`.`);
  const installed = join(ROOT, "node_modules/@secretlint/secretlint-rule-preset-recommend/package.json");
  const { version } = JSON.parse(await readFile(installed, "utf8")) as { version: string };
  expect(secretRules().id).toContain(`secretlint-${version}`);
  expect(library.length).toBeGreaterThan(20);
});
