/** Versions of all that decides what is measured. */
import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

/** Installed packages, by where they are installed. */
const PACKAGES = { agents: "..", "upstream-020": ".", ai: "..", wrangler: "..", workerd: ".." };

/** `here` is the folder of this package. */
export async function readVersions(here: string): Promise<Record<string, string>> {
  const versions: Record<string, string> = { node: process.version.slice(1), cores: String(availableParallelism()) };
  for (const [name, place] of Object.entries(PACKAGES)) {
    const file = join(here, place, "node_modules", name, "package.json");
    versions[name] = (JSON.parse(await readFile(file, "utf8")) as { version: string }).version;
  }
  return versions;
}
