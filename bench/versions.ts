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

/**
 * The short id of the newest commit that was pushed, with "+" where the sources have changed since. A commit that was not pushed may be
 * rebased, and then nobody finds it. Without an upstream it is the newest commit. `here` is the folder of this package.
 */
export async function readCommit(here: string): Promise<string> {
  const git = gitIn(here);
  const files = ["--", ...SOURCES, ...WRITTEN];
  try {
    const commit = await git("merge-base", "HEAD", "@{upstream}").catch(() => git("rev-parse", "HEAD"));
    const changed = [await git("diff", "--name-only", commit, ...files), await git("status", "--porcelain", ...files)];
    return `${await git("rev-parse", "--short", commit)}${changed.join("") === "" ? "" : "+"}`;
  } catch {
    return "no repository";
  }
}

/** Whether a stamped commit is in the history, so that a reader can find it. True where there is no whole history to look in. */
export async function isInHistory(here: string, commit: string): Promise<boolean> {
  const git = gitIn(here);
  const isShallow = await git("rev-parse", "--is-shallow-repository").catch(() => "true");
  if (isShallow === "true") return true;
  return git("merge-base", "--is-ancestor", commit.replace("+", ""), "HEAD").then(
    () => true,
    () => false,
  );
}

function gitIn(here: string): (...args: readonly string[]) => Promise<string> {
  return async (...args) => (await promisify(execFile)("git", [...args], { cwd: here })).stdout.trim();
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
