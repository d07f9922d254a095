/** docs/costs.md: from what was counted to a bill, step by step, so that anybody can put in numbers of their own. */
import { renderCell, renderTable } from "../report.ts";
import type { Table } from "../finding.ts";
import { DEFAULT_CHUNK_TOKENS, MAX_OUTLINE_ROWS } from "../../src/limits.ts";
import { LIMITS, LOOKED_UP, PLAN, SOURCES } from "./cloudflare.ts";
import { ASSUMED } from "./workload.ts";

export interface CostsPage {
  readonly operations: Table;
  readonly runs: Table;
  readonly months: Table;
  readonly bills: Table;
  readonly bounds: Table;
  readonly stored: Stored;
  readonly times: Times;
  /** Chunks of a run that would have as many steps as an instance may. */
  readonly chunksToLimit: number;
}

/** What was measured beside what is assumed (ms): of calls inside the object; of a view from outside, the object's start in it; of a run whose model answers at once. */
export interface Times {
  readonly append: number;
  readonly view: number;
  readonly wake: number;
  readonly run: number;
}

/** Bytes of a message in the database, characters of its text, and bytes of an object that holds one; rows that beginning it writes. */
interface Stored {
  readonly messageBytes: number;
  readonly textBytes: number;
  readonly emptyBytes: number;
  readonly firstWritten: number;
}

export function writeCosts({
  operations,
  runs,
  months,
  bills,
  bounds,
  stored,
  times,
  chunksToLimit,
}: CostsPage): string {
  const { messageBytes, textBytes, emptyBytes, firstWritten } = stored;
  return `# Costs

Written by \`npm run bench -- --only bill\`: what one operation takes is counted, the rest is arithmetic on it. Put your own conversations into
\`bench/bill/workload.ts\`, your model's prices into \`bench/prices.ts\`, and run it again. List prices and limits are of the paid plan as Cloudflare documented them in ${LOOKED_UP}
(${SOURCES.map((page) => `[${page}](https://developers.cloudflare.com/${page}/)`).join(", ")}).

## What one operation takes

${show(operations)}

Stored are ${renderCell(messageBytes)} bytes for a message of ${renderCell(textBytes)} characters, and ${renderCell(emptyBytes)} for an object with one message in it. A view reads a row for each visible message and a few more, however many are stored. Rows of an append are a mean: every 64th writes one more.
A wake is what the object does of itself before its first call, most of it the SDK's own; the first append after it reads the view once, to know what is in it. Keys that are looked up count as rows, as they are billed; what the local platform writes for itself does not.

## What a run takes, by its chunks

${show(runs)}

From asking to the end, with nothing tried twice and a model that answers; the SDK's own rows included. Requests are the workflow's calls to the object. From two chunks
on, one model call more merges their drafts. Tokens out are bounded by the largest summary, and assumed to be as many.

## Assumed

- ${renderCell(ASSUMED.longShare * 100)} of 100 conversations are long, ${renderCell(ASSUMED.longMessages)} messages; the others have ${renderCell(ASSUMED.shortMessages)}. A message is ${renderCell(ASSUMED.messageTokens)} tokens. Before every second message the agent looks at its view.
- Threshold ${renderCell(ASSUMED.thresholdTokens)}; a run of ${ASSUMED.chunksOfARun} chunk brings a view back to ${renderCell(ASSUMED.viewAfterTokens)}. Short conversations never get there.
- Appends and views come over a WebSocket, of which ${ASSUMED.framesPerRequest} frames are billed as one request. That connection hibernates when nothing is said for some ten seconds, so ${renderCell(ASSUMED.wakesPerMessage * 100)} of 100 messages wake the object: each one of a user. That is pessimistic: who answers at once finds it awake.
- A call keeps its object at work for ${renderCell(ASSUMED.callSeconds * 1_000)} ms, a wake for ${renderCell(ASSUMED.wakeSeconds * 1_000)} more. What it is on Cloudflare was not measured, so these are assumptions. Measured on the machine of the benchmark, which loads no code and has its disk beside it: ${renderMs(times.append)} ms for an append, ${renderMs(times.view)} for a view of 220 messages, ${renderMs(times.wake)} for a wake with that view after it.
- A run takes ${ASSUMED.runSeconds} s, a model's time: 3,000 tokens at 100 a second. No model is asked here, so it stays an assumption. With a model that answers at once a run took ${renderMs(times.run)} ms on the machine of the benchmark. The watchdog looks each ${ASSUMED.watchdogSeconds} s meanwhile and writes ${ASSUMED.watchdogRows} rows, its alarm among them.
- Each conversation has an object of its own, which takes the bytes below before anything is said in it: the tables of Palimpsest and of the SDK, a page each. An object for each user shares them.
- Everything is kept for ${ASSUMED.monthsStored} months, finished workflow instances for ${ASSUMED.instanceDays} days; the busiest hour has ${ASSUMED.peak} times the mean.

## A month

${show(months)}

## The bill

US dollars a month, after what the plan of $${PLAN} includes.

${show(bills)}

Two models are shown for the summariser: one that costs as the large ones do, and a small one. It is what costs most: a cheaper model with a fallback, a higher threshold, or \`budget\` lower it.
Each later call of the agent's own model reads less for it, which is in no table here: [bench/RESULTS.md](../bench/RESULTS.md).

Most of what Cloudflare itself charges is for objects that begin and are kept, however little is said in them: ${renderCell(firstWritten)} rows written and ${renderCell(emptyBytes)} bytes each, the
SDK's own tables included. An object for each user with a session for each conversation pays that once a user, not once a conversation.

## Which limit is met first

The share of each limit that the busiest hour takes; above 1 it is met.

${show(bounds)}

A run of default chunks never comes near the steps of an instance: at one step a chunk that takes ${renderCell(chunksToLimit)} chunks, fewer by what merging their drafts takes, and an outline ends before there are eight of ${renderCell(DEFAULT_CHUNK_TOKENS)} tokens. It
also ends at ${renderCell(MAX_OUTLINE_ROWS)} messages. So only \`chunkTokens\` set so small that nearly each message is a chunk could meet ${renderCell(LIMITS.instanceSteps)}, when each draft is merged in pairs and repaired as well.

An object a conversation, or a user, is far from every limit of an object at any size. One object for everybody is not: that is what the last two rows are for. A run that is refused by
a limit of calls or of instances waits and is tried again; appends and views do not wait for it.

Not in this page: CPU time of the Worker, the page's own files, logs, egress, the agent's own model, and what a run that waits for a person keeps the watchdog writing (some 17,300 rows a day, two cents).
`;
}

/** With a digit that says something, also where it is a small part of a millisecond. */
function renderMs(ms: number): string {
  return String(Number(ms.toPrecision(2)));
}

function show(table: Table): string {
  return renderTable(table, []);
}
