/** From the cost of one operation to the bill of a month and to the platform's limits, for docs/costs.md. */
import { chargeFor, CLOUDFLARE, LIMITS, PLAN, type Units } from "../../bill/cloudflare.ts";
import { rounded, writeCosts, type CostsPage, type Times } from "../../bill/page.ts";
import {
  ASSUMED,
  boundsOf,
  meanShareOf,
  monthOf,
  RUNS_OF_A_LONG,
  TOKEN_CHARS,
  type Counted,
  type Month,
  type RunUnits,
} from "../../bill/workload.ts";
import type { Case } from "../../case.ts";
import type { Finding, Table } from "../../report/finding.ts";
import type { Lab, Subject } from "../../lab/lab.ts";
import type { RunCost } from "../../objects/ours.ts";
import type { Rows } from "../../objects/meter.ts";
import { messageAt } from "../../objects/messages.ts";
import { priceOf, SMALL_PRICES } from "../../prices.ts";
import { tellSmall } from "../../report/render.ts";
import { mean, median } from "../../report/stats.ts";
import { countRunOf, prepareRuns, STORED } from "../runs/run-cost.ts";

/** Several stretches of the index of ids, which is rewritten every 64 appends. */
const APPENDS = 640;
const VISIBLE = [20, 220] as const;
const CONVERSATIONS = [10_000, 1_000_000, 100_000_000];
const NOTED = "bill-notes?threshold=60000&notes=1&summariser=extractive";
/** Messages that are enough for notes, and half as many again. */
const BEFORE_NOTES = 220;
const NEW_IN_NOTES = 100;
/**
 * Objects whose runs are counted for the month. Each has one more message than the one before, so that the whole pages by which a database
 * grows do not hide what a run stores.
 */
const OBJECTS = 5;
/** Appends between two runs. They make the next chunk, and leave as many messages in view as before the first run. */
const BETWEEN_RUNS = 260;
/** Each measured time beside an assumption is the median of this many. */
const TIMES = 9;
const STRETCH_MS = 20;
/** A threshold in tokens at which the visible messages between head and tail are one chunk. */
const RUN = { messages: 20, threshold: 2_000 } as const;
/** Tokens of the largest answer at the assumed threshold. */
const ANSWER_TOKENS = ASSUMED.thresholdTokens / 20;

export const bill: Case = { name: "bill", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const sizes = lab.quick ? STORED.slice(0, 2) : STORED;
  const runs: RunCost[] = [];
  for (const size of sizes) runs.push(await countRunOf(lab, size));
  const { operations, counted, stored } = await countOperations(lab, runs);
  const months = CONVERSATIONS.map((conversations) => monthOf(conversations, counted));
  const page: CostsPage = {
    operations: rounded(operations),
    runs: rounded(tableOfRuns(runs)),
    months: rounded(tableOfMonths(months)),
    bills: rounded(tableOfBills(months)),
    bounds: rounded(tableOfBounds(months, counted)),
    overloaded: listOverloaded(months, counted),
    stored,
    times: await takeTimes(lab),
    chunksToLimit: chunksToLimit(runs),
  };
  return {
    title: "The bill of a month",
    about: [
      "What an append, a view, a run and an update of notes take is counted; the bill of a month and its limits are worked out from that.",
      "Prices are list prices, and the month of conversations is assumed.",
      "A run of the month is the mean of those of a long conversation.",
      "The arithmetic is in docs/costs.md.",
    ],
    tables: [page.operations, page.months, page.bills, page.bounds],
    checks: [
      {
        claim: "rows written by the first append in a new object, the SDK's own included",
        measured: counted.first.written,
        target: 120,
      },
      {
        claim: "workflow instances begun a second in the busiest hour of 100 million conversations",
        measured: boundsOf(months[2] ?? fail(), counted)[1]?.used ?? Infinity,
        target: LIMITS.instancesPerSecond,
      },
      {
        claim: "bytes of the largest step result at the threshold",
        measured: boundsOf(months[2] ?? fail(), counted)[3]?.used ?? Infinity,
        target: LIMITS.stepResultBytes,
      },
    ],
    pages: [{ file: "costs.md", text: writeCosts(page) }],
    unmeasured: [
      "CPU time",
      "milliseconds on Cloudflare: those of a call, a wake and a run are assumed, and stand beside what they are on this machine",
      "spans full of names: the facts of what is said here are few, and are stored with a run",
      "anything on Cloudflare itself: rows and requests are counted on this machine, where they are the same",
    ],
  };
}

