/** Builds the report's input from the replays and the ledger. */
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { DemoReport, OverlayReport, RunReport } from "../report/report.ts";
import type { Check } from "./checks.ts";
import type { Replay } from "./replay.ts";

export interface Findings {
  readonly name: string;
  readonly replays: readonly Replay[];
  /** The longest conversation, which the report charts. */
  readonly main: Replay;
  readonly runs: readonly RunRecord[];
  readonly overlays: readonly OverlayRecord[];
  readonly checks: readonly Check[];
  readonly thresholdTokens: number;
  /** The Worker's address when it stays up after the report. Null when it stops. */
  readonly url: string | null;
  readonly keepCommand: string;
}

export function createReport(findings: Findings): DemoReport {
  const { main, replays, runs, url, keepCommand } = findings;
  const overlays = findings.overlays.filter((overlay) =>
    runs.some((run) => run.id === overlay.runId && run.sessionId === main.sessionId),
  );
  const ends = replays.flatMap((each) => each.samples.slice(-1));
  const during = replays.flatMap((each) =>
    each.appends.filter((append) => append.duringRun).map((append) => append.ms),
  );
  const all = replays.flatMap((each) => each.appends.map((append) => append.ms)).toSorted((a, b) => a - b);
  const last = runs.findLast((run) => run.outcome?.kind === "applied");
  const newest = overlays.findLast((overlay) => overlay.state === "active");
  return {
    transcript: findings.name,
    conversations: replays.length,
    storedTokens: ends.reduce((sum, end) => sum + end.storedTokens, 0),
    visibleTokens: ends.reduce((sum, end) => sum + end.visibleTokens, 0),
    messages: replays.reduce((sum, each) => sum + each.messages.length, 0),
    chartedMessages: main.messages.length,
    samples: main.samples,
    thresholdTokens: findings.thresholdTokens,
    runs: runs.map((run) => runReport(run, findings)),
    overlays: overlays.flatMap((overlay) => overlayReport(overlay, main)),
    lastSummary: newest?.summary ?? "",
    pinned: {
      rules: (newest?.details.pinned.instructions ?? []).map(({ quote }) => quote),
      names: (newest?.details.pinned.said ?? []).map(({ text }) => text),
    },
    // The slowest append during a run, where there was one, because only such an append could have waited for a run.
    slowestAppendMs: Math.max(0, ...(during.length > 0 ? during : all)),
    medianAppendMs: all[Math.floor(all.length / 2)] ?? 0,
    links: url === null ? [] : linksTo(url, last?.id ?? null),
    keepCommand,
    checks: findings.checks,
  };
}

function runReport(run: RunRecord, { overlays, replays }: Findings): RunReport {
  const overlay = overlays.find((each) => each.runId === run.id);
  const degraded = run.outcome !== null && "degraded" in run.outcome && run.outcome.degraded;
  return {
    // Each session numbers its own runs. With several sessions the conversation's index in front tells them apart.
    id:
      replays.length === 1 ? `#${run.n}` : `${replays.findIndex((each) => each.sessionId === run.sessionId)} #${run.n}`,
    trigger: run.trigger,
    outcome: `${run.outcome?.kind ?? "live"}${degraded ? " (degraded)" : ""}`,
    steps: run.steps.map((step) => ({
      name: step.name,
      attempts: step.attempts,
      ms: (step.endedAt ?? step.startedAt) - step.startedAt,
      ...(step.calls > 0 ? { inputTokens: step.inputTokens, outputTokens: step.outputTokens } : {}),
    })),
    spanTokens: run.plan?.spanTokens ?? 0,
    summaryTokens: overlay?.tokens ?? 0,
    modelCalls: run.modelCalls,
    ms: (run.endedAt ?? run.createdAt) - run.createdAt,
  };
}

function overlayReport(overlay: OverlayRecord, main: Replay): OverlayReport[] {
  const from = main.messages.findIndex((message) => message.id === overlay.span.fromId);
  const to = main.messages.findIndex((message) => message.id === overlay.span.toId);
  if (from < 0 || to < 0) return [];
  const { id, spanTokens, tokens: summaryTokens } = overlay;
  return [{ id, from, to, spanTokens, summaryTokens, active: overlay.state === "active" }];
}

function linksTo(url: string, runId: string | null): string[] {
  const places = [`${url}/#session?agent=demo&id=`, `${url}/cdn-cgi/local/explorer`];
  if (runId === null) return places;
  const { port } = new URL(url);
  return [...places, `npx wrangler workflows instances describe palimpsest-compaction ${runId} --local --port ${port}`];
}
