/** Notes that are kept in the background, and compactions that they prepare before they are due. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { newAgent, overlayOf, skipRetryDelays } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../noted.ts";
import { makeGate, openGates, type Answer, type Gate } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

/** An agent with a first version of its notes, whose next update waits at the gate and then answers as it is told. */
async function updateAtGate(
  answer: Answer = "## Worklog\n- second",
): Promise<ReturnType<typeof newAgent> & { gate: Gate; run: RunRecord }> {
  const gate = makeGate();
  let held = false;
  const made = newAgent(async (prompt, call, runId) => {
    if (!held || prompt.kind !== "notes") return noting(prompt, call, runId);
    await gate.pass();
    return answer;
  });
  await sayWithNotes(made.agent);
  held = true;
  const { run } = await made.agent.refreshNotes({ sessionId: SESSION });
  await gate.reached();
  return { ...made, gate, run };
}

describe("an update of the notes", () => {
  test("starts with the append that made it due, and covers what was said up to there", async () => {
    const { agent, calls } = newAgent(noting);
    await sayWithNotes(agent);
    const [update, ...others] = ofKind(await rest(agent), "notes");
    expect(others).toEqual([]);
    expect(update).toMatchObject({ trigger: "growth", outcome: { kind: "noted", version: 1 }, modelCalls: 1 });
    const notes = await agent.getNotes({ sessionId: SESSION });
    expect(notes).toMatchObject({
      n: 1,
      standing: true,
      by: "update",
      covered: { kind: "to", messageId: update?.leafId },
    });
    expect(notes?.text).toContain("## Task\n- keep every promise");
    expect(calls.map(({ kind }) => kind)).toEqual(["notes"]);
    expect(calls[0]?.transcript).toContain("Message 3");
  });

  test("costs the append that starts it a ledger row, and any other append none", async () => {
    const { stub, agent } = newAgent(noting);
    const written = await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const { meter } = instance.palimpsest.db;
      const rows: [written: number, runs: number][] = [];
      for (const message of talk(0, 6)) {
        const before = meter.rowsWritten;
        const runs = instance.palimpsest.runs.live(SESSION).length;
        await instance.append({ sessionId: SESSION, message });
        rows.push([meter.rowsWritten - before, instance.palimpsest.runs.live(SESSION).length - runs]);
      }
      return rows;
    });
    await rest(agent);
    const [first, ...later] = written;
    expect(first?.[0]).toBeLessThanOrEqual(3);
    expect(later.filter(([, runs]) => runs === 1).map(([rows]) => rows)).toEqual([1 + 3]);
    expect(new Set(later.filter(([, runs]) => runs === 0).map(([rows]) => rows))).toEqual(new Set([1]));
  });

  test("leaves a section that the model does not name byte for byte, a person's own words included", async () => {
    const { agent } = newAgent((prompt) => (prompt.kind === "notes" ? "## Worklog\n- only this" : "no"));
    const text = "- odd   spacing\n\n```sh\n## not a heading\n```\n* kept";
    await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Learnings", text }] });
    await sayWithNotes(agent);
    const notes = await agent.getNotes({ sessionId: SESSION });
    expect(notes?.sections).toContainEqual({ title: "Learnings", text });
    expect(notes?.sections).toContainEqual({ title: "Worklog", text: "- only this" });
  });

  test("by its changes takes out the lines that it quotes, adds the others, and leaves the rest as it is stored", async () => {
    const answer = "## Worklog (added)\n~~- the second is…~~\n- the third is made [#2]\n\n## Task (added)\nNone.";
    const { agent } = newAgent((prompt) => (prompt.kind === "notes" ? answer : "no"));
    const task = { title: "Task", text: "  - kept   as it is" };
    const text = "- the first is made\n- the second is half made\n\nA person's   words.";
    await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Worklog", text }, task] });
    await sayWithNotes(agent);
    const { sections = [] } = (await agent.getNotes({ sessionId: SESSION })) ?? {};
    expect(sections.find(({ title }) => title === "Worklog")?.text).toMatch(
      /^- the first is made\n\nA person's {3}words\.\n\n- the third is made \[@[0-9a-z]{7}\]$/,
    );
    expect(sections).toContainEqual({ title: "Task", text: task.text.trim() });
  });

  test("names the messages that a bullet comes from, and no others", async () => {
    const { agent } = newAgent(() => "## Worklog\n- changed it [#2, #99]\n- and again [@zzzzzzz]");
    await sayWithNotes(agent);
    const { text = "" } = (await agent.getNotes({ sessionId: SESSION })) ?? {};
    expect(text).toMatch(/- changed it \[@[0-9a-z]{7}\]\n- and again$/m);
  });

  test("that tells little is taken as it is: each asks once, and the next one reads on", async () => {
    const { agent, calls } = newAgent(() => "## Worklog\n- looked at it");
    const sessionId = `${SESSION}!20000`;
    await sayAll(agent, talk(0, 100), sessionId);
    const runs = ofKind(await rest(agent, sessionId), "notes");
    expect(runs.length).toBeGreaterThan(1);
    expect(runs.map(({ outcome, modelCalls }) => [outcome?.kind, modelCalls])).toEqual(runs.map(() => ["noted", 1]));
    expect(calls).toHaveLength(runs.length);
    const covered = runs.map(({ outcome }) => outcome?.kind === "noted" && outcome.coveredId);
    expect(new Set(covered).size).toBe(runs.length);
  });

  test("is one at a time, and is not asked for while a compaction is at work", async () => {
    const { agent, gate } = await updateAtGate();
    await agent.appendAll({ sessionId: SESSION, messages: talk(8, 14) });
    expect(
      ofKind(await agent.runs({ sessionId: SESSION }), "notes").filter(({ outcome }) => outcome === null),
    ).toHaveLength(1);
    expect(await agent.refreshNotes({ sessionId: SESSION })).toMatchObject({ joined: true });
    gate.open();
    // The messages that came while the update was at work are enough for another update.
    expect(ofKind(await rest(agent), "notes").map(({ outcome }) => outcome?.kind)).toEqual(["noted", "noted", "noted"]);
  });

  test("that is planned again, late, stays with what it was planned on: an edit since makes it stale (C3)", async () => {
    const { agent, stub, gate, run } = await updateAtGate();
    const planned = await agent.getRun({ runId: run.id });
    if (planned.kind !== "notes") throw new Error("An update of notes was asked for.");
    await agent.update({ sessionId: SESSION, message: say(7, "edited ") });
    await runInDurableObject(stub, (instance: PalimpsestAgent) =>
      instance.compactionStep(run.id, "recordPlan", [
        { step: "plan the notes", attempt: 2 },
        { kind: "room", asked: { models: ["scripted"], windowTokens: 32_000 } },
      ]),
    );
    expect(await agent.getRun({ runId: run.id })).toMatchObject({ notes: planned.notes });
    gate.open();
    expect((await agent.waitForRun({ runId: run.id })).outcome).toEqual({ kind: "stale", reason: "changed" });
  });

  test("with nothing new ends as nothing, and asks nobody", async () => {
    const { agent, calls } = newAgent(noting);
    await sayWithNotes(agent);
    for (let again = 0; again < 2; again++) {
      await agent.refreshNotes({ sessionId: SESSION });
      await rest(agent);
    }
    const [last] = await rest(agent);
    expect(last?.outcome).toMatchObject({ kind: "nothing", reason: "up-to-date" });
    expect(calls).toHaveLength(2);
  });

  test("reads what an earlier compaction hides as its summary, and not from the beginning", async () => {
    const { agent, calls } = newAgent(noting);
    const plain = "plain";
    await agent.appendAll({ sessionId: plain, messages: talk(0, 17) });
    await rest(agent, plain);
    const { id } = await agent.forkSession({ sessionId: plain, atMessageId: "m16" });
    const before = calls.length;
    await runInDurableObject(
      env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(agent.name)),
      (instance: PalimpsestAgent) => {
        const policy = instance.palimpsest.settings.get(id);
        instance.palimpsest.settings.set(id, { ...policy, rooms: { notes: {} } });
      },
    );
    await agent.refreshNotes({ sessionId: id });
    await rest(agent, id);
    const asked = calls.slice(before).map(({ transcript }) => transcript ?? "");
    expect(asked[0]).toContain("summary]");
    expect(asked.join("\n")).not.toContain("Message 4:");
  });
});