function fail(): never {
  throw new Error("Nothing was counted.");
}

async function countOperations(
  lab: Lab,
  runs: readonly RunCost[],
): Promise<Pick<CostsPage, "operations" | "stored"> & { counted: Counted }> {
  const views: Rows[] = [];
  const starts: Rows[] = [];
  const wakened: Rows[] = [];
  for (const size of VISIBLE) {
    const subject = await fillForViews(lab, size);
    await subject.count("view", 1);
    views.push(...(await subject.count("view", 1)));
    await subject.evict();
    starts.push(...(await subject.count("start", 1)));
    wakened.push(...(await subject.count("append", 1)));
  }
  const first = await lab.subject("Ours", "bill-first?start=1").ours.countFirst();
  const subject = lab.subject("Ours", "bill-append");
  await subject.fill(1);
  const empty = await subject.ours.storedBytes();
  const appends = await subject.count("append", APPENDS);
  const bytes = ((await subject.ours.storedBytes()) - empty) / APPENDS;
  const notes = await countNotes(lab);
  const run = await countTypical(lab);
  const [few = fail(), many = fail()] = views;
  const append = { read: mean(appends.map(({ read }) => read)), written: mean(appends.map(({ written }) => written)) };
  const typical = runs[ASSUMED.chunksOfARun - 1] ?? fail();
  const counted: Counted = {
    first,
    append,
    wake: wakeOf({ starts, wakened, append }),
    view: byMessage(few.read, many.read),
    run,
    mostSteps: Math.max(...runs.map(({ steps }) => steps)),
    messageBytes: bytes - textLength(),
    emptyBytes: empty,
    resultBytes: typical.resultBytes,
  };
  const textBytes = textLength();
  const stored = {
    messageBytes: bytes,
    textBytes,
    emptyBytes: empty,
    firstWritten: first.written,
    runBytes: run.storedBytes,
  };
  return { counted, stored, operations: tableOfOperations({ counted, views, starts, wakened, notes }) };
}

async function fillForViews(lab: Lab, size: number): Promise<Subject> {
  const subject = lab.subject("Ours", nameOf(size));
  await subject.fill(size);
  return subject;
}

function nameOf(size: number): string {
  return `bill-view-${size}?start=1`;
}

/** Splits a number that grows with the messages of a view into a part per message and a fixed part. */
function byMessage(few: number, many: number): Counted["view"] {
  const readPerMessage = (many - few) / (VISIBLE[1] - VISIBLE[0]);
  return { readPerMessage, read: few - readPerMessage * VISIBLE[0] };
}

function wakeOf(found: {
  readonly starts: readonly Rows[];
  readonly wakened: readonly Rows[];
  readonly append: { readonly read: number };
}): Counted["wake"] {
  const [few = fail(), many = fail()] = found.starts.map(
    ({ read }, at) => read + (found.wakened[at] ?? fail()).read - found.append.read,
  );
  return { ...byMessage(few, many), written: Math.max(...found.starts.map(({ written }) => written)) };
}

