/**
 * Builds the dashboard when it is absent or older than its sources. `--always` builds it in any case.
 *
 * Writes to dist/dashboard alone. Cheap enough to call before every start of a Worker, because it only compares the times of files when
 * nothing has changed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { PalimpsestError } from "../src/errors.ts";

const ROOT = join(import.meta.dirname, "..");
const SOURCES = join(ROOT, "dashboard");
const BUILT = join(ROOT, "dist/dashboard/index.html");

export async function buildPage({ always = false } = {}): Promise<void> {
  if (!always && (await isFresh())) return;
  const args = ["build", "--config", join(SOURCES, "vite.config.ts"), "--logLevel", "warn"];
  // A process of its own, because inside a process that runs tests vite would build the page for tests.
  const built = spawn("vite", args, { cwd: ROOT, stdio: "inherit", env: { ...process.env, NODE_ENV: "production" } });
  const [code] = (await once(built, "exit")) as [number | null];
  if (code !== 0) throw new PalimpsestError("invalid_state", "The page could not be built: see what vite says above.");
}

async function isFresh(): Promise<boolean> {
  if (!existsSync(BUILT)) return false;
  const built = (await stat(BUILT)).mtimeMs;
  const files = await readdir(SOURCES, { recursive: true, withFileTypes: true });
  const times = files
    .filter((file) => file.isFile())
    .map(async (file) => (await stat(join(file.parentPath, file.name))).mtimeMs);
  return (await Promise.all(times)).every((time) => time <= built);
}

if (import.meta.main) await buildPage({ always: process.argv.includes("--always") });
