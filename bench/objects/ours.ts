/**
 * An agent with its workflow.
 *
 * An agent's name is its setup, as in `busy?threshold=3000&delay=5000`. It sets the threshold in tokens (never reached without it), the
 * summariser (summariser.ts) and, with `notes`, that the agent keeps notes.
 */
import { Agent, type AgentContext } from "agents";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { Session, type CompactReceipt, type SessionOf } from "../../src/agent/sessions/session.ts";
import { withCompaction } from "../../src/agent/compacting-agent.ts";
import { notes } from "../../src/notes/index.ts";
import { recall } from "../../src/recall/index.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { PortMethod } from "../../src/workflows/port.ts";
import { ManySessions, type SessionOperation } from "./many-sessions.ts";
import { messageAt, messagesBetween } from "./messages.ts";
import { Meter, type Rows } from "./meter.ts";
import { NEVER, Rig, type Asked, type Contender } from "./rig.ts";
import { readSetting } from "./setting.ts";

const ROOMS = [notes(), recall()] as const;
export type OurRooms = typeof ROOMS;

export class Ours extends withCompaction(Agent, { rooms: ROOMS }) {
  readonly #rig: Rig;
  readonly #meter: Meter;
  #requests = 0;
  #resultBytes = 0;

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    const meter = new Meter(ctx.storage, readSetting(ctx.id.name ?? "", "start") !== null);
    super(ctx, env);
    this.#meter = meter;
    this.#rig = new Rig(ctx, meter, contender(this));
  }

  override configureSession(session: SessionOf<OurRooms>): void {
    const chunk = readSetting(this.name, "chunk");
    const options = chunk === null ? {} : { chunkTokens: Number(chunk) };
    session.compactAfter(Number(readSetting(this.name, "threshold") ?? NEVER), options);
    if (readSetting(this.name, "notes") !== null) session.keepNotes();
  }

  async rig(...asked: Asked): Promise<unknown> {
    return this.#rig.answer(asked);
  }

  async evict(): Promise<void> {
    this.ctx.abort("evicted");
  }

  /** Runs one compaction of the stored messages and returns everything that it costs this object. */
  async countRun(): Promise<RunCost> {
    return this.#count((session) => session.compact());
  }

  /** As {@link countRun}, for one update of the notes. */
  async countNotes(): Promise<RunCost> {
    return this.#count((session) => session.refreshNotes());
  }

  async #count(ask: (session: SessionOf<OurRooms>) => Promise<CompactReceipt>): Promise<RunCost> {
    const session = Session.create(this);
    this.#requests = 0;
    let runId = "";
    const before = await this.storedBytes();
    const rows = await this.#meter.count(async () => {
      const { run } = await ask(session);
      runId = run.id;
      await session.ended(runId);
    });
    const { steps, chunkDigests, modelCalls, ...run } = this.palimpsest.runs.mustGet(runId);
    const { outcome, inputTokens, outputTokens } = run;
    const counts = { steps: steps.length, chunks: chunkDigests.length, modelCalls, inputTokens, outputTokens };
    const storedBytes = (await this.storedBytes()) - before;
    return { outcome, ...counts, requests: this.#requests, resultBytes: this.#resultBytes, rows, storedBytes };
  }

  /** Rows of the object's start and of its first message. Requires an object whose name says `start`, and must be called first. */
  async countFirst(): Promise<Rows> {
    await Session.create(this).appendMessage(messageAt(1));
    const rows = this.#meter.takeStart();
    if (rows === null) throw new Error("The start of this object was not counted.");
    return rows;
  }

  /** Bytes of its database. */
  async storedBytes(): Promise<number> {
    return this.ctx.storage.sql.databaseSize;
  }

  async makeSessions(count: number): Promise<void> {
    await new ManySessions(this, this.#meter).make(count);
  }

  async countInSessions(operation: SessionOperation): Promise<Rows> {
    return new ManySessions(this, this.#meter).count(operation);
  }

  /** Waits until no run is live. */
  async settle(): Promise<void> {
    const session = Session.create(this);
    for (;;) {
      const [id] = (await session.status()).liveRunIds;
      if (id === undefined) return;
      await session.ended(id);
    }
  }

  async ping(): Promise<void> {}

  /** Stores messages, of which a summary hides all but the newest. */
  async store({ size, shown }: LargeSession): Promise<void> {
    const session = Session.create(this);
    for (let n = 1; n <= size; n += BATCH) await session.appendAll(messagesBetween(n, Math.min(size, n + BATCH - 1)));
    await session.addCompaction("The lexer was worked on.", "m2", `m${size - shown}`);
  }

  /**
   * Gathers the facts of the messages that the summary of {@link store} does not hide, for one more summary, and takes that back. Returns
   * how long that took (ms).
   */
  async gather({ size, shown }: LargeSession): Promise<number> {
    const session = Session.create(this);
    const from = Date.now();
    const { id } = await session.addCompaction("The parser was worked on.", `m${size - shown + 1}`, `m${size - 1}`);
    const ms = Date.now() - from;
    await session.rollback(id);
    return ms;
  }

  override async compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown> {
    this.#requests += 1;
    const answer = await super.compactionStep(runId, method, args);
    if (method === "recordPlan") this.#resultBytes = JSON.stringify(answer).length;
    return answer;
  }
}

/** The messages of a session, and how many of them the view shows. */
export interface LargeSession {
  readonly size: number;
  readonly shown: number;
}

/** Messages of one append. */
const BATCH = 1_000;

/** Counts of one run. `requests` are the workflow's calls to the object, and `rows` are all rows that the object read and wrote. */
export interface RunCost extends Pick<RunRecord, "outcome" | "modelCalls" | "inputTokens" | "outputTokens"> {
  readonly steps: number;
  readonly chunks: number;
  readonly requests: number;
  /** Bytes of the newest plan, the largest result of a step. */
  readonly resultBytes: number;
  readonly rows: Rows;
  /** Growth of the database, in whole pages. */
  readonly storedBytes: number;
}

function contender(agent: Ours): Contender {
  const session = Session.create(agent);
  return {
    append: (message) => session.appendMessage(message),
    appendAll: (messages) => session.appendAll(messages),
    addSummary: (summary, fromId, toId) => session.addCompaction(summary, fromId, toId),
    view: async () => (await session.getView({ apart: true })).messages,
    update: (message) => session.updateMessage(message),
    remove: (id) => session.deleteMessages([id]),
    branches: (id) => session.getBranches(id),
    search: (phrase) => session.search(`"${phrase}"`),
    fork: (atId) => SessionManager.create(agent).fork(session.id, atId),
    compactAfter: (tokens) => {
      session.compactAfter(tokens);
      const { runs } = agent.palimpsest;
      return async () => {
        for (const run of runs.live(session.id)) await session.ended(run.id);
      };
    },
  };
}
