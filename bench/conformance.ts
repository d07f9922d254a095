/**
 * The conformance suite, `node bench/conformance.ts [FACT …]`. Each FACT is the beginning of a fact's id.
 *
 * Checks every fact on every store and prints which hold. When it checked all facts, it writes the table to bench/CONFORMANCE.md and
 * bench/conformance.json. The exit code is 1 when ours fails a fact. Failures of other stores are only shown.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checkFacts } from "./conformance/check.ts";
import { FACTS } from "./conformance/facts.ts";
import { renderCounts, renderLine, renderPage } from "./conformance/report.ts";
import { readVersions } from "./versions.ts";

const HERE = import.meta.dirname;

async function main(asked: readonly string[]): Promise<void> {
  const facts = FACTS.filter(({ id }) => asked.length === 0 || asked.some((each) => id.startsWith(each)));
  if (facts.length === 0) throw new Error(`No fact begins so. There are: ${FACTS.map(({ id }) => id).join(", ")}.`);
  const lines = await checkFacts(facts, (line) => process.stdout.write(`${renderLine(line)}\n`));
  process.stdout.write(`\n${renderCounts(lines)}\n`);
  if (asked.length === 0) {
    const results = { date: new Date().toISOString().slice(0, 10), versions: await readVersions(HERE), lines };
    await writeFile(join(HERE, "conformance.json"), `${JSON.stringify(results, null, 2)}\n`);
    await writeFile(join(HERE, "CONFORMANCE.md"), renderPage(results));
  }
  if (lines.some(({ verdicts }) => verdicts.Ours.kind !== "holds")) process.exitCode = 1;
}

await main(process.argv.slice(2));
