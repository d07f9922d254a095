/** The harness of the SDK with compaction, as the model sees it and as its sessions keep it. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { ThinkHarness } from "agents/harness/think";
import { tool, type ToolSet, type UIMessage } from "ai";
import * as fc from "fast-check";
import { z } from "zod";
import { tries } from "../tries.ts";
import { anyTalk, anyTools, asksForSummary, stepAt, summarise, undo } from "../turn/any-talk.ts";
import { judging } from "../turn/judging-model.ts";
import { longTurn, REQUEST } from "../turn/long-turn.ts";
import { signing } from "../turn/signing-provider.ts";
import { STOPS, stoppable } from "../turn/stopped-step.ts";
import { expect, test } from "vitest";
import { skipRetryDelays } from "../agents.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { compactTool } from "../../src/turn/compact-tool.ts";
import { compactHarness } from "../../src/sessions-source/harness.ts";
import { expectLooks, until, user } from "../ai-chat/chat.ts";
import { given, partOf, toolsIn } from "../ai-chat/chat-model.ts";
import type { Harnessed } from "../ai-chat/worker.ts";
import { scriptModel, summaryOf, type Script } from "../scripted-model.ts";

skipRetryDelays();

const TOLD = "What was said is told here.";
let agents = 0;

function newHarnessed(prefix = "harnessed", script: Script = (prompt) => summaryOf(prompt, TOLD)) {
  const name = `${prefix}-${agents++}`;
  scriptModel(name, script);
  return { name, part: partOf<Harnessed>(name), stub: env.Harnessed.get(env.Harnessed.idFromName(name)) };
}

const inside = <T>(name: string, work: (agent: Harnessed) => Promise<T> | T): Promise<T> =>
  runInDurableObject(env.Harnessed.get(env.Harnessed.idFromName(name)), (agent) => work(agent));

const ask = (name: string, message: UIMessage, session = "") =>
  inside(name, async ({ harness }) => {
    const answer = await harness.session(session).prompt(message);
    expect(answer).toMatchObject({ status: "done" });
    return answer.messages;
  });

const ours = ({ palimpsest }: Harnessed): Session => Session.create({ palimpsest }).forSession("");

async function talk(name: string, says: number, session = ""): Promise<void> {
  for (let n = 0; n < says; n++) await ask(name, user(`u${n}`), session);
}

const shown = (name: string, session = ""): Promise<UIMessage[]> =>
  inside(name, ({ harness }) => harness.session(session).messages());

async function ended(name: string, session = "", many = 1): Promise<RunRecord[]> {
  return until(async () => {
    const runs = await inside(name, ({ palimpsest }) => palimpsest.runs.list(session, { limit: 20 }));
    return runs.length >= many && runs.every(({ outcome }) => outcome !== null) ? runs : undefined;
  });
}

/** The index's messages, read through its digests, are the harness's. */
async function expectEqual(name: string, session = ""): Promise<void> {
  await inside(name, async ({ palimpsest, harness }) => {
    const history = palimpsest.memory.session(session);
    const ours = await palimpsest.read(session, () => history.originalsAt(history.pathNumbers()));
    expect(ours).toEqual(await harness.session(session).messages());
  });
}

test(
  "any conversation, through each provider's package: the provider takes every request",
  { timeout: 480_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(anyTalk, async (talk) => {
        const { name } = newHarnessed("idle");
        const { model, refused, bodies } = judging(talk.provider, (request) => stepAt(talk, request));
        const addCompaction = (...args: Parameters<Session["addCompaction"]>) =>
          inside(name, (agent) => ours(agent).addCompaction(...args));
        given.set(name, { model, tools: anyTools(() => summarise({ addCompaction }, talk, talk.middle)) });
        const last = talk.messages.at(-1) as UIMessage;
        await inside(name, async ({ harness, kept }) => {
          await harness.session("").messages();
          for (const message of talk.messages.slice(0, -1)) await kept.get("")?.appendMessage(message);
        });
        await summarise({ addCompaction }, talk, talk.summary);
        await ask(name, last);
        if (talk.between === "undo") await inside(name, (agent) => undo(ours(agent)));
        if (talk.between === "branch") {
          await inside(name, async ({ harness }) => {
            const again = harness.session("");
            await again.wait((await again.regenerate(last.id)).operationId);
          });
        } else {
          const isForked = talk.between === "fork";
          const session = isForked
            ? await inside(name, async ({ harness }) => (await harness.sessions.fork("")).id)
            : "";
          await ask(name, user("again", "And now?"), session);
        }
        expect([refused, bodies.length >= 2]).toEqual([[], true]);
      }),
      { numRuns: tries(200) },
    );
  },
);

