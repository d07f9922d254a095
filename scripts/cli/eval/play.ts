/** What a candidate would send to the agent's model at the cut. For ours, the session is played through the real Worker on this machine. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { UIMessage } from "ai";
import { freePort, LocalWorker } from "../../demo/local-worker.ts";
import { Remote } from "../client.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import type { Candidate } from "./candidate.ts";
import { noUsage, type Keep, type Usage } from "./keep.ts";
import { headAndTail, type EvalSession } from "./session.ts";
import { Summariser } from "./summariser.ts";

export interface Played {
  readonly view: readonly UIMessage[];
  readonly compactions: number;
  /** Compactions without a sound answer of the model. */
  readonly degraded: number;
  readonly summariser: Usage;
}

type Ours = Extract<Candidate, { kind: "ours" }>;

const SESSION = "session";
/** Between two looks at whether a call of the summariser failed. */
const LOOK_MS = 2_000;
const MOST_RUNS = 500;
const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** The exit code of a program that was interrupted. */
const INTERRUPTED = 130;
/** A replay calls faster than any client that the Worker's rate limit expects. */
const CALLS_PER_SECOND = "100000";
/** The Worker's bundle, from `dist/bin`, and its sources, from this folder. */
const WORKERS = ["../package/worker.js", "../../../src/worker.ts"] as const;

/** A view without a summariser. */
export function playPlain(candidate: Exclude<Candidate, Ours>, { messages }: EvalSession): Played {
  const view = candidate.kind === "whole" ? messages : headAndTail(messages, candidate.threshold);
  return { view, compactions: 0, degraded: 0, summariser: noUsage() };
}

/** A Worker of one candidate. Each session is played in an agent of its own, so that none finds drafts of another. */
export class Stage {
  readonly #worker: LocalWorker;
  readonly #summariser: Summariser;
  /** Without it, a terminal's Ctrl-C would leave the Worker behind, which has a process group of its own. */
  readonly #interrupted = (): void => void this.close().finally(() => process.exit(INTERRUPTED));
  #played = 0;

  private constructor(worker: LocalWorker, summariser: Summariser) {
    this.#worker = worker;
    this.#summariser = summariser;
  }

  static async open(candidate: Ours, keep: Keep, windowTokens: number): Promise<Stage> {
    requireWrangler();
    const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-eval-"));
    const summariser = await Summariser.open(keep, candidate.model);
    const vars = {
      PALIMPSEST_THRESHOLD: String(candidate.threshold),
      PALIMPSEST_MODEL_URL: summariser.url,
      PALIMPSEST_MODEL: candidate.model.name,
      PALIMPSEST_MODEL_WINDOW: String(windowTokens),
      PALIMPSEST_CALLS_PER_SECOND: CALLS_PER_SECOND,
      ...(candidate.template === null ? {} : { EVAL_TEMPLATE: JSON.stringify(candidate.template.input) }),
    };
    const configPath = await writeWorker(join(stateDir, "worker"), vars);
    const worker = new LocalWorker({ stateDir, port: await freePort(), vars: {}, configPath });
    const stage = new Stage(worker, summariser);
    for (const signal of SIGNALS) process.once(signal, stage.#interrupted);
    try {
      await worker.start();
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  /** Waits for each run before the next message, so that a second time gives the same prompts. */
  async play({ name, messages }: EvalSession, onMessage: (count: number) => void): Promise<Played> {
    this.#played += 1;
    this.#summariser.begin(`summary of ${name}`);
    const target = { agent: "palimpsest-agent", name: `eval-${this.#played}`, secret: null };
    const remote = await Remote.connect({ ...target, url: new URL(this.#worker.url) });
    try {
      for (const [at, message] of messages.entries()) {
        await remote.call("append", { sessionId: SESSION, message });
        await this.#settle(remote);
        onMessage(at + 1);
      }
      const { messages: view } = await remote.call("getView", { sessionId: SESSION });
      const runs = await remote.call("runs", { sessionId: SESSION, limit: MOST_RUNS });
      const applied = runs.flatMap(({ outcome }) => (outcome?.kind === "applied" ? [outcome] : []));
      return {
        view,
        compactions: applied.length,
        degraded: applied.filter(({ degraded }) => degraded).length,
        summariser: this.#summariser.usage,
      };
    } finally {
      remote.close();
    }
  }

  async close(): Promise<void> {
    for (const signal of SIGNALS) process.off(signal, this.#interrupted);
    this.#summariser.close();
    await this.#worker.close();
  }

  async #settle(remote: Remote): Promise<void> {
    for (;;) {
      const { liveRunIds } = await remote.call("status", { sessionId: SESSION });
      this.#summariser.check();
      const [runId] = liveRunIds;
      if (runId === undefined) return;
      await remote.call("waitForRun", { runId, timeoutMs: LOOK_MS });
    }
  }
}

/** The deployable Worker without its page, and with the template of the candidate. Its variables stand in a file that others cannot read. */
async function writeWorker(folder: string, vars: Readonly<Record<string, string>>): Promise<string> {
  const worker = WORKERS.map((path) => join(import.meta.dirname, path)).find((path) => existsSync(path));
  if (worker === undefined) throw new Error("The Worker of the package is not there: install the package again.");
  const from = JSON.stringify(worker);
  await mkdir(folder, { mode: 0o700 });
  await writeFile(
    join(folder, "worker.mjs"),
    `import { PalimpsestAgent as Deployable } from ${from};
export { CompactionWorkflow, default } from ${from};
export class PalimpsestAgent extends Deployable {
  configureSession(session) {
    super.configureSession(session);
    const { EVAL_TEMPLATE: template, PALIMPSEST_THRESHOLD: threshold } = this.env;
    if (template) session.compactAfter(Number(threshold), { template: JSON.parse(template) });
  }
}
`,
  );
  const configPath = join(folder, "wrangler.json");
  const config = {
    name: "palimpsest-eval",
    main: "worker.mjs",
    compatibility_date: "2026-08-01",
    compatibility_flags: ["nodejs_compat"],
    durable_objects: { bindings: [{ name: "PalimpsestAgent", class_name: "PalimpsestAgent" }] },
    migrations: [{ tag: "v1", new_sqlite_classes: ["PalimpsestAgent"] }],
    workflows: [{ name: "palimpsest-eval", binding: "COMPACTION_WORKFLOW", class_name: "CompactionWorkflow" }],
    vars,
  };
  await writeFile(configPath, JSON.stringify(config), { mode: 0o600 });
  return configPath;
}

function requireWrangler(): void {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  if (folders.some((folder) => ["wrangler", "wrangler.cmd"].some((file) => existsSync(join(folder, file))))) return;
  throw new CommandFailure(
    EXIT.usage,
    "wrangler is not installed, and sessions are played through a local Worker. Run `npm install --save-dev wrangler`, then `npx palimpsest eval …`.",
    "not_installed",
  );
}
