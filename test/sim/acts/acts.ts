/**
 * Carries an operation out on the real agent, as a client would, and on its twin.
 *
 * Judges only that every refusal has a stable code. The agent goes first, so that an operation that it refuses never reaches the twin.
 */
import { Session } from "../../../src/agent/sessions/session.ts";
import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { errorCode } from "../../../src/errors.ts";
import { inheritBlock, writeBlock } from "../blocks.ts";
import { forgeRecord, importFile } from "./imports.ts";
import { keepNotes, keepNotesAs, writeNotes } from "./notes.ts";
import type { Operation, Verb } from "../operations.ts";
import { bringFunction } from "./own-functions.ts";
import * as said from "../said.ts";
import { moodAt } from "../summariser.ts";
import { count } from "../tally.ts";
import { weigh } from "../twin.ts";
import { makeSeat, Violation, type Seat, type World } from "../world.ts";

/** The context of one operation. */
interface Scene {
  readonly world: World;
  readonly seat: Seat;
  readonly op: Operation;
  readonly marks: said.Marks;
  readonly id: string;
}

/** Returns a description of what was done. */
type Act = (scene: Scene) => Promise<string>;

const MAX_SEATS = 6;
const STANDING_SEATS = 3;
const PAUSES_SECONDS = [1, 20, 60, 400, 4_000, 90_000] as const;
/** An operation that takes longer than this in real time hangs (ms). */
const OPERATION_LIMIT_MS = 30_000;

/** Does one operation. Throws a {@link Violation} when it fails in a way that is not allowed. */
export async function act(world: World, op: Operation): Promise<void> {
  const seat = pickSeat(world, op);
  if (seat === undefined) return;
  seat.touched = true;
  count(world.tally.operations, op.do);
  const scene: Scene = { world, seat, op, marks: new said.Marks(op.n), id: `m${op.n}` };
  let done: string;
  try {
    done = await inTime(ACTS[op.do](scene), op);
  } catch (error) {
    if (error instanceof Violation) throw error;
    const code = errorCode(error);
    if (code === undefined || code === "broken_invariant")
      throw new Violation("no surprises", `${op.do}: ${explain(error)}`);
    count(world.tally.refused, code);
    done = `refused (${code})`;
  }
  world.log.push(`${op.n} ${op.do} in ${seat.id}: ${done}${op.hurry ? ", in a hurry" : ""}`);
}

async function inTime(work: Promise<string>, op: Operation): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), OPERATION_LIMIT_MS);
  const done = await Promise.race([work, promise]).finally(() => clearTimeout(timer));
  if (done === null) throw new Violation("no surprises", `${op.do} does not return`);
  return done;
}

function explain(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
}

function pick<T>(from: readonly T[], n: number): T | undefined {
  return from[n % Math.max(1, from.length)];
}

/** Mostly picks one of the standing seats, so that operations on other seats change nothing for it. */
function pickSeat({ seats }: World, { session }: Operation): Seat | undefined {
  return session % 4 === 0 ? pick(seats, Math.floor(session / 4)) : pick(seats.slice(0, STANDING_SEATS), session);
}

function pickMessage({ seat, op }: Scene): UIMessage | undefined {
  const id = pick(seat.twin.ids, op.at);
  return id === undefined ? undefined : seat.twin.find(id);
}

/** Appends in order, the first under `parentId`. */
async function append(
  { world, seat }: Scene,
  messages: readonly UIMessage[],
  parentId?: string | null,
): Promise<string> {
  const plain = messages.map((message) => JSON.parse(JSON.stringify(message)) as UIMessage);
  const at = parentId === undefined ? {} : { parentId };
  for (const message of plain) for (const mark of weigh(message).marks) seat.words.add(mark);
  await world.agent.appendAll({ sessionId: seat.id, messages: plain, ...at });
  const ended = seat.runs.find(({ outcome }) => outcome?.kind === "split");
  if (ended !== undefined) throw new Violation("B4", `${seat.id} was split by ${ended.id}, and takes ${plain[0]?.id}`);
  for (const [index, message] of plain.entries()) {
    seat.twin.append(message, index === 0 ? parentId : plain[index - 1]?.id);
  }
  return `${plain.map((message) => message.id).join(", ")}${parentId === undefined ? "" : ` under ${parentId}`}`;
}

