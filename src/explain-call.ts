/**
 * Turns the refusal of a call into the line that would add it.
 *
 * An agent has the calls of its rooms only, and opens to clients only those of its list. It answers any other name alike, because it holds no
 * word of the rooms that it lacks. So the caller's side knows the names, and no Worker carries them. A test compares them with the rooms.
 */
import { PalimpsestError } from "./errors.ts";

/** By room, the subpath that exports it, and its calls. */
export const CALLS_OF_ROOMS: Readonly<Record<string, { readonly from: string; readonly calls: readonly string[] }>> = {
  approval: { from: "approval", calls: ["getProposal", "approveRun", "rejectRun"] },
  context: {
    from: "context",
    calls: [
      "addContext",
      "removeContext",
      "unloadSkill",
      "getLoadedSkillKeys",
      "getContextBlocks",
      "getContextBlock",
      "replaceContextBlock",
      "appendContextBlock",
      "freezeSystemPrompt",
      "refreshSystemPrompt",
      "reminder",
    ],
  },
  costs: { from: "costs", calls: ["getCosts"] },
  events: {
    from: "events",
    calls: ["loadEvents", "buildWorkingContext", "appendEvents", "persistTurn", "deleteEvents"],
  },
  inspect: { from: "inspect", calls: ["plan", "diffCompaction", "getProvenance", "health"] },
  notes: { from: "notes", calls: ["getNotes", "notesHistory", "updateNotes", "refreshNotes"] },
  recall: { from: "recall", calls: ["search", "searchSessions", "recall"] },
  transcripts: { from: "import", calls: ["exportPart", "exportTranscript", "importPart", "importTranscript"] },
};

/** The calls that every agent has, open to clients or not. */
export const CALLS_OF_EVERY_AGENT: readonly string[] = [
  "compact",
  "runs",
  "liveRuns",
  "getRun",
  "cancelRun",
  "status",
  "needsCompaction",
  "getHistory",
  "getMessage",
  "getBranches",
  "getParent",
  "getPathLength",
  "listBranches",
  "findLeaf",
  "getRecentHistory",
  "getView",
  "getViewAsOf",
  "getCompactions",
  "getInstructions",
  "expand",
  "waitForRun",
  "getUsage",
  "listSessions",
  "getSessionInfo",
  "newestSession",
  "append",
  "appendAll",
  "upsert",
  "update",
  "createSession",
  "renameSession",
  "forkSession",
  "compactNow",
  "compactAndSplit",
  "addCompaction",
  "pauseRun",
  "resumeRun",
  "retryRun",
  "retryRunFrom",
  "rollback",
  "restore",
  "restoreInstruction",
  "deleteMessages",
  "clearMessages",
  "deleteSession",
  "recordUsage",
  "addUsage",
];

/** The SDK's answers to a connection where an agent has none, the platform's to the holder of a stub, and an agent's own. */
const REFUSALS = [
  /^(?:Error: )?Method (\w+) does not exist/,
  /^(?:Error: )?Method (\w+) is not callable/,
  /does not implement (?:the method )?"(\w+)"/,
  /has no method "(\w+)" for its clients/,
] as const;

/**
 * Explains why an agent refused a call of ours, as in `catch (error) { throw explainCall(error); }`. Returns a `not_configured` error that
 * names the room and the line that adds it, or the list that opens the call. Returns any other error unchanged.
 */
export function explainCall(error: unknown): Error {
  const given = error instanceof Error ? error : new Error(String(error));
  const name = REFUSALS.map((refusal) => refusal.exec(given.message)?.[1]).find((found) => found !== undefined);
  const advice = name === undefined ? null : adviceFor(name, given.message.includes("is not callable"));
  return advice === null ? given : new PalimpsestError("not_configured", advice, { cause: error });
}

/** Null for a name that is no call of ours. */
function adviceFor(call: string, isThere: boolean): string | null {
  const [room, where] = Object.entries(CALLS_OF_ROOMS).find(([, { calls }]) => calls.includes(call)) ?? [];
  const list = `clients: ["watch", "${call}"]`;
  const closed = `This agent does not open ${call} to clients. List it where the agent is declared: ${list}.`;
  if (where === undefined) return CALLS_OF_EVERY_AGENT.includes(call) ? closed : null;
  if (isThere) return closed;
  return `This agent has no ${call}, which the room ${room}() of palimpsest/${where.from} brings. Add it where the agent is declared: withCompaction(Base, { rooms: [${room}()] }). For connected clients list the call there as well: ${list}.`;
}
