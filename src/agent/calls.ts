/**
 * The calls that an agent answers from outside, in one table with one entry per call.
 *
 * The agent's methods, the groups in which they are opened to connected clients, and the types of a client all derive from it. A call
 * parses its one input strictly before any read, so later code need not handle hostile input.
 */
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { MAX_PAGE, RPC_MAX_BYTES } from "../limits.ts";
import type { RunRecord } from "../memory/runs/runs.ts";
import type { AgentCore } from "./agent-core.ts";
import { runEvent, runWithoutWords } from "./events.ts";
import {
  byHand,
  compactOptions,
  defined,
  expandOptions,
  given,
  id,
  leafId,
  message,
  messages,
  ofMessages,
  ofSession,
  name,
  newSession,
  page,
  parentId,
  parseInput,
  runsPage,
  sessionId,
  sessionsPage,
  splitOptions,
  usageReport,
  viewOptions,
  wholeNumber,
  words,
  type CompactOptions,
} from "./inputs.ts";
import type { CallEntry, CallsOf, CallTable, Group, Rooms } from "./extension.ts";
import type { SessionManager } from "./sessions/session-manager.ts";
import type { CompactReceipt, Session } from "./sessions/session.ts";

/** Characters of a step's name, as the platform limits it. */
const MAX_STEP_NAME_CHARS = 256;

/** Longest wait for a run in one call (ms), under the platform's idle limits for a request. */
const MAX_WAIT_MS = 300_000;

/** A group of calls, or `override`, which lets a client go past a spent budget or an open breaker. */
export type Grant = Group | "override";

/** The context of a call. */
export interface CallContext<Added extends object = object, ManagerAdded extends object = object> {
  readonly core: AgentCore;
  /** With the methods that rooms add to it. */
  readonly manager: SessionManager & ManagerAdded;
  /** With the methods that rooms add to it. */
  readonly session: (sessionId: string) => Session & Added;
  /** Whether the caller has a grant beside the call itself. True for every caller that is no connected client. */
  readonly may: (grant: Grant) => boolean;
}

/** One entry of the table, as its callers know it. */
export interface Call<G extends Group, Input extends object, Result> extends CallEntry {
  readonly group: G;
  /** Never set. Its type is the input's, so that declarations need not repeat the schema. */
  readonly takes?: Input;
  run(context: never, input: never): Result;
}

/** One entry as it is written. The sessions of a room's own calls have the methods that the room adds. */
interface WrittenCall<
  G extends Group,
  Schema extends z.ZodObject,
  Result,
  Added extends object,
  ManagerAdded extends object,
> {
  readonly group: G;
  readonly input: Schema;
  run(context: CallContext<Added, ManagerAdded>, input: z.output<Schema>): Result;
}

export function callOf<Added extends object, ManagerAdded extends object = object>() {
  return <const G extends Group, Schema extends z.ZodObject, Result>(
    entry: WrittenCall<G, Schema, Result, Added, ManagerAdded>,
  ): Call<G, Taken<z.input<Schema>>, Result> => entry;
}

const call = callOf<object>();

const ofBranch = z.strictObject({ sessionId, leafId: leafId.nullable() });
const ofMessage = z.strictObject({ sessionId, id });
const ofOverlay = z.strictObject({ sessionId, overlayId: id });
const ofRun = z.strictObject({ runId: id });
const ofRuns = z.strictObject({ sessionId, ...runsPage });
const withMessage = z.strictObject({ sessionId, message, parentId });

