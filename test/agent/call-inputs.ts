/** A value that would be taken, and values that are wrong, for each field of each call. Tests walk them. */
import { CALL_NAMES, calls } from "../rooms.ts";
import type { CallName } from "../../src/rooms.ts";
import { say } from "../conversation.ts";

export type Input = Record<string, unknown>;

/** Half a surrogate pair. A stored copy of it would be found under another name. */
export const LONE = "m\ud8001";
const NO_NUMBER = [null, "1", [], {}, true, Number.NaN, Number.POSITIVE_INFINITY, -1];
const NO_COUNT = [...NO_NUMBER, 0, 1.5];
const NO_TEXT = [null, 1, [], {}, false];
const NO_LIST = [null, "m1", 1, { length: 1 }, Array.from({ length: 10_001 }, () => "m")];
const NO_MESSAGE = [null, "hello", 7, true];

/** Values that are invalid in a field, by the field's kind. An optional field may be missing. `good` holds the required ones. */
export const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  session: [...NO_TEXT, LONE, "x".repeat(201)],
  id: [...NO_TEXT, "", LONE, "x".repeat(700)],
  // Null is valid and means a new root, an empty session or the active branch.
  idOrNull: [1, [], {}, false, "", LONE, "x".repeat(700)],
  name: [...NO_TEXT, LONE, "x".repeat(201)],
  focus: [...NO_TEXT, LONE, "x".repeat(2_001)],
  focusOrNull: [1, [], {}, false, LONE, "x".repeat(2_001)],
  text: [...NO_TEXT, LONE],
  quotation: [...NO_TEXT, "", "x".repeat(2_001)],
  file: NO_TEXT,
  step: [...NO_TEXT, "", LONE, "x".repeat(257)],
  summary: [...NO_TEXT, LONE, "x".repeat(200_001)],
  reason: [...NO_TEXT, LONE, "x".repeat(501)],
  flag: [null, "yes", 1],
  word: [null, "because", 1],
  label: [...NO_TEXT, "", LONE, "x".repeat(65)],
  known: [...NO_TEXT, LONE],
  description: [...NO_TEXT, LONE, "x".repeat(1_001)],
  key: [...NO_TEXT, "", LONE, "x".repeat(201)],
  object: [null, "yes", 1, [1]],
  event: [...NO_TEXT, "", LONE],
  parentSession: [...NO_TEXT, "", LONE, "x".repeat(201)],
  truncate: [null, "yes", 1, { keepRecent: "4" }],
  amount: NO_NUMBER,
  total: [...NO_NUMBER, 1.5],
  count: NO_COUNT,
  page: [...NO_COUNT, 501],
  hits: [...NO_COUNT, 101],
  wait: [...NO_COUNT, 300_001],
  index: [...NO_NUMBER, 1.5],
  names: [...NO_LIST, ["m1", 2], [null], [LONE], Array.from({ length: 21 }, () => "m1")],
  tokens: [...NO_COUNT, 199, 50_001],
  ids: [...NO_LIST, ["m1", 2], [""], [LONE], [null]],
  message: NO_MESSAGE,
  sections: [
    null,
    "s",
    { length: 1 },
    [null],
    [{ title: "t" }],
    [{ title: 1, text: "x" }],
    [{ title: "t", text: null }],
    [{ title: LONE, text: "x" }],
    [{ title: "t", text: LONE }],
  ],
  messages: [...NO_LIST, [null], [say(90), 1]],
  entries: [...NO_LIST, [null], [say(90)], [{ message: null }], [{ message: say(90), parentId: "" }]],
  lastSession: [
    null,
    1,
    "s",
    {},
    { createdAt: 1, id: LONE },
    { createdAt: 1 },
    { createdAt: Number.NaN, id: "" },
    { createdAt: 1, id: 1 },
  ],
};

export type Kind = keyof typeof WRONG;

