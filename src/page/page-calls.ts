/** The calls that the page makes. Its door passes no other, so no page reaches a method of the user's own class. */
import type { CallName } from "../rooms.ts";

const PAGE_CALLS = [
  "append",
  "approveRun",
  "cancelRun",
  "compact",
  "compactAndSplit",
  "createSession",
  "diffCompaction",
  "expand",
  "findLeaf",
  "forkSession",
  "getCompactions",
  "getContextBlocks",
  "getCosts",
  "getMessage",
  "getNotes",
  "getProposal",
  "getProvenance",
  "getRun",
  "getSessionInfo",
  "getUsage",
  "getView",
  "getViewAsOf",
  "health",
  "listBranches",
  "listSessions",
  "liveRuns",
  "notesHistory",
  "pauseRun",
  "plan",
  "refreshNotes",
  "rejectRun",
  "renameSession",
  "restore",
  "resumeRun",
  "retryRun",
  "retryRunFrom",
  "rollback",
  "runs",
  "searchSessions",
  "status",
  "updateNotes",
] as const satisfies readonly CallName[];

export type PageCall = (typeof PAGE_CALLS)[number];

const NAMES: ReadonlySet<string> = new Set(PAGE_CALLS);

export function isPageCall(name: string): name is PageCall {
  return NAMES.has(name);
}