/** Measures times on this machine, to stand beside the assumed ones. */
async function takeTimes(lab: Lab): Promise<Times> {
  const size = VISIBLE[1];
  const subject = lab.subject("Ours", nameOf(size));
  const wakes: number[] = [];
  const runs: number[] = [];
  for (let time = 0; time < (lab.quick ? 1 : TIMES); time++) {
    await subject.evict();
    wakes.push(await lab.client().timeOpen("Ours", nameOf(size)));
    const agent = `bill-run-${time}?threshold=${RUN.threshold}`;
    await lab.subject("Ours", agent).fill(RUN.messages);
    runs.push(await lab.client().timeRun(agent));
  }
  const timing = { times: TIMES, stretchMs: STRETCH_MS };
  const [append, view] = [await subject.time("append", timing), await subject.time("view", timing)];
  return { append: median(append), view: median(view), wake: median(wakes), run: median(runs) };
}

/** Extrapolates from the two largest runs. */
function chunksToLimit(runs: readonly RunCost[]): number {
  const [before = fail(), largest = fail()] = runs.slice(-2);
  const stepsPerChunk = (largest.steps - before.steps) / (largest.chunks - before.chunks);
  return largest.chunks + (LIMITS.instanceSteps - largest.steps) / stepsPerChunk;
}

/**
 * The mean run of a long conversation, as the month uses it. Every second run folds in the summary before it with one more model call. The
 * span is the assumed one. Every answer counts as the largest, stored as a draft, and the last one in the overlay as well.
 */
async function countTypical(lab: Lab): Promise<RunUnits> {
  const [one] = STORED;
  const costs: RunCost[] = [];
  for (let object = 0; object < (lab.quick ? 1 : OBJECTS); object++) {
    const subject = prepareRuns(lab, `bill-runs-${object}`);
    await subject.fill(one.messages + object);
    for (let run = 0; run < RUNS_OF_A_LONG; run++) {
      if (run > 0) await subject.count("append", BETWEEN_RUNS);
      costs.push(await subject.countRun());
    }
  }
  const span = ASSUMED.thresholdTokens - ASSUMED.viewAfterTokens;
  const of = (each: (cost: RunCost) => number): number => mean(costs.map(each));
  return {
    read: (of(({ rows }) => rows.read / one.messages) * ASSUMED.thresholdTokens) / ASSUMED.messageTokens,
    written: of(({ rows }) => rows.written),
    requests: of(({ requests }) => requests),
    modelCalls: of(({ modelCalls }) => modelCalls),
    inputTokens: of((cost) => cost.inputTokens - spanOf(cost) + span + missing(cost)),
    outputTokens: of(({ modelCalls }) => modelCalls * ANSWER_TOKENS),
    storedBytes: of((cost) => cost.storedBytes + (1 + 1 / cost.modelCalls) * missing(cost) * TOKEN_CHARS),
  };
}

/** An update of existing notes that reads ten thousand new tokens. */
async function countNotes(lab: Lab): Promise<RunCost> {
  const subject = lab.subject("Ours", NOTED);
  await subject.fill(BEFORE_NOTES);
  await subject.ours.settle();
  await subject.count("append", NEW_IN_NOTES);
  await subject.ours.settle();
  const cost = await subject.ours.countNotes();
  if (cost.outcome?.kind !== "noted") throw new Error(`The notes came to ${JSON.stringify(cost.outcome)}.`);
  return cost;
}

/** Tokens by which a run's answers are smaller than the largest. */
function missing({ modelCalls, outputTokens }: RunCost): number {
  return modelCalls * ANSWER_TOKENS - outputTokens;
}

/** Tokens that a run took away from the view, which its summariser read. */
function spanOf({ outcome }: RunCost): number {
  return outcome?.kind === "applied" ? outcome.tokensBefore - outcome.tokensAfter : fail();
}

function textLength(): number {
  const [part] = messageAt(1).parts;
  return part?.type === "text" ? part.text.length : 0;
}

