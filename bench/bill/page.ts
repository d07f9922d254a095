/** Writes docs/costs.md. It leads from the counts to a bill step by step, so that readers can put in their own numbers. */
import { PENDING_LIMIT_MS } from "../../src/agent/runs/dispatch.ts";
import { renderCell, renderTable } from "../report/render.ts";
import type { Table } from "../report/finding.ts";
import { fourDigits } from "../report/stats.ts";
import { HARD_LINE, MAX_OUTLINE_ROWS, MODEL_RETRIES, MODEL_RETRY_DELAY } from "../../src/limits.ts";
import { LIMITS, LOOKED_UP, PLAN, SOURCES } from "./cloudflare.ts";
import { ASSUMED, RUNS_OF_A_LONG } from "./workload.ts";
import { FAILURES_TO_OPEN } from "../../src/steps/decide/breaker.ts";
import { DEFAULT_CHUNK_TOKENS } from "../../src/steps/plan/policy.ts";

export interface CostsPage {
  readonly operations: Table;
  readonly runs: Table;
  readonly months: Table;
  readonly bills: Table;
  readonly bounds: Table;
  /** The numbers of conversations a month whose mean hour asks for more model calls than the limit, and the ratio of calls to the limit. */
  readonly overloaded: readonly { readonly at: string; readonly share: number }[];
  readonly stored: Stored;
  readonly times: Times;
  /** Chunks of a run that would reach the platform's limit of steps per instance. */
  readonly chunksToLimit: number;
}

/**
 * Measured times (ms) that stand beside the assumed ones. `append` and `view` are calls inside the object, `wake` is a view from outside
 * with the object's start, `run` is a run whose model answers at once.
 */
export interface Times {
  readonly append: number;
  readonly view: number;
  readonly wake: number;
  readonly run: number;
}

/**
 * Sizes of stored data. They are bytes of a message in the database, characters of its text, bytes of an object that holds one message,
 * rows written by an object's start, and bytes that a run leaves.
 */
interface Stored {
  readonly messageBytes: number;
  readonly textBytes: number;
  readonly emptyBytes: number;
  readonly firstWritten: number;
  readonly runBytes: number;
}

