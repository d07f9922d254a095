/** Splitting by hand. Tests what a child inherits from its parent, who may ask, and refusals with advice. */
import { SessionManager } from "../../../src/agent/sessions/session-manager.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import { convertToModelMessages, type UIMessage } from "ai";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { newAgent, refusalOf } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { tables } from "../../rows.ts";
import { makeGate, openGates, summaryOf, withInstructions } from "../../scripted-model.ts";
import type { BareAgent, BuiltAgent, PalimpsestAgent, UnboundAgent } from "../../worker.ts";

const PARENT = "zqparent!2000";
const RULE = "Never touch the production database without asking me";

function childOf({ outcome }: RunRecord): string {
  if (outcome?.kind !== "split") throw new Error(`The run came to ${JSON.stringify(outcome)}.`);
  return outcome.childId;
}

/** A child of a conversation that was compacted before. Its summary names the topics of the hidden messages. */
async function withChild(messages: readonly UIMessage[] = talk(0, 30)) {
  const made = newAgent((prompt) => {
    const standing = prompt.transcript?.includes(RULE) === true ? [RULE] : [];
    return withInstructions(summaryOf(prompt, "The watchdog was changed."), { standing });
  });
  const { agent } = made;
  await agent.appendAll({ sessionId: PARENT, messages });
  const { run } = await agent.compactAndSplit({ sessionId: PARENT });
  const ended = await agent.waitForRun({ runId: run.id });
  return { ...made, child: childOf(ended) };
}

test("S2: a child is its own: deleting the parent leaves its view whole and nothing of the parent, and the reverse", async () => {
  const { agent, stub, child } = await withChild();
  const view = await agent.getView({ sessionId: child, apart: true });
  await agent.append({ sessionId: child, message: say(100) });
  await agent.deleteSession({ sessionId: PARENT });
  await runInDurableObject(stub, (_: PalimpsestAgent, { storage }) => {
    for (const [name, text] of tables(storage)) expect(text.includes("zqparent"), name).toBe(false);
  });
  expect((await agent.getView({ sessionId: child, apart: true })).messages.slice(0, -1)).toEqual(view.messages);

  const other = await withChild();
  await other.agent.deleteSession({ sessionId: other.child });
  await runInDurableObject(other.stub, (_: PalimpsestAgent, { storage }) => {
    for (const [name, text] of tables(storage)) {
      // The ledger of the parent says what its run came to.
      if (name !== "palimpsest_runs") expect(text.includes(other.child), name).toBe(false);
    }
  });
  expect(await other.agent.getPathLength({ sessionId: PARENT })).toBe(30);
});

test("S1: neither sees what is said, changed or undone in the other afterwards", async () => {
  const { agent, child } = await withChild();
  const parent = await agent.getView({ sessionId: PARENT });
  await agent.append({ sessionId: child, message: say(100, "zqsecret ") });
  await agent.update({ sessionId: child, message: say(29, "zqchanged ") });
  const [overlay] = await agent.getCompactions({ sessionId: child });
  await agent.rollback({ sessionId: child, overlayId: overlay?.id ?? "" });
  expect(await agent.getView({ sessionId: PARENT })).toEqual(parent);
  expect(await agent.search({ sessionId: PARENT, query: "zqsecret" })).toEqual([]);
  expect(await agent.recall({ sessionId: PARENT, query: "zqchanged", everywhere: true })).toMatchObject({
    kind: "nothing",
  });
});

test("what must not be lost goes on word for word, folded and made anew, also when the parent is gone", async () => {
  const told = talk(0, 30).map((message) =>
    message.id === "m6" ? { ...message, parts: [{ type: "text" as const, text: RULE }] } : message,
  );
  const { agent, child } = await withChild(told);
  await agent.deleteSession({ sessionId: PARENT });
  await agent.appendAll({ sessionId: child, messages: talk(100, 130) });
  for (;;) {
    const live = (await agent.runs({ sessionId: child })).find(({ outcome }) => outcome === null);
    if (live === undefined) break;
    await agent.waitForRun({ runId: live.id });
  }
  const { run } = await agent.compact({ sessionId: child, rebuild: true });
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  const view = await agent.getView({ sessionId: child, apart: true });
  expect(view.elements.filter(({ kind }) => kind === "overlay")).toHaveLength(1);
  expect(JSON.stringify(view.messages)).toContain(`- \\"${RULE}\\"`);
});

