/** What gathers words of a conversation reads them in slices of a stated size, and writers get their turn after each. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { MAX_SLICE_BYTES, SLICE_BYTES } from "../../../src/memory/messages/span-reader.ts";
import { redactionOf } from "../../../src/agent/redaction.ts";
import { readRows } from "../../../src/notes/update.ts";
import { newAgent } from "../../agents.ts";
import { say } from "../../conversation.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import type { FullManager, FullSession } from "../../rooms.ts";
import { inside } from "../inside.ts";

/** Beyond any threshold, so that nothing but the test compacts. */
const SESSION = "large!90000000";
/** Rows without content, and columns beside it. */
const BESIDE = 100_000;

/** One long word, because each sentence is read for facts, and hundreds of thousands of them would take most of the time. */
const long = (id: string, bytes: number, words = ""): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text: `${words}${id}${"x".repeat(bytes)}` }],
});

/** The most characters that the agent's database gave between two pauses, while the work was done, and how many pauses there were. */
async function slicesOf({ palimpsest }: PalimpsestAgent, work: () => Promise<unknown>) {
  const { db, uses } = palimpsest;
  const read = { now: 0, most: 0, pauses: 0 };
  const count = <Row extends object>(row: Row): Row => {
    for (const value of Object.values(row)) read.now += typeof value === "string" ? value.length : 8;
    read.most = Math.max(read.most, read.now);
    return row;
  };
  const originals = { run: db.run.bind(db), each: db.each.bind(db), yieldToCallers: uses.yieldToCallers.bind(uses) };
  Object.assign(db, {
    run: (...args: Parameters<typeof db.run>) => originals.run(...args).map(count),
    *each(...args: Parameters<typeof db.each>) {
      for (const row of originals.each(...args)) yield count(row);
    },
  });
  Object.assign(uses, {
    yieldToCallers: async (most: number) => {
      read.pauses++;
      read.now = 0;
      await originals.yieldToCallers(most);
      read.now = 0;
    },
  });
  await work();
  Object.assign(db, { run: originals.run, each: originals.each });
  Object.assign(uses, { yieldToCallers: originals.yieldToCallers });
  return read;
}

test("a caller's summary over megabytes reads the user's newest words alone, and no message of many rows", async () => {
  await inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession(SESSION);
    for (let n = 0; n < 30; n++)
      await session.appendMessage(long(`m${n}`, 100_000, n === 29 ? "Keep the fence. " : ""));
    await session.appendMessage(long("huge", 6_000_000));
    await session.appendMessage(say(31));
    const { most } = await slicesOf(agent, () => session.addCompaction("All of it.", "m0", "huge"));
    expect(most).toBeLessThan(MAX_SLICE_BYTES + BESIDE);
    const [overlay] = await session.getCompactions();
    expect(JSON.stringify(overlay?.details.pinned)).toContain("Keep the fence.");
  });
});

test("C3: the commit of a caller's summary over thousands of messages reads none of them once more", async () => {
  await inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession(SESSION);
    for (let n = 0; n < 3_000; n += 1_000) {
      await session.appendAll(Array.from({ length: 1_000 }, (_, each) => say(n + each)));
    }
    const { most } = await slicesOf(agent, () => session.addCompaction("All of it.", "m0", "m2998"));
    expect(most).toBeLessThan(SLICE_BYTES + BESIDE);
    expect((await session.getView()).messages).toHaveLength(2);
  });
});

test("an update of the notes reads a large source in slices, and the same as in one piece", async () => {
  await inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession(SESSION);
    for (let n = 0; n < 8; n++) await session.appendMessage(long(`m${n}`, 100_000));
    await session.addCompaction("We began.", "m1", "m3");
    await session.appendMessage(long("huge", 6_000_000));
    for (let n = 9; n < 12; n++) await session.appendMessage(long(`m${n}`, 100_000));
    const { palimpsest: core } = agent;
    const history = core.memory.session(SESSION);
    const rows = history.outline("m11")?.rows ?? [];
    expect(rows.map(({ kind }) => kind)).toContain("overlay");
    const source = { rows, redaction: redactionOf(core.settings.get(SESSION)) };
    let read: Awaited<ReturnType<typeof readRows>> | null = null;
    const { most, pauses } = await slicesOf(agent, async () => {
      read = await readRows(core, SESSION, source);
    });
    const elements = rows.map(({ kind, id }) =>
      kind === "overlay" ? { kind, summary: history.overlays.get(id)?.summary } : { kind, message: history.get(id) },
    );
    expect(read).toMatchObject({ elements });
    expect(most).toBeLessThan(MAX_SLICE_BYTES + BESIDE);
    expect(pauses).toBeGreaterThan(6);
  });
});

