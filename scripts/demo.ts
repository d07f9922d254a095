/**
 * `npm run demo` replays a conversation through the real Worker on this machine and reports the result.
 *
 * Starts wrangler with the deployable Worker and a fresh state folder. Replays a transcript through the agent's own WebSocket and shows
 * each step of each run as it happens. Ends with a report and its checks, and with exit code 0 when all of them hold.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { errorCode } from "../src/errors.ts";
import type { OverlayRecord } from "../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../src/memory/runs/runs.ts";
import { DemoAgent } from "./demo/agent.ts";
import {
  killSurvived,
  originalsIntact,
  runsEnded,
  viewsBounded,
  viewsValid,
  writersNeverWait,
  type Killed,
} from "./demo/checks.ts";
import { Live } from "./demo/live.ts";
import { freePort, LocalWorker } from "./demo/local-worker.ts";
import { parseOptions, USAGE, type DemoOptions } from "./demo/options.ts";
import { replay, type Replay } from "./demo/replay.ts";
import { createReport } from "./demo/summary.ts";
import { RecordedModel } from "./demo/recorded-model.ts";
import { readConversations, type Transcript } from "./demo/transcript.ts";
import { createPaint, wantsColor } from "./report/paint.ts";
import { renderReport, type DemoReport } from "./report/report.ts";
import { clip, count, inert, plural } from "./report/text.ts";

/** How many messages a replay may run ahead of a slowed summariser. */
const AHEAD_WHEN_SLOW = 12;
/** Small chunks, so that a kill finds some of a run's model calls answered and others open. */
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
  #killed: Killed | null = null;

  constructor(options: DemoOptions, worker: LocalWorker) {
    this.#options = options;
    this.#worker = worker;
  }

  async run({ name, conversations }: Transcript): Promise<DemoReport> {
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
    return this.#report(name, replays);
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
    this.#views.push((await this.#connected().call("getView", { sessionId, apart: true })).messages);
  }

  /**
   * Sends SIGKILL once one chunk is paid for and another is being summarised. Then starts the Worker on the same storage, without any help.
   */
  async #killDuring(runId: string): Promise<void> {
    const killed = await this.#midSummary(runId);
    if (killed === null) return;
    const agent = this.#connected();
    this.#agent = null;
    live.line(paint(`  SIGKILL to the Worker's process group during "${killed.during}"`, "red", "bold"));
    agent.close();
    await this.#worker.kill();
    this.#killed = killed;
    await this.#start();
    live.line(paint("  started again on the same storage; nobody nudges the run", "yellow"));
  }

  async #midSummary(runId: string): Promise<Killed | null> {
    for (;;) {
      const run = await this.#connected().call("getRun", { runId });
      if (run.outcome !== null) return null;
      const open = run.steps.find((step) => step.name.startsWith("summarize") && step.endedAt === null);
      const paid = run.steps.some((step) => step.calls > 0);
      if (open !== undefined && paid) return { during: open.name, before: run };
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #report(name: string, replays: readonly Replay[]): Promise<DemoReport> {
    const agent = this.#connected();
    const runs: RunRecord[] = [];
    const overlays: OverlayRecord[] = [];
    for (const { sessionId } of replays) {
      runs.push(...(await agent.call("runs", { sessionId, limit: 500 })).toReversed());
      overlays.push(...(await agent.call("getCompactions", { sessionId })));
    }
    const [main = replays[0]] = replays.toSorted((a, b) => b.samples.length - a.samples.length);
    if (main === undefined) throw new Error("There was nothing to replay.");
    const checks = [
      await originalsIntact(agent, replays),
      await viewsValid(this.#views),
      viewsBounded(replays, this.#options.thresholdTokens),
      runsEnded(runs),
      ...writersNeverWait(replays, this.#options.modelDelayMs),
      ...(this.#options.kill ? [killSurvived(this.#killed, runs)] : []),
    ];
    const { thresholdTokens, keep } = this.#options;
    return createReport({
      name,
      replays,
      main,
      runs,
      overlays,
      checks,
      thresholdTokens,
      url: keep ? this.#worker.url : null,
      keepCommand: keepCommand(),
    });
  }
}

/** This command with `--keep` added. */
function keepCommand(): string {
  const args = process.argv.slice(2).filter((arg) => arg !== "--json" && arg !== "--keep");
  const quoted = args.map((arg) => (/^[\w./:=@+-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`));
  return ["npm run demo --", ...quoted, "--keep"].join(" ");
}

function readOptions(): DemoOptions {
  try {
    const parsed = parseOptions(process.argv.slice(2));
    return parsed === "help" ? leave(0, USAGE) : parsed;
  } catch (error) {
    return leave(2, `${advice(error)}\n`);
  }
}

function leave(code: number, text: string): never {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

/** The advice of one of Palimpsest's own errors, or the whole of any other error. */
function advice(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return errorCode(error) === undefined ? (error.stack ?? error.message) : error.message.replace(/^\[\w+\] /, "");
}

/** Refuses invalid input here, before a Worker starts. */
async function prepare(): Promise<{ transcript: Transcript; port: number }> {
  try {
    return { transcript: await readConversations(options), port: await freePort(options.port) };
  } catch (error) {
    return leave(2, `${advice(error)}\n`);
  }
}

/** Who wrote the summaries that the report shows. */
function tellAuthor({ known, unknown }: RecordedModel): string {
  if (known > 0 && unknown === 0)
    return "  A language model wrote these summaries beforehand. The demo replays its\n  answers, so it needs no key and no network.\n";
  if (known === 0)
    return "  No language model wrote these summaries: they only quote the conversation.\n  Recorded answers exist for the bundled conversation with the default options.\n";
  return `  Of ${known + unknown} answers, a language model wrote ${known} beforehand.\n  The others only quote the conversation.\n`;
}

async function replayAll(transcript: Transcript, worker: LocalWorker, model: RecordedModel): Promise<number> {
  const report = await new Demo(options, worker).run(transcript);
  live.done();
  if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else
    process.stdout.write(
      `${renderReport(report, { width: process.stdout.columns ?? 80, paint })}${tellAuthor(model)}\n`,
    );
  if (options.keep) {
    out.write(`  The Worker stays at ${worker.url}. Ctrl-C stops it and removes its state.\n`);
    await new Promise(() => undefined);
  }
  return report.checks.every((check) => check.ok) ? 0 : 1;
}

async function main(): Promise<number> {
  const { transcript, port } = await prepare();
  const vars: Record<string, string> = {
    PALIMPSEST_THRESHOLD: String(options.thresholdTokens),
    // A replay calls faster than any client that the Worker's rate limit expects.
    PALIMPSEST_CALLS_PER_SECOND: "100000",
  };
  const model = await RecordedModel.start(options.modelDelayMs);
  Object.assign(vars, model.vars);
  if (options.kill) vars["PALIMPSEST_CHUNK_TOKENS"] = String(KILL_CHUNK_TOKENS);
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-demo-"));
  const worker = new LocalWorker({ stateDir, port, vars });
  // Not `once`, because npm forwards a signal that the terminal also sent here. The second signal must not cut the cleanup short.
  const signalled = new Promise<number>((resolve) => {
    process.on("SIGINT", () => resolve(130));
    process.on("SIGTERM", () => resolve(143));
  });
  out.write(`${opening(transcript)}\n`);
  try {
    return await Promise.race([signalled, replayAll(transcript, worker, model)]);
  } finally {
    live.done();
    await worker.close();
    model.close();
  }
}

/** One line of at most 80 columns. */
function opening({ name, conversations }: Transcript): string {
  const messages = conversations.reduce((sum, each) => sum + each.messages.length, 0);
  const several = conversations.length > 1 ? ` in ${conversations.length} conversations` : "";
  const rest = `: ${plural(messages, "message")}${several}, compacted above ${count(options.thresholdTokens)} tokens`;
  return `Replaying ${paint(clip(inert(name), 70 - rest.length), "bold")}${rest}`;
}

try {
  process.exit(await main());
} catch (error) {
  process.stderr.write(`${advice(error)}\n`);
  process.exit(1);
}
