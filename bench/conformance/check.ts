/** Checks facts on every store in the Worker of worker.ts, which it starts and stops. */
import { join } from "node:path";
import { createTestHarness } from "wrangler";
import type { Fact } from "./fact.ts";
import { STORE_NAMES, type Line, type StoreName } from "./report.ts";
import type { Verdict } from "./verdict.ts";

/** Checks one fact after another and hands each line to `tell` as soon as it is known. */
export async function checkFacts(
  facts: readonly Fact[],
  tell: (line: Line) => void = () => undefined,
): Promise<Line[]> {
  process.env["X_LOCAL_OBSERVABILITY"] = "false";
  process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
  const root = join(import.meta.dirname, "..");
  const harness = createTestHarness({ root, workers: [{ configPath: "./conformance/wrangler.jsonc" }] });
  const { url } = await harness.listen();
  const lines: Line[] = [];
  try {
    for (const fact of facts) {
      const verdicts: Partial<Record<StoreName, Verdict>> = {};
      for (const name of STORE_NAMES) verdicts[name] = await check(url, name, fact);
      const { id, area, says, shows } = fact;
      const line = { id, area, says, shows, verdicts: verdicts as Record<StoreName, Verdict> };
      lines.push(line);
      tell(line);
    }
  } finally {
    await harness.close();
  }
  return lines;
}

async function check(url: URL, store: StoreName, fact: Fact): Promise<Verdict> {
  const response = await fetch(new URL(`/?${new URLSearchParams({ store, fact: fact.id }).toString()}`, url));
  // A fact fails when its object took the caller down.
  if (!response.ok) return { kind: "fails", why: `The Worker answered ${response.status}.` };
  const verdict: unknown = await response.json();
  return verdict as Verdict;
}
