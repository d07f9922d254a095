/** A month of conversations, and what it comes to in units that are billed and in limits that are reached. */
import { LIMITS, type Units } from "./cloudflare.ts";

/** Put your own numbers here. */
export const ASSUMED = {
  /** Messages of a short conversation and of a long one, and the share of long ones. */
  shortMessages: 20,
  longMessages: 400,
  longShare: 0.1,
  messageTokens: 250,
  /** The agent looks at its view before each reply. */
  viewsPerMessage: 0.5,
  /**
   * Each message of a user, every second one, finds the object asleep: its connection hibernates some ten seconds after the
   * last message, and whoever reads and writes takes longer. Pessimistic: who answers at once finds it awake.
   */
  wakesPerMessage: 0.5,
  thresholdTokens: 60_000,
  /** A run brings a view back to this: head, summaries, a tail of 20,000. */
  viewAfterTokens: 25_000,
  /** Chunks of 48,000 that the difference makes. */
  chunksOfARun: 1,
  /**
   * Runs are as long as their summariser needs, seconds: the 3,000 tokens of an answer at 100 a second, as hosted models
   * have it; nothing here asks one. The watchdog looks each 15 s, writes two rows and sets its alarm.
   */
  runSeconds: 30,
  watchdogRows: 3,
  watchdogSeconds: 15,
  /** Frames that a WebSocket may carry for the price of one request; each append and view is a frame. */
  framesPerRequest: 20,
  /**
   * How long an object is at work for one call, and for a wake before it, and the memory that is charged. More than was
   * measured here, where code is loaded already and the disk is near: what it is on Cloudflare is not known here.
   */
  callSeconds: 0.01,
  wakeSeconds: 0.05,
  objectGigabytes: 0.128,
  monthsStored: 12,
  /** Finished instances are kept for so many days. */
  instanceDays: 30,
  /** The busiest hour over the mean one. */
  peak: 4,
} as const;

/** What the case counted, of one operation each. */
export interface Counted {
  /** Of a new object: its tables, its start and its first message. */
  readonly first: { readonly read: number; readonly written: number };
  readonly append: { readonly read: number; readonly written: number };
  /** Rows of a wake: of the object's start, and those that its first append reads more than any other, for each visible message so many more. */
  readonly wake: { readonly read: number; readonly readPerMessage: number; readonly written: number };
  /** Rows of a view: so many, and so many more for each visible message. */
  readonly view: { readonly read: number; readonly readPerMessage: number };
  /** In the mean of those of a long conversation. */
  readonly run: RunUnits;
  /** Of the run that had most of them. */
  readonly mostSteps: number;
  /** Bytes that a message takes in the database beside its own text. */
  readonly messageBytes: number;
  /** That an object takes which holds next to nothing. */
  readonly emptyBytes: number;
  /** Of the plan, which is the largest result of a step. */
  readonly resultBytes: number;
}

export interface RunUnits {
  readonly read: number;
  readonly written: number;
  readonly requests: number;
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** That it leaves behind: drafts, overlay, its row in the ledger. */
  readonly storedBytes: number;
}

export interface Month {
  readonly conversations: number;
  readonly messages: number;
  readonly wakes: number;
  readonly runs: number;
  readonly units: Units;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly modelCalls: number;
}

const MONTH_SECONDS = 30 * 24 * 3_600;
const GIGABYTE = 1_000_000_000;
/** Characters of a token, as the estimate has it. */
export const TOKEN_CHARS = 4;