test("a model reads the originals under a summary from the child: by reference, by words and by overlay, while they are there", async () => {
  const { agent, child } = await withChild();
  const [overlay] = await agent.getCompactions({ sessionId: child });
  const hidden = (await agent.expand({ sessionId: PARENT, overlayId: overlay?.id ?? "" })).map(({ id }) => id);
  const id = hidden[1] ?? "";
  for (const request of [{ ids: [id] }, { query: `"promise number ${id.slice(1)}"` }, { overlayId: overlay?.id }]) {
    const answer = await agent.recall({ sessionId: child, ...request });
    expect(answer.kind, JSON.stringify(request)).toBe("found");
    expect(answer.kind === "found" ? answer.messages.map((each) => each.id) : []).toContain(id);
  }
  await agent.deleteSession({ sessionId: PARENT });
  expect(await agent.recall({ sessionId: child, ids: [id] })).toMatchObject({ kind: "nothing", reason: "unknown" });
});

test("a fork's child, or a session that only says so, reads nothing of the session that it was made from (S1)", async () => {
  const { agent } = await withChild();
  const { id: fork } = await agent.forkSession({ sessionId: PARENT, atMessageId: "m2" });
  const { id: liar } = await agent.createSession({ parentSessionId: PARENT, source: "split" });
  for (const sessionId of [fork, liar]) {
    expect(await agent.recall({ sessionId, ids: ["m10"] })).toMatchObject({ kind: "nothing" });
  }
});

function call(state: object): UIMessage {
  const part: object = { type: "tool-look", toolCallId: "t1", input: { at: "it" }, ...state };
  return { id: "call", role: "assistant", parts: [part as UIMessage["parts"][number]] };
}

test("V2: a call that waits for its result goes along as it is, stays open for whoever answers, and takes its result in the child", async () => {
  const open = call({ state: "input-available" });
  const { agent, child } = await withChild([...talk(0, 30), open]);
  const view = await agent.getView({ sessionId: child, apart: true });
  expect(view.messages.at(-1)?.parts).toEqual(open.parts);
  await convertToModelMessages(view.messages);
  expect(await agent.getMessage({ sessionId: child, id: "call" })).toEqual(open);
  const answered = call({ state: "output-available", output: "seen" });
  expect(await refusalOf(() => agent.upsert({ sessionId: PARENT, message: answered }))).toContain("[session_ended]");
  await agent.upsert({ sessionId: child, message: answered });
  expect((await agent.getView({ sessionId: child, apart: true })).messages.at(-1)).toEqual(answered);
});

test("blocks, entries, loaded skills and what was learned of the provider's counts go along; the prompt is frozen anew", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "done"));
  await runInDurableObject(made.stub, async (agent: PalimpsestAgent) => {
    const manager = SessionManager.create(agent)
      .withContext("memory", { maxTokens: 100 })
      .withContext("skills", { provider: { get: async () => "- pdf", load: async (key) => `How to ${key}` } })
      .withCachedPrompt();
    const parent = manager.getSession(PARENT);
    await parent.appendAll(talk(0, 20));
    await parent.replaceContextBlock("memory", "Frozen.");
    const frozen = await parent.freezeSystemPrompt();
    await parent.replaceContextBlock("memory", "Ana likes tea. 東京");
    await parent.context.loadSkill("skills", "pdf");
    await parent.recordUsage({ inputTokens: 5_000, outputTokens: 10, model: "big", cost: 0.5 });
    const { run } = await manager.compactAndSplit(PARENT, undefined, { focus: "tea" });
    const child = manager.getSession(childOf(await parent.ended(run.id)));
    expect(await parent.freezeSystemPrompt()).toBe(frozen);
    expect(await child.freezeSystemPrompt()).toContain("Ana likes tea.");
    expect(await child.getLoadedSkillKeys()).toEqual(new Set(["skills:pdf"]));
    expect(await child.getUsage()).toMatchObject([{ model: "big", calls: 0, inputTokens: 0 }]);
    expect(manager.get(child.id)).toMatchObject({ cost: 0, inputTokens: 0 });
    // What was counted for a call before the switch is still told to the session that it was made on.
    await parent.recordUsage({ inputTokens: 5_100, outputTokens: 10, model: "big", cost: 0.5 });
    expect(manager.get(PARENT)).toMatchObject({ cost: 1 });
  });
});