function tableOfOperations(found: {
  readonly counted: Counted;
  readonly views: readonly Rows[];
  readonly starts: readonly Rows[];
  readonly wakened: readonly Rows[];
  readonly notes: RunCost;
}): Table {
  const { counted, views, starts, wakened, notes } = found;
  const [start = fail()] = starts;
  return {
    columns: ["operation", "rows read", "rows written", "requests to the object", "model calls"],
    rows: [
      ["first append, in a new object", counted.first.read, counted.first.written, 1, 0],
      ["wake of the object", start.read, start.written, 0, 0],
      ...wakened.map((rows, at) => [
        `first append after a wake, ${VISIBLE[at]} messages in view`,
        rows.read,
        rows.written,
        1,
        0,
      ]),
      ["append", counted.append.read, counted.append.written, 1, 0],
      ...views.map((rows, at) => [`view of ${VISIBLE[at]} messages`, rows.read, rows.written, 1, 0]),
      ["update of notes", notes.rows.read, notes.rows.written, notes.requests, notes.modelCalls],
    ],
  };
}

function tableOfRuns(runs: readonly RunCost[]): Table {
  return {
    columns: [
      "chunks",
      "messages",
      "steps",
      "model calls",
      "tokens in",
      "requests",
      "rows read",
      "rows written",
      "largest step result, bytes",
      "stored, bytes",
    ],
    rows: runs.map(({ chunks, steps, modelCalls, inputTokens, requests, rows, resultBytes, storedBytes }, at) => [
      chunks,
      STORED[at]?.messages ?? 0,
      steps,
      modelCalls,
      inputTokens,
      requests,
      rows.read,
      rows.written,
      resultBytes,
      storedBytes,
    ]),
  };
}

const KINDS = Object.keys(CLOUDFLARE) as (keyof Units)[];

function heading(conversations: number): string {
  return `${conversations.toLocaleString("en")} conversations`;
}

function tableOfMonths(months: readonly Month[]): Table {
  const row = (name: string, of: (month: Month) => number) => [name, ...months.map(of)];
  return {
    columns: ["a month", ...months.map(({ conversations }) => heading(conversations))],
    rows: [
      row("messages", ({ messages }) => messages),
      row("wakes of an object", ({ wakes }) => wakes),
      row("runs", ({ runs }) => runs),
      row("model calls", ({ modelCalls }) => modelCalls),
      row("tokens into the summariser", ({ inputTokens }) => inputTokens),
      row("tokens out of it", ({ outputTokens }) => outputTokens),
      ...KINDS.map((kind) => row(CLOUDFLARE[kind].name, ({ units }) => units[kind])),
    ],
  };
}

function tableOfBills(months: readonly Month[]): Table {
  const row = (name: string, of: (month: Month) => number) => [name, ...months.map(of)];
  return {
    columns: ["dollars", ...months.map(({ conversations }) => heading(conversations))],
    rows: [
      ...KINDS.map((kind) => row(CLOUDFLARE[kind].name, ({ units }) => chargeFor(kind, units[kind]))),
      row("Cloudflare, with the plan", platformOf),
      row("the summariser, a small model", (month) => modelOf(month, "small")),
      row("the summariser, a large model", (month) => modelOf(month, "large")),
    ],
  };
}

function tableOfBounds(months: readonly Month[], counted: Counted): Table {
  const columns = months.map((month) => boundsOf(month, counted));
  return {
    columns: ["limit", "at most", ...months.map(({ conversations }) => heading(conversations))],
    rows: (columns[0] ?? []).map(({ limit, most }, at) => [
      limit,
      most,
      ...columns.map((bounds) => tellSmall((bounds[at] ?? fail()).used / most)),
    ]),
  };
}

/** The months whose mean hour asks for more model calls than the limit allows. */
function listOverloaded(months: readonly Month[], counted: Counted): CostsPage["overloaded"] {
  return months.flatMap((month) => {
    const share = meanShareOf(boundsOf(month, counted)[0] ?? fail());
    return share > 1 ? [{ at: heading(month.conversations), share }] : [];
  });
}

function platformOf({ units }: Month): number {
  return KINDS.reduce((sum, kind) => sum + chargeFor(kind, units[kind]), PLAN);
}

function modelOf({ inputTokens: input, outputTokens: output }: Month, size: "small" | "large"): number {
  return priceOf({ input, output }, ...(size === "small" ? [SMALL_PRICES] : []));
}
