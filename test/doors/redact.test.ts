/** Secrets in a conversation: with the option, no summariser is shown one; what is stored stays; an export may leave them out. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/session.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { noting, sayAll, SESSION } from "../noted.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const SECRET = `ghp_${"aB3dE5fG7h".repeat(4)}`;

async function compactWithSecrets(redact: boolean) {
  const made = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await runInDurableObject(made.stub, async (agent: PalimpsestAgent) => {
    const session = Session.create(agent).compactAfter(2_000);
    await (redact ? session.redactSecrets() : session).status();
  });
  const messages = talk(0, 17).map((each, n) => (n % 4 === 1 ? say(n, `Push with ${SECRET} now. `) : each));
  await made.agent.appendAll({ messages });
  const [run] = await made.agent.runs({});
  const ended = await made.agent.waitForRun({ runId: run?.id ?? "" });
  return { ...made, messages, ended, prompts: JSON.stringify(made.calls) };
}

test("with redactSecrets no prompt holds one, the overlay does not pin one, and every original is as it was (M1)", async () => {
  const { agent, ended, prompts, messages } = await compactWithSecrets(true);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(prompts).toContain("[redacted: repository token]");
  expect(prompts).not.toContain(SECRET);
  expect(JSON.stringify(await agent.getCompactions({}))).not.toContain(SECRET);
  expect(await agent.exportTranscript({})).toBe(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
});

test("without it the summariser is shown what was said; an export leaves secrets out when it is asked to (M1)", async () => {
  const { agent, prompts, messages } = await compactWithSecrets(false);
  expect(prompts).toContain(SECRET);
  expect(await agent.exportTranscript({})).toBe(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
  const clean = await agent.exportTranscript({ redact: true });
  expect(clean).not.toContain(SECRET);
  expect(clean.split("\n")).toHaveLength(18);
});

test("notes are neither made of one nor pin one, whether an update reads what was said or a person claims it", async () => {
  const { agent, stub, calls } = newAgent(noting);
  const secrets = { sessionId: SESSION, messages: [say(0), say(1), say(2, `Never push without ${SECRET} again. `)] };
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance).forSession(SESSION).redactSecrets().status();
  });
  await agent.appendAll(secrets);
  const sections = [{ title: "Task", text: "- the promises are kept" }];
  await agent.updateNotes({ sessionId: SESSION, sections, coveredId: null });
  await sayAll(
    agent,
    talk(3, 20).map((each, n) => (n % 4 === 1 ? say(n + 3, `Push with ${SECRET} now. `) : each)),
  );
  expect(calls.some(({ kind, transcript }) => kind === "notes" && transcript?.includes("[redacted: "))).toBe(true);
  expect(JSON.stringify(calls)).not.toContain(SECRET);
  const overlays = await agent.getCompactions({ sessionId: SESSION });
  expect(overlays.some(({ details }) => details.model === "notes")).toBe(true);
  expect(JSON.stringify(overlays)).toContain("Never push without");
  expect(JSON.stringify(overlays)).not.toContain(SECRET);
});

test("a draft that was paid for before the option was set is not shown again: the redacted source is another one (R3)", async () => {
  const { agent, stub, ended, calls } = await compactWithSecrets(false);
  if (ended.outcome?.kind !== "applied") throw new Error("The run laid no overlay.");
  await agent.rollback({ overlayId: ended.outcome.overlayId });
  const paid = calls.length;
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance).compactAfter(2_000).redactSecrets().status();
  });
  await agent.waitForRun({ runId: (await agent.compact({})).run.id });
  expect(calls.length).toBeGreaterThan(paid);
  expect(JSON.stringify(calls.slice(paid))).not.toContain(SECRET);
});
