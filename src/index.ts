/** What a user of the package imports. */
export {
  CompactingAgent,
  withCompaction,
  type CompactingAgentClass,
  type CompactionSurface,
  type WithCompactionOptions,
} from "./agent/compacting-agent.ts";
export type { CallInput, CallName, CallResult, Group } from "./agent/calls.ts";
export type { Clients, CompactionClient } from "./agent/clients.ts";
export {
  Session,
  type CompactionDiff,
  type SessionStatus,
  type CompactionHost,
  type CompactOptions,
  type CompactReceipt,
} from "./agent/session.ts";
export type { LeafInput, ParentInput } from "./agent/branch-input.ts";
export type { ImportTranscriptOptions } from "./agent/importing.ts";
export type { ImportReceipt } from "./agent/session-history.ts";
export { SessionManager } from "./agent/session-manager.ts";
export type { SplitOptions } from "./agent/runs/split.ts";
export type { Fitted, GetViewOptions, ShownView } from "./agent/views/shown-view.ts";
export type { OnCompactionOptions } from "./agent/runs/inline.ts";
export type { CompactAfterOptions, InlineCompaction, InlineContext, InlineSummary } from "./agent/settings.ts";
export type { BlockOptions } from "./context/declared.ts";
export type { ContextProvider, SearchProvider, SkillProvider, WritableContextProvider } from "./context/provider.ts";
export { R2SkillProvider, WritableR2SkillProvider } from "./context/r2-skills.ts";
export type { ContextBlock } from "./context/render.ts";
export type { BlockScope } from "./context/scope.ts";
export { sqliteBlock } from "./context/sqlite-block.ts";
export { sqliteSearch } from "./context/sqlite-search.ts";
export type { CreateSessionOptions, ListSessionsOptions, SessionInfo } from "./memory/sessions/sessions.ts";
export type { SearchHit, SearchOptions } from "./memory/search/search.ts";
export type { ModelUsage, UsageReport } from "./agent/reports/usage.ts";
export { isContextOverflow } from "./model/overflow.ts";
export type { PlanReport, SummariserCost } from "./agent/reports/explain.ts";
export type { NotesForecast } from "./agent/notes/forecast.ts";
export type { HealthRow } from "./memory/runs/health-statements.ts";
export type { Prices } from "./steps/decide/break-even.ts";
export type { Budget, Spend } from "./steps/decide/budget.ts";
export type { Waiting, WhyNot } from "./steps/decide/why-not.ts";
export type { ModelFormatAdapter } from "./events/adapters/adapter.ts";
export { aiSdkAdapter } from "./events/adapters/ai-sdk.ts";
export { anthropicAdapter, type AnthropicPrompt } from "./events/adapters/anthropic.ts";
export { openAiAdapter, workersAiAdapter } from "./events/adapters/chat-completions.ts";
export { buildWorkingContext, type WorkingContext, type WorkingContextOptions } from "./events/context.ts";
export {
  dehydrateEvent,
  hydrateEvent,
  type ConversationEvent,
  type EventAction,
  type EventRecord,
} from "./events/event.ts";
export type { LoadEventsOptions, NewEvent } from "./events/log.ts";
export type { PersistedTurn, Turn } from "./events/persist.ts";
export { eventsToMessages, eventToMessage, messageToEvent, messageToEvents } from "./events/project.ts";
export type { FitStep, Fitting } from "./steps/view/fit-view.ts";
export type { PreviewOptions } from "./steps/view/preview.ts";
export { truncateOlderMessages, type TruncateOptions } from "./steps/view/truncate.ts";
export { RUN_EVENT, type RunEvent } from "./agent/events.ts";
export type { FailureCode, Outcome, RunRecord, RunState, StepRecord, Trigger } from "./memory/runs/runs.ts";
export type { AppendResult, RecentHistory } from "./memory/messages/history.ts";
export type { View } from "./memory/messages/view.ts";
export type { PastView } from "./memory/overlays/time-travel.ts";
export type { ExpandOptions } from "./memory/overlays/session-overlays.ts";
export type { Recall, RecallRequest, RecalledMessage } from "./agent/views/recall.ts";
export type { OverlayRecord } from "./memory/overlays/overlays.ts";
export { CompactionWorkflow, type CompactionParams } from "./workflows/workflow.ts";
export type { KeepNotesOptions } from "./agent/notes/settings.ts";
export type { Notes, NotesEdit } from "./agent/notes/session-notes.ts";
export type { AfterCompaction } from "./agent/runs/after-compaction.ts";
export type { NotesSection } from "./steps/notes/document.ts";
export type { ModelRequest, SummaryModel } from "./model/chosen.ts";
export { exportJsonl } from "./import/export.ts";
export {
  detectFormat,
  FORMATS,
  importTranscript,
  type Format,
  type ImportOptions,
  type ImportResult,
} from "./import/import.ts";
export { createWorker, type KnownCaller, type WorkerEnv, type WorkerOptions } from "./doors/create-worker.ts";
export { guardConnections, type GuardEnv } from "./doors/guard.ts";
export type { AgentPlace } from "./doors/tickets.ts";
export type { ApprovalOptions, Decided, Proposal } from "./agent/runs/approval.ts";
export type { HealthReport, BreakerHealth, RunHealth } from "./agent/reports/health.ts";
export type { TelemetryEnv } from "./agent/reports/telemetry.ts";
export { PalimpsestError, errorCode, type ErrorCode } from "./errors.ts";
