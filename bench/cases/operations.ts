/** Rows that every other operation of ours reads and writes, as the conversation grows. */
import type { Case, Check, Finding } from "../case.ts";
import type { Lab, Subject } from "../lab.ts";
import { median } from "../stats.ts";
import type { Rows } from "../objects/meter.ts";
import type { Operation } from "../objects/rig.ts";

const SIZES = [100, 1_000, 10_000, 100_000];
const QUICK_SIZES = [100, 1_000];

interface Measured {
  readonly name: string;
  readonly operation: Operation;
  /** Counted once: it costs as much as there is stored, or cannot be done again. */
  readonly once?: boolean;
  /** Counted after the object was evicted. */
  readonly cold?: boolean;
  /** Rows that may be read, and written, at any N; null where every message has to be. */
  readonly most: readonly [read: number, written: number] | null;
}

/** In this order: the first search makes the index that the rows after it keep up. */
const MEASURED: readonly Measured[] = [
  { name: "cold open and view", operation: "view", cold: true, most: [32, 0] },
  { name: "branch list", operation: "branches", most: [4, 0] },
  { name: "update", operation: "update", most: [4, 1] },
  { name: "delete", operation: "delete", most: [32, 2] },
  { name: "first search", operation: "search", once: true, most: null },
  { name: "later search", operation: "search", most: [8, 0] },
  { name: "search, cold", operation: "search", cold: true, most: [8, 0] },
  { name: "update, indexed", operation: "update", most: [8, 3] },
  { name: "delete, indexed", operation: "delete", most: [32, 3] },
  { name: "fork", operation: "fork", once: true, most: null },
];

export const operations: Case = { name: "operations", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const sizes = lab.quick ? QUICK_SIZES : SIZES;
  const counts: Rows[][] = MEASURED.map(() => []);
  for (const size of sizes) {
    const subject = lab.subject("Ours", `operations-${size}`);
    await subject.prepare(size);
    for (const [index, measured] of MEASURED.entries()) counts[index]?.push(await count(subject, measured));
  }
  return {
    title: "Rows of every other operation",
    about:
      "Ours, as above. Rows read and written by one operation (median of three; once for a first search, which makes the index, and for a fork, which copies the path). A search finds one message; update is of the newest message, delete too.",
    tables: [
      {
        columns: ["operation", ...sizes.flatMap((size) => [`read at ${size.toLocaleString("en-US")}`, "written"])],
        rows: MEASURED.map(({ name }, index) => [
          name,
          ...(counts[index] ?? []).flatMap(({ read, written }) => [read, written]),
        ]),
      },
    ],
    checks: MEASURED.flatMap((measured, index) => check(measured, counts[index] ?? [])),
  };
}

async function count(subject: Subject, { operation, cold = false, once = false }: Measured): Promise<Rows> {
  if (cold) await subject.evict();
  const rows = await subject.count(operation, cold || once ? 1 : 3);
  return { read: median(rows.map(({ read }) => read)), written: median(rows.map(({ written }) => written)) };
}

function check({ name, most }: Measured, counts: readonly Rows[]): Check[] {
  if (most === null) return [];
  const [read, written] = most;
  return [
    { claim: `rows read by: ${name}`, measured: Math.max(...counts.map((rows) => rows.read)), target: read },
    { claim: `rows written by: ${name}`, measured: Math.max(...counts.map((rows) => rows.written)), target: written },
  ];
}