export function monthOf(conversations: number, counted: Counted): Month {
  const { longShare, shortMessages, longMessages, messageTokens, thresholdTokens, viewAfterTokens } = ASSUMED;
  const long = conversations * longShare;
  const short = conversations - long;
  const messages = short * shortMessages + long * longMessages;
  const runs = long * runsIn(longMessages * messageTokens, thresholdTokens, viewAfterTokens);
  const visible = {
    short: shortMessages / 2,
    long: (thresholdTokens + viewAfterTokens) / 2 / messageTokens,
  };
  const rowsOf = (each: Counted["view"], shown: number): number => each.read + each.readPerMessage * shown;
  const views = (count: number): number => count * ASSUMED.viewsPerMessage;
  const wakes = (count: number): number => count * ASSUMED.wakesPerMessage;
  const read = (count: number, shown: number): number =>
    views(count) * rowsOf(counted.view, shown) + wakes(count) * rowsOf(counted.wake, shown);
  const calls = messages + views(messages);
  const watched = Math.ceil(ASSUMED.runSeconds / ASSUMED.watchdogSeconds);
  const requests = calls / ASSUMED.framesPerRequest + runs * (counted.run.requests + watched);
  const said = messages * (counted.messageBytes + messageTokens * TOKEN_CHARS);
  const left = conversations * counted.emptyBytes + runs * counted.run.storedBytes;
  const storedBytes = ASSUMED.monthsStored * (said + left);
  return {
    conversations,
    messages,
    wakes: wakes(messages),
    runs,
    modelCalls: runs * counted.run.modelCalls,
    inputTokens: runs * counted.run.inputTokens,
    outputTokens: runs * counted.run.outputTokens,
    units: {
      rowsRead:
        conversations * counted.first.read +
        messages * counted.append.read +
        read(short * shortMessages, visible.short) +
        read(long * longMessages, visible.long) +
        runs * counted.run.read,
      rowsWritten:
        conversations * counted.first.written +
        messages * counted.append.written +
        wakes(messages) * counted.wake.written +
        runs * (counted.run.written + watched * ASSUMED.watchdogRows),
      objectRequests: requests,
      objectSeconds:
        ((calls + runs * (counted.run.requests + watched)) * ASSUMED.callSeconds +
          wakes(messages) * ASSUMED.wakeSeconds) *
        ASSUMED.objectGigabytes,
      storedGigabytes: storedBytes / GIGABYTE,
      // One request opens a conversation's connection.
      workerRequests: conversations + runs,
      workflowGigabytes: ((runs * counted.resultBytes) / GIGABYTE) * (ASSUMED.instanceDays / 30),
    },
  };
}

/** A conversation crosses the threshold, and again each time that it has grown by what a run took away. */
function runsIn(tokens: number, threshold: number, after: number): number {
  return tokens <= threshold ? 0 : 1 + Math.floor((tokens - threshold) / (threshold - after));
}

/** Of a long conversation, one at least: a run that is asked for by hand costs the same. */
export const RUNS_OF_A_LONG = Math.max(
  1,
  runsIn(ASSUMED.longMessages * ASSUMED.messageTokens, ASSUMED.thresholdTokens, ASSUMED.viewAfterTokens),
);

export interface Bound {
  readonly limit: string;
  readonly used: number;
  readonly most: number;
}

/** The share of a limit that the mean hour takes: above 1 no waiting helps. */
export function meanShareOf({ used, most }: Bound): number {
  return used / most / ASSUMED.peak;
}

/** The platform's limits, by what a month's busiest hour takes of each. The last two are of a design that nobody should choose. */
export function boundsOf({ conversations, messages, runs, modelCalls, units }: Month, counted: Counted): Bound[] {
  const perSecond = (count: number): number => (count / MONTH_SECONDS) * ASSUMED.peak;
  const stored = units.storedGigabytes / conversations;
  const calls = messages * (1 + ASSUMED.viewsPerMessage);
  return [
    { limit: "model calls a minute", used: perSecond(modelCalls) * 60, most: LIMITS.modelCallsPerMinute },
    { limit: "workflow instances begun a second", used: perSecond(runs), most: LIMITS.instancesPerSecond },
    { limit: "instances at once", used: perSecond(runs) * ASSUMED.runSeconds, most: LIMITS.instancesAtOnce },
    { limit: "bytes of a step's result", used: counted.resultBytes, most: LIMITS.stepResultBytes },
    { limit: "steps of an instance, the largest run above", used: counted.mostSteps, most: LIMITS.instanceSteps },
    { limit: "GB in one object, an object a conversation", used: stored, most: LIMITS.objectGigabytes },
    { limit: "GB in one object, one for all", used: units.storedGigabytes, most: LIMITS.objectGigabytes },
    {
      limit: "calls a second of one object, one for all",
      used: perSecond(calls),
      most: LIMITS.objectRequestsPerSecond,
    },
  ];
}
