/**
 * The commands of the command line. Each makes one or two calls and returns the answer.
 *
 * program.ts alone decides whether the answer is printed as lines or as JSON, and with which exit code.
 */
import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import type { UIMessage } from "ai";
import type { ImportTranscriptOptions } from "../../src/import/room.ts";
import type { ExportedPart } from "../../src/import/parts.ts";
import type { RunEvent } from "../../src/agent/events.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { secretRules } from "../../src/redact/secret-rules.ts";
import type { Live } from "../demo/live.ts";
import type { Paint } from "../report/paint.ts";
import { inert, plural } from "../report/text.ts";
import type { Remote } from "./client.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import {
  showHealth,
  showMessages,
  showPlan,
  showProposal,
  showRun,
  showRuns,
  showSessions,
  showCosts,
  tellOutcome,
} from "./show.ts";
import { chooseConversation, errorCode, importTranscript, partsOf } from "./in-package.ts";

/** A command's answer as a value and as lines, with its exit code. */
export interface Done {
  readonly answer: unknown;
  readonly lines: readonly string[];
  readonly exitCode?: number;
}

export interface Context {
  readonly sessionId: string;
  readonly paint: Paint;
  readonly live: Live;
  /** Reports an event as part of the answer, for a command that has no end to wait for. */
  readonly tell: (event: RunEvent) => void;
  /** Opens the connection. `onRun` receives the events of runs. */
  readonly connect: (onRun?: (event: RunEvent) => void) => Promise<Remote>;
}

export async function listSessions({ connect, paint }: Context, limit: number): Promise<Done> {
  const answer = await (await connect()).call("listSessions", { limit });
  return { answer, lines: showSessions(answer, paint) };
}

export async function listRuns({ connect, paint, sessionId }: Context, limit: number): Promise<Done> {
  const answer = await (await connect()).call("runs", { sessionId, limit });
  return { answer, lines: showRuns(answer, paint) };
}

export async function lookAtRun({ connect, paint }: Context, runId: string): Promise<Done> {
  const remote = await connect();
  const run = await remote.call("getRun", { runId });
  // Only then is there one. An agent may open runs to clients, and no proposal.
  const proposal = run.state === "proposed" ? await remote.call("getProposal", { runId }) : null;
  const proposed = proposal === null ? [] : ["", ...showProposal(proposal, paint)];
  return { answer: { ...run, proposal }, lines: [...showRun(run, paint), ...proposed], exitCode: exitCodeOf(run) };
}

/** What a model would be sent now. */
export async function showView({ connect, paint, sessionId }: Context, whole: boolean): Promise<Done> {
  const answer = await (await connect()).call("getView", { sessionId });
  return { answer, lines: showMessages(answer, { paint, whole }) };
}

export async function planRun({ connect, sessionId }: Context, manual: boolean): Promise<Done> {
  const answer = await (await connect()).call("plan", { sessionId, manual });
  return { answer, lines: showPlan(answer) };
}

export interface CompactFlags {
  readonly focus?: string;
  readonly fresh?: boolean;
  readonly rebuild?: boolean;
  readonly ignoreBudget?: boolean;
  /** False returns without waiting for the run. */
  readonly wait: boolean;
}

export async function compact(context: Context, { wait, ...options }: CompactFlags): Promise<Done> {
  const { connect, live, sessionId } = context;
  const remote = await connect((event) => live.run(event));
  const { run } = await remote.call("compact", { sessionId, ...options });
  return settle(context, remote, { run, wait });
}

export async function split(
  context: Context,
  { wait, ...options }: Omit<CompactFlags, "rebuild"> & { name?: string },
): Promise<Done> {
  const { connect, live, sessionId } = context;
  const remote = await connect((event) => live.run(event));
  const { run } = await remote.call("compactAndSplit", { sessionId, ...options });
  return settle(context, remote, { run, wait });
}