describe("an update that goes wrong leaves the version before in force", () => {
  const bad: readonly [string, Answer][] = [
    ["garbage", "lorem ipsum"],
    ["a cut off answer", { text: "## Task\n- keep", finishReason: "length" }],
    ["notes shrunk to nothing", "## Task\nNone.\n\n## Worklog\nNone."],
  ];
  test.each(bad)("%s (R1)", async (_what, answer) => {
    let wrong = false;
    const { agent, calls } = newAgent((prompt, call, runId) => (wrong ? answer : noting(prompt, call, runId)));
    await sayWithNotes(agent);
    const before = await agent.getNotes({ sessionId: SESSION });
    wrong = true;
    await agent.refreshNotes({ sessionId: SESSION });
    const [run] = await rest(agent);
    expect(run).toMatchObject({ kind: "notes", outcome: { kind: "failed" } });
    expect(run?.steps.at(-1)?.name).toMatch(/^keep the notes$/);
    expect(await agent.getNotes({ sessionId: SESSION })).toEqual(before);
    expect(calls.length).toBeLessThanOrEqual(7);
    // It is not asked for again at the next word, but when as much has come as before the first.
    await agent.append({ sessionId: SESSION, message: say(8) });
    expect(ofKind(await rest(agent), "notes")).toHaveLength(2);
    wrong = false;
    await sayAll(agent, talk(9, 14));
    expect(await agent.getNotes({ sessionId: SESSION })).toMatchObject({ n: 2 });
  });

  test("no answer at all: the breaker that compactions share opens, and updates wait for it", async () => {
    let down = false;
    const { agent, calls } = newAgent((prompt, call, runId) => {
      if (down) throw new Error("socket closed");
      return noting(prompt, call, runId);
    });
    await sayWithNotes(agent);
    const before = await agent.getNotes({ sessionId: SESSION });
    down = true;
    await agent.refreshNotes({ sessionId: SESSION });
    expect((await rest(agent))[0]).toMatchObject({ kind: "notes", outcome: { kind: "failed" } });
    const asked = calls.length;
    await sayAll(agent, talk(8, 14));
    expect(calls).toHaveLength(asked);
    expect(ofKind(await rest(agent), "notes")).toHaveLength(2);
    expect(await agent.getNotes({ sessionId: SESSION })).toEqual(before);
  });

  test("what is wrong with an answer is named to the model once", async () => {
    const { agent, calls } = newAgent((prompt) =>
      prompt.problems.length === 0 ? "## Poem\n- a" : "## Task\n- mended",
    );
    await sayWithNotes(agent);
    expect(calls.map(({ problems }) => problems.length)).toEqual([0, 1]);
    expect(calls[1]).toMatchObject({ drafts: ["## Poem\n- a"] });
    expect(calls[1]?.problems[0]).toContain('no section "Poem"');
    expect((await agent.getNotes({ sessionId: SESSION }))?.text).toContain("mended");
  });

  test.each([
    [
      "an edit of what it reads",
      (agent: PalimpsestAgent) => agent.update({ sessionId: SESSION, message: say(7, "edited ") }),
      "changed",
    ],
    [
      "an edit of what the version before covers",
      (agent: PalimpsestAgent) => agent.update({ sessionId: SESSION, message: say(2, "edited ") }),
      "changed",
    ],
    [
      "a deletion of the last message that it reads",
      (agent: PalimpsestAgent) => agent.deleteMessages({ sessionId: SESSION, ids: ["m7"] }),
      "gone",
    ],
    [
      "another branch",
      (agent: PalimpsestAgent) => agent.append({ sessionId: SESSION, message: say(90), parentId: "m5" }),
      "gone",
    ],
    [
      "a version by hand",
      (agent: PalimpsestAgent) =>
        agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Task", text: "by hand" }] }),
      "changed",
    ],
    ["a clear", (agent: PalimpsestAgent) => agent.clearMessages({ sessionId: SESSION }), "gone"],
  ] as const)("%s meanwhile makes it stale, and nothing is written (C1, C3)", async (_what, change, reason) => {
    const { agent, gate, run } = await updateAtGate();
    await change(agent);
    const before = await agent.notesHistory({ sessionId: SESSION });
    gate.open();
    expect((await agent.waitForRun({ runId: run.id })).outcome).toEqual({ kind: "stale", reason });
    expect(await agent.notesHistory({ sessionId: SESSION })).toEqual(before);
  });

  test("one that is cancelled, or whose session is deleted, writes nothing (R1, S2)", async () => {
    for (const end of ["cancelled", "deleted"]) {
      const { agent, gate, run } = await updateAtGate();
      const before = await agent.notesHistory({ sessionId: SESSION });
      if (end === "cancelled") await agent.cancelRun({ runId: run.id });
      else await agent.deleteSession({ sessionId: SESSION });
      gate.open();
      await rest(agent);
      expect(await agent.notesHistory({ sessionId: SESSION })).toEqual(end === "cancelled" ? before : []);
    }
  });
});

