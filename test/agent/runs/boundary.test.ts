/** An overlay's record of its moment (F8). It names every tool that was called before it. */
import { Session } from "../../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { afterEach, expect, test } from "vitest";
import type { ParsedPrompt } from "../../../src/steps/draft/prompt.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { noting, rest, sayAll, SESSION } from "../../noted.ts";
import { openGates, summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();
afterEach(openGates);

type Part = UIMessage["parts"][number];

const summarise = (prompt: ParsedPrompt): string => summaryOf(prompt, "done");

let calls = 0;

function called(toolName: string, ended: "ok" | "failed" | "unanswered" = "ok"): Part {
  const call = { type: "dynamic-tool" as const, toolName, toolCallId: `call-${calls++}`, input: { n: calls } };
  if (ended === "unanswered") return { ...call, state: "input-available" };
  if (ended === "failed") return { ...call, state: "output-error", errorText: "It broke." };
  return { ...call, state: "output-available", output: "fine" };
}

const acting = (n: number, ...parts: Part[]): UIMessage => ({ ...say(n), role: "assistant", parts });

/** What the newest overlay says was called before it, once nothing is at work any more. */
async function toolsOf(agent: PalimpsestAgent, sessionId: string): Promise<readonly string[] | undefined> {
  await rest(agent, sessionId);
  return (await agent.getCompactions({ sessionId })).at(-1)?.details.boundary?.tools;
}

test("every tool before the boundary is listed, however many calls there were: failed, unanswered, of what is kept at the start", async () => {
  const { agent } = newAgent(summarise);
  const sessionId = "tools!9000";
  const looks = Array.from({ length: 150 }, () => called("look"));
  const failures = Array.from({ length: 12 }, (_, n) => called(`flaky_${n + 10}`, "failed"));
  await agent.appendAll({
    sessionId,
    messages: [
      say(0),
      acting(1, called("open_file")),
      say(2),
      acting(3, called("zebra"), called("never_answered", "unanswered"), ...looks, ...failures),
      ...talk(4, 12),
      acting(12, called("behind_the_boundary")),
      say(13),
    ],
  });
  const before = [...failures.map((_, n) => `flaky_${n + 10}`), "look", "never_answered", "open_file", "zebra"];
  expect(await toolsOf(agent, sessionId)).toEqual(before);

  // The next one takes the list of the one before it, and adds what was called since.
  await agent.appendAll({
    sessionId,
    messages: [acting(14, called("apple", "failed")), acting(15, ...Array.from({ length: 130 }, () => called("look")))],
  });
  await agent.appendAll({ sessionId, messages: talk(16, 30) });
  expect(await toolsOf(agent, sessionId)).toEqual(["apple", "behind_the_boundary", ...before].toSorted());
});

const step = (n: number): Part[] => [{ type: "step-start" }, called(`tool_${n + 10}`), ...say(n).parts];

const reply = (steps: number): UIMessage => ({
  ...say(1),
  role: "assistant",
  parts: Array.from({ length: steps }, (_, n) => step(n)).flat(),
});

test("only what was called before the cut counts, also inside one long reply", async () => {
  const { agent } = newAgent(summarise);
  await agent.appendAll({ messages: [say(0), reply(20)] });
  const tools = await toolsOf(agent, "");
  const [overlay] = await agent.getCompactions({});
  const last = overlay?.span.toStep ?? 0;
  expect(last).toBeLessThan(19);
  expect(tools).toEqual(Array.from({ length: last + 1 }, (_, n) => `tool_${n + 10}`));
});

test("notes list them as well, and what a summary laid by hand hides is looked through", async () => {
  const { agent, stub } = newAgent(noting);
  const messages = talk(0, 18).map((message, n) =>
    n % 2 === 1 ? { ...message, parts: [...message.parts, called(`tool_${n + 10}`)] } : message,
  );
  await sayAll(agent, messages.slice(0, 4));
  await runInDurableObject(stub, (instance: PalimpsestAgent) =>
    Session.create(instance).forSession(SESSION).addCompaction("It began.", "m0", "m1"),
  );
  await sayAll(agent, messages.slice(4));
  const overlay = (await agent.getCompactions({ sessionId: SESSION })).find(({ details }) => details.boundary !== null);
  const kept = Number(overlay?.details.boundary?.kept.fromId?.slice(1));
  expect(overlay?.details.model).toBe("notes");
  expect(overlay?.details.boundary?.tools).toEqual(
    messages.flatMap((_, n) => (n % 2 === 1 && n < kept ? [`tool_${n + 10}`] : [])),
  );
});
