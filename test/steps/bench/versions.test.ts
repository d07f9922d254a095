/** A finding says whether its sources have changed since their commit. Files that measuring writes are no sources. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readCommit } from "../../../bench/versions.ts";

const FILES = ["README.md", "src/a.ts", "docs/costs.md", "bench/case.ts", "bench/results.json", "bench/RESULTS.md"];
let root = "";

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "palimpsest-commit-"));
  for (const folder of ["src", "docs/images", "bench"]) await mkdir(join(root, folder), { recursive: true });
  await write(FILES, "as it was");
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: root });
  git("init", "--quiet");
  git("add", ".");
  git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "All");
});

afterEach(() => rm(root, { recursive: true, force: true }));

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