export const calls = {
  // --- watch ---------------------------------------------------------------------------------------------------------

  /** Asks for a compaction now and returns at once, with the run that will do it. */
  compact: call({
    group: "watch",
    input: z.strictObject({ sessionId, ...compactOptions }),
    run: async (context, { sessionId, ...options }) => {
      mayOverride(context, options);
      mayAskAnew(context, sessionId, options);
      return showReceipt(context, await context.session(sessionId).compact(options));
    },
  }),
  /** Lists a session's runs, newest first. */
  runs: call({
    group: "watch",
    input: ofRuns,
    run: (context, { sessionId, ...page }) =>
      context.core.runs.list(sessionId, defined(page)).map((run) => showRun(context, run)),
  }),
  /** Lists the runs of every session that have no outcome yet, newest first, each in the form of an event. */
  liveRuns: call({
    group: "watch",
    input: z.strictObject({ limit: page.default(MAX_PAGE) }),
    run: ({ core }, { limit }) => {
      const live = core.runs.allLive().toSorted((a, b) => b.createdAt - a.createdAt);
      return live.slice(0, limit).map((run) => runEvent(run, core.platform.now()));
    },
  }),
  /** Reads one run with its plan, its steps and its outcome. */
  getRun: call({
    group: "watch",
    input: ofRun,
    run: (context, { runId }) => showRun(context, context.core.runs.mustGet(runId)),
  }),
  /** Ends a live run without effect. */
  cancelRun: call({
    group: "watch",
    input: ofRun,
    run: async (context, { runId }) => showRun(context, await context.core.dispatcher.cancel(runId)),
  }),
  /** Reads a session's view size, threshold and live runs, and the reason that keeps it from being compacted. */
  status: call({
    group: "watch",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).status(),
  }),
  /** Says whether a compaction is due and nothing keeps it from starting. */
  needsCompaction: call({
    group: "watch",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).needsCompaction(),
  }),

  // --- read ----------------------------------------------------------------------------------------------------------

  /** Reads a branch as its view shows it, with summaries in place of the messages that they cover. */
  getHistory: call({
    group: "read",
    input: ofBranch,
    run: ({ session }, { sessionId, leafId }) => session(sessionId).getHistory(leafId),
  }),
  /** Reads one message, or null when there is none. */
  getMessage: call({
    group: "read",
    input: ofMessage,
    run: ({ session }, { sessionId, id }) => session(sessionId).getMessage(id),
  }),
  /** Reads the messages that answer one, of which there are several where the conversation branches. */
  getBranches: call({
    group: "read",
    input: ofMessage,
    run: ({ session }, { sessionId, id }) => session(sessionId).getBranches(id),
  }),
  /** Reads the id of a message's parent, or null for a root. */
  getParent: call({
    group: "read",
    input: ofMessage,
    run: ({ session }, { sessionId, id }) => session(sessionId).getParent(id),
  }),
  /** Counts the messages of a branch, hidden ones included. */
  getPathLength: call({
    group: "read",
    input: ofBranch,
    run: ({ session }, { sessionId, leafId }) => session(sessionId).getPathLength(leafId),
  }),
  /** Lists the leaf of each branch, newest first, at most the newest 100. */
  listBranches: call({
    group: "read",
    input: ofSession,
    run: ({ core }, { sessionId }) => core.memory.session(sessionId).branchTips(),
  }),
  /** Finds the newest leaf of the branches with a message on them, or null for an unknown message. */
  findLeaf: call({
    group: "read",
    input: ofMessage,
    run: ({ core }, { sessionId, id }) => core.memory.session(sessionId).leafAfter(id),
  }),
  /** Reads the newest part of the view within a number of bytes. */
  getRecentHistory: call({
    group: "read",
    input: z.strictObject({ sessionId, maxBytes: wholeNumber.positive(), leafId }),
    run: ({ session }, { sessionId, maxBytes, ...branch }) =>
      session(sessionId).getRecentHistory(maxBytes, defined(branch)),
  }),
  /** Reads the view for a model, with summaries in place of the messages that they cover, and every tool call with its result. */
  getView: call({
    group: "read",
    input: z.strictObject({ sessionId, ...viewOptions }),
    run: ({ session }, { sessionId, ...options }) => session(sessionId).getView(options),
  }),
  /** Reads the view right after a summary came into force, made of messages as they are now. */
  getViewAsOf: call({
    group: "read",
    input: ofOverlay,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).getViewAsOf(overlayId),
  }),
  /** Lists a session's summaries in every state, oldest first. */
  getCompactions: call({
    group: "read",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getCompactions(),
  }),
  /** Lists the user's standing instructions beside the summaries, and those that the user ended. */
  getInstructions: call({
    group: "read",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getInstructions(),
  }),
  /** Reads the originals under a summary, or the narrower summaries just beneath. */
  expand: call({
    group: "read",
    input: z.strictObject({
      sessionId,
      overlayId: id,
      ...expandOptions,
    }),
    run: ({ session }, { sessionId, overlayId, ...options }) => session(sessionId).expand(overlayId, options),
  }),
  /** Returns the run once it has its outcome, or in its present state after `timeoutMs`. */
  waitForRun: call({
    group: "read",
    input: z.strictObject({ runId: id, timeoutMs: wholeNumber.positive().max(MAX_WAIT_MS).default(60_000) }),
    run: async (context, { runId, timeoutMs }) => {
      const { core } = context;
      const { promise: timedOut, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      const ended = await Promise.race([core.ended(runId), timedOut]).finally(() => clearTimeout(timer));
      return showRun(context, ended ?? core.runs.mustGet(runId));
    },
  }),
  /** Reads the sums of model calls by model, the one that was called last first. */
  getUsage: call({
    group: "read",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getUsage(),
  }),
  /** Lists sessions, newest first. */
  listSessions: call({
    group: "read",
    input: z.strictObject(sessionsPage),
    run: ({ manager }, page) => manager.list(page),
  }),
  /** Reads a session's name, parent, sums and times, or null when there is none. */
  getSessionInfo: call({
    group: "read",
    input: ofSession,
    run: ({ manager }, { sessionId }) => manager.get(sessionId),
  }),
  /** Reads the session that continues a conversation, which is the given one while it has not ended. */
  newestSession: call({
    group: "read",
    input: ofSession,
    run: ({ manager }, { sessionId }) => manager.newestOf(sessionId),
  }),

  // --- write ---------------------------------------------------------------------------------------------------------

  /** Appends a message, where a known id changes nothing. */
  append: call({
    group: "write",
    input: withMessage,
    run: ({ session }, { sessionId, message, parentId }) => session(sessionId).appendMessage(message, parentId),
  }),
  /** Appends messages in order, all or none. */
  appendAll: call({
    group: "write",
    input: z.strictObject({ sessionId, messages, parentId }),
    run: ({ session }, { sessionId, messages, parentId }) => session(sessionId).appendAll(messages, parentId),
  }),
  /** Stores a message, or replaces the one with its id. */
  upsert: call({
    group: "write",
    input: withMessage,
    run: ({ session }, { sessionId, message, parentId }) => session(sessionId).upsertMessage(message, parentId),
  }),
  /** Replaces a message, or returns null when there is none with its id. */
  update: call({
    group: "write",
    input: z.strictObject({ sessionId, message }),
    run: ({ session }, { sessionId, message }) => session(sessionId).updateMessage(message),
  }),
  /** Makes a session, which without a name goes by the beginning of its first user message. */
  createSession: call({
    group: "write",
    input: z.strictObject({ name: name.optional(), ...newSession }),
    run: ({ manager }, { name, ...options }) => manager.create(name, options),
  }),
  /** Names a session, where a blank name restores its title. */
  renameSession: call({
    group: "write",
    input: z.strictObject({ sessionId, name }),
    run: ({ manager }, { sessionId, name }) => manager.rename(sessionId, name),
  }),
  /** Makes a session that begins as a copy of the path up to a message. */
  forkSession: call({
    group: "write",
    input: z.strictObject({ sessionId, atMessageId: id, name: name.optional() }),
    run: ({ manager }, { sessionId, atMessageId, name }) => manager.fork(sessionId, atMessageId, name),
  }),

  // --- steer ---------------------------------------------------------------------------------------------------------

  /** Asks for a compaction after a provider refused a prompt as too long. */
  compactNow: call({
    group: "steer",
    input: z.strictObject({
      sessionId,
      ...compactOptions,
      reason: z.enum(["overflow", "manual"]).default("overflow"),
    }),
    run: async (context, { sessionId, ...options }) => {
      mayOverride(context, options);
      return showReceipt(context, await context.session(sessionId).compactNow(options));
    },
  }),
  /** Asks for a run that compacts a session, ends it and continues it in a new one. */
  compactAndSplit: call({
    group: "steer",
    input: z.strictObject({ sessionId, name: name.optional(), ...splitOptions }),
    run: async (context, { sessionId, name, ...options }) => {
      mayOverride(context, options);
      return showReceipt(context, await context.manager.compactAndSplit(sessionId, name, options));
    },
  }),
  /** Puts the caller's own summary in place of a range of messages, both ends included. */
  addCompaction: call({
    group: "steer",
    input: given.summary.extend({ sessionId }),
    run: ({ session }, { sessionId, summary, fromMessageId, toMessageId }) =>
      session(sessionId).addCompaction(summary, fromMessageId, toMessageId),
  }),
  /** Pauses a live run between two steps. */
  pauseRun: call({
    group: "steer",
    input: ofRun,
    run: async (context, { runId }) => showRun(context, await context.core.dispatcher.pause(runId)),
  }),
  /** Resumes a paused run. */
  resumeRun: call({
    group: "steer",
    input: ofRun,
    run: async (context, { runId }) => showRun(context, await context.core.dispatcher.resume(runId)),
  }),
  /** Starts another run in place of one that ended without effect, and uses the drafts of that one again. */
  retryRun: call({
    group: "steer",
    input: z.strictObject({ runId: id, ...byHand }),
    run: (context, { runId, ignoreBudget }) =>
      showReceipt(context, context.core.dispatcher.retry(runId, ignores(context, ignoreBudget))),
  }),
  /** Repeats a step of a live run, and all steps after it. */
  retryRunFrom: call({
    group: "steer",
    input: z.strictObject({ runId: id, stepName: words(MAX_STEP_NAME_CHARS).min(1) }),
    run: async (context, { runId, stepName }) =>
      showRun(context, await context.core.dispatcher.retryFrom(runId, stepName)),
  }),
  /** Takes a summary out of every view, so that the messages under it show again. */
  rollback: call({
    group: "steer",
    input: ofOverlay,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).rollback(overlayId),
  }),
  /** Puts a summary into force again that was rolled back or went out of force by an edit. */
  restore: call({
    group: "steer",
    input: ofOverlay,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).restore(overlayId),
  }),
  /** Lets an instruction of the user hold again that a summariser took for ended. */
  restoreInstruction: call({
    group: "steer",
    input: given.instruction.extend({ sessionId }),
    run: ({ session }, { sessionId, quote, messageId }) => session(sessionId).restoreInstruction(quote, messageId),
  }),

  // --- admin ---------------------------------------------------------------------------------------------------------

  /** Deletes messages, and moves the children of each to its nearest ancestor that is left. */
  deleteMessages: call({
    group: "admin",
    input: ofMessages,
    run: ({ session }, { sessionId, ids }) => session(sessionId).deleteMessages(ids),
  }),
  /** Deletes the conversation of a session, and keeps its name, blocks and sums. */
  clearMessages: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).clearMessages(),
  }),
  /** Deletes everything of a session, or returns false when there was none. */
  deleteSession: call({
    group: "admin",
    input: ofSession,
    run: ({ manager }, { sessionId }) => manager.delete(sessionId),
  }),
  /** Records the provider's count of a model call on a session's view. */
  recordUsage: call({
    group: "admin",
    input: z.strictObject({ sessionId, ...usageReport }),
    run: ({ session }, { sessionId, ...report }) => session(sessionId).recordUsage(report),
  }),
  /** Adds usage to a session's sums that `recordUsage` did not get. */
  addUsage: call({
    group: "admin",
    input: z.strictObject({
      sessionId,
      inputTokens: z.number().nonnegative(),
      outputTokens: z.number().nonnegative(),
      cost: z.number().nonnegative().default(0),
    }),
    run: ({ manager }, { sessionId, inputTokens, outputTokens, cost }) =>
      manager.addUsage(sessionId, inputTokens, outputTokens, cost),
  }),
};

