/**
 * `npm run demo`: the real Worker on this machine, a real conversation, and what came of it.
 *
 * Starts wrangler with the deployable Worker and a fresh state folder, replays a transcript through the agent's own
 * WebSocket, shows each step of each run as it happens, and ends with a report and its checks. Exit code 0 when all hold.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { UIMessage } from "ai";
import { errorCode } from "../src/errors.ts";
import { importTranscript } from "../src/import/import.ts";
import type { RunRecord } from "../src/memory/runs.ts";
import { DemoAgent } from "./demo/agent.ts";
import { originalsIntact, runsEnded, viewsBounded, viewsValid, writersNeverWait } from "./demo/checks.ts";
import { Live } from "./demo/live.ts";
import { freePort, LocalWorker } from "./demo/local-worker.ts";
import { parseOptions, USAGE, type DemoOptions } from "./demo/options.ts";
import { replay, type Replay } from "./demo/replay.ts";
import { createReport } from "./demo/summary.ts";
import { createPaint, wantsColor } from "./report/paint.ts";
import { renderReport, type DemoReport } from "./report/report.ts";

const BUNDLED = resolve(import.meta.dirname, "../examples/transcripts/palimpsest-session.jsonl");
/** How far a replay runs ahead of a slowed summariser. */
const AHEAD_WHEN_SLOW = 12;
/** Small chunks, so that some of a run's model calls are answered when it is killed. */
const KILL_CHUNK_TOKENS = 1_200;

const options = readOptions();
const out = options.json ? process.stderr : process.stdout;
const paint = createPaint(wantsColor(process.env, out.isTTY));
const live = new Live(out, paint);

class Demo {
  readonly #options: DemoOptions;
  readonly #worker: LocalWorker;
  readonly #views: UIMessage[][] = [];
  #agent: DemoAgent | null = null;
  #killed: { during: string; at: number } | null = null;

  constructor(options: DemoOptions, worker: LocalWorker) {
    this.#options = options;
    this.#worker = worker;
  }

  async run(conversations: readonly { name: string; messages: readonly UIMessage[] }[]): Promise<DemoReport> {
    await this.#start();
    const replays: Replay[] = [];
    const total = conversations.reduce((sum, each) => sum + each.messages.length, 0);
    let before = 0;
    for (const [index, conversation] of conversations.entries()) {
      const sessionId = conversations.length === 1 ? "" : `conversation-${index}`;
      const done = before;
      const result = await replay(conversation.messages, {
        sessionId,
        ahead: this.#options.modelDelayMs > 0 && !this.#options.kill ? AHEAD_WHEN_SLOW : 0,
        agent: () => this.#connected(),
        onProgress: (count) => live.progress(done + count, total, `${done + count} of ${total} messages`),
        onTurn: () => this.#keepView(sessionId),
        waitForRun: (runId) => this.#waitForRun(runId),
      });
      await this.#keepView(sessionId);
      replays.push(result);
      before += conversation.messages.length;
    }
    return this.#report(replays);
  }

