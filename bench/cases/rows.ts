/** Rows that ours reads and writes, as the conversation grows and the view does not. */
import type { Case, Finding } from "../case.ts";
import type { Lab } from "../lab.ts";
import { median, quantile } from "../stats.ts";

const SIZES = [100, 1_000, 10_000, 100_000];
const QUICK_SIZES = [100, 1_000];
const VISIBLE = 14;
/** More than one stretch of the fingerprint log (64 appends), so that its row is in the count. */
const APPENDS = 130;

export const rows: Case = { name: "rows", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const views: number[] = [];
  const coldAppends: number[] = [];
  const rows: number[][] = [];
  let [mostRead, mostWritten] = [0, 0];
  for (const size of lab.quick ? QUICK_SIZES : SIZES) {
    const subject = lab.subject("Ours", `rows-${size}`);
    const visible = await subject.prepare(size);
    if (visible !== VISIBLE) throw new Error(`${visible} messages are visible instead of ${VISIBLE}.`);
    await subject.evict();
    const [coldView] = await subject.count("view", 1);
    const [view] = await subject.count("view", 1);
    await subject.evict();
    const [coldAppend] = await subject.count("append", 1);
    if (coldView === undefined || view === undefined || coldAppend === undefined)
      throw new Error("Nothing was counted.");
    const appends = await subject.count("append", APPENDS);
    const read = appends.map((each) => each.read);
    const written = appends.map((each) => each.written);
    views.push(coldView.read);
    coldAppends.push(coldAppend.read - coldView.read);
    mostRead = Math.max(mostRead, ...read);
    mostWritten = Math.max(mostWritten, median(written));
    rows.push([
      size,
      view.read,
      coldView.read,
      coldAppend.read,
      Math.max(...read),
      median(written),
      quantile(written, 1),
    ]);
  }
  return {
    title: "Rows, as the conversation grows",
    about: `Ours, ${VISIBLE} messages visible (3, a summary, 10) of N stored. Every 64th append writes one more row, for the index of ids.`,
    tables: [{ columns: ["N", "view", "first view", "first append", "append", "written", "most written"], rows }],
    checks: [
      {
        claim: "rows read by a view, the first after an eviction",
        measured: Math.max(...views),
        target: 2 * VISIBLE + 4,
      },
      {
        claim: "how much that grows from the smallest N to the largest",
        measured: Math.max(...views) - Math.min(...views),
        target: 0,
      },
      { claim: "rows written by an append (median)", measured: mostWritten, target: 1 },
      { claim: "rows read by an append", measured: mostRead, target: 2 },
      {
        claim: "rows read by the first append after an eviction, over a view's",
        measured: Math.max(...coldAppends),
        target: 4,
      },
    ],
  };
}