test("the agent may ask for a summary itself: a run starts with its focus, and it is answered at once", async () => {
  const { name } = newHarnessed();
  const { model, refused, bodies } = judging("anthropic", (request) =>
    request < 7 ? [{ type: "text", text: "Seen." }] : asksForSummary(request - 7),
  );
  const tools: ToolSet = {};
  given.set(name, { model, tools });
  await talk(name, 7);
  tools["compact"] = await inside(name, (agent) => compactTool(ours(agent)));
  await ask(name, user("ask", "Count the shelves."));
  expect([refused, JSON.stringify(bodies.at(-1))]).toEqual([[], expect.stringContaining("A summary is being made.")]);
  expect(await ended(name)).toMatchObject([{ trigger: "manual", focus: "The shelves." }]);
});

test("the model is sent the summary and the recent messages; the transcript stays whole, before and after eviction", async () => {
  const { name, part, stub } = newHarnessed();
  await talk(name, 12);
  expect((await ended(name))[0]?.outcome).toMatchObject({ kind: "applied" });
  await ask(name, user("last", "And now?"));
  const prompt = JSON.stringify(part.prompts.at(-1));
  expect(prompt).toContain(TOLD);
  expect(prompt).not.toContain("Please look at u4.");
  expect(prompt).toContain("And now?");
  const whole = await shown(name);
  expect(whole).toHaveLength(26);
  expect(JSON.stringify(whole)).not.toContain(TOLD);
  await evictDurableObject(stub);
  expect(await shown(name)).toEqual(whole);
  await ask(name, user("later", "And after a sleep?"));
  expect(JSON.stringify(part.prompts.at(-1))).toContain(TOLD);
  expect(JSON.stringify(part.prompts.at(-1))).not.toContain("Please look at u4.");
  await expectEqual(name);
});

test("a run goes on in an object that was evicted and that nobody spoke with since", async () => {
  const { name, part, stub } = newHarnessed();
  const calls = scriptModel(name, async (prompt, call) => {
    if (call === 0) await evictDurableObject(stub);
    return summaryOf(prompt, TOLD);
  });
  for (let n = 0; calls.length === 0; n++) await ask(name, user(`u${n}`));
  expect((await ended(name))[0]?.outcome).toMatchObject({ kind: "applied" });
  await ask(name, user("last", "And now?"));
  expect(JSON.stringify(part.prompts.at(-1))).toContain(TOLD);
  await expectEqual(name);
});

test("tool loop: each call is sent the view and all that the turn has brought; a summary that lands in the middle is used by the next", async () => {
  const { name, part } = newHarnessed("idle");
  await talk(name, 5);
  const from = part.prompts.length;
  part.script = async (_prompt, call, agent) => {
    const step = call - from;
    const session = Session.create(agent);
    if (step === 2) await session.addCompaction("They looked at five things.", "u0", "u3");
    return step < 4 ? { tool: "look", id: `look-${step}`, input: { n: step } } : "Done.";
  };
  await ask(name, user("loop", "Look around."));
  expectLooks(part.prompts.slice(from));
  expect(JSON.stringify(await shown(name))).not.toContain("They looked at five things.");
  await expectEqual(name);
});

test("approval: a call that a person allows is run once, and stands once in the prompt", async () => {
  const { name, part } = newHarnessed();
  await talk(name, 12);
  await ended(name);
  part.script = (prompt) =>
    toolsIn(prompt).results.includes("pay-1") ? "It is paid." : { tool: "pay", id: "pay-1", input: { n: 7 } };
  await ask(name, user("pay", "Pay it."));
  const asked = JSON.stringify((await shown(name)).at(-1));
  const approvalId = /"approval":\{"id":"([^"]+)"/.exec(asked)?.[1] ?? "";
  await inside(name, async ({ harness }) => {
    const session = harness.session();
    const { operationId } = await session.submit({ type: "approval", approvalId, approved: true });
    expect(await session.wait(operationId)).toMatchObject({ status: "done" });
  });
  expect(JSON.stringify((await shown(name)).at(-1))).toContain("It is paid.");
  expect(toolsIn(part.prompts.at(-1))).toEqual({ calls: ["pay-1"], results: ["pay-1"] });
  expect(JSON.stringify(part.prompts.at(-1))).toContain(TOLD);
  await expectEqual(name);
});

test("no prompt waits for a summariser", async () => {
  const { name } = newHarnessed("slow", () => new Promise(() => undefined));
  await talk(name, 14);
  expect(await shown(name)).toHaveLength(28);
  await inside(name, ({ palimpsest }) => expect(palimpsest.runs.live("")).toHaveLength(1));
});

test("a prompt that the provider refused as too long waits for a summary, and is answered", async () => {
  const { name, part } = newHarnessed("roomy");
  await talk(name, 12);
  part.script = (prompt) => {
    if (!JSON.stringify(prompt).includes(TOLD)) throw new Error("prompt is too long");
    return "Now it fits.";
  };
  const messages = await ask(name, user("last", "And now?"));
  expect(JSON.stringify(messages.at(-1))).toContain("Now it fits.");
  expect(await shown(name)).toHaveLength(26);
  expect((await ended(name))[0]).toMatchObject({ trigger: "overflow", outcome: { kind: "applied" } });
});

