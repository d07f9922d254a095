/** Exported agents whose declarations a compiler writes. They leave every type to it. */
import { Agent } from "agents";
import { Session, SessionManager, withCompaction } from "palimpsest";
import { approval } from "palimpsest/approval";
import { context } from "palimpsest/context";
import { costs } from "palimpsest/costs";
import { events } from "palimpsest/events";
import { transcripts } from "palimpsest/import";
import { inspect } from "palimpsest/inspect";
import { notes } from "palimpsest/notes";
import { ownFunction } from "palimpsest/own-function";
import { promptCache } from "palimpsest/prompt-cache";
import { recall } from "palimpsest/recall";

export { CompactionWorkflow } from "palimpsest";

export class Plain extends withCompaction(Agent) {
  readonly session = Session.create(this);
}

export class Ready extends withCompaction(Agent) {
  readonly sessions = SessionManager.create(this);
}

const some = [notes(), recall(), context(), events(), costs(), inspect()] as const;
export const rooms = [...some, approval(), ownFunction(), promptCache(), transcripts()] as const;

export class Full extends withCompaction(Agent, { rooms }) {
  readonly sessions = SessionManager.create(this);
}
