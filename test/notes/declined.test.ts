/** Reasons why notes do not serve, end to end, with the runs that wait for them and the cost of asking. */
import { Session } from "../../src/agent/sessions/session.ts";
import type { FullSession } from "../rooms.ts";
import type { UIMessage } from "ai";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../noted.ts";
import { makeGate, openGates, type Gate } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

type Made = ReturnType<typeof newAgent>;

/** Changes a session of the test's agent as the agent's own code would. */
async function change(
  { stub }: Pick<Made, "stub">,
  work: (session: FullSession) => unknown,
  id = SESSION,
): Promise<void> {
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    await work(Session.create(agent).forSession(id));
  });
}

async function compacted(agent: PalimpsestAgent, sessionId = SESSION): Promise<RunRecord> {
  const { run } = await agent.compact({ sessionId });
  return agent.waitForRun({ runId: run.id });
}

/** An update is at work that is not answered, and a run that waits for it waits for longer than the test may take. */
async function held(): Promise<Made & { gate: Gate }> {
  const gate = makeGate();
  const made = newAgent(async (prompt, call, runId) => {
    if (prompt.kind === "notes") await gate.pass();
    return noting(prompt, call, runId);
  });
  await change(made, (session) =>
    session.compactAfter(2_000, { chunkTokens: 1_500 }).keepNotes({ growthTokens: 500, toolCalls: 0, waitMs: 60_000 }),
  );
  await made.agent.appendAll({ sessionId: SESSION, messages: talk(0, 8) });
  await gate.reached();
  return { ...made, gate };
}

describe("a run asks a model although notes are kept, and says why", () => {
  test("no notes yet, or a template that nobody touched", async () => {
    const { agent } = newAgent((prompt, call, runId) =>
      prompt.kind === "notes" ? "No changes." : noting(prompt, call, runId),
    );
    await sayAll(agent, talk(0, 18));
    expect(ofKind(await rest(agent), "compaction")[0]).toMatchObject({
      path: "model",
      whyModel: { reason: "no-notes" },
      outcome: { kind: "applied" },
    });
  });

  test("all versions tell of what is to be kept", async () => {
    const { agent } = newAgent(noting);
    await agent.appendAll({ sessionId: SESSION, messages: talk(0, 5) });
    await rest(agent);
    await agent.refreshNotes({ sessionId: SESSION });
    await rest(agent);
    expect((await agent.notesHistory({ sessionId: SESSION })).length).toBe(1);
    expect(await compacted(agent)).toMatchObject({
      path: "model",
      whyModel: { reason: "too-recent" },
    });
  });

  test("what would be left is still over the threshold", async () => {
    const { agent } = newAgent(noting);
    await sayWithNotes(agent);
    await agent.append({ sessionId: SESSION, message: say(8, "a long paste of the log file. ".repeat(300)) });
    const runs = await rest(agent);
    const [run] = ofKind(runs, "compaction");
    expect(run).toMatchObject({ path: "model", whyModel: { reason: "over-threshold" } });
  });

  test("approval does not keep notes out: a person decides on what they say as on any summary", async () => {
    const made = newAgent(noting);
    const { agent } = made;
    await sayWithNotes(agent);
    await change(made, (session) => session.requireApproval());
    const { run } = await agent.compact({ sessionId: SESSION });
    await expect.poll(async () => (await agent.getRun({ runId: run.id })).state).toBe("proposed");
    expect(await agent.approveRun({ runId: run.id })).toMatchObject({ kind: "approved", run: { path: "notes" } });
    const [overlay] = await agent.getCompactions({ sessionId: SESSION });
    expect(overlay?.details.notesVersion).toBeTypeOf("number");
  });

  test("unsound: what is no summary of a model's is none of notes either", async () => {
    const { agent } = newAgent(noting);
    await sayWithNotes(agent);
    const text = "[#1 user]\nwe changed src/parser-0.ts\n\n[#2 assistant]\nsrc/scheduler-1.ts\n\n[#3 user]\nso it is";
    await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Task", text }] });
    expect(await compacted(agent)).toMatchObject({ path: "model", whyModel: { reason: "unsound" } });
  });

  test("not-covered: an earlier summary stands behind the last that they tell of", async () => {
    const made = newAgent(noting);
    const { agent } = made;
    await sayWithNotes(agent);
    await change(made, (session) => session.addCompaction("what was said", "m3", "m6"));
    const thanks: UIMessage = { id: "m8", role: "user", parts: [{ type: "text", text: "Thanks." }] };
    await agent.append({ sessionId: SESSION, message: thanks });
    expect(await compacted(agent)).toMatchObject({ path: "model", whyModel: { reason: "not-covered" } });
  });
});

describe("a run does not wait for an update that cannot help it", () => {
  test.each(["a focus was asked for", "a version was written by hand", "it is of another branch"])(
    "%s",
    async (why) => {
      const made = await held();
      const { agent } = made;
      if (why.startsWith("a version")) {
        await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Task", text: "- by hand" }] });
      }
      if (why.startsWith("it is")) await agent.append({ sessionId: SESSION, message: say(50), parentId: "m1" });
      const focus = why.startsWith("a focus") ? "the ledger" : undefined;
      const { notes } = await agent.plan({ sessionId: SESSION, manual: true });
      if (focus === undefined) expect(notes).toMatchObject({ kind: "declined" });
      const { run } = await agent.compact({ sessionId: SESSION, focus });
      await expect.poll(async () => (await agent.getRun({ runId: run.id })).path).toBe("model");
      await agent.cancelRun({ runId: run.id });
      made.gate.open();
      await rest(agent);
    },
  );
});

test("an append over the threshold reads no view while its run is postponed, but for each span that the view grows by", async () => {
  const { agent, stub } = newAgent(noting);
  const id = `${SESSION}!20000`;
  await sayAll(agent, talk(0, 3), id);
  await agent.refreshNotes({ sessionId: id });
  await rest(agent, id);
  await runInDurableObject(stub, (agent: PalimpsestAgent) => {
    const settings = agent.palimpsest.settings.get(id);
    const { when } = settings;
    if (when === null) throw new Error("no threshold");
    const spent = { ...when, hardTokens: 1e9, budget: { ...when.budget, sessionTokens: 1 } };
    agent.palimpsest.settings.set(id, { ...settings, when: spent });
  });
  await agent.appendAll({ sessionId: id, messages: talk(3, 190) });
  const rows = await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const { meter } = agent.palimpsest.db;
    const read: number[] = [];
    for (const message of talk(190, 220)) {
      const before = meter.rowsRead;
      await agent.append({ sessionId: id, message });
      read.push(meter.rowsRead - before);
    }
    return read;
  });
  expect(ofKind(await agent.runs({ sessionId: id }), "compaction")).toEqual([]);
  const looks = rows.filter((count) => count > 20);
  expect(looks.length).toBeLessThan(rows.length / 5);
  expect(Math.max(...rows.filter((count) => count <= 20))).toBeLessThan(10);
});
