/** Every setting of a session also works on the sessions of a manager, so a caller need not know which of the two it holds. */
import { MEMBERS_OF_ROOMS } from "../../../src/agent/missing-room.ts";
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { Configured } from "../../../src/agent/configured.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { secretRules } from "../../../src/redact/secret-rules.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

/** Names of methods that stand on a prototype. */
const named = (prototype: object): string[] =>
  Object.getOwnPropertyNames(prototype).filter((name) => !["constructor", "collect"].includes(name));

/** Members that rooms bring. What is not a builder stands on sessions alone. */
const OF_ROOMS = new Set(Object.values(MEMBERS_OF_ROOMS).flat());

test("every builder method of a session is one of a session manager, under the same name, those of rooms too", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    const [session, manager] = [Session.create(instance), SessionManager.create(instance)];
    const builders = [
      ...named(Configured.prototype).filter((name) => !OF_ROOMS.has(name)),
      "keepNotes",
      "onCompaction",
      "requireApproval",
      "withContext",
      "withCachedPrompt",
      "onToolError",
    ];
    expect(builders).toEqual(expect.arrayContaining(["compactAfter", "redactSecrets"]));
    for (const name of builders) {
      expect(Reflect.get(session, name), name).toBeTypeOf("function");
      expect(Reflect.get(manager, name), name).toBeTypeOf("function");
    }
  });
});

const SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";

test("what a manager is told of approval and secrets holds in each of its sessions", async () => {
  const { agent, stub, calls } = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await runInDurableObject(stub, (instance: PalimpsestAgent) => {
    SessionManager.create(instance).requireApproval().redactSecrets(secretRules());
  });
  for (const sessionId of ["one", "two"]) {
    const told = { ...say(4), parts: [{ type: "text" as const, text: `The key is ${SECRET}, keep it.` }] };
    await agent.appendAll({ sessionId, messages: [...talk(0, 4), { ...told, id: "key" }, ...talk(5, 18)] });
    const [run] = await agent.runs({ sessionId });
    const runId = run?.id ?? "";
    while ((await agent.getRun({ runId })).state !== "proposed") await scheduler.wait(1);
    expect((await agent.getProposal({ runId }))?.summary).toContain("what was done");
    await agent.approveRun({ runId });
    await agent.waitForRun({ runId });
  }
  expect(calls.length).toBeGreaterThanOrEqual(2);
  expect(calls.filter(({ transcript }) => transcript?.includes("The key is"))).not.toEqual([]);
  expect(JSON.stringify(calls)).not.toContain(SECRET);
});
