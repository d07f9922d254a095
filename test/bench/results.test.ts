/** The pages of the benchmark show the measured figures, with the losses. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Finding } from "../../bench/report/finding.ts";
import { once } from "../../bench/report/noise.ts";
import { renderFinding, tellSmall } from "../../bench/report/render.ts";
import { pageOf, readResults, renderCase, renderPage } from "../../bench/report/results.ts";
import { isInHistory } from "../../bench/versions.ts";

const show = (about: Finding["about"]): string =>
  renderFinding(once({ title: "Rows", about, checks: [], tables: [] }), null);

test("RESULTS.md is what bench/results.json says", async () => {
  const page = await readFile(join(import.meta.dirname, "../../bench/RESULTS.md"), "utf8");
  expect(page).toBe(renderPage(await readResults()));
});

test("the page of a case is what bench/results.json says, and names no commit that is not in the history", async () => {
  const folder = join(import.meta.dirname, "../../bench");
  for (const [name, result] of Object.entries(await readResults())) {
    const isKnown = await isInHistory(folder, result.commit);
    const page = await readFile(join(folder, pageOf(name)), "utf8");
    expect(page, name).toBe(renderCase(result, isKnown));
    expect(page.includes(` at ${result.commit} with `), name).toBe(isKnown);
  }
});

test("a number that two digits could not tell from nothing is said to be small", () => {
  expect([tellSmall(0.0011), tellSmall(0), tellSmall(0.01), tellSmall(3)]).toEqual(["under 0.01", 0, 0.01, 3]);
});

test("what a reader has to know stands as a list under what was done; one sentence stays one", () => {
  expect(show(["All was read.", "Twice.", "Aloud."])).toBe("## Rows\n\nAll was read.\n\n- Twice.\n- Aloud.");
  expect(show(["All was read."])).toBe(show("All was read."));
});