/** The kind of a field by its name, wherever it is taken. */
const KINDS: Readonly<Record<string, Kind>> = {
  ...kind("session", "sessionId"),
  ...kind("parentSession", "parentSessionId"),
  ...kind("id", "leafId", "id", "overlayId", "runId", "asOf", "after", "atMessageId", "messageId"),
  ...kind("idOrNull", "parentId", "coveredId"),
  ...kind("event", "fromMessageId", "toMessageId"),
  ...kind("known", "around"),
  ...kind("name", "name", "model", "source"),
  ...kind("focus", "focus"),
  ...kind("text", "content", "defaultContent", "query", "section"),
  ...kind("file", "text"),
  ...kind("quotation", "quote"),
  ...kind("step", "stepName"),
  ...kind("summary", "summary"),
  ...kind("label", "label"),
  ...kind("key", "key", "upload"),
  ...kind("description", "description"),
  ...kind("flag", "fresh", "rebuild", "ignoreBudget", "manual", "everywhere", "apart", "redact", "last"),
  ...kind("flag", "readonly", "shared", "carry"),
  ...kind("word", "whenChanged", "format", "order", "reason"),
  ...kind("object", "metadata"),
  ...kind("truncate", "truncate"),
  ...kind("amount", "cost"),
  ...kind("total", "inputTokens", "outputTokens", "cachedTokens", "writtenTokens", "viewTokens", "basedOn"),
  ...kind("count", "maxTokens", "maxBytes", "depth", "before"),
  ...kind("page", "limit"),
  ...kind("wait", "timeoutMs"),
  ...kind("index", "index", "at", "from", "notes"),
  ...kind("ids", "ids"),
  ...kind("message", "message"),
  ...kind("messages", "messages", "events"),
  ...kind("sections", "sections"),
};

function kind(of: Kind, ...fields: readonly string[]): Readonly<Record<string, Kind>> {
  return Object.fromEntries(fields.map((field) => [field, of]));
}

/** Where a field of that name is of another kind. */
const OTHERWISE: Readonly<Record<string, Kind>> = {
  "getHistory.leafId": "idOrNull",
  "getPathLength.leafId": "idOrNull",
  "persistTurn.leafId": "idOrNull",
  "compactAndSplit.focus": "focusOrNull",
  "search.limit": "hits",
  "searchSessions.limit": "hits",
  "loadEvents.before": "event",
  "listSessions.before": "lastSession",
  "importPart.messages": "entries",
  "rejectRun.reason": "reason",
  "addUsage.inputTokens": "amount",
  "addUsage.outputTokens": "amount",
  "recall.overlayId": "known",
  "recall.ids": "names",
  "recall.maxTokens": "tokens",
};

/** A value that would be taken, of each field that a call may need. */
const GOOD: Input = {
  message: say(90),
  messages: [],
  events: [],
  sections: [],
  ids: ["m1"],
  id: "m1",
  leafId: "m1",
  overlayId: "o",
  runId: "r",
  stepName: "add compaction",
  atMessageId: "m1",
  messageId: "m1",
  fromMessageId: "m1",
  toMessageId: "m2",
  label: "memory",
  key: "k",
  content: "x",
  query: "x",
  text: "",
  quote: "words",
  summary: "s",
  name: "n",
  upload: "u",
  at: 0,
  maxBytes: 1,
  inputTokens: 1,
  outputTokens: 1,
};

interface Call {
  /** An input that would be taken. */
  readonly good: Input;
  readonly fields: Readonly<Record<string, Kind>>;
}

function callOf(name: CallName): Call {
  const fields = Object.entries(calls[name].input.shape);
  const needed = fields.filter(([, schema]) => !schema.safeParse(undefined).success);
  return {
    good: Object.fromEntries(needed.map(([field]) => [field, GOOD[field]])),
    fields: Object.fromEntries(fields.map(([field]) => [field, OTHERWISE[`${name}.${field}`] ?? KINDS[field] ?? ""])),
  };
}

export const CALLS = CALL_NAMES.map((name) => [name, callOf(name)] as const);

/** Calls of the ledger, of the dispatcher and of the tree, which no method of a session stands behind. */
export const WITHOUT_A_METHOD: ReadonlySet<CallName> = new Set<CallName>([
  "runs",
  "liveRuns",
  "getRun",
  "cancelRun",
  "listBranches",
  "findLeaf",
  "getProposal",
  "waitForRun",
  "health",
  "pauseRun",
  "resumeRun",
  "retryRun",
  "retryRunFrom",
  "approveRun",
  "rejectRun",
]);
