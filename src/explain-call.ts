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

/** Answers for a call that an agent lacks: the SDK's to a connection, the platform's to the holder of a stub, and an agent's own. */
const REFUSALS = [
  /^(?:Error: )?Method (\w+) does not exist/,
  /does not implement (?:the method )?"(\w+)"/,
  /has no method "(\w+)" for its clients/,
] as const;

/**
 * Explains why an agent refused a call of a room that it lacks, as in `catch (error) { throw explainCall(error); }`. Returns a
 * `not_configured` error that names the room and the line that adds it. Returns any other error unchanged: an agent that does not open a
 * call says itself which list opens it.
 */
export function explainCall(error: unknown): Error {
  const given = error instanceof Error ? error : new Error(String(error));
  const call = REFUSALS.map((refusal) => refusal.exec(given.message)?.[1]).find((found) => found !== undefined) ?? "";
  const [room, where] = Object.entries(CALLS_OF_ROOMS).find(([, { calls }]) => calls.includes(call)) ?? [];
  if (where === undefined) return given;
  const advice = `This agent has no ${call}, which the room ${room}() of palimpsest/${where.from} brings. Add it where the agent is declared: withCompaction(Base, { rooms: [${room}()] }). For connected clients list the call there as well: clients: ["watch", "${call}"].`;
  return new PalimpsestError("not_configured", advice, { cause: error });
}
