/** The summaries of a long conversation through whole runs: one call each, closed ones byte for byte, and all folded where none has room. */
import { expect, test } from "vitest";
import { settle, withPolicy } from "../agent/runs.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";
import { narrowModel, summaryOf, withInstructions, type AskedPrompt, type Script } from "../scripted-model.ts";
import { wordFor } from "../word-for.ts";

skipRetryDelays();

const THRESHOLD = 6_000;
const RULE = "changed src/outline-4.ts so that the outline keeps its promise number 4";
const WORDS =
  "It was looked at twice by two who know it, and both of them found it in order, as they said in the end. ";

/** Carries on all that is in the summary before, and adds a line of some tokens for each compaction. */
const adding =
  (tokens: number): Script =>
  (prompt) => {
    const before = [prompt.previous ?? "", ...prompt.drafts].join("\n").match(/- told: [^\n]*/g) ?? [];
    const own = `- told: ${wordFor(prompt.transcript ?? "").slice(0, 12)}. ${WORDS.repeat(Math.round(tokens / 26))}`;
    // The oldest go where there is no room.
    const lines = [...before, own].slice(-Math.max(1, Math.floor(prompt.summaryTokens / tokens)));
    return withInstructions(`## Done\n${lines.join("\n")}`, { standing: [RULE] });
  };
const keeping = adding(75);

async function living(script: Script = keeping) {
  const made = await withPolicy(script, { chunkTokens: 100_000 }, THRESHOLD);
  narrowModel(made.name, 400_000);
  return made;
}

/** Messages in the transcript of a prompt. */
function read({ transcript }: AskedPrompt): number[] {
  return [...new Set([...(transcript ?? "").matchAll(/Message (\d+):/g)].map(([, n]) => Number(n)))];
}

/** Each closed summary is as it was when it was closed. */
function keepsClosed(closed: Map<string, string>, earlier: readonly (readonly [string, string])[]): void {
  for (const [id, text] of earlier) {
    expect(closed.get(id) ?? text).toBe(text);
    closed.set(id, text);
  }
}

function showsClosed({ around }: AskedPrompt, earlier: readonly (readonly [string, string])[]): void {
  expect(earlier.length > 0).toBe(around.earlier !== null);
  for (const [, text] of earlier)
    for (const [line] of text.matchAll(/- told: \w+/g)) expect(around.earlier).toContain(line);
}

test("over many compactions each is one call with the summary before and all that is new; closed summaries stay byte for byte, and are shown", async () => {
  const { agent, calls } = await living();
  const closed = new Map<string, string>();
  const most = 40;
  let [folds, begun, seen] = [0, 0, 0];
  let compactions = 0;
  for (let n = 0; compactions < most; n += 12) {
    await agent.appendAll({ messages: talk(n, n + 12) });
    const runs = await settle(agent);
    if (runs.length === compactions) continue;
    expect(runs.length).toBe(compactions + 1);
    compactions = runs.length;
    const run = runs.at(-1);
    expect(run?.outcome).toMatchObject({ kind: "applied", degraded: false });
    const plan = run?.plan;
    if (plan?.kind !== "span") throw new Error("The run had no plan.");
    const asked = calls.slice(seen);
    seen = calls.length;
    const { messages } = await agent.getView({ apart: true });
    const summaries = messages.filter(({ id }) => id.startsWith("palimpsest:overlay:"));
    // What stays in front of the new one is as it was, and its model is shown it.
    const earlier = summaries.slice(0, -1).map(({ id, parts }): [string, string] => [id, JSON.stringify(parts)]);
    keepsClosed(closed, earlier);
    const [first] = asked;
    if (first === undefined) throw new Error("No model was asked.");
    expect(first.around.beginning).toContain("Message 0:");
    expect(first.around.following).toContain(`Message ${plan.keptId?.slice(1)}:`);
    if (compactions > 1) expect(`${first.around.standing}`).toContain(RULE);
    showsClosed(first, earlier);
    if (plan.overlayIds.length === 0) begun++;
    if (plan.overlayIds.length === 1 && !plan.rebuild) expect(first.previous).toContain("- told:");
    if (plan.overlayIds.length > 1) {
      folds++;
      expect(summaries).toHaveLength(1);
    }
    // All that is new is in the one call.
    const [from, to] = [plan.chunks.at(-1)?.fromId, plan.chunks.at(-1)?.toId].map((id) => Number(id?.slice(1)));
    expect(read(asked[0]!)).toEqual(expect.arrayContaining([from, to]));
  }
  expect(begun).toBeGreaterThan(3);
  expect(folds).toBeGreaterThan(3);
  expect(calls.length / compactions).toBeLessThanOrEqual(1.15);
});