// The calls that every agent has.
export type CoreCalls = typeof calls;

/** The calls of an agent with these rooms. */
export type Calls<R extends Rooms = readonly []> = CoreCalls & CallsOf<R>;

// The input of a call, which is one object.
export type InputOf<Each> = Each extends Call<Group, infer Input, unknown> ? Input : never;

// Inputs are never changed, so lists may be readonly.
type Taken<Input> = { readonly [Field in keyof Input]: Input[Field] extends infer Value ? ListTaken<Value> : never };
type ListTaken<Value> = Value extends readonly (infer Each)[] ? readonly Each[] : Value;

// The answer of a call.
export type ResultOf<Each> = Each extends { run(...args: never): infer Result } ? Awaited<Result> : never;

// The arguments of a call's method. The input may be omitted where no field is required.
type ArgumentsOf<Each> = object extends InputOf<Each> ? [input?: InputOf<Each>] : [input: InputOf<Each>];

/** Methods, one for each call of a table. */
export type MethodsOfCalls<Table> = {
  [Name in keyof Table]: (...args: ArgumentsOf<Table[Name]>) => Promise<ResultOf<Table[Name]>>;
};

/** The table of an agent with these rooms. Throws `invalid_options` for two calls of one name. */
export function tableOf(rooms: Rooms): CallTable {
  if (!Array.isArray(rooms) || rooms.some((room: Partial<Rooms[number]> | null) => room?.install === undefined)) {
    throw new PalimpsestError("invalid_options", "rooms: give a list of rooms, each of them called: [notes()].");
  }
  const tables: readonly CallTable[] = [calls, ...rooms.map((room) => room.calls)];
  const names = tables.flatMap((table) => Object.keys(table));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return Object.assign({}, ...tables) as CallTable;
  throw new PalimpsestError("invalid_options", `rooms: two of them have a call "${twice}". Add each room once.`);
}

