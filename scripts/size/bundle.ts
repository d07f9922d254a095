/** Bundles a Worker of this folder as wrangler does for a deploy, minified. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

const ROOT = join(import.meta.dirname, "../..");
const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
/** Think imports it for scripts of skills, and every Worker with Think installs it. Its size is counted for none of them. */
const NO_BASH = `just-bash:${join(ROOT, "test/think/no-bash.ts")}`;
/** Without the paths of the project, so that `palimpsest` is the built package. */
const TSCONFIG = join(import.meta.dirname, "tsconfig.json");

export interface Bundle {
  readonly code: string;
  readonly bytes: number;
  readonly gzipBytes: number;
  /** Minified bytes by input file. */
  readonly files: ReadonlyMap<string, number>;
}

interface Metafile {
  readonly outputs: Record<string, { readonly inputs: Record<string, { readonly bytesInOutput: number }> }>;
}

export async function bundle(
  name: "ai-chat" | "bare" | "ours" | "sdk" | "stock-ai-chat" | "stock-think" | "think",
): Promise<Bundle> {
  const out = await mkdtemp(join(tmpdir(), `palimpsest-size-${name}-`));
  try {
    const entry = join(import.meta.dirname, name, "worker.ts");
    const config = join(import.meta.dirname, "wrangler.jsonc");
    const options = [
      "--dry-run",
      "--minify",
      "--metafile",
      "--outdir",
      out,
      "--config",
      config,
      "--tsconfig",
      TSCONFIG,
      "--alias",
      NO_BASH,
    ];
    const env = { ...process.env, WRANGLER_SEND_METRICS: "false" };
    await promisify(execFile)(process.execPath, [WRANGLER, "deploy", entry, ...options], { cwd: ROOT, env });
    const code = await readFile(join(out, "worker.js"));
    const { outputs } = JSON.parse(await readFile(join(out, "bundle-meta.json"), "utf8")) as Metafile;
    const files = new Map<string, number>();
    for (const { inputs } of Object.values(outputs)) {
      for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
        files.set(file.replace(/^(?:\.\.\/)+/, ""), bytesInOutput);
      }
    }
    return { code: code.toString(), bytes: code.length, gzipBytes: gzipSync(code, { level: 9 }).length, files };
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}
