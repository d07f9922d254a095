/** Summaries that no model made say so once, where a person looks: in the log and in the session's own handler. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { EXTRACTIVE_NAME } from "../../../src/steps/draft/fallback.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { talk } from "../../conversation.ts";
import { scriptModel, summaryOf, type Script } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { settle } from "../runs.ts";

skipRetryDelays();

let warned = vi.spyOn(console, "warn");
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => warned.mockRestore());

const declining: Script = () => "I'm sorry, I cannot help with that.";
const sound: Script = (prompt) => summaryOf(prompt, "something was done");

/** What was said of a session's summaries. */
const warningsOf = (sessionId: string): string[] =>
  warned.mock.calls.flatMap(([text]) =>
    String(text).includes(`session "${sessionId}" are poor`) ? [String(text)] : [],
  );

/** An agent whose handler of the session keeps what it is told. */
async function listened(script: Script, sessionId: string) {
  const made = newAgent(script);
  const heard: { message: string; degraded: boolean }[] = [];
  const listen = (): Promise<void> =>
    runInDurableObject(made.stub, (agent: PalimpsestAgent) => {
      Session.create(agent)
        .forSession(sessionId)
        .onCompactionError((error, { outcome }) => {
          heard.push({ message: error.message, degraded: outcome?.kind === "applied" && outcome.degraded });
          throw new Error("The handler failed.");
        });
    });
  await listen();
  let at = 0;
  const goOn = async (count: number): Promise<readonly (boolean | undefined)[]> => {
    await made.agent.appendAll({ sessionId, messages: talk(at, (at += count)) });
    const runs = await settle(made.agent, sessionId);
    return runs.map(({ outcome }) => (outcome?.kind === "applied" ? outcome.degraded : undefined));
  };
  return { ...made, heard, goOn, listen };
}

test("a model whose answers are of no use is told of once, with why, however many summaries only quote", async () => {
  const { heard, goOn } = await listened(declining, "useless");
  await goOn(17);
  expect(warningsOf("useless")).toEqual([
    expect.stringMatching(/no answer of the model could be used \(refused: refusal/),
  ]);
  expect(heard).toEqual([
    { message: expect.stringContaining("only quote the conversation") as unknown, degraded: true },
  ]);
  expect((await goOn(12)).filter((degraded) => degraded === true).length).toBeGreaterThan(1);
  expect(warningsOf("useless")).toHaveLength(1);
  expect(heard).toHaveLength(1);
});

test("each session is told of, and each start of the object tells again", async () => {
  const { agent, stub, heard, goOn, listen } = await listened(declining, "first");
  await goOn(17);
  await agent.appendAll({ sessionId: "second", messages: talk(0, 17) });
  await settle(agent, "second");
  expect([warningsOf("first").length, warningsOf("second").length, heard.length]).toEqual([1, 1, 1]);
  await evictDurableObject(stub);
  await listen();
  await agent.appendAll({ sessionId: "first", messages: talk(17, 29) });
  // The breaker of the model may be open by now.
  await agent.compact({ sessionId: "first", ignoreBudget: true });
  await settle(agent, "first");
  expect([warningsOf("first").length, heard.length]).toEqual([2, 2]);
});

test("a summary of a model is told of nowhere", async () => {
  const { heard, goOn } = await listened(sound, "fine");
  expect(await goOn(17)).toEqual([false]);
  expect(warningsOf("fine")).toEqual([]);
  expect(heard).toEqual([]);
});

test("where no model was configured the log says so once and what to do, and nothing failed", async () => {
  const sessionId = `by ${EXTRACTIVE_NAME}`;
  const { name, heard, goOn } = await listened(sound, sessionId);
  scriptModel(`${name}/${EXTRACTIVE_NAME}`, sound);
  expect(await goOn(17)).toEqual([false]);
  await goOn(12);
  expect(warningsOf(sessionId)).toEqual([expect.stringMatching(/no model is configured.*docs\/models\.md/)]);
  expect(heard).toEqual([]);
});