describe("a compaction that notes serve", () => {
  test("asks no model: the same kind of overlay, run and view as any other (V1, V2, V3)", async () => {
    const { agent, calls } = newAgent(noting);
    await sayAll(agent, talk(0, 30));
    const runs = await rest(agent);
    const served = ofKind(runs, "compaction");
    expect(served.length).toBeGreaterThan(1);
    for (const run of served) {
      expect(run).toMatchObject({ path: "notes", modelCalls: 0, outcome: { kind: "applied", degraded: false } });
      expect(run.steps.map(({ name }) => name)).toEqual(["use the notes"]);
    }
    expect(new Set(calls.map(({ kind }) => kind))).toEqual(new Set(["notes"]));
    const overlays = await agent.getCompactions({ sessionId: SESSION });
    const [last, first] = [overlays.at(-1), overlays[0]];
    expect(first).toMatchObject({
      id: overlayOf(served.at(-1) as RunRecord),
      details: { model: "notes", level: 0, notesVersion: expect.any(Number) as number },
    });
    expect(last).toMatchObject({ details: { level: overlays.length - 1 } });
    expect(last?.span.fromId).toBe(first?.span.fromId);
    const view = await agent.getView({ sessionId: SESSION });
    expect(view.tokens).toBeLessThanOrEqual(2_000);
    expect(view.elements.filter(({ kind }) => kind === "overlay")).toHaveLength(1);
    // Nothing is lost (M1), and undoing works as ever.
    expect((await agent.exportTranscript({ sessionId: SESSION })).trim().split("\n")).toHaveLength(30);
    await agent.rollback({ sessionId: SESSION, overlayId: last?.id ?? "" });
    expect((await agent.getView({ sessionId: SESSION })).elements.find(({ kind }) => kind === "overlay")?.id).toBe(
      overlays.at(-2)?.id,
    );
  });

  test("waits for an update that is at work, and takes what it wrote", async () => {
    const gate = makeGate();
    const { agent, calls } = newAgent(async (prompt, call, runId) => {
      if (prompt.kind === "notes") await gate.pass();
      return noting(prompt, call, runId);
    });
    await agent.appendAll({ sessionId: SESSION, messages: talk(0, 8) });
    await gate.reached();
    await agent.appendAll({ sessionId: SESSION, messages: talk(8, 17) });
    const [due] = ofKind(await agent.runs({ sessionId: SESSION }), "compaction");
    expect(due?.outcome).toBeNull();
    gate.open();
    const ended = await agent.waitForRun({ runId: due?.id ?? "" });
    expect(ended).toMatchObject({ path: "notes", modelCalls: 0, outcome: { kind: "applied" } });
    expect(calls.every(({ kind }) => kind === "notes")).toBe(true);
  });

  test("waits no longer than it was told: then the model is asked", async () => {
    const gate = makeGate();
    const { agent } = newAgent(async (prompt, call, runId) => {
      if (prompt.kind === "notes") await gate.pass();
      return noting(prompt, call, runId);
    });
    const session = "noted-impatient";
    await agent.appendAll({ sessionId: session, messages: talk(0, 8) });
    await gate.reached();
    await agent.appendAll({ sessionId: session, messages: talk(8, 17) });
    const [due] = ofKind(await agent.runs({ sessionId: session }), "compaction");
    const ended = await agent.waitForRun({ runId: due?.id ?? "" });
    expect(ended).toMatchObject({ path: "model", whyModel: { reason: "no-notes" }, outcome: { kind: "applied" } });
    gate.open();
    await rest(agent, session);
  });

  test("says nothing of what is kept behind it, nor shows it on a branch from there (C3)", async () => {
    const { agent } = newAgent((prompt, call, runId) => {
      if (prompt.kind !== "notes") return noting(prompt, call, runId);
      const read = [prompt.previous, prompt.transcript].join().match(/promise number \d+/g) ?? [];
      return `## Task\n- kept: ${[...new Set(read)].join(", ")}.`;
    });
    await sayAll(agent, talk(0, 30));
    const served = ofKind(await rest(agent), "compaction").filter(({ path }) => path === "notes");
    expect(served.length).toBeGreaterThan(1);
    const overlays = await agent.getCompactions({ sessionId: SESSION });
    const versions = await agent.notesHistory({ sessionId: SESSION });
    for (const { span, summary, details } of overlays) {
      const last = Number(span.toId.slice(1));
      const told = [...summary.matchAll(/promise number (\d+)/g)].map(([, n]) => Number(n));
      expect(Math.max(...told)).toBe(last);
      const version = versions.find(({ n }) => n === details.notesVersion);
      if (version !== undefined) expect(version.covered).toMatchObject({ messageId: span.toId });
    }
    const view = await agent.getView({ sessionId: SESSION });
    const kept = view.elements.findLast(({ kind }) => kind === "message")?.id ?? "";
    await agent.update({ sessionId: SESSION, message: { ...say(0), id: kept } });
    expect(textOf((await agent.getView({ sessionId: SESSION })).messages)).not.toContain(`number ${kept.slice(1)}.`);
  });

  test("gives way to an edit of the very first message, of which it tells as well (C3)", async () => {
    const { agent } = newAgent((prompt, call, runId) => {
      if (prompt.kind !== "notes") return noting(prompt, call, runId);
      return `## Task\n- ${/promise number 0/.test(`${prompt.previous} ${prompt.transcript}`) ? "promise number 0" : "none"}`;
    });
    await sayAll(agent, talk(0, 18));
    const shown = async (): Promise<string> => textOf((await agent.getView({ sessionId: SESSION })).messages);
    expect(await shown()).toContain("- promise number 0");
    await agent.update({ sessionId: SESSION, message: { ...say(1), id: "m0", role: "user" } });
    expect(await shown()).not.toContain("promise number 0");
    const [overlay] = await agent.getCompactions({ sessionId: SESSION });
    expect(overlay).toMatchObject({ state: "invalidated", withheld: true });
    expect(await agent.restore({ sessionId: SESSION, overlayId: overlay?.id ?? "" })).toMatchObject({ kind: "stale" });
  });

  test("keeps what the user said beside the notes, of all that they cover", async () => {
    const { agent } = newAgent(noting);
    await sayAll(agent, talk(0, 20));
    const overlay = (await agent.getCompactions({ sessionId: SESSION })).at(-1);
    const { facts, pinned } = overlay?.details ?? {};
    const told = facts?.said.map(({ messageId }) => messageId) ?? [];
    expect(told.slice(0, 3)).toEqual(["m0", "m2", "m4"]);
    // The newest, within the budget.
    expect(pinned?.said.length).toBeGreaterThan(0);
    expect(told.slice(-(pinned?.said.length ?? 0))).toEqual(pinned?.said.map(({ messageId }) => messageId));
  });
});
