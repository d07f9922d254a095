/**
 * Builds the dashboard when it is absent or older than its sources. `--always` builds it in any case.
 *
 * Writes its files to dist/dashboard, and to dist/page the module that holds them all, for `palimpsest/page`. Cheap enough to call before every start of a Worker, because it only compares the times of files when
 * nothing has changed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { extname, join, relative } from "node:path";
import { PalimpsestError } from "./cli/in-package.ts";

const ROOT = join(import.meta.dirname, "..");
const SOURCES = join(ROOT, "dashboard");
const BUILT = join(ROOT, "dist/dashboard");
const MODULE = join(ROOT, "dist/page/files.js");

/** What a browser needs to know of each kind of file. */
const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

export async function buildPage({ always = false } = {}): Promise<void> {
  if (!always && (await isFresh())) return;
  const args = ["build", "--config", join(SOURCES, "vite.config.ts"), "--logLevel", "warn"];
  // A process of its own, because inside a process that runs tests vite would build the page for tests.
  const built = spawn("vite", args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, NODE_ENV: "production" } });
  const [code] = (await once(built, "exit")) as [number | null];
  if (code !== 0) throw new PalimpsestError("invalid_state", "The page could not be built: see what vite says above.");
  await writeModule();
}

/** The page as one module. A file of another kind, such as the headers of static files, is for other servers. */
async function writeModule(): Promise<void> {
  const entries = await readdir(BUILT, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files: Record<string, { type: string; body: string }> = {};
  for (const path of paths.toSorted()) {
    const type = TYPES[extname(path)];
    if (type !== undefined) files[relative(BUILT, path)] = { type, body: await readFile(path, "utf8") };
  }
  await mkdir(join(MODULE, ".."), { recursive: true });
  await writeFile(MODULE, `export const files = ${JSON.stringify(files)};\n`);
}

async function isFresh(): Promise<boolean> {
  if (!existsSync(MODULE)) return false;
  const built = (await stat(MODULE)).mtimeMs;
  const files = await readdir(SOURCES, { recursive: true, withFileTypes: true });
  const times = files
    .filter((file) => file.isFile())
    .map(async (file) => (await stat(join(file.parentPath, file.name))).mtimeMs);
  return (await Promise.all(times)).every((time) => time <= built);
}

if (import.meta.main) await buildPage({ always: process.argv.includes("--always") });
