/** The error of an agent's own code that needs a room, where the agent was declared without it. */
import { PalimpsestError } from "../errors.ts";

/** By settings that only a room brings, the function that adds it. Code without types may use them. A test compares them with the rooms. */
export const ROOM_OF_SETTING: Readonly<Record<string, string>> = {
  keepNotes: "notes",
  onCompaction: "ownFunction",
  onToolError: "context",
  requireApproval: "approval",
  withCachedPrompt: "context",
  withContext: "context",
  withSearchableHistory: "context",
};

export function missingRoom(what: string, room: string): PalimpsestError {
  return new PalimpsestError(
    "not_configured",
    `${what} needs a room. Add it where the agent is declared: withCompaction(Base, { rooms: [${room}()] }).`,
  );
}