test("a session that is ended, empty or unknown, and a name that is none, are refused before anything is written", async () => {
  const { agent, stub, child } = await withChild();
  await agent.createSession({ name: "empty" });
  const empty = (await agent.listSessions({}))[0]?.id;
  const before = await runInDurableObject(stub, (_: PalimpsestAgent, { storage }) => tables(storage));
  const refused = async (input: object, method: "compactAndSplit" | "compact" | "compactNow" = "compactAndSplit") =>
    refusalOf(() => agent[method](input));
  expect(await refused({ sessionId: PARENT })).toMatch(new RegExp(`^\\[session_ended\\].*"${child}"`));
  expect(await refused({ sessionId: PARENT }, "compact")).toContain("[session_ended]");
  expect(await refused({ sessionId: PARENT }, "compactNow")).toContain("[session_ended]");
  expect(await refused({ sessionId: empty })).toContain("[invalid_state]");
  expect(await refused({ sessionId: "nobody" })).toContain("[unknown_session]");
  expect(await refused({ sessionId: child, name: "two\nlines" })).toContain("[invalid_input]");
  expect(await runInDurableObject(stub, (_: PalimpsestAgent, { storage }) => tables(storage))).toEqual(before);
  expect((await agent.status({ sessionId: PARENT })).waiting).toMatchObject({ reason: "session-ended" });
  const [run] = await agent.runs({ sessionId: PARENT });
  expect(await refusalOf(() => agent.retryRun({ runId: run?.id ?? "" }))).toContain("[session_ended]");
});

test("an agent without a policy is told so; one without a Workflow ends the run with advice, and stays open", async () => {
  const bare = env.BareAgent.get(env.BareAgent.idFromName("split")) as unknown as BareAgent;
  await bare.append({ message: say(0) });
  expect(await refusalOf(() => bare.compactAndSplit({}))).toContain("[not_configured]");
  const unbound = env.UnboundAgent.get(env.UnboundAgent.idFromName("split")) as unknown as UnboundAgent;
  await unbound.append({ message: say(0) });
  const { run } = await unbound.compactAndSplit({});
  const { outcome } = await unbound.waitForRun({ runId: run.id });
  expect(outcome).toMatchObject({ kind: "failed" });
  expect(JSON.stringify(outcome)).toContain("CompactionWorkflow");
  expect(await unbound.append({ message: say(1) })).toMatchObject({ inserted: true });
});

test("a session with a function of its own is split through that function; where it declines, as it is", async () => {
  for (const declines of [false, true]) {
    const stub = env.BuiltAgent.get(env.BuiltAgent.idFromName(`split-${declines}`));
    await runInDurableObject(stub, async (agent: BuiltAgent) => {
      const session = Session.create(agent).forSession("inline");
      const manager = SessionManager.create(agent);
      agent.summarise = async ([, , from, ...rest]) =>
        declines ? null : { summary: "made here", fromMessageId: from?.id ?? "", toMessageId: rest.at(-3)?.id ?? "" };
      await session.appendAll(talk(0, 12));
      const { run } = await manager.compactAndSplit("inline");
      const view = await manager.getSession(childOf(await session.ended(run.id))).getView({ apart: true });
      expect(JSON.stringify(view).includes("made here")).toBe(!declines);
      expect(view.messages).toHaveLength(declines ? 12 : 5);
    });
  }
});

// --- with the caller's own summary -----------------------------------------------------------------------------------------

