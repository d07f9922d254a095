/** A finding says whether its sources have changed since their commit. Files that measuring writes are no sources. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isInHistory, readCommit } from "../../bench/versions.ts";

const FILES = ["README.md", "src/a.ts", "docs/costs.md", "bench/case.ts", "bench/results.json", "bench/RESULTS.md"];
let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "palimpsest-commit-"));
  for (const folder of ["src", "docs/images", "bench"]) await mkdir(join(root, folder), { recursive: true });
  await write(FILES, "as it was");
  git("init", "--quiet");
  commit();
});

afterEach(() => rm(root, { recursive: true, force: true }));

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

function commit(): string {
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "All");
  return git("rev-parse", "--short", "HEAD");
}

async function write(files: readonly string[], text: string): Promise<void> {
  for (const file of files) await writeFile(join(root, file), text);
}

test("what measuring writes changes nothing", async () => {
  const generated = ["README.md", "docs/costs.md", "docs/images/bench.svg", "bench/results.json", "bench/RESULTS.md"];
  await write(generated, "measured anew");
  expect(await readCommit(join(root, "bench"))).toMatch(/^[0-9a-f]{7,}$/);
});

test.for(["src/a.ts", "src/new.ts", "bench/case.ts"])("%s is a source", async (file) => {
  await write([file], "changed");
  expect(await readCommit(join(root, "bench"))).toMatch(/^[0-9a-f]{7,}\+$/);
});

test("a commit that was not pushed is not named, and its sources count as changed", async () => {
  const pushed = git("rev-parse", "--short", "HEAD");
  git("branch", "trunk");
  git("branch", "--set-upstream-to", "trunk");
  await write(["docs/costs.md"], "other words");
  commit();
  expect(await readCommit(join(root, "bench"))).toBe(pushed);
  await write(["src/a.ts"], "changed");
  commit();
  expect(await readCommit(join(root, "bench"))).toBe(`${pushed}+`);
});

test("a commit that was rewritten is not in the history", async () => {
  await write(["src/a.ts"], "changed");
  const rewritten = commit();
  git("reset", "--quiet", "--hard", "HEAD~1");
  expect(await isInHistory(join(root, "bench"), `${git("rev-parse", "--short", "HEAD")}+`)).toBe(true);
  expect(await isInHistory(join(root, "bench"), rewritten)).toBe(false);
  expect(await isInHistory(join(root, "bench"), "0000000")).toBe(false);
});
