/**
 * What each module of `src` adds to the chat Worker after gzip: the difference that it makes when the module is left out.
 *
 * Bundled are our own modules, without the packages that they import. A module is left out by a stand-in with the same exports, so
 * what only it needs is left out too.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../..");
const ENTRY = join(import.meta.dirname, "ours/worker.ts");

interface Weight {
  /** Of the module's own code. */
  readonly minified: number;
  /** Of the module and what only it needs. */
  readonly gzip: number;
}

export interface Weights {
  readonly all: Weight;
  readonly folders: ReadonlyMap<string, Weight>;
  readonly files: ReadonlyMap<string, Weight>;
}

export async function weigh(): Promise<Weights> {
  const whole = await measure(() => false);
  const names = [...whole.files.keys()].filter((file) => file.startsWith("src/"));
  const without = async (inIt: (file: string) => boolean): Promise<Weight> => ({
    minified: names.filter(inIt).reduce((sum, file) => sum + (whole.files.get(file) ?? 0), 0),
    gzip: whole.gzip - (await measure(inIt)).gzip,
  });
  const folders = new Map<string, Weight>();
  for (const folder of new Set(names.map(folderOf))) folders.set(folder, await without((f) => folderOf(f) === folder));
  const files = new Map<string, Weight>();
  for (const file of names) files.set(file, await without((each) => each === file));
  return { all: { minified: whole.minified, gzip: whole.gzip }, folders, files };
}

/** `src/agent/runs`, `src/steps/plan`: two folders deep. */
function folderOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 3).join("/");
}

async function measure(
  leftOut: (file: string) => boolean,
): Promise<{ readonly minified: number; readonly gzip: number; readonly files: ReadonlyMap<string, number> }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [ENTRY],
    absWorkingDir: ROOT,
    tsconfig: join(ROOT, "tsconfig.json"),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2024",
    write: false,
    metafile: true,
    logLevel: "silent",
    external: ["cloudflare:*", "node:*", "agents", "ai", "zod", "workers-ai-provider", "@ai-sdk/*"],
    plugins: [
      {
        name: "leave out",
        setup: (bundler) => {
          bundler.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const isOut = leftOut(path.slice(ROOT.length + 1));
            return isOut ? { contents: standIn(await readFile(path, "utf8")), loader: "ts" } : null;
          });
        },
      },
    ],
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  const inputs = Object.entries(Object.values(metafile.outputs)[0]?.inputs ?? {});
  return {
    minified: code.length,
    gzip: gzipSync(code, { level: 9 }).length,
    files: new Map(inputs.map(([file, { bytesInOutput }]) => [file, bytesInOutput])),
  };
}

/** The exports of a module, each a value without meaning. */
function standIn(code: string): string {
  const declared = [...code.matchAll(/^export (?:async |abstract )*(?:function\*?|const|let|class) ([\w$]+)/gm)].map(
    ([, name = ""]) => name,
  );
  const passedOn = [...code.matchAll(/^export \{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((each) => each.trim())
      .filter((each) => each !== "" && !each.startsWith("type "))
      .map((each) => each.split(" as ").at(-1) ?? each),
  );
  return [...new Set([...declared, ...passedOn])]
    .map((name) => `export const ${name} = /* @__PURE__ */ Symbol();`)
    .join("\n");
}
