/** Everything of an agent of ours comes out: sessions, messages on every branch, and summaries. */
import { expect, test } from "vitest";
import type { UIMessage } from "ai";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { dropPalimpsest, everything } from "../leaving.ts";
import { summaryOf } from "../scripted-model.ts";
import { inside } from "./inside.ts";

skipRetryDelays();

const byText = (a: UIMessage, b: UIMessage) => JSON.stringify(a).localeCompare(JSON.stringify(b));

async function allOf(agent: Parameters<typeof everything>[0]) {
  const found: { session?: { id: string }; parentId?: string | null; message?: UIMessage; summary?: object }[] = [];
  for await (const each of everything(agent)) found.push(each);
  return found;
}

test("plain agent: each session, each message once with its parent, on every branch, and each summary (M1)", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "Told."));
  const run = await startRun(agent);
  await agent.waitForRun({ runId: run.id, timeoutMs: 60_000 });
  await agent.append({ message: say(90), parentId: "m3" });
  await agent.append({ sessionId: "other", message: say(0) });
  const found = await allOf(agent);
  expect(found.flatMap(({ session }) => session?.id ?? []).toSorted()).toEqual(["", "other"]);
  const messages = found.flatMap(({ message }) => message ?? []);
  const expected = [...talk(0, 17), say(90), say(0)];
  expect(messages.toSorted(byText)).toEqual(expected.toSorted(byText));
  const parents = new Map(found.flatMap(({ message, parentId }) => (message ? [[message.id, parentId] as const] : [])));
  expect([parents.get("m90"), parents.get("m4"), parents.get("m16")]).toEqual(["m3", "m3", "m15"]);
  const summaries = found.flatMap(({ summary }) => summary ?? []);
  expect(summaries).toMatchObject([{ state: "active", summary: expect.stringContaining("Told.") }]);
});

test("our tables are dropped, those of search included, and others stay", async () => {
  const made = newAgent();
  await made.agent.append({ message: say(0) });
  await made.agent.search({ query: "parser" });
  await inside(made, (_manager, _agent, { sql }) => {
    const tables = () =>
      sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master")
        .toArray()
        .map(({ name }) => name);
    sql.exec("CREATE TABLE mine (x)");
    expect(tables().filter((name) => name.startsWith("palimpsest_")).length).toBeGreaterThan(5);
    dropPalimpsest(sql);
    expect(tables().filter((name) => name.includes("palimpsest"))).toEqual([]);
    expect(tables()).toContain("mine");
  });
});
