/** Notes that are kept in the background, and compactions that were done before they were due (F1 to F8). */
import type { UIMessage } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import type { RunRecord } from "../../src/memory/runs.ts";
import { newAgent, overlayOf, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { makeGate, openGates, type Script } from "../scripted-model.ts";
import { hooks, type PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

/** Threshold 2,000; an update each 500 tokens. */
const SESSION = "noted";

const noting: Script = (prompt) =>
  prompt.kind === "notes" ? `## Worklog\n- ${"noted what was said; ".repeat(3)}\n\n## Task\n- keep going` : "## Goal\nnone";

/** Waits until no run is at work. */
async function rest(agent: PalimpsestAgent, sessionId = SESSION): Promise<RunRecord[]> {
  for (;;) {
    const { liveRunIds } = await agent.status({ sessionId });
    if (liveRunIds.length === 0) return agent.runs({ sessionId });
    for (const runId of liveRunIds) await agent.waitForRun({ runId });
  }
}

async function sayAll(agent: PalimpsestAgent, messages: readonly UIMessage[]): Promise<void> {
  for (const message of messages) {
    await agent.append({ sessionId: SESSION, message });
    await rest(agent);
  }
}

describe("an update of the notes", () => {
  test("starts with the append that made it due, and covers what was said up to there (F1)", async () => {
    const { agent, calls } = newAgent(noting);
    await sayAll(agent, talk(0, 8));
    const runs = await rest(agent);
    expect(runs.map(({ kind, trigger, outcome }) => [kind, trigger, outcome?.kind])).toContainEqual([
      "notes",
      "growth",
      "noted",
    ]);
    const notes = await agent.getNotes({ sessionId: SESSION });
    expect(notes).toMatchObject({ standing: true, by: "update", covered: { kind: "to" } });
    expect(notes?.text).toContain("keep going");
    expect(calls.every(({ kind }) => kind === "notes")).toBe(true);
  });
});

describe("a compaction from notes", () => {
  test("asks no model: the notes are the summary, in the same kind of overlay and run (F2)", async () => {
    const { agent, calls } = newAgent(noting);
    await sayAll(agent, talk(0, 24));
    const runs = await rest(agent);
    const served = runs.filter(({ path }) => path === "notes");
    expect(served.length).toBeGreaterThan(0);
    expect(served.map(({ outcome, modelCalls }) => [outcome?.kind, modelCalls])).toContainEqual(["applied", 0]);
    expect(calls.every(({ kind }) => kind === "notes")).toBe(true);
    const overlays = await agent.getCompactions({ sessionId: SESSION });
    expect(overlays.find(({ id }) => id === overlayOf(served[0] as RunRecord))).toMatchObject({ details: { model: "notes" } });
  });
});

void say;
void makeGate;
void hooks;
