/** What the page asks of an agent: each callable's input; its answer is that of the agent's own method. */
import type { UIMessage } from "ai";
import type { CompactionSurface } from "../agent/with-compaction.ts";

interface OfSession {
  readonly sessionId: string;
}

interface OfOverlay extends OfSession {
  readonly overlayId: string;
}

interface OfRun {
  readonly runId: string;
}

export interface Inputs {
  append: OfSession & { message: UIMessage; parentId?: string };
  getView: OfSession & { leafId?: string };
  getMessage: OfSession & { id: string };
  getPathLength: OfSession & { leafId?: string };
  listBranches: OfSession;
  findLeaf: OfSession & { id: string };
  getContextBlocks: OfSession;
  getNotes: OfSession;
  notesHistory: OfSession;
  refreshNotes: OfSession;
  updateNotes: OfSession & { sections: readonly { title: string; text: string }[]; basedOn: number };
  status: OfSession;
  searchSessions: { query: string; limit?: number };
  plan: OfSession & { leafId?: string; force?: boolean };
  compact: OfSession & { leafId?: string; focus?: string; rebuild?: boolean; force?: boolean };
  compactAndSplit: OfSession & { name?: string };
  runs: OfSession & { limit?: number; before?: number };
  liveRuns: { limit?: number };
  getRun: OfRun;
  cancelRun: OfRun;
  pauseRun: OfRun;
  resumeRun: OfRun;
  retryRun: OfRun;
  retryRunFrom: OfRun & { stepName: string };
  getProposal: OfRun;
  approveRun: OfRun & { summary?: string };
  rejectRun: OfRun & { reason?: string };
  health: OfSession & { limit?: number; before?: number };
  getCompactions: OfSession;
  expand: OfOverlay & { depth?: number; limit?: number; after?: string };
  rollback: OfOverlay;
  restore: OfOverlay;
  getViewAsOf: OfOverlay;
  diffCompaction: OfOverlay;
  getProvenance: OfOverlay;
  createSession: { name?: string };
  listSessions: { limit?: number; before?: { createdAt: number; id: string } };
  getSessionInfo: OfSession;
  renameSession: OfSession & { name: string };
  forkSession: OfSession & { atMessageId: string; name?: string };
}

export type CallName = keyof Inputs;

export type Answer<Name extends CallName> = Awaited<ReturnType<CompactionSurface[Name]>>;
