/**
 * The conformance suite: `node bench/conformance.ts [FACT …]`, each FACT the beginning of a fact's id.
 *
 * Checks every fact on every store and prints which hold. When all facts were checked it keeps the table in
 * bench/CONFORMANCE.md and bench/conformance.json. The exit code is 1 when ours fails one; what others fail is shown.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import type { Fact } from "./conformance/fact.ts";
import { FACTS } from "./conformance/facts.ts";
import { renderCounts, renderLine, renderPage, type Line, type StoreName } from "./conformance/report.ts";
import type { Verdict } from "./conformance/verdict.ts";
import { readVersions } from "./versions.ts";

const HERE = import.meta.dirname;

async function main(asked: readonly string[]): Promise<void> {
  const facts = FACTS.filter(({ id }) => asked.length === 0 || asked.some((each) => id.startsWith(each)));
  if (facts.length === 0) throw new Error(`No fact begins so. There are: ${FACTS.map(({ id }) => id).join(", ")}.`);
  const lines = await checkAll(facts);
  process.stdout.write(`\n${renderCounts(lines)}\n`);
  if (asked.length === 0) {
    const results = { date: new Date().toISOString().slice(0, 10), versions: await readVersions(HERE), lines };
    await writeFile(join(HERE, "conformance.json"), `${JSON.stringify(results, null, 2)}\n`);
    await writeFile(join(HERE, "CONFORMANCE.md"), renderPage(results));
  }
  if (lines.some(({ verdicts }) => verdicts.Ours.kind !== "holds")) process.exitCode = 1;
}

async function checkAll(facts: readonly Fact[]): Promise<Line[]> {
  process.env["X_LOCAL_OBSERVABILITY"] = "false";
  process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
  const configPath = "./conformance/wrangler.jsonc";
  const harness = createTestHarness({ root: HERE, workers: [{ configPath }] });
  const { url } = await harness.listen();
  const lines: Line[] = [];
  try {
    for (const fact of facts) {
      const { id, area, says } = fact;
      const [Ours, Sdk032, Sdk020] = [
        await check(url, "Ours", fact),
        await check(url, "Sdk032", fact),
        await check(url, "Sdk020", fact),
      ];
      const line = { id, area, says, verdicts: { Ours, Sdk032, Sdk020 } };
      lines.push(line);
      process.stdout.write(`${renderLine(line)}\n`);
    }
  } finally {
    await harness.close();
  }
  return lines;
}

async function check(url: URL, store: StoreName, fact: Fact): Promise<Verdict> {
  const response = await fetch(new URL(`/?${new URLSearchParams({ store, fact: fact.id }).toString()}`, url));
  // An object that took its caller down with it did not hold the fact.
  if (!response.ok) return { kind: "fails", why: `The Worker answered ${response.status}.` };
  const verdict: unknown = await response.json();
  return verdict as Verdict;
}

await main(process.argv.slice(2));
