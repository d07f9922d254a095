/** How much memory a run and a view take, as the history grows and its visible part does not. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import { InspectedWorker, type Taken } from "../../lab/inspected.ts";
import type { Lab } from "../../lab/lab.ts";

const SIZES = [1_000, 10_000, 100_000];
const QUICK_SIZES = [100, 300];
/** Longest path that the SDK's sessions take. */
const LAST_OF_SDK = 9_000;
/** Appended after the summary, so that a run has something to read. */
const NEW = 200;
const THRESHOLD = "threshold=1000000000";
const MIB = 1_048_576;
const BOUND = 1.2;

type Home = "Ours" | "Sdk032";

interface Measured {
  readonly home: Home;
  readonly size: number;
  readonly view: Taken;
  /** Ours only. The SDK hands all messages to the caller's function, whose memory is its own matter. */
  readonly run: Taken | null;
}

export const memory: Case = { name: "memory", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const sizes = lab.quick ? QUICK_SIZES : SIZES;
  const theirs = lab.quick ? [] : sizes.map((size) => ["Sdk032", Math.min(size, LAST_OF_SDK)] as const);
  const asked = [...sizes.map((size) => ["Ours", size] as const), ...theirs];
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-memory-"));
  try {
    await prepare(stateDir, asked);
    const measured: Measured[] = [];
    for (const [home, size] of asked) measured.push(await look(stateDir, home, size));
    return tell(measured);
  } finally {
    await rm(stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

function nameOf(size: number): string {
  return `memory-${size}?${THRESHOLD}`;
}

/** All but 13 messages of each are under a summary. Ours has some more after it. */
async function prepare(stateDir: string, asked: readonly (readonly [Home, number])[]): Promise<void> {
  const worker = await InspectedWorker.start(stateDir);
  try {
    for (const [binding, size] of [...asked, ["Ours", 50] as const, ["Sdk032", 50] as const]) {
      const name = nameOf(size);
      await worker.call({ binding, name, method: "rig", args: ["prepare", size] });
      await worker.call({ binding, name, method: "rig", args: ["count", "append", NEW] });
    }
  } finally {
    await worker.close();
  }
}

/** Measures in a process that has never seen the conversation. A small conversation loads the code first. */
async function look(stateDir: string, home: Home, size: number): Promise<Measured> {
  const worker = await InspectedWorker.start(stateDir);
  try {
    const view = (name: string) => worker.call({ binding: home, name, method: "rig", args: ["count", "view", 1] });
    const run = (name: string) => worker.call({ binding: home, name, method: "countRun", args: [] });
    await view(nameOf(50));
    if (home === "Ours") await run(nameOf(50));
    const viewed = await worker.take(() => view(nameOf(size)));
    return { home, size, view: viewed, run: home === "Ours" ? await worker.take(() => run(nameOf(size))) : null };
  } finally {
    await worker.close();
  }
}

function tell(measured: readonly Measured[]): Finding {
  const ours = measured.filter(({ home }) => home === "Ours");
  const [small, large] = [ours[0], ours.at(-1)];
  if (small?.run == null || large?.run == null) throw new Error("Nothing was measured.");
  return {
    title: "Memory, as the history grows",
    about: `Of N stored messages of some hundred tokens ${NEW + 14} are visible. A view, and a run that reads the outline, plans, has the span summarised and commits, each the first in a fresh process that has loaded its code with a small conversation before. Allocated is what JavaScript took in all, freed or not, as V8 samples it: a bound on what it held at any moment. Risen is how far the resident memory of the process rose above where it was, SQLite's pages and all: the kernel's own peak, and as rough as what an allocator keeps back. A summary of more messages has more names beside it, up to 3,000 of them. 0.32 takes a path of ${LAST_OF_SDK.toLocaleString("en")} messages here, as it takes no more than 10,000.`,
    tables: [
      {
        caption: "MiB",
        columns: ["store", "N", "view allocated", "view risen", "run allocated", "run risen"],
        rows: measured.map(({ home, size, view, run }) => [
          home,
          size,
          mib(view.allocated),
          mib(view.risen),
          mib(run?.allocated),
          mib(run?.risen),
        ]),
      },
    ],
    checks: [
      {
        claim: `memory allocated by a run at ${large.size.toLocaleString("en")} messages, over that at ${small.size.toLocaleString("en")}`,
        measured: large.run.allocated / small.run.allocated,
        target: BOUND,
      },
      { claim: "the same of a view", measured: large.view.allocated / small.view.allocated, target: BOUND },
    ],
    unmeasured: [
      "what SQLite itself holds, apart from the process as a whole",
      "imports, exports, forks and whole histories, which go over every message",
      "what is still held when the work is done: allocated counts what was freed as well",
      "several runs at once in a process, and a view of more than some two hundred messages",
    ],
  };
}

function mib(bytes: number | null | undefined): number | string {
  return bytes == null ? "–" : bytes / MIB;
}