  async #start(): Promise<void> {
    await this.#worker.start();
    this.#agent = await DemoAgent.connect(this.#worker.url, (event) => live.run(event));
  }

  #connected(): DemoAgent {
    if (this.#agent === null) throw new Error("The Worker is being restarted.");
    return this.#agent;
  }

  async #waitForRun(runId: string): Promise<void> {
    if (this.#options.kill && this.#killed === null) await this.#killDuring(runId);
    for (;;) {
      const run = await this.#connected().call("waitForRun", { runId, timeoutMs: 60_000 });
      if (run.outcome !== null) return;
    }
  }

  async #keepView(sessionId: string): Promise<void> {
    this.#views.push((await this.#connected().call("getView", { sessionId })).messages);
  }

  /** SIGKILL once one chunk is paid for and another is being summarised; then a start on the same storage, and no help. */
  async #killDuring(runId: string): Promise<void> {
    const step = await this.#midSummary(runId);
    if (step === null) return;
    const agent = this.#connected();
    this.#agent = null;
    live.line(paint(`  SIGKILL to the Worker's process group during "${step}"`, "red", "bold"));
    agent.close();
    await this.#worker.kill();
    this.#killed = { during: step, at: Date.now() };
    await this.#start();
    live.line(paint("  started again on the same storage; nobody nudges the run", "yellow"));
  }

  async #midSummary(runId: string): Promise<string | null> {
    for (;;) {
      const run = await this.#connected().call("getRun", { runId });
      if (run.outcome !== null) return null;
      const open = run.steps.find((step) => step.name.startsWith("summarize") && step.endedAt === null);
      const paid = run.steps.some((step) => step.calls > 0);
      if (open !== undefined && (paid || run.chunkDigests.length === 1)) return open.name;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #report(replays: readonly Replay[]): Promise<DemoReport> {
    const agent = this.#connected();
    const runs: RunRecord[] = [];
    for (const { sessionId } of replays)
      runs.push(...(await agent.call("runs", { sessionId, limit: 500 })).toReversed());
    const [main = replays[0]] = replays.toSorted((a, b) => b.samples.length - a.samples.length);
    if (main === undefined) throw new Error("There was nothing to replay.");
    const overlays = await agent.call("getCompactions", { sessionId: main.sessionId });
    const checks = [
      await originalsIntact(agent, replays),
      await viewsValid(this.#views),
      viewsBounded(replays, this.#options.thresholdTokens),
      runsEnded(runs),
      ...writersNeverWait(replays, this.#options.modelDelayMs),
      ...(this.#options.kill ? [this.#survived(runs)] : []),
    ];
    const { thresholdTokens } = this.#options;
    return createReport({
      name: transcriptName(this.#options),
      replays,
      main,
      runs,
      overlays,
      checks,
      thresholdTokens,
      url: this.#worker.url,
    });
  }

  #survived(runs: readonly RunRecord[]) {
    const again = runs.flatMap((run) => run.steps).filter((step) => step.attempts > 1);
    const killed = this.#killed;
    return {
      name: "kill survived",
      ok: killed !== null && runs.every((run) => run.outcome !== null),
      detail:
        killed === null
          ? "no run was long enough to be killed"
          : `killed during "${killed.during}"; ${again.length} ${again.length === 1 ? "step" : "steps"} ran again, finished ones did not`,
    };
  }
}

function readOptions(): DemoOptions {
  try {
    const parsed = parseOptions(process.argv.slice(2));
    return parsed === "help" ? leave(0, USAGE) : parsed;
  } catch (error) {
    return leave(2, `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

function leave(code: number, text: string): never {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

function transcriptName({ file }: DemoOptions): string {
  return basename(file ?? BUNDLED);
}

async function main(): Promise<number> {
  const imported = importTranscript(await readFile(options.file ?? BUNDLED, "utf8"));
  const all = imported.conversations;
  const conversations = options.index === null ? all : all.slice(options.index, options.index + 1);
  if (conversations.length === 0)
    throw new Error(`There is no conversation ${options.index}; the file has ${all.length}, counted from 0.`);
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-demo-"));
  const port = options.port ?? (await freePort());
  const vars: Record<string, string> = { PALIMPSEST_THRESHOLD: String(options.thresholdTokens) };
  if (options.modelDelayMs > 0) vars["PALIMPSEST_MODEL_DELAY_MS"] = String(options.modelDelayMs);
  if (options.kill) vars["PALIMPSEST_CHUNK_TOKENS"] = String(KILL_CHUNK_TOKENS);
  const worker = new LocalWorker({ stateDir, port, vars });
  const stop = (): void => void worker.kill().then(() => process.exit(130));
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  out.write(
    `Replaying ${paint(transcriptName(options), "bold")} through a local Worker, threshold ${options.thresholdTokens} tokens\n`,
  );
  try {
    const report = await new Demo(options, worker).run(conversations);
    live.done();
    if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    else process.stdout.write(renderReport(report, { width: process.stdout.columns ?? 80, paint }));
    if (options.keep) await keepRunning(worker.url);
    return report.checks.every((check) => check.ok) ? 0 : 1;
  } finally {
    await worker.kill();
    await rm(stateDir, { recursive: true, force: true });
  }
}

async function keepRunning(url: string): Promise<void> {
  process.stdout.write(`\n  The Worker stays at ${url}. Ctrl-C stops it.\n`);
  await new Promise(() => undefined);
}

try {
  process.exit(await main());
} catch (error) {
  live.done();
  const told =
    errorCode(error) === undefined && error instanceof Error
      ? error.stack
      : error instanceof Error
        ? error.message
        : String(error);
  process.stderr.write(`${told}\n`);
  process.exit(1);
}