export async function retry(
  context: Context,
  runId: string,
  { from, wait }: { from?: string; wait: boolean },
): Promise<Done> {
  const remote = await context.connect((event) => context.live.run(event));
  if (from === undefined) return settle(context, remote, { run: (await remote.call("retryRun", { runId })).run, wait });
  return settle(context, remote, { run: await remote.call("retryRunFrom", { runId, stepName: from }), wait });
}

export async function control(
  context: Context,
  method: "cancelRun" | "pauseRun" | "resumeRun",
  runId: string,
): Promise<Done> {
  const run = await (await context.connect()).call(method, { runId });
  return { answer: run, lines: showRun(run, context.paint) };
}

/** Follows one run to its end. Without a run it follows every run until the process is stopped. */
export async function watch(context: Context, runId: string | undefined): Promise<Done> {
  const { connect, live, tell } = context;
  const seen = (event: RunEvent): void => {
    if (runId === undefined) tell(event);
    else if (event.runId === runId) live.run(event);
  };
  const remote = await connect(seen);
  remote.onReopened(() => live.line("  connected again"));
  if (runId !== undefined) return settle(context, remote, { run: await remote.call("getRun", { runId }), wait: true });
  live.line("Watching every run of this agent. Ctrl-C ends it.");
  return new Promise(() => undefined);
}

export async function health({ connect, paint, sessionId }: Context, limit: number): Promise<Done> {
  const remote = await connect();
  const answer = await remote.call("health", { sessionId, limit });
  const lines = [...showHealth(answer, paint), ...(await listCosts(remote, sessionId))];
  return { answer, lines, exitCode: answer.state === "down" ? EXIT.no : 0 };
}

/** No lines where the agent counts no costs, or does not open them to clients. */
async function listCosts(remote: Remote, sessionId: string): Promise<readonly string[]> {
  try {
    return showCosts(await remote.call("getCosts", { sessionId }));
  } catch (error) {
    if (errorCode(error) === "not_configured") return [];
    throw error;
  }
}

export async function approve({ connect, paint }: Context, runId: string, file: string | undefined): Promise<Done> {
  const summary = file === undefined ? undefined : await readText(file);
  const decided = await (await connect()).call("approveRun", { runId, ...(summary === undefined ? {} : { summary }) });
  if (decided.kind === "unsound") {
    return {
      answer: decided,
      lines: ["Not approved:", ...decided.problems.map(({ detail }) => `  ${detail}`)],
      exitCode: EXIT.no,
    };
  }
  return decide(decided, paint);
}

export async function reject({ connect, paint }: Context, runId: string, reason: string | undefined): Promise<Done> {
  const decided = await (await connect()).call("rejectRun", { runId, ...(reason === undefined ? {} : { reason }) });
  return decided.kind === "unsound" ? { answer: decided, lines: [] } : decide(decided, paint);
}

/** Reads the file here, and sends its conversation in parts, so that no call is too large. */
export async function importFile(
  { connect, live, sessionId }: Context,
  file: string,
  { format, index }: ImportTranscriptOptions,
): Promise<Done> {
  const read = importTranscript(await readText(file), format === undefined ? {} : { format });
  const { conversation, notes } = chooseConversation(read, index);
  const messages = conversation.messages.length;
  const parts = partsOf(conversation);
  const remote = await connect();
  const upload = randomUUID();
  let inserted = 0;
  for (const part of parts) {
    live.progress(part.at, messages, `${part.at} of ${plural(messages, "message")} sent`);
    const sent = await remote.call("importPart", { sessionId, upload, ...part, messages: [...part.messages] });
    inserted = sent.inserted ?? 0;
  }
  return {
    answer: { format: read.format, name: conversation.name, messages, inserted, notes },
    lines: [
      `${plural(messages, "message")} of ${read.format}, ${inserted.toLocaleString("en")} of them new.`,
      ...notes.map(inert),
    ],
  };
}

