/**
 * A caller's function that is called for each new overlay. It is called at least once, a bounded number of times, and never for an overlay
 * that is gone.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test } from "vitest";
import { MAX_HOOK_ATTEMPTS } from "../../../src/agent/runs/end-run.ts";
import { newAgent, skipRetryDelays, stubOf } from "../../agents.ts";
import { talk, textOf } from "../../conversation.ts";
import { noting, ofKind, rest, sayAll, SESSION } from "../../noted.ts";
import { openGates } from "../../scripted-model.ts";
import { hooks, type PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();
afterEach(() => {
  hooks.clear();
  openGates();
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await scheduler.wait(1);
}

/** Ends that are yet to be told. */
function untold({ stub }: Pick<ReturnType<typeof newAgent>, "stub">): Promise<string[]> {
  return runInDurableObject(stub, ({ palimpsest }: PalimpsestAgent) => palimpsest.hookOutbox.list());
}

async function watchdogs({ stub }: Pick<ReturnType<typeof newAgent>, "stub">): Promise<number> {
  const schedules = await runInDurableObject(stub, (agent: PalimpsestAgent) => agent.listSchedules());
  return schedules.filter(({ callback }) => callback === "watchCompactions").length;
}

test("an object that dies before its function is done tells it again, under the same run id, and shows what it said once", async () => {
  const made = newAgent(noting);
  const told: string[] = [];
  hooks.set(SESSION, async ({ run }) => {
    told.push(run.id);
    if (told.length === 1) await new Promise(() => undefined);
    return "The build is red since noon.";
  });
  await sayAll(made.agent, talk(0, 18));
  const [run] = ofKind(await rest(made.agent), "compaction");
  await until(() => told.length === 1);
  await abortAllDurableObjects();

  const reborn = { stub: env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(made.name)) };
  expect(await untold(reborn)).toEqual([run?.id]);
  await stubOf(made.name).watchCompactions();
  await until(async () => (await untold(reborn)).length === 0);
  expect(told).toEqual([run?.id, run?.id]);
  const shown = textOf((await stubOf(made.name).getView({ sessionId: SESSION })).messages);
  expect(shown.match(/red since noon/g)).toHaveLength(1);
  await stubOf(made.name).watchCompactions();
  expect(told).toHaveLength(2);
  expect(await watchdogs(reborn)).toBe(0);
});

test("one that throws is told again by the watchdog, which waits for it, and no more than it may; each time is a diagnostics event", async () => {
  const made = newAgent(noting);
  const events: unknown[] = [];
  const listen = (message: unknown): void => {
    const { type, payload } = message as { type: string; payload: unknown };
    if (type.endsWith(":hook-failed")) events.push(payload);
  };
  let calls = 0;
  hooks.set(SESSION, () => {
    calls++;
    throw new Error("secret words");
  });
  subscribe("agents:workflow", listen);
  await sayAll(made.agent, talk(0, 18));
  const [run] = ofKind(await rest(made.agent), "compaction");
  for (let attempt = 1; attempt <= MAX_HOOK_ATTEMPTS; attempt++) {
    await until(() => events.length === attempt);
    if (attempt < MAX_HOOK_ATTEMPTS) await made.agent.watchCompactions();
    if (attempt < MAX_HOOK_ATTEMPTS - 1) expect(await watchdogs(made)).toBe(1);
  }
  await made.agent.watchCompactions();
  unsubscribe("agents:workflow", listen);
  expect(calls).toBe(MAX_HOOK_ATTEMPTS);
  const { id: runId = "" } = run ?? {};
  expect(events).toEqual(
    Array.from({ length: MAX_HOOK_ATTEMPTS }, (_, n) => ({
      runId,
      sessionId: SESSION,
      attempt: n + 1,
      again: n + 1 < MAX_HOOK_ATTEMPTS,
    })),
  );
  expect(await untold(made)).toEqual([]);
  expect(await watchdogs(made)).toBe(0);
  expect((await made.agent.getCompactions({ sessionId: SESSION }))[0]).toMatchObject({ state: "active" });
});

test("one that says more than the summary saved is shown nowhere (V3)", async () => {
  const made = newAgent(noting);
  hooks.set(SESSION, () => "word ".repeat(5_000));
  await sayAll(made.agent, talk(0, 18));
  await until(async () => (await untold(made)).length === 0);
  const [overlay] = await made.agent.getCompactions({ sessionId: SESSION });
  expect(overlay).toMatchObject({ state: "active", details: { context: null } });
});

test("what was cleared or deleted meanwhile, or has no such function any more, is told to nobody and kept nowhere (S2)", async () => {
  for (const end of ["clear", "delete", "no hook any more"]) {
    const made = newAgent(noting);
    let calls = 0;
    hooks.set(SESSION, () => {
      calls++;
      throw new Error("not now");
    });
    await sayAll(made.agent, talk(0, 18));
    await until(() => calls === 1);
    if (end === "clear") await made.agent.clearMessages({ sessionId: SESSION });
    else if (end === "delete") await made.agent.deleteSession({ sessionId: SESSION });
    else {
      await runInDurableObject(made.stub, ({ palimpsest: { settings } }: PalimpsestAgent) =>
        settings.set(SESSION, { ...settings.get(SESSION), afterCompaction: null }),
      );
      await made.agent.watchCompactions();
    }
    expect(await untold(made), end).toEqual([]);
    await made.agent.watchCompactions();
    expect(calls, end).toBe(1);
  }
});

test("of a split it is told as well, and what it says is shown where the conversation goes on", async () => {
  const made = newAgent(noting);
  hooks.set(SESSION, ({ sessionId }) => `Told in ${sessionId}.`);
  await sayAll(made.agent, talk(0, 14));
  const { run } = await made.agent.compactAndSplit({ sessionId: SESSION });
  const { outcome } = await made.agent.waitForRun({ runId: run.id });
  const childId = outcome?.kind === "split" ? outcome.childId : "";
  await until(async () => (await untold(made)).length === 0);
  expect(textOf((await made.agent.getView({ sessionId: childId })).messages)).toContain(`Told in ${SESSION}.`);
});

test("a session without such a function writes nothing for it", async () => {
  const made = newAgent(noting);
  await made.agent.appendAll({ messages: talk(0, 17) });
  expect(ofKind(await rest(made.agent, ""), "compaction")).toMatchObject([{ outcome: { kind: "applied" } }]);
  expect(await untold(made)).toEqual([]);
});

test("a session that asks for it has its frozen prompt made anew after a compaction", async () => {
  const made = newAgent(noting);
  const of = { sessionId: SESSION };
  await made.agent.addContext({ ...of, label: "plan", defaultContent: "First the tests." });
  const frozen = await made.agent.freezeSystemPrompt(of);
  expect(frozen).toContain("First the tests.");
  await made.agent.replaceContextBlock({ ...of, label: "plan", content: "Then the docs." });
  expect(await made.agent.freezeSystemPrompt(of)).toBe(frozen);
  hooks.set(SESSION, async () => void (await stubOf(made.name).refreshSystemPrompt(of)));
  await sayAll(made.agent, talk(0, 18));
  await rest(made.agent);
  await until(async () => (await made.agent.freezeSystemPrompt(of)) !== frozen);
  expect(await made.agent.freezeSystemPrompt(of)).toContain("Then the docs.");
});