/**
 * Parses a call's input and runs it. Throws `invalid_input` with the name of each wrong field, `too_large` for an answer that RPC does not
 * take, and any error of the call.
 */
export async function runCall<Each extends CallEntry>(
  entry: Each,
  context: CallContext,
  input: unknown,
): Promise<ResultOf<Each>> {
  // The table's type ties input and run of one entry together. TypeScript cannot express that over all entries at once.
  const run = entry.run.bind(entry) as (context: CallContext, input: unknown) => Promise<ResultOf<Each>>;
  return checkResult(await run(context, parseInput(entry.input, input)));
}

function mayOverride({ may }: CallContext, { ignoreBudget }: { readonly ignoreBudget: boolean }): void {
  if (!ignoreBudget || may("override")) return;
  throw new PalimpsestError(
    "unauthorized",
    'Clients may not ignore the budget. List it where the agent is declared: clients: ["watch", "override"].',
  );
}

/**
 * A client that may not steer asks for no second paid answer about what was said. A focus or a branch makes a summary anew, and so may a run
 * after one that was cancelled, so one of these is taken after each message.
 */
function mayAskAnew(
  { may, core, manager }: CallContext,
  sessionId: string,
  { fresh, rebuild, focus, leafId }: CompactOptions,
): void {
  if (may("steer")) return;
  const last = core.runs.latestEnded(sessionId);
  const isAnew = focus !== undefined || leafId !== undefined || last?.outcome.kind === "cancelled";
  const isAgain = isAnew && last?.manual === true && last.createdAt >= (manager.get(sessionId)?.lastMessageAt ?? 0);
  if (fresh !== true && rebuild !== true && !isAgain) return;
  throw new PalimpsestError(
    "unauthorized",
    `Clients of this agent may not ask a model again about what it was asked already${isAgain ? ": nothing was said since the last run" : ""}. Open "steer" where the agent is declared.`,
  );
}

