/** Whatever configures a session configures the sessions of a manager: nobody has to know which of the two they hold. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { secretRules } from "../../src/redact/secret-rules.ts";
import { Session } from "../../src/agent/session.ts";
import { SessionManager } from "../../src/agent/session-manager.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

/** Methods of a session that answer at once and are no settings: of everything else there, one that does is a builder's. */
const NO_SETTINGS = new Set([
  "apply",
  "constructor",
  "editor",
  "forSession",
  "editor",
  "history",
  "newest",
  "removeContext",
  "shown",
  "tell",
  "write",
]);

/** Public methods with those that they inherit: of each name, whether it answers at once. */
function methodsOf(prototype: object): Map<string, boolean> {
  const methods = new Map<string, boolean>();
  for (let each = prototype; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (typeof value !== "function" || methods.has(name)) continue;
      methods.set(name, !/^async\b/.test(Function.prototype.toString.call(value)));
    }
  }
  return methods;
}

test("every builder method of a session is one of a session manager, under the same name", () => {
  const [session, manager] = [methodsOf(Session.prototype), methodsOf(SessionManager.prototype)];
  const builders = [...session].filter(([name, atOnce]) => atOnce && !NO_SETTINGS.has(name)).map(([name]) => name);
  expect(builders).toEqual(expect.arrayContaining(["compactAfter", "keepNotes", "requireApproval", "redactSecrets"]));
  expect(builders.filter((name) => manager.get(name) !== true)).toEqual([]);
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
    while ((await agent.getRun({ runId })).state !== "waiting") await scheduler.wait(1);
    expect((await agent.getProposal({ runId }))?.summary).toContain("what was done");
    await agent.approveRun({ runId });
    await agent.waitForRun({ runId });
  }
  expect(calls.length).toBeGreaterThanOrEqual(2);
  expect(calls.filter(({ transcript }) => transcript?.includes("The key is"))).not.toEqual([]);
  expect(JSON.stringify(calls)).not.toContain(SECRET);
});
