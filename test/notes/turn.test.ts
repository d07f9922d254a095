/** Notes of a turn that is one message, step by step, as it grows, and where it is longer than one reading (C3). */
import type { UIMessage } from "ai";
import { afterEach, expect, test } from "vitest";
import type { ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, SESSION } from "../noted.ts";
import { openGates } from "../scripted-model.ts";

skipRetryDelays();
afterEach(openGates);

/** The first steps of a turn. Each has a text of its own and a tool call. */
function turn(count: number, words = 40): UIMessage {
  const steps = Array.from({ length: count }, (_, n): UIMessage["parts"] => [
    { type: "step-start" },
    { type: "text", text: `Step mark-${n}-end: ${"the parser keeps its promise. ".repeat(words / 5)}` },
    {
      type: "dynamic-tool",
      toolName: "look",
      toolCallId: `call-${n}`,
      state: "output-available",
      input: { n },
      output: "done",
    },
  ]);
  return { id: "turn", role: "assistant", parts: steps.flat() };
}

/** The steps that updates were shown, one list for each. */
function stepsShown(prompts: readonly ParsedPrompt[]): number[][] {
  return prompts
    .filter(({ kind }) => kind === "notes")
    .map(({ transcript }) => [...(transcript ?? "").matchAll(/mark-(\d+)-end/g)].map(([, n]) => Number(n)));
}

test("a reply that grows by steps keeps its notes: each step is read once, and they serve inside the turn and behind it (C3)", async () => {
  const { agent, calls } = newAgent(noting);
  await agent.append({ sessionId: SESSION, message: say(0) });
  for (let count = 1; count <= 40; count++) {
    await agent.upsert({ sessionId: SESSION, message: turn(count) });
    await rest(agent);
  }
  const runs = await rest(agent);
  const shown = stepsShown(calls).flat();
  expect(shown).toEqual(shown.map((_, n) => n));
  expect(shown.length).toBeGreaterThan(30);
  expect(ofKind(runs, "notes").every(({ outcome }) => outcome?.kind === "noted")).toBe(true);
  const versions = await agent.notesHistory({ sessionId: SESSION });
  expect(versions.every(({ standing }) => standing)).toBe(true);
  expect(versions[0]?.covered).toEqual({ kind: "to", messageId: "turn", step: shown.length - 1 });
  // They serve inside the turn as well, and cut between its steps as a model's summary would.
  const compactions = ofKind(runs, "compaction");
  expect(compactions.map(({ path, outcome }) => [path, outcome?.kind])).toEqual(
    compactions.map(() => ["notes", "applied"]),
  );
  // The question stands in its own words at the top of the notes, and not a second time among what the user said.
  const said = (await agent.getCompactions({ sessionId: SESSION })).flatMap(({ details }) => details.pinned.said);
  expect(said.map(({ messageId }) => messageId)).not.toContain("m0");
  expect(textOf((await agent.getView({ sessionId: SESSION })).messages)).toContain("Message 0: ");
  await sayAll(agent, talk(2, 14));
  const [since] = ofKind(await rest(agent), "compaction");
  expect(since).toMatchObject({ path: "notes", outcome: { kind: "applied" } });
});

test("a message longer than one reading is read in pieces, and covered as far as it was read", async () => {
  const { agent, calls } = newAgent(noting);
  const sessionId = `${SESSION}!40000`;
  await agent.append({ sessionId, message: say(0) });
  await agent.append({ sessionId, message: turn(40, 100) });
  await rest(agent, sessionId);
  const shown = stepsShown(calls);
  expect(shown.length).toBeGreaterThan(1);
  expect(shown.flat()).toEqual(Array.from({ length: 40 }, (_, n) => n));
  const versions = (await agent.notesHistory({ sessionId })).toReversed();
  expect(versions.map(({ covered }) => covered)).toEqual(
    shown.map((steps) => ({ kind: "to", messageId: "turn", step: steps.at(-1) })),
  );
});
