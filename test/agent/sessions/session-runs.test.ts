/** The ledger as the agent's own code reads it, whatever its clients may read. */
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { newAgent, refusalOf, skipRetryDelays, startRun } from "../../agents.ts";
import { inside } from "../inside.ts";

skipRetryDelays();

test("the agent's own code lists the runs of a session, newest first, by pages, with the words of each", async () => {
  const mine = newAgent();
  const { id } = await startRun(mine.agent, "listed");
  await mine.agent.waitForRun({ runId: id });
  await inside(mine, async (_, agent) => {
    const session = Session.create(agent).forSession("listed");
    const asked = await session.compact({ focus: "the refund", fresh: true });
    await session.ended(asked.run.id);
    const [second, first] = await session.runs();
    expect([second?.id, first?.id]).toEqual([asked.run.id, id]);
    expect(second).toMatchObject({
      focus: "the refund",
      outcome: expect.objectContaining({ kind: expect.any(String) }),
    });
    expect((await session.runs({ limit: 1, before: second?.n })).map((run) => run.id)).toEqual([id]);
    expect(await Session.create(agent).forSession("another").runs()).toEqual([]);
    expect(await refusalOf(() => session.runs({ limit: 0 }))).toContain("invalid_input");
  });
});
