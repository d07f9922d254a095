/** The rows of a run. Each call of its workflow that notes something writes its ledger row once, and so does the commit. There is no second ledger. */
import { expect, test } from "vitest";
import { inside } from "../agent/inside.ts";
import { newAgent, startRun } from "../agents.ts";
import { talk } from "../conversation.ts";

const sessionId = "quiet!1000000";

test("a run of one chunk rewrites its ledger row once a call that notes something and once to commit, and writes ten rows besides (R1)", async () => {
  const made = newAgent();
  const first = await startRun(made.agent);
  await made.agent.waitForRun({ runId: first.id });
  await made.agent.rollback({ overlayId: (await made.agent.getCompactions({}))[0]?.id ?? "" });
  const meter = () => inside(made, (_, agent) => ({ ...agent.palimpsest.db.meter }));
  const before = await meter();
  const { run } = await made.agent.compact({ fresh: true });
  const ended = await made.agent.waitForRun({ runId: run.id });
  const after = await meter();
  expect(ended).toMatchObject({ outcome: { kind: "applied" }, modelCalls: 1 });
  expect(ended.steps).toHaveLength(3);
  // The plan, the chunk's source, its draft, and the commit. The outline is read without a write.
  const calls = 4;
  // The run with two indices, the overlay with two, the draft, what was spent, by session and by day, and the row of the room of costs.
  expect(after.rowsWritten - before.rowsWritten).toBe(calls + 3 + 3 + 1 + 2 + 1);
  // Twenty of these tell what stands around the source.
  expect(after.rowsRead - before.rowsRead).toBeLessThan(120);
});

/** Rows that a run reads over twenty messages behind a caller's summary of that many. */
async function rowsBehind(hidden: number): Promise<number> {
  const made = newAgent();
  await made.agent.appendAll({ sessionId, messages: talk(0, hidden) });
  const range = { fromMessageId: "m1", toMessageId: `m${hidden - 2}` };
  await made.agent.addCompaction({ sessionId, summary: "They talked.", ...range });
  await made.agent.appendAll({ sessionId, messages: talk(hidden, hidden + 20) });
  const meter = () => inside(made, (_, agent) => agent.palimpsest.db.meter.rowsRead);
  const before = await meter();
  const { run } = await made.agent.compact({ sessionId });
  expect(await made.agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied" } });
  return (await meter()) - before;
}

test("a run reads no row under an earlier summary, also under a caller's own", async () => {
  // An index of ids has a row from 64 messages on.
  expect(await rowsBehind(400)).toBeLessThan((await rowsBehind(100)) + 10);
});

test("nothing is written down of a run's workflow but the ledger (S2)", async () => {
  const made = newAgent();
  const run = await startRun(made.agent);
  await made.agent.waitForRun({ runId: run.id });
  const tracked = await inside(made, (_, agent, { sql }) => [
    agent.getWorkflows({}).workflows.length,
    sql.exec("SELECT count(*) AS n FROM cf_agents_workflows").one()["n"],
  ]);
  expect(tracked).toEqual([0, 0]);
});
