/** The error of an agent's own code that uses what a room brings, where the agent was declared without it. */
import { PalimpsestError } from "../errors.ts";

/** By room, its members of sessions and of their manager. Code without types may use them. A test compares them with the rooms. */
export const MEMBERS_OF_ROOMS: Readonly<Record<string, readonly string[]>> = {
  approval: ["requireApproval"],
  context: [
    "context",
    "addContext",
    "removeContext",
    "getContextBlock",
    "getContextBlocks",
    "replaceContextBlock",
    "appendContextBlock",
    "unloadSkill",
    "getLoadedSkillKeys",
    "freezeSystemPrompt",
    "refreshSystemPrompt",
    "reminder",
    "withContext",
    "withCachedPrompt",
    "withSearchableHistory",
    "onToolError",
  ],
  costs: ["getCosts"],
  events: ["loadEvents", "buildWorkingContext", "appendEvents", "deleteEvents", "persistTurn", "persistWorkingContext"],
  inspect: ["plan", "getProvenance", "diffCompaction"],
  notes: ["getNotes", "notesHistory", "updateNotes", "refreshNotes", "keepNotes"],
  ownFunction: ["onCompaction"],
  recall: ["recall", "search", "tools"],
  transcripts: ["importTranscript", "importPart", "importFrom", "exportTranscript", "exportPart"],
};

/** The subpaths of rooms that have another name. */
const SUBPATHS: Readonly<Record<string, string>> = { ownFunction: "own-function", transcripts: "import" };

export function missingRoom(what: string, room: string): PalimpsestError {
  return new PalimpsestError(
    "not_configured",
    `${what} needs a room, which is an optional part. Add it where the agent is declared: import { ${room} } from "palimpsest/${SUBPATHS[room] ?? room}", then withCompaction(Base, { rooms: [${room}()] }).`,
  );
}

/** Has each member of a room throw. A room that an agent has puts its own members before these. */
export function refuseMissing(prototype: object): void {
  for (const [room, members] of Object.entries(MEMBERS_OF_ROOMS)) {
    for (const name of members) {
      const refuse = (): never => {
        throw missingRoom(name, room);
      };
      const member = name === "context" ? { get: refuse } : { value: refuse };
      Object.defineProperty(prototype, name, { ...member, configurable: true });
    }
  }
}