export async function exportFile(
  { connect, sessionId }: Context,
  { out, redact, leaf }: { out?: string; redact: boolean; leaf?: string },
): Promise<Done> {
  const stored = await exportAll(await connect(), sessionId, leaf);
  const transcript = redact ? redactTranscript(stored) : stored;
  if (out === undefined) return { answer: transcript, lines: transcript === "" ? [] : [transcript.trimEnd()] };
  await writeText(out, transcript);
  const messages = transcript.split("\n").length - 1;
  return { answer: { file: out, messages }, lines: [`${plural(messages, "message")} written to ${out}.`] };
}

/** Reads a branch in parts, so that no answer is too large. */
async function exportAll(remote: Remote, sessionId: string, leafId: string | undefined): Promise<string> {
  const texts: string[] = [];
  let branch = leafId;
  for (let from: number | null = 0; from !== null;) {
    const part: ExportedPart = await remote.call("exportPart", {
      sessionId,
      from,
      ...(branch !== undefined && { leafId: branch }),
    });
    texts.push(part.text);
    branch = part.leafId ?? undefined;
    from = part.next;
  }
  return texts.join("");
}

/** Redacts here, because the agent may have no rules of its own. */
function redactTranscript(transcript: string): string {
  const rules = secretRules();
  const clean = (line: string): string => JSON.stringify(rules.redactMessage(JSON.parse(line) as UIMessage));
  return transcript.replaceAll(/^.+$/gm, clean);
}

/** Reports the run at its end, or at once when nobody waits. A run that waits for a person counts as an end. */
async function settle(
  { paint }: Context,
  remote: Remote,
  { run, wait }: { run: RunRecord; wait: boolean },
): Promise<Done> {
  const last = wait ? await waitForEnd(remote, run) : run;
  const lines = [`${last.id} ${last.outcome === null ? last.state : tellOutcome(last.outcome, paint)}`];
  return { answer: last, lines, exitCode: exitCodeOf(last) };
}

/** Milliseconds before the first look at a run. Each further wait is twice as long, up to the longest. */
const FIRST_LOOK_MS = 125;
const LONGEST_LOOK_MS = 2_000;

/** Polls, because a run that comes to wait for a person has no end to wait for. */
async function waitForEnd(remote: Remote, run: RunRecord, waitMs = FIRST_LOOK_MS): Promise<RunRecord> {
  if (run.outcome !== null || run.state === "proposed") return run;
  const next = await lookLater(remote, run.id, waitMs);
  return waitForEnd(remote, next, Math.min(2 * waitMs, LONGEST_LOOK_MS));
}

/** Some agents let clients look at runs, and not wait for one. */
async function lookLater(remote: Remote, runId: string, waitMs: number): Promise<RunRecord> {
  try {
    return await remote.call("waitForRun", { runId, timeoutMs: waitMs });
  } catch (error) {
    if (errorCode(error) !== "not_configured") throw error;
    await setTimeout(waitMs);
    return remote.call("getRun", { runId });
  }
}

function decide(
  decided: { readonly kind: "approved" | "rejected" | "stale" | "late"; readonly run: RunRecord },
  paint: Paint,
): Done {
  const { kind, run } = decided;
  if (kind === "approved" || kind === "rejected") return { answer: decided, lines: [`${run.id} ${kind}`] };
  const state = run.outcome === null ? "was decided already" : tellOutcome(run.outcome, paint);
  return { answer: decided, lines: [`Too late: ${run.id} ${state}.`], exitCode: EXIT.no };
}

function exitCodeOf({ outcome }: RunRecord): number {
  const failed = outcome?.kind === "failed" || outcome?.kind === "stale" || outcome?.kind === "cancelled";
  return failed ? EXIT.no : 0;
}

async function readText(file: string): Promise<string> {
  try {
    return await (file === "-" ? text(process.stdin) : readFile(file, "utf8"));
  } catch (error) {
    throw refusedFile(`${file} cannot be read`, error);
  }
}

/** Readable by its owner alone, because the file holds a conversation. */
async function writeText(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content, { mode: 0o600 });
  } catch (error) {
    throw refusedFile(`${file} cannot be written`, error);
  }
}

function refusedFile(what: string, error: unknown): CommandFailure {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandFailure(EXIT.usage, `${what}: ${why}`, "invalid_input");
}
