/** Full storage as a caller sees it. Each call that would add data says so, and every other call works. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { MAX_DATABASE_BYTES } from "../../../src/memory/db.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

test("while storage is full every call that adds is storage_full, reads and deletes go on, and room lets it through", async () => {
  const { agent, stub } = newAgent();
  await agent.appendAll({ messages: talk(0, 12) });
  const { run } = await agent.compact({});
  expect((await agent.waitForRun({ runId: run.id })).outcome?.kind).toBe("applied");
  const view = await agent.getView({});
  const fill = (bytes: number | null): Promise<void> =>
    runInDurableObject(stub, (_instance: PalimpsestAgent, { storage: { sql } }) => {
      if (bytes === null) Reflect.deleteProperty(sql, "databaseSize");
      else Object.defineProperty(sql, "databaseSize", { get: () => bytes, configurable: true });
    });
  await fill(MAX_DATABASE_BYTES);
  for (const refused of [
    await refusalOf(() => agent.append({ message: say(12) })),
    await refusalOf(() => agent.appendAll({ messages: talk(12, 14) })),
    await refusalOf(() => agent.upsert({ message: say(12) })),
    await refusalOf(() => agent.update({ message: say(3, "Edited. ") })),
    await refusalOf(() => agent.importTranscript({ text: JSON.stringify(say(50)), sessionId: "imported" })),
  ]) {
    expect(refused).toMatch(/^\[storage_full\] .*Delete sessions/);
  }
  expect(await agent.getView({})).toEqual(view);
  expect(await agent.deleteMessages({ ids: ["m11"] })).toBe(1);
  await fill(null);
  expect(await agent.append({ message: say(12) })).toMatchObject({ inserted: true });
});
