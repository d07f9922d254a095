/** Versions of everything that affects a measurement. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Packages, with the folder that each is installed in. */
const PACKAGES = { agents: "..", "upstream-020": ".", ai: "..", wrangler: "..", workerd: ".." };

/** The measured and the measuring sources, without the pages that a measurement writes. */
const SOURCES = ["../src", ".", ":!node_modules"];
const WRITTEN = ["results.json", "RESULTS.md", "results", "conformance.json", "CONFORMANCE.md"].map(
  (file) => `:!${file}`,
);

/** The short commit id of the sources, with "+" where they have changed since. `here` is the folder of this package. */
export async function readCommit(here: string): Promise<string> {
  const git = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)("git", [...args], { cwd: here })).stdout.trim();
  try {
    const changed = await git("status", "--porcelain", "--", ...SOURCES, ...WRITTEN);
    return `${await git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : "+"}`;
  } catch {
    return "no repository";
  }
}

/** `here` is the folder of this package. */
export async function readVersions(here: string): Promise<Record<string, string>> {
  const versions: Record<string, string> = { node: process.version.slice(1), cores: String(availableParallelism()) };
  for (const [name, place] of Object.entries(PACKAGES)) {
    const file = join(here, place, "node_modules", name, "package.json");
    versions[name] = (JSON.parse(await readFile(file, "utf8")) as { version: string }).version;
  }
  return versions;
}