/** Whether a call by hand ignores the budget. Left out, it does where the caller may. */
export function ignores(context: CallContext, ignoreBudget: boolean | undefined): boolean {
  mayOverride(context, { ignoreBudget: ignoreBudget === true });
  return ignoreBudget ?? context.may("override");
}

/** A run for its caller. A client that may not read gets no word of the conversation. */
export function showRun({ may }: CallContext, run: RunRecord): RunRecord {
  return may("read") ? run : runWithoutWords(run);
}

export function showReceipt(context: CallContext, { run, joined }: CompactReceipt): CompactReceipt {
  return { run: showRun(context, run), joined };
}

/** Bytes of a value beside its strings, such as its type and its length. */
const VALUE_BYTES = 8;

/** Throws `too_large` for a result that no other object or Worker would get. */
export function checkResult<Result>(result: Result): Result {
  const bytes = bytesOf(result);
  if (bytes <= RPC_MAX_BYTES) return result;
  const size = `${Math.ceil(bytes / 1024 / 1024)} MiB`;
  throw new PalimpsestError(
    "too_large",
    `The answer takes ${size}, and the platform passes at most 32 MiB between objects. Read a part: getRecentHistory takes maxBytes, getView takes maxTokens, and getMessage reads one message. Or read it inside the agent, with Session.create(this).getView().`,
  );
}

/** Bytes of a value on its way, by the lengths of its strings. Reads no characters of strings that fit in any case. */
function bytesOf(result: unknown): number {
  const strings: string[] = [];
  let chars = 0;
  let bytes = 0;
  const left: unknown[] = [result];
  while (left.length > 0) {
    const value = left.pop();
    bytes += VALUE_BYTES;
    if (typeof value === "string") {
      strings.push(value);
      chars += value.length;
    } else if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
      bytes += value.byteLength;
    } else if (typeof value === "object" && value !== null) {
      for (const each of Object.values(value)) left.push(each);
      if (!Array.isArray(value)) for (const key of Object.keys(value)) bytes += key.length;
    }
  }
  // Two bytes a character at most.
  if (bytes + 2 * chars <= RPC_MAX_BYTES) return bytes + 2 * chars;
  return strings.reduce((sum, text) => sum + (hasWide(text) ? 2 : 1) * text.length, bytes);
}

function hasWide(text: string): boolean {
  return /[^\0-\xff]/.test(text);
}
