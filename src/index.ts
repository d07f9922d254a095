/** The main entry of the package. */
export {
  CompactingAgent,
  withCompaction,
  type CompactingAgentClass,
  type CompactingClass,
  type CompactionMembers,
  type CompactionSurface,
  type WithCompactionOptions,
} from "./agent/compacting-agent.ts";
export type { Call, Calls, MethodsOfCalls } from "./agent/calls.ts";
export type { Group, Extension, Rooms } from "./agent/extension.ts";
export type { Clients, CompactionClient } from "./agent/clients.ts";
export {
  Session,
  type SessionOf,
  type SessionStatus,
  type CompactionHost,
  type CompactReceipt,
} from "./agent/sessions/session.ts";
export type { CompactOptions } from "./agent/inputs.ts";
export type { LeafInput, ParentInput } from "./agent/sessions/branch-input.ts";
export { SessionManager } from "./agent/sessions/session-manager.ts";
export type { SplitOptions } from "./agent/runs/split.ts";
export type { Fitted, GetViewOptions, ShownView } from "./agent/sessions/shown-view.ts";
export type { Rent } from "./steps/decide/decide.ts";
export type {
  CompactAfterOptions,
  InlineCompaction,
  InlineContext,
  InlineSummary,
  AfterCompaction,
  Threshold,
} from "./agent/settings.ts";
export type {
  CreateSessionOptions,
  ListSessionsOptions,
  SessionInfo,
  SessionMetadata,
} from "./memory/sessions/sessions.ts";
export type { ModelUsage } from "./agent/reports/usage.ts";
export type { UsageDollars, UsageReport } from "./agent/reports/usage-report.ts";
export { isContextOverflow } from "./model/failures.ts";
export type { NotesForecast } from "./agent/core.ts";
export type { HealthRow } from "./memory/runs/health.ts";
export type { Prices } from "./steps/decide/decide.ts";
export type { Budget, Spend } from "./steps/decide/decide.ts";
export type { Waiting, WhyNot } from "./steps/decide/decide.ts";
export type { FitStep, Fitting } from "./fit/fit-view.ts";
export type { PreviewOptions } from "./fit/preview.ts";
export { truncateOlderMessages, type TruncateOptions } from "./fit/truncate.ts";
export { RUN_EVENT, type RunEvent } from "./agent/events.ts";
export type {
  EndedRun,
  FailureCode,
  LiveRun,
  Outcome,
  RunRecord,
  RunState,
  StepRecord,
  Trigger,
} from "./memory/runs/runs.ts";
export type { AppendResult, RecentHistory } from "./memory/messages/history.ts";
export type { BranchTip } from "./memory/messages/branch-tips.ts";
export type { View } from "./memory/messages/view.ts";
export type { PastView } from "./memory/overlays/time-travel.ts";
export type { ExpandOptions } from "./memory/overlays/session-overlays.ts";
export type { CommitResult, OverlayRecord } from "./memory/overlays/overlays.ts";
export { CompactionWorkflow, type CompactionParams } from "./workflows/workflow.ts";
export type { ModelRequest, SummaryModel } from "./model/chosen.ts";
export type { BulletSource } from "./steps/draft/provenance.ts";
export type { TelemetryEnv } from "./agent/reports/telemetry.ts";
export { PalimpsestError, errorCode, type ErrorCode } from "./errors.ts";
