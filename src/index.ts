/** The main entry of the package. What its methods take and return has more types in `palimpsest/types`. */
export { withCompaction, type CompactingClass, type WithCompactionOptions } from "./agent/compacting-agent.ts";
export type { Calls } from "./agent/calls.ts";
export type { Rooms } from "./agent/extension.ts";
export type { Clients, CompactionClient } from "./agent/clients.ts";
export {
  Session,
  type SessionOf,
  type SessionStatus,
  type CompactionHost,
  type CompactReceipt,
} from "./agent/sessions/session.ts";
export type { CompactOptions } from "./agent/inputs.ts";
export { SessionManager } from "./agent/sessions/session-manager.ts";
export type { GetViewOptions, ShownView } from "./agent/sessions/shown-view.ts";
export type { CompactAfterOptions, Threshold } from "./agent/settings.ts";
export type { SessionInfo } from "./memory/sessions/sessions.ts";
export type { ModelUsage } from "./agent/reports/usage.ts";
export { isContextOverflow } from "./model/failures.ts";
export { truncateOlderMessages } from "./fit/truncate.ts";
export { RUN_EVENT, type RunEvent } from "./agent/events.ts";
export type { Outcome, RunRecord } from "./memory/runs/runs.ts";
export type { AppendResult } from "./memory/messages/history.ts";
export type { OverlayRecord } from "./memory/overlays/overlay.ts";
export { CompactionWorkflow } from "./workflows/workflow.ts";
export type { ModelRequest, SummaryModel } from "./model/chosen.ts";
export { PalimpsestError, errorCode, type ErrorCode } from "./errors.ts";