/** Thousands of messages, whose description takes several slices. */
async function fill(session: FullSession): Promise<void> {
  await session.appendAll(Array.from({ length: 12 }, (_, n) => long(`m${n}`, 1_000)));
  for (let n = 0; n < 3_000; n += 1_000)
    await session.appendAll(Array.from({ length: 1_000 }, (_, each) => ({ ...say(n + each), id: `more${n + each}` })));
  await session.appendMessage(long("last", 1_000));
}

/** Does something at the nth pause of long work. */
function atPause({ palimpsest: { uses } }: PalimpsestAgent, nth: number, work: () => Promise<unknown>): void {
  const yieldToCallers = uses.yieldToCallers.bind(uses);
  let pauses = 0;
  Object.assign(uses, {
    yieldToCallers: async (most: number) => {
      if (++pauses === nth) await work();
      await yieldToCallers(most);
    },
  });
}

/** Calls that bring a caller's text about `m4` and later messages into force. */
const CALLERS: Record<string, (session: FullSession, manager: FullManager) => Promise<unknown>> = {
  "a caller's summary": (session) => session.addCompaction("The door code is OLD-4711.", "m4", "more2999"),
  "a split with a caller's summary": (session, manager) =>
    manager.compactAndSplit(session.id, "child", { summary: "The door code is OLD-4711." }),
};

const inForce = async (session: FullSession): Promise<string> =>
  JSON.stringify([(await session.getView()).messages, await session.getNotes()]);

for (const [name, call] of Object.entries(CALLERS)) {
  // The newest messages are read first.
  test.each([
    ["at the call", 0, "m5"],
    ["at the call", 0, "m10"],
    ["while it is described", 1, "m5"],
    ["while it is described", 2, "m10"],
  ])(`C3, S3: ${name} is refused where a message changes %s, at pause %d, %s`, async (_when, pause, id) => {
    await inside(newAgent(), async (manager, agent) => {
      const session = manager.getSession(SESSION);
      await fill(session);
      await session.upsertMessage(long(id, 1_000, "The door code is OLD-4711. "));
      const change = () => session.upsertMessage(long(id, 1_000, "The door code is NEW-9000. "));
      if (pause > 0) atPause(agent, pause, change);
      const called = call(session, manager).then(
        () => "done",
        (error: unknown) => error,
      );
      if (pause === 0) await change();
      expect(await called).toMatchObject({ code: "invalid_range" });
      expect(manager.list()).toHaveLength(1);
      expect(await inForce(session)).not.toContain("OLD-4711");
      expect(await inForce(session)).toContain("NEW-9000");
    });
  });

  test(`${name} comes into force although others are appended meanwhile`, async () => {
    await inside(newAgent(), async (manager, agent) => {
      const session = manager.getSession(SESSION);
      await fill(session);
      atPause(agent, 1, () => session.appendMessage({ ...say(12), id: "later" }));
      await call(session, manager);
      const newest = session.newest();
      expect(await inForce(newest)).toContain("OLD-4711");
      expect((await newest.getView({ apart: true })).messages.at(-1)?.id).toBe("later");
    });
  });
}

test("C3, S3: notes are not promoted where a message that they cover changes while they are", async () => {
  await inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession(SESSION).keepNotes({ keep: { minTokens: 1, minTextBlockMessages: 1 } });
    for (let n = 0; n < 12; n++) await session.appendMessage(long(`m${n}`, 100_000));
    const sections = [{ title: "Task", text: "The door code is OLD-4711." }];
    await session.updateNotes({ sections, coveredId: "m7" });
    atPause(agent, 3, async () => session.upsertMessage(long("m5", 1_000, "The door code is NEW-9000. ")));
    const { run } = await session.compact();
    await expect.poll(() => agent.palimpsest.runs.get(run.id)?.whyModel).toMatchObject({ reason: "changed" });
    await agent.cancelRun({ runId: run.id });
    expect(await inForce(session)).not.toContain("OLD-4711");
  });
});