test("where nothing has room all are folded into one: from the messages while those are few, else from the summaries, in one call", async () => {
  const { agent, calls } = await living(adding(500));
  const kinds: string[] = [];
  for (let n = 0; n < 500; n += 12) {
    const paid = calls.length;
    await agent.appendAll({ messages: talk(n, n + 12) });
    const runs = await settle(agent);
    const plan = runs.at(-1)?.plan;
    if (calls.length === paid || plan?.kind !== "span" || plan.overlayIds.length < 2) continue;
    const [only, ...more] = calls.slice(paid);
    expect(more).toEqual([]);
    const source = read(only!).length * 135;
    kinds.push(plan.rebuild ? "messages" : "summaries");
    expect(only?.previous === null).toBe(plan.rebuild);
    if (plan.rebuild) expect(source).toBeLessThan(3.5 * THRESHOLD);
    else
      for (const id of plan.overlayIds) {
        const { summary } = (await agent.getCompactions({})).find((each) => each.id === id)!;
        for (const line of summary.match(/- told: \w+/g) ?? []) expect(only?.previous).toContain(line);
      }
  }
  expect(kinds).toContain("messages");
  expect(kinds).toContain("summaries");
  // Once the messages are too many, they never are few again.
  expect(kinds.lastIndexOf("messages")).toBeLessThan(kinds.indexOf("summaries"));
});

test("a fork over the same summaries asks for nothing again, folded or carried on (R3)", async () => {
  const { agent, calls } = newAgent(keeping);
  for (let n = 0; n < 96; n += 8) {
    await agent.appendAll({ messages: talk(n, n + 8) });
    await settle(agent);
  }
  const runs = await settle(agent);
  const last = runs.at(-1)!;
  const { id } = await agent.forkSession({ atMessageId: last.leafId });
  const overlays = await agent.getCompactions({ sessionId: id });
  const newest = overlays.findLast(({ state }) => state === "active");
  await agent.rollback({ sessionId: id, overlayId: newest?.id ?? "" });
  const paid = calls.length;
  const { run } = await agent.compact({ sessionId: id });
  expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ outcome: { kind: "applied" }, modelCalls: 0 });
  expect(calls).toHaveLength(paid);
});

test("the view right after a compaction has a third of its threshold free, however long the conversation is", async () => {
  const { agent } = await living();
  let compactions = 0;
  for (let n = 0; compactions < 16; n += 12) {
    await agent.appendAll({ messages: talk(n, n + 12) });
    const runs = await settle(agent);
    if (runs.length === compactions) continue;
    compactions = runs.length;
    const { tokens } = await agent.getView({});
    // Head, tail, the summaries, and the user's words beside them.
    expect(tokens).toBeLessThan(0.8 * THRESHOLD);
  }
});

const THOUGHTS = 1_500;

test.each([20_000, 60_000, 120_000])(
  "a model that thinks before it answers makes the summary at a threshold of %i, in as many calls as another one",
  async (threshold) => {
    const { agent, calls, name } = newAgent((prompt, _call, _runId, mostTokens = 0) =>
      mostTokens < THOUGHTS + prompt.summaryTokens
        ? { text: "", finishReason: "length", usage: [3_000, mostTokens] }
        : summaryOf(prompt, "done"),
    );
    narrowModel(name, 128_000);
    const sessionId = `wide!${threshold}`;
    for (let n = 0; n * 120 < threshold; n += 200) await agent.appendAll({ sessionId, messages: talk(n, n + 200) });
    const runs = await settle(agent, sessionId);
    expect(runs.length).toBeGreaterThan(0);
    for (const { outcome, steps } of runs) {
      expect(outcome).toMatchObject({ kind: "applied", degraded: false });
      expect(steps.filter(({ name: step }) => /^(?:repair|split|extract)/.test(step))).toEqual([]);
    }
    expect(calls.length).toBe(runs.reduce((sum, { modelCalls }) => sum + modelCalls, 0));
  },
);

test("a summariser whose window is a quarter of the threshold is asked some times and not hundreds of times", async () => {
  const { agent, calls, name } = newAgent((prompt) => summaryOf(prompt, "done"));
  narrowModel(name, 32_000);
  const sessionId = "wide!120000";
  for (let n = 0; n * 120 < 120_000; n += 200) await agent.appendAll({ sessionId, messages: talk(n, n + 200) });
  const runs = await settle(agent, sessionId);
  expect(runs.map(({ outcome }) => outcome)).toMatchObject(runs.map(() => ({ kind: "applied", degraded: false })));
  expect(calls.length).toBeLessThan(40 * runs.length);
});

test("thoughts of a first try that took all of its room get twice as much in the next", async () => {
  const rooms: number[] = [];
  const { agent } = newAgent((prompt, _call, _runId, mostTokens = 0) => {
    rooms.push(mostTokens);
    return rooms.length < 3
      ? { text: "", finishReason: "length", usage: [3_000, mostTokens] }
      : summaryOf(prompt, "done");
  });
  await agent.appendAll({ messages: talk(0, 17) });
  const [run] = await settle(agent);
  expect(run?.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(rooms).toHaveLength(3);
  expect(rooms[0]).toBeGreaterThan(2_000);
});