test("every session of the harness has its own view, forks and branches too, and a reset leaves nothing of it", async () => {
  const { name, part } = newHarnessed();
  const other = await inside(name, async ({ harness }) => (await harness.sessions.create()).id);
  await talk(name, 12, other);
  await ended(name, other);
  await ask(name, user("root", "In the root."));
  expect(JSON.stringify(part.prompts.at(-1))).not.toContain(TOLD);
  const fork = await inside(name, async ({ harness }) => (await harness.sessions.fork(other)).id);
  await ask(name, user("forked", "In the fork."), fork);
  expect(JSON.stringify(part.prompts.at(-1))).toContain("In the fork.");
  await expectEqual(name, fork);
  const before = await shown(name, other);
  part.script = () => "Another answer.";
  await inside(name, async ({ harness }) => {
    const session = harness.session(other);
    await session.wait((await session.regenerate()).operationId);
  });
  const prompt = JSON.stringify(part.prompts.at(-1));
  expect(prompt).toContain(TOLD);
  expect(prompt).toContain("Please look at u11.");
  expect(prompt).not.toContain(JSON.stringify(before.at(-1)?.parts.find(({ type }) => type === "text")));
  await expectEqual(name, other);
  await inside(name, ({ harness }) => harness.session(other).reset());
  await expectEqual(name, other);
  await ask(name, user("again", "A new beginning."), other);
  expect(JSON.stringify(part.prompts.at(-1))).not.toContain(TOLD);
});

test("compact by hand waits for the summary, and says what it covers", async () => {
  const { name } = newHarnessed("roomy");
  await talk(name, 12);
  await inside(name, async ({ harness }) => {
    expect(await harness.session().compact()).toMatchObject({
      summary: expect.stringContaining(TOLD) as string,
      toMessageId: expect.any(String) as string,
    });
  });
});

test("messages that an own hook returns are sent as they are", async () => {
  const { name, part } = newHarnessed("replaced");
  await talk(name, 2);
  expect(JSON.stringify(part.prompts.at(-1))).toContain("Only this.");
  expect(JSON.stringify(part.prompts.at(-1))).not.toContain("Please look at");
});

const make = (compaction: object) => new ThinkHarness({ model: "none", ...compaction });

test("a wrong agent, a wrong harness, and a second harness are told", async () => {
  expect(() => compactHarness({} as never, make)).toThrow(/invalid_options.*withCompaction/);
  const { name } = newHarnessed();
  await inside(name, (agent) => {
    expect(() => compactHarness(agent, make)).toThrow(/not_configured.*once/);
  });
});

test(
  "a turn of hundreds of steps never exceeds its limit, tells the whole request, and keeps its beginning",
  { timeout: 240_000 },
  async () => {
    // A threshold of 4,500 makes a limit of twice as much.
    const name = `roomy-long${agents++}`;
    const { model, tools, expectHeld } = longTurn();
    given.set(name, { model, tools });
    scriptModel(name, () => "never");
    await ask(name, { id: "ask", role: "user", parts: [{ type: "text", text: REQUEST }] });
    const runs = await ended(name);
    expectHeld(9_000, runs.length);
  },
);

test("thoughts that a provider binds to all before them: none is refused and none left out without need, with summaries", async () => {
  const name = `idle-signed${agents++}`;
  const { model, told, steps } = signing(3);
  const look = tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `Entry ${n}.` });
  given.set(name, { model, tools: { look } });
  scriptModel(name, (prompt) => summaryOf(prompt, TOLD));
  for (let n = 0; n < 5; n++) {
    steps(3);
    await ask(name, user(`u${n}`));
    const ids = (await shown(name)).map(({ id }) => id);
    if (n === 2)
      await inside(name, async (agent) => Session.create(agent).addCompaction("Looked.", ids[0] ?? "", ids[1] ?? ""));
  }
  expect({ refused: told.refused, needless: told.needless }).toEqual({ refused: 0, needless: 0 });
  expect(told.sent).toBeGreaterThan(60);
});

test.each(STOPS)("a turn that is stopped %s: what was said and done is known to the next prompt", async (stop) => {
  const name = `idle-stopped${agents++}`;
  const { model, tools, reached, expectKnown } = stoppable(stop);
  given.set(name, { model, tools });
  scriptModel(name, () => "never");
  await inside(name, async ({ harness }) => {
    const session = harness.session();
    const { operationId } = await session.submit(user("u0", "Pay invoice 7, then read the log."));
    await reached();
    await session.abort(operationId);
    await session.wait(operationId).catch(() => undefined);
  });
  await ask(name, user("u1", "What now?"));
  expectKnown();
});

test("data of a message is said as the caller's `convertDataPart` says it", async () => {
  const { name, part } = newHarnessed("idle");
  await ask(name, { id: "u0", role: "user", parts: [{ type: "data-selection", data: "the north berth" }] });
  expect(JSON.stringify(part.prompts.at(-1))).toContain("Selected: the north berth");
});