async function put(scene: Scene, message: UIMessage, how: "upsert" | "update"): Promise<string> {
  const { world, seat } = scene;
  const plain = JSON.parse(JSON.stringify(message)) as UIMessage;
  for (const mark of weigh(plain).marks) seat.words.add(mark);
  await world.agent[how]({ sessionId: seat.id, message: plain });
  if (how === "upsert") seat.twin.append(plain, undefined);
  seat.twin.update(plain);
  return plain.id;
}

function roleOf({ op }: Scene): "user" | "assistant" {
  return op.way % 2 === 0 ? "user" : "assistant";
}

const ACTS: Record<Verb, Act> = {
  say: (scene) =>
    append(scene, [said.plain({ id: scene.id, role: roleOf(scene) }, scene.marks, 20 + (scene.op.size % 120))]),
  talk: (scene) => {
    const length = 3 + (scene.op.size % 6);
    const turns = Array.from({ length }, (_, n) =>
      said.plain(
        { id: `${scene.id}-${n}`, role: n % 2 === 0 ? "user" : "assistant" },
        scene.marks,
        40 + (scene.op.way % 90),
      ),
    );
    return append(scene, turns);
  },
  rule: (scene) => append(scene, [said.rule(scene.id, scene.marks)]),
  lift: async (scene) => {
    const rules = said.standingRules(scene.seat.twin.messages(scene.seat.twin.leaf));
    const table = /zk\w+/.exec(pick(rules, scene.op.at) ?? "")?.[0];
    return table === undefined ? "no rule" : append(scene, [said.lift(scene.id, table)]);
  },
  order: (scene) => append(scene, [said.order(scene.id, scene.marks)]),
  callTools: (scene) => {
    const shape = { steps: 1 + (scene.op.size % 5), dangling: scene.op.way % 4 === 0 };
    return append(scene, [said.toolTurn(scene.id, scene.marks, shape)]);
  },
  callApart: (scene) => {
    const shape = { calls: 1 + (scene.op.size % 3), dangling: scene.op.way % 4 === 0 };
    return append(scene, said.callsApart(scene.id, scene.marks, shape));
  },
  huge: (scene) =>
    append(scene, [
      said.plain({ id: scene.id, role: roleOf(scene) }, scene.marks, scene.op.way % 40 === 0 ? 450_000 : 4_000),
    ]),
  file: (scene) => append(scene, [said.file(scene.id, scene.marks)]),

  upsert: async (scene) => {
    const old = scene.op.way % 3 === 0 ? undefined : pickMessage(scene);
    return put(scene, said.plain(old ?? { id: scene.id, role: roleOf(scene) }, scene.marks), "upsert");
  },
  grow: async (scene) => {
    const { twin } = scene.seat;
    const last = scene.op.way % 3 === 0 ? pickMessage(scene) : twin.find(twin.leaf ?? "");
    return last === undefined ? "nothing" : put(scene, said.grown(last, scene.marks), "upsert");
  },
  edit: async (scene) => {
    const old = pickMessage(scene);
    return old === undefined ? "nothing" : put(scene, said.plain(old, scene.marks), "update");
  },
  deleteSome: async ({ world, seat, op }) => {
    const { ids } = seat.twin;
    const from = op.at % Math.max(1, ids.length);
    const some = ids.slice(from, from + 1 + (op.size % 3));
    await world.agent.deleteMessages({ sessionId: seat.id, ids: some });
    seat.twin.delete(some);
    return some.join(", ");
  },
  branch: async (scene) => {
    const parent = pickMessage(scene);
    return parent === undefined
      ? "nothing"
      : append(scene, [said.plain({ id: scene.id, role: roleOf(scene) }, scene.marks)], parent.id);
  },
  regenerate: async (scene) => {
    const old = pickMessage(scene);
    if (old === undefined) return "nothing";
    return append(scene, [said.plain({ id: scene.id, role: old.role }, scene.marks)], scene.seat.twin.parentOf(old.id));
  },
  root: (scene) => append(scene, [said.plain({ id: scene.id, role: "user" }, scene.marks)], null),
  clear: async ({ world, seat }) => {
    await world.agent.clearMessages({ sessionId: seat.id });
    world.bury(seat, { blockToo: false });
    return "cleared";
  },
  dropSession: async ({ world, seat }) => {
    await world.agent.deleteSession({ sessionId: seat.id });
    world.bury(seat, { blockToo: true });
    return "deleted";
  },
  fork: async (scene) => {
    const { world, seat } = scene;
    const at = pickMessage(scene);
    if (at === undefined || world.seats.length >= MAX_SEATS) return "no room";
    const fork = await world.agent.forkSession({ sessionId: seat.id, atMessageId: at.id });
    const child = makeSeat(fork.id, seat.twin.fork(at.id), seat.words);
    inheritBlock(child, seat);
    world.seats.push({ ...child, claimed: new Set(seat.claimed) });
    await keepNotesAs(world, child, seat);
    return `at ${at.id}`;
  },
  split: async ({ world, seat, op }) => {
    if (world.seats.length > MAX_SEATS) return "no room";
    const { run, joined } = await world.agent.compactAndSplit({ sessionId: seat.id, fresh: op.way % 5 === 0 });
    return `${joined ? "joined" : "started"} ${run.id}`;
  },

  compact: async ({ world, seat, op, marks }) => {
    const focus = op.way % 4 === 0 ? { focus: `what ${marks.next()} was about` } : {};
    for (const mark of said.marksIn(JSON.stringify(focus))) seat.words.add(mark);
    const leafId = op.way % 5 === 0 ? pick(seat.twin.leaves, op.at) : undefined;
    const { run, joined } = await world.agent.compact({
      sessionId: seat.id,
      fresh: op.size % 4 === 0,
      ignoreBudget: op.size % 3 === 0,
      ...focus,
      ...(leafId === undefined ? {} : { leafId }),
    });
    return `${joined ? "joined" : "started"} ${run.id}`;
  },
  rebuild: async ({ world, seat, op }) => {
    const { run } = await world.agent.compact({ sessionId: seat.id, rebuild: true, fresh: op.size % 4 === 0 });
    return `started ${run.id}`;
  },
  cover: async ({ world, seat, op }) => {
    return world.inside(async (instance) => {
      const session = Session.create(instance).forSession(seat.id);
      const { messages } = await session.getView();
      const from = op.at % Math.max(1, messages.length);
      const covered = messages.slice(from, from + 2 + (op.size % 6));
      const [first, last] = [covered[0], covered.at(-1)];
      if (first === undefined || last === undefined) return "nothing";
      // Takes the stored messages, because a view may show a result in its call's message.
      const sources = covered.flatMap(({ id }) => seat.twin.find(id) ?? []);
      const words = sources.flatMap((message) => [...weigh(message).marks]).slice(0, 5);
      await session.addCompaction(`By hand: ${words.join(" ")}.`, first.id, last.id);
      return `${first.id} to ${last.id}`;
    });
  },
  rollback: async ({ world, seat, op }) => {
    const overlay = pick(
      seat.overlays.filter(({ state }) => state === "active"),
      op.at,
    );
    if (overlay === undefined) return "no overlay";
    await world.agent.rollback({ sessionId: seat.id, overlayId: overlay.id });
    return overlay.id;
  },
  restore: async ({ world, seat, op }) => {
    const gone = seat.overlays.filter(({ state }) => state !== "active");
    const undone = gone.filter(({ state }) => state === "rolled-back");
    const overlay = pick(op.way % 3 === 0 || undone.length === 0 ? gone : undone, op.at);
    if (overlay === undefined) return "no overlay";
    const { kind } = await world.agent.restore({ sessionId: seat.id, overlayId: overlay.id });
    count(world.tally.met, `restored: ${kind}`);
    return `${overlay.id}, ${kind}`;
  },
  cancel: (scene) =>
    // A run that has ended keeps its outcome.
    onRun(scene, scene.op.way % 3 === 0 ? "ended" : "live", async (runId) => {
      await scene.world.agent.cancelRun({ runId });
    }),
  pause: ({ world, ...scene }) =>
    onRun({ world, ...scene }, "live", async (runId) => {
      // The engine pauses between two steps, so the present step must be able to end.
      const pausing = world.agent.pauseRun({ runId });
      world.model.letGo(runId);
      await pausing;
    }),
  resume: ({ world, ...scene }) =>
    onRun({ world, ...scene }, "live", async (runId) => void (await world.agent.resumeRun({ runId }))),
  retry: ({ world, ...scene }) =>
    onRun({ world, ...scene }, "ended", async (runId) => void (await world.agent.retryRun({ runId }))),
  terminate: ({ world, ...scene }) =>
    onRun({ world, ...scene }, "live", async (runId) => {
      const instance = await env.COMPACTION_WORKFLOW.get(runId).catch(() => null);
      await instance?.terminate().catch(() => undefined);
    }),

  importFile,
  forgeRecord,

  keepNotes: ({ world, seat, op }) => keepNotes(world, seat, op),
  refreshNotes: async ({ world, seat }) => {
    const { run, joined } = await world.agent.refreshNotes({ sessionId: seat.id });
    return `${joined ? "joined" : "started"} ${run.id}`;
  },
  writeNotes: ({ world, seat, op, marks }) => writeNotes(world, seat, { op, marks }),

  bringFunction: ({ world, seat, op }) => bringFunction(world, seat, op),
  writeBlock: ({ world, seat, op, marks }) => writeBlock(world, seat, { op, marks }),

  usage: async ({ world, seat, op }) => {
    return world.inside(async (instance) => {
      const session = Session.create(instance).forSession(seat.id);
      const { tokens } = await session.getView();
      const inputTokens = Math.round(tokens * (0.8 + (op.size % 50) / 100)) + (op.way % 300);
      await session.recordUsage({ inputTokens, outputTokens: 20, model: `model-${op.at % 2}` });
      return `${inputTokens} tokens`;
    });
  },
  search: async ({ world, seat, op }) => {
    const query = pick(["page read", "changed", "touch", "zk*"], op.at) ?? "page";
    const hits = await world.agent.search({ sessionId: seat.id, query });
    const stranger = hits.find((hit) => hit.sessionId !== seat.id || !seat.twin.has(hit.id));
    if (stranger !== undefined) throw new Violation("S1", `a search in ${seat.id} found ${stranger.id}`);
    count(world.tally.checks, "S1");
    return `${hits.length} hits`;
  },

  mood: async ({ world, op }) => {
    const mood = moodAt(op.way);
    world.model.setMood(mood, 1 + (op.size % 7));
    return `${mood} for ${1 + (op.size % 7)} calls`;
  },
  answer: async ({ world }) => {
    return world.model.answerOne() ? "answered" : "nobody waits";
  },
  pass: async ({ world, op }) => {
    const seconds = pick(PAUSES_SECONDS, op.size) ?? 1;
    world.pass(seconds);
    return `${seconds} s`;
  },
  watch: async ({ world }) => {
    world.pass(60);
    // A failed question to the engine is repeated at the next look. The end of the simulation checks that all runs end.
    await world.agent.watchCompactions().catch(() => count(world.tally.met, "looks of the watchdog that failed"));
    return "looked";
  },
  evict: async ({ world }) => {
    // Only a running object can be evicted.
    await world.inside(() => undefined);
    // Work inside an object keeps it in memory.
    if (world.model.isOwnAtWork) return "busy";
    await evictDurableObject(world.stub);
    return "evicted";
  },
  abort: async ({ world }) => {
    await abortAllDurableObjects();
    world.model.die();
    return "aborted";
  },
};

async function onRun(
  { world, seat, op }: Scene,
  which: "live" | "ended",
  work: (runId: string) => Promise<void>,
): Promise<string> {
  const runs = seat.runs.filter(({ outcome }) => (outcome === null) === (which === "live"));
  const run = pick(runs, op.at);
  if (run === undefined) return "no run";
  await work(run.id);
  world.unstick();
  return run.id;
}
