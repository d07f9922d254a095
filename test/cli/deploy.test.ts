/** The bundle that `wrangler deploy` would upload. It is built here and sent nowhere. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
/** Bytes, compressed, that the platform takes of one Worker on its free plan. */
const FREE_PLAN_BYTES = 3_000_000;

const run = promisify(execFile);

test("the deployable Worker builds, with every binding that it needs, and fits the free plan", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-deploy-"));
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", FORCE_COLOR: "0" };
  await run("node", ["scripts/build-page.ts"], { cwd: ROOT, env });
  const { stdout } = await run("wrangler", ["deploy", "--dry-run", "--outdir", folder], { cwd: ROOT, env });
  for (const binding of ["PalimpsestAgent", "COMPACTION_WORKFLOW", "ASSETS"]) {
    expect(stdout).toContain(`env.${binding}`);
  }
  expect(stdout).not.toMatch(/PALIMPSEST_SECRET|PALIMPSEST_MODEL_KEY/);
  const bundle = await readFile(join(folder, "worker.js"));
  expect(gzipSync(bundle).length).toBeLessThan(FREE_PLAN_BYTES);
  const page = await readFile(join(ROOT, "docs/deploy.md"), "utf8");
  const [, megabytes, kilobytes] = /bundle is ([\d.]+) MB, (\d+) kB compressed/.exec(page.replaceAll("\n", " ")) ?? [];
  expect(within(bundle.length / 1e6, Number(megabytes))).toBe(true);
  expect(within(gzipSync(bundle).length / 1e3, Number(kilobytes))).toBe(true);
  await rm(folder, { recursive: true });
});

/** Whether a figure of a page is still true, to a tenth. */
function within(found: number, written: number): boolean {
  return Math.abs(found - written) <= written / 10;
}