export function writeCosts(page: CostsPage): string {
  const { operations, runs, months, bills, stored, times } = page;
  const { messageBytes, textBytes, emptyBytes, firstWritten, runBytes } = stored;
  return `# Costs

\`npm run bench -- --only bill\` writes this page. It counts the cost of one operation, and the rest is arithmetic on that. Put your own conversations into
\`bench/bill/workload.ts\` and your model's prices into \`bench/prices.ts\`, and run it again. List prices and limits are of the paid plan as Cloudflare documented them in ${LOOKED_UP}
(${SOURCES.map((page) => `[${page}](https://developers.cloudflare.com/${page}/)`).join(", ")}).

## What one operation takes

${show(operations)}

Stored are ${renderCell(messageBytes)} bytes for a message of ${renderCell(textBytes)} characters, and ${renderCell(emptyBytes)} for an object with one message in it. A view reads a row for each visible message and a few more, at any number of stored ones. Rows of an append are a mean, because every 64th writes one more.
A table is created when it is first written to.
A wake is the object's work before its first call, and most of it is the SDK's own. The first append after it reads the view once, to know its size. Keys that are looked up count as rows, as they are billed.

## What a run takes, by its chunks

${show(runs)}

The figures cover the first run of an object from the request to the end, with nothing tried twice and a model that answers. It also creates the tables of runs. The SDK's own rows are included. Requests are the workflow's calls to the object. From
two chunks on, one more model call merges their drafts. Tokens out are bounded by the largest summary, and assumed to be as many.

In the month a run is the mean of the ${RUNS_OF_A_LONG} that a long conversation has. A run stores its drafts, the summary and its row in the ledger. The table above counts whole pages of the
database. In the month it is ${renderCell(Math.round(runBytes))} bytes, with the largest answers.

## Assumed

- ${renderCell(ASSUMED.longShare * 100)} of 100 conversations are long, ${renderCell(ASSUMED.longMessages)} messages. The others have ${renderCell(ASSUMED.shortMessages)}. A message is ${renderCell(ASSUMED.messageTokens)} tokens. Before every second message the agent reads its view.
- Threshold ${renderCell(ASSUMED.thresholdTokens)}; a run of ${ASSUMED.chunksOfARun} chunk brings a view back to ${renderCell(ASSUMED.viewAfterTokens)}. Short conversations never get there.
- Appends and views come over a WebSocket, of which ${ASSUMED.framesPerRequest} frames are billed as one request. That connection hibernates after some ten quiet seconds, so ${renderCell(ASSUMED.wakesPerMessage * 100)} of 100 messages wake the object, one for each message of a user. That is pessimistic, because a user who answers at once finds it awake.
- A call keeps its object at work for ${renderCell(ASSUMED.callSeconds * 1_000)} ms, a wake for ${renderCell(ASSUMED.wakeSeconds * 1_000)} more. The times on Cloudflare were not measured, so these are assumptions. They were measured once, in one lab, on the machine of the benchmark, which loads no code and has a local disk: ${renderMs(times.append)} ms for an append, ${renderMs(times.view)} for a view of 220 messages, ${renderMs(times.wake)} for a wake with that view after it.
- A run takes ${ASSUMED.runSeconds} s, which is a model's time for 3,000 tokens at 100 a second. No model is asked here, so it stays an assumption. With a model that answers at once a run took ${renderMs(times.run)} ms on the machine of the benchmark, measured once as well. The watchdog looks each ${ASSUMED.watchdogSeconds} s meanwhile and writes ${ASSUMED.watchdogRows} rows, its alarm among them.
- Each conversation has an object of its own, which takes the bytes below once something is said in it: the tables of the SDK, and those of Palimpsest that are in use, a page or two each. An object for each user shares them.
- Everything is kept for ${ASSUMED.monthsStored} months, finished workflow instances for ${ASSUMED.instanceDays} days. The busiest hour has ${ASSUMED.peak} times the mean.

## A month

${show(months)}

## The bill

US dollars a month, after what the plan of $${PLAN} includes.

${show(bills)}

The table shows two models for the summariser: one with the price of the large ones, and a small one. The summariser costs most. A cheaper model with a fallback, a higher threshold, or \`budget\` lower it.
Each later call of the agent's own model reads less in return. No table here has that, but [bench/RESULTS.md](../bench/RESULTS.md) does.

Most of Cloudflare's own charge is for objects that are created and kept, even with few messages in them: ${renderCell(firstWritten)} rows written and ${renderCell(emptyBytes)} bytes each, the
SDK's own tables included. With an object for each user and a session for each conversation, that is paid once a user, not once a conversation.

${OWN_MODEL}

${describeLimits(page)}

This page leaves out CPU time of the Worker, the page's own files, logs, egress and the agent's own model. It leaves out the calls and tokens of notes (an update takes one model call, which reads the new messages and the notes).
`;
}

/** Text without figures. The cost case has the figures. */
const OWN_MODEL = `## What the agent's own model costs, and \`compactAfter("auto")\`

Most of a bill is the agent's own requests, because each one sends the view again. With a prompt cache the known part of a prompt is read for a tenth of the price. So a long view costs little each
time and much in the end. A summary costs once, because everything behind it is written to the cache anew. \`compactAfter("auto", { windowTokens: 200_000 })\` weighs the two. Request by request, it
adds up the cost of carrying text that a summary could replace. It summarises when that sum has reached one and a half times the price of the summary:

    (cache write − cache read) × the tokens that stay and the summary + the summariser's charge

A summary waits for one and a half times its price, because a conversation may end soon after it, and then it is not paid back. In a long conversation summaries come now and then, and in a short one mostly never. A view that is over the ceiling is due in any case. It may grow further while no summariser can be asked, up to the hard line ([options.md](options.md)).
Prices are ratios of one another, and by default those of the large providers (input 1, cached 0.1, written 1.25, output 5). Put in your own, all in the unit of your agent's uncached input. \`input\` and \`output\` are your summariser's:

\`\`\`ts
import { Agent } from "agents";
import { Session, withCompaction } from "palimpsest";

export class Chat extends withCompaction(Agent) {
  session = Session.create(this).compactAfter("auto", {
    windowTokens: 200_000,
    // $3 a million in, $0.30 from the cache, $3.75 to write it; a summariser at $0.25 in and $1.25 out.
    prices: { cacheRead: 0.1, cacheWrite: 1.25, input: 0.083, output: 0.417 },
  });
}
\`\`\`

A provider without a cache has \`cacheRead: 1, cacheWrite: 1\`. \`status()\`, and \`plan()\` of the [room](../README.md#what-you-get) \`inspect()\`, show the sum, the price, and the saving of a summary at every later call. [bench/results/conversations/cost.md](../bench/results/conversations/cost.md) has the effect on
real sessions, beside the SDK's policy. [Decision 18](decisions/0018-by-what-it-costs.md) has the reasons.

## What a conversation costs, live

The room of costs adds up the model calls of each conversation by the provider's kinds of tokens: sent, read from its prompt cache, written to it and answered. The summarisers' calls count too.
Beside the sum stands an estimate of the same calls without compaction. It has every message in each prompt, reads the part of the prompt before from the cache, and has no summariser.

\`\`\`ts
import { Agent } from "agents";
import { withCompaction } from "palimpsest";
import { costs } from "palimpsest/costs";

export class Chat extends withCompaction(Agent, {
  rooms: [
    costs({
      prices: {
        // What a million tokens cost, in one currency for all models.
        "anthropic.messages:claude-large": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
        "*": { input: 0.25, output: 1.25 },
      },
    }),
  ],
}) {}
\`\`\`

A model goes by the name under which its usage is recorded, \`provider:model\`, and a summariser by its own name. \`*\` is for every other one but the offline summariser, which is free. Prices of the cache are those of input where they are left out.
\`session.getCosts()\` returns the costs, and the page shows them under *Health*. A client needs \`read\` for the call. The deployable Worker has the room: set \`PALIMPSEST_PRICES\` to the same object as JSON. Without
prices the tokens are counted and costs are null.

Turns that run through \`keepTurn\`, \`compacted()\` or Think record the AI SDK's report of the cache. Code that calls \`recordUsage\` passes \`cachedTokens\` and \`writtenTokens\`. The estimate assumes that a cache forgets nothing between two
calls, not even where an older message changed. A deleted message counts no more from the next call on. What \`truncate\` and \`maxTokens\` took out of a view stays out of it, too. A fork and the child of a split begin at zero. Calls of notes count as a summariser's.`;

function describeLimits({ bounds, overloaded, chunksToLimit }: CostsPage): string {
  return `## Which limit is met first

The table has the share of each limit that the busiest hour takes. Above 1 the limit is met.

${show(bounds)}

A run of default chunks never comes near the steps of an instance. At one step a chunk that takes ${renderCell(chunksToLimit)} chunks, less the steps that merge their drafts, and an outline ends before there are eight of ${renderCell(DEFAULT_CHUNK_TOKENS)} tokens. It
also ends at ${renderCell(MAX_OUTLINE_ROWS)} messages. So only \`chunkTokens\` set so small that nearly each message is a chunk could meet ${renderCell(LIMITS.instanceSteps)}, when each draft is merged in pairs and repaired as well.

An object a conversation, or a user, is far from every limit of an object at any size. One object for everybody is not, as the last two rows show.

A run that meets a limit ends as follows. Appends and views never wait for it:

- A run that the engine does not take waits in the ledger, ${renderCell(PENDING_LIMIT_MS / 60_000)} minutes at most. Then it fails, and the next one is asked for when the view has grown.
- A model call that is refused is tried again ${renderCell(MODEL_RETRIES)} times, after ${MODEL_RETRY_DELAY} and each time twice as long, or as long as the provider asks. Then the fallback model is asked, where there is one. Last comes a summary without a
  model. The view is small again, and the summary is marked \`degraded\`. After ${renderCell(FAILURES_TO_OPEN)} failures in a row the breaker keeps the agent from asking the model for a while. Its view may grow to ${HARD_LINE} thresholds meanwhile.
${overloaded.map(describeOverload).join("")}`.trimEnd();
}

function describeOverload({ at, share }: CostsPage["overloaded"][number]): string {
  return `- That is enough for a busy hour, and no more. At ${at} the mean hour asks for ${renderCell(share)} times as many calls as the limit lets through, so waiting does not help: at least ${renderCell(Math.round(100 - 100 / share))} of 100 calls are refused, and end
  with the fallback or in a summary without a model. A higher limit, several accounts or providers, or a higher threshold help. With a higher threshold fewer runs are due.
`;
}

/** Rounds cells as the stored results do, so that the page agrees with them. */
export function rounded(table: Table): Table {
  const rows = table.rows.map((row) => row.map((cell) => (typeof cell === "number" ? fourDigits(cell) : cell)));
  return { ...table, rows };
}

/** Two significant digits, so that small parts of a millisecond still show. */
function renderMs(ms: number): string {
  return String(Number(ms.toPrecision(2)));
}

function show(table: Table): string {
  return renderTable(table, []);
}
