/** A user's rule is in every later view, word for word, under every kind of summary (pinned facts, decision 6). */
import { Session } from "../../src/agent/sessions/session.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays, startRun } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const RULE = "Never touch the billing table.";
const FORGETFUL = "nothing much";

/** A message that is not protected as the head, with the rule in it. */
function ruled(n: number, rule = RULE) {
  return {
    ...say(n),
    role: "user" as const,
    parts: [{ type: "text" as const, text: `${rule} Thanks for all of it.` }],
  };
}

function conversation(to: number) {
  return talk(0, to).map((message, n) => (n === 4 ? ruled(4) : message));
}

async function viewText(agent: PalimpsestAgent, sessionId = ""): Promise<string> {
  return textOf((await agent.getView({ sessionId })).messages);
}

test("an edit of one chunk takes no rule out of another one's summary, before it is mended or after", async () => {
  const sessionId = "long!6000";
  const { agent } = newAgent((prompt) => summaryOf(prompt, FORGETFUL));
  const rules = ["Always answer in English please.", "Do not rename the public exports.", RULE];
  const messages = talk(0, 49).map((message, n) => (n === 8 ? ruled(8, rules.join(" ")) : message));
  await agent.appendAll({ sessionId, messages });
  const [run] = await agent.runs({ sessionId });
  await agent.waitForRun({ runId: run?.id ?? "" });
  for (const rule of rules) expect(await viewText(agent, sessionId)).toContain(rule);
  const [overlay] = await agent.getCompactions({ sessionId });
  const last = overlay?.details.madeOf.at(-1);
  if (last?.kind !== "leaf") throw new Error("The overlay is made of chunks.");
  await agent.update({ sessionId, message: say(Number(last.fromId.slice(1)) + 1, "NEW WORDS. ") });
  for (const rule of rules) expect(await viewText(agent, sessionId)).toContain(rule);
  for (const { id } of await agent.runs({ sessionId })) await agent.waitForRun({ runId: id });
  for (const rule of rules) expect(await viewText(agent, sessionId)).toContain(rule);
});

test("where nothing is pinned beside a summary, the summary itself says the rules, also once it is folded", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance)
      .forSession("alone")
      .compactAfter(10_000, { pinnedTokens: 0, summaryTokens: 300, stackTokens: 900, tailTokenBudget: 400 });
    for (const messages of [conversation(14), talk(14, 24)]) {
      await session.appendAll(messages);
      expect((await session.ended((await session.compactNow()).run.id)).outcome).toMatchObject({ kind: "applied" });
      const { messages: shown } = await session.getView();
      expect(shown.map(({ id }) => id)).not.toContain("m4");
      expect(textOf(shown)).toContain(RULE);
    }
    expect((await session.getCompactions()).at(-1)?.details).toMatchObject({ level: 1, pinned: { rules: [] } });
  });
});

test("a summary of the caller's own, laid by call or as an event, keeps the rules of what it hides", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, FORGETFUL));
  await agent.appendAll({ messages: conversation(12) });
  await agent.cover({ summary: "By hand.", fromId: "m3", toId: "m5" });
  expect(await viewText(agent)).toContain(RULE);
  const [overlay] = await agent.getCompactions({});
  await agent.rollback({ overlayId: overlay?.id ?? "" });
  await agent.appendEvents({
    events: [{ action: "compaction", summary: "As an event.", fromMessageId: "m3", toMessageId: "m5" }],
  });
  expect(await viewText(agent)).toContain("As an event.");
  expect(await viewText(agent)).toContain(RULE);
  const { run } = await agent.compact({});
  await agent.waitForRun({ runId: run.id });
  expect(await viewText(agent)).toContain(RULE);
});

test("what a split's child begins with brings the rules along, also when its summary is taken away and told anew", async () => {
  const { agent, stub } = newAgent((prompt) => summaryOf(prompt, FORGETFUL));
  await agent.appendAll({ messages: conversation(17) });
  for (const { id } of await agent.runs({})) await agent.waitForRun({ runId: id });
  const { run } = await agent.compactAndSplit({ sessionId: "" });
  const { outcome } = await agent.waitForRun({ runId: run.id });
  if (outcome?.kind !== "split") throw new Error(`The split ended as ${outcome?.kind}.`);
  const { childId } = outcome;
  expect(await viewText(agent, childId)).toContain(RULE);
  const [inherited] = await agent.getCompactions({ sessionId: childId });
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = SessionManager.create(instance).getSession(childId);
    await session.rollback(inherited?.id ?? "");
    await session.compactAfter(2_000, { chunkTokens: 1_500 }).appendAll(talk(30, 36));
  });
  const again = await agent.compact({ sessionId: childId });
  await agent.waitForRun({ runId: again.run.id });
  const overlays = await agent.getCompactions({ sessionId: childId });
  expect(overlays.some(({ state, id }) => state === "active" && id !== inherited?.id)).toBe(true);
  expect(await viewText(agent, childId)).toContain(RULE);
});

test("a summary that says nothing is not taken for sound: what keeps more stands in its place", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "None."));
  const rules = Array.from({ length: 80 }, (_, n) => `Never touch billing_${n}.`);
  const stored = talk(0, 17).map((message, n) => (n === 4 ? ruled(4, rules.join("\n")) : message));
  await agent.appendAll({ messages: stored });
  const [run] = await agent.runs({});
  const ended = await agent.waitForRun({ runId: run?.id ?? "" });
  expect(ended.steps.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^extract /));
  expect(ended.outcome).toMatchObject({ kind: "applied" });
});

test("two runs over the same messages: the second finds that the first one's overlay does what it was for", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, FORGETFUL));
  await startRun(agent);
  const [run] = await agent.runs({});
  await agent.waitForRun({ runId: run?.id ?? "" });
  const [overlay] = await agent.getCompactions({});
  const { span, summary } = overlay ?? {};
  if (span === undefined) throw new Error("The run added no overlay.");
  const same = await agent.coverAs({ summary: `${summary} Told by another run.`, span, runId: "another-run" });
  expect(same).toMatchObject({ kind: "already", overlay: { id: overlay?.id } });
});
