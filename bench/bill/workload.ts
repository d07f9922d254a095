/** A month of conversations in billed units and in shares of the platform's limits. */
import { LIMITS, type Units } from "./cloudflare.ts";

/** Put your own numbers here. */
export const ASSUMED = {
  /** Messages of a short conversation and of a long one, and the share of long ones. */
  shortMessages: 20,
  longMessages: 400,
  longShare: 0.1,
  messageTokens: 250,
  /** The agent reads its view before each reply. */
  viewsPerMessage: 0.5,
  /**
   * Each message of a user, which is every second one, finds the object asleep. Its connection hibernates some ten seconds after the last
   * message, and a user takes longer. This is pessimistic, because a user who answers at once finds it awake.
   */
  wakesPerMessage: 0.5,
  thresholdTokens: 60_000,
  /** Tokens of the view after a run, with head, summaries and a tail of 20,000. */
  viewAfterTokens: 25_000,
  /** Chunks of 48,000 tokens that the difference makes. */
  chunksOfARun: 1,
  /**
   * Seconds that a run needs for its summariser, at 3,000 tokens of an answer and 100 tokens a second, as hosted models have it. Nothing
   * here calls one. The watchdog looks every 15 s, writes two rows and sets its alarm.
   */
  runSeconds: 30,
  watchdogRows: 3,
  watchdogSeconds: 15,
  /** Frames on a WebSocket for the price of one request. Each append and each view is a frame. */
  framesPerRequest: 20,
  /**
   * Seconds that an object works for one call and for a wake before it, and the billed memory. They are higher than measured here, where
   * code is already loaded and the disk is near. The figures on Cloudflare are unknown here.
   */
  callSeconds: 0.01,
  wakeSeconds: 0.05,
  objectGigabytes: 0.128,
  monthsStored: 12,
  /** Days for which finished instances are kept. */
  instanceDays: 30,
  /** The busiest hour over the mean one. */
  peak: 4,
} as const;

/** Counts of one operation each, as the case measured them. */
export interface Counted {
  /** A new object, with its tables, its start and its first message. */
  readonly first: { readonly read: number; readonly written: number };
  readonly append: { readonly read: number; readonly written: number };
  /** Rows of a wake. They are the rows of the object's start, and the extra rows of its first append, partly per visible message. */
  readonly wake: { readonly read: number; readonly readPerMessage: number; readonly written: number };
  /** Rows of a view, as a fixed part and a part per visible message. */
  readonly view: { readonly read: number; readonly readPerMessage: number };
  /** The mean run of a long conversation. */
  readonly run: RunUnits;
  /** Steps of the run with the most steps. */
  readonly mostSteps: number;
  /** Bytes that a message takes in the database beside its own text. */
  readonly messageBytes: number;
  /** Bytes of an almost empty object. */
  readonly emptyBytes: number;
  /** Bytes of the plan, the largest result of a step. */
  readonly resultBytes: number;
}

export interface RunUnits {
  readonly read: number;
  readonly written: number;
  readonly requests: number;
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Bytes that a run leaves behind as drafts, overlay and ledger row. */
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
/** Characters per token, as the estimate assumes. */
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

/** A conversation crosses the threshold once, and again each time that it has grown by the tokens that a run took away. */
function runsIn(tokens: number, threshold: number, after: number): number {
  return tokens <= threshold ? 0 : 1 + Math.floor((tokens - threshold) / (threshold - after));
}

/** Runs of a long conversation, at least one. A run that is asked for by hand costs the same. */
export const RUNS_OF_A_LONG = Math.max(
  1,
  runsIn(ASSUMED.longMessages * ASSUMED.messageTokens, ASSUMED.thresholdTokens, ASSUMED.viewAfterTokens),
);

export interface Bound {
  readonly limit: string;
  readonly used: number;
  readonly most: number;
}

/** The share of a limit that the mean hour takes. Above 1, waiting does not help. */
export function meanShareOf({ used, most }: Bound): number {
  return used / most / ASSUMED.peak;
}

/** The platform's limits, with the use of each in a month's busiest hour. The last two rows describe a design that nobody should choose. */
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