test("with the caller's own summary no model is asked, the split is done at once, and the child begins with it alone", async () => {
  const { agent, calls, stub } = newAgent();
  const told = talk(0, 12).map((message) =>
    message.id === "m6" ? { ...message, parts: [{ type: "text" as const, text: RULE }] } : message,
  );
  await agent.appendAll({ sessionId: PARENT, messages: told });
  const { run, joined } = await agent.compactAndSplit({ sessionId: PARENT, name: "On", summary: "They went on." });
  expect({ joined, kind: run.outcome?.kind }).toEqual({ joined: false, kind: "split" });
  const child = childOf(run);
  const { messages } = await agent.getView({ sessionId: child });
  expect(messages).toHaveLength(1);
  expect(JSON.stringify(messages)).toContain("They went on.");
  expect(JSON.stringify(messages)).toContain(RULE);
  expect(await agent.getSessionInfo({ sessionId: child })).toMatchObject({ name: "On", parentSessionId: PARENT });
  expect(await agent.newestSession({ sessionId: PARENT })).toMatchObject({ id: child });
  expect(await agent.getPathLength({ sessionId: PARENT })).toBe(12);
  expect(await refusalOf(() => agent.append({ sessionId: PARENT, message: say(50) }))).toContain("[session_ended]");
  expect((await agent.append({ sessionId: child, message: say(50) })).inserted).toBe(true);
  expect(calls).toEqual([]);
  expect(await runInDurableObject(stub, (instance: PalimpsestAgent) => instance.palimpsest.runs.allLive())).toEqual([]);
});

test("with the caller's own summary what is at work ends as cancelled, and earlier summaries lie under the new one", async () => {
  const gate = makeGate();
  const { agent } = newAgent(async (prompt) => {
    await gate.pass();
    return summaryOf(prompt, "The watchdog was changed.");
  });
  await agent.appendAll({ sessionId: PARENT, messages: talk(0, 30) });
  const { run: waiting } = await agent.compactAndSplit({ sessionId: PARENT });
  await gate.reached();
  const { run } = await agent.compactAndSplit({ sessionId: PARENT, summary: "They went on." });
  expect(run).toMatchObject({ outcome: { kind: "split" } });
  expect(run.id).not.toBe(waiting.id);
  expect((await agent.getRun({ runId: waiting.id })).outcome).toEqual({ kind: "cancelled" });
  openGates();
  const compacted = await withChild();
  const again = await compacted.agent.compactAndSplit({ sessionId: compacted.child, summary: "Still going on." });
  const { messages } = await compacted.agent.getView({ sessionId: childOf(again.run) });
  expect(messages).toHaveLength(1);
  expect(JSON.stringify(messages)).toContain("Still going on.");
});

test("a summary that is no smaller than the view, and options for a model beside it, are refused and nothing is stored", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ sessionId: PARENT, messages: talk(0, 4) });
  const large = "They said much. ".repeat(2_000);
  const refused = (more: object): Promise<string> =>
    refusalOf(() => agent.compactAndSplit({ sessionId: PARENT, summary: "They went on.", ...more }));
  expect(await refused({ summary: large })).toContain("[invalid_range]");
  expect(await refused({ focus: "the ledger" })).toContain("[invalid_input]");
  expect(await refused({ fresh: true })).toContain("[invalid_input]");
  expect(await refused({ summary: "" })).toContain("[invalid_input]");
  expect(await agent.runs({ sessionId: PARENT })).toEqual([]);
  expect(await agent.getCompactions({ sessionId: PARENT })).toEqual([]);
  expect((await agent.append({ sessionId: PARENT, message: say(9) })).inserted).toBe(true);
});

test("with the caller's own summary a session is not split while a call waits for its result (V2)", async () => {
  const { agent } = newAgent();
  const open = call({ state: "input-available" });
  await agent.appendAll({ sessionId: PARENT, messages: [...talk(0, 6), open] });
  const split = () => agent.compactAndSplit({ sessionId: PARENT, summary: "They went on." });
  expect(await refusalOf(split)).toContain("[invalid_state]");
  await agent.upsert({ sessionId: PARENT, message: call({ state: "output-available", output: "seen" }) });
  expect((await split()).run.outcome?.kind).toBe("split");
});
