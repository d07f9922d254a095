/** What a model took for ended and a person restored: it stands, until a still later message of the user ends it (decision 6). */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { readInForce } from "../../../src/facts/render.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { summaryOf, withInstructions, type Script } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { settle } from "../runs.ts";

skipRetryDelays();

const RULE = "Never touch the billing table.";
const MEANT_ELSE = "You may touch the shipping table now.";
const LIFTED = "From today on the billing table is yours to change.";

function told(n: number, words: string): UIMessage {
  return { ...say(n), role: "user", parts: [{ type: "text", text: `${words} Thanks for all of it.` }] };
}

/** A conversation in which some messages are the user's own words. */
function conversation(from: number, to: number, words: Readonly<Record<number, string>>): UIMessage[] {
  return talk(from, to).map((message, at) => {
    const own = words[from + at];
    return own === undefined ? message : told(from + at, own);
  });
}

/** A summariser that takes any permission for the end of the instruction, and says so again and again. */
const hasty: Script = (prompt) => {
  const source = `${prompt.transcript ?? ""}\n${prompt.previous ?? ""}`;
  const by = [LIFTED, MEANT_ELSE].find((words) => source.includes(words));
  return withInstructions(summaryOf(prompt, "something was done"), {
    standing: source.includes(RULE) ? [RULE] : [],
    ended: by === undefined ? [] : [[RULE, by]],
  });
};

async function inForce(agent: PalimpsestAgent): Promise<string[]> {
  const { messages } = await agent.getView({});
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? readInForce(part.text) : [])));
}

async function goOn(agent: PalimpsestAgent, from: number, words: Readonly<Record<number, string>> = {}): Promise<void> {
  await agent.appendAll({ messages: conversation(from, from + 12, words) });
  const runs = await settle(agent);
  expect(runs.at(-1)?.outcome).toMatchObject({ kind: "applied", degraded: false });
}

const STANDS = { quote: RULE, messageId: "m4" };
const STANDING = [expect.stringContaining(`"${RULE}"`) as unknown];

/** An agent whose summary says that an instruction was ended which was not. */
async function mistaken() {
  const made = newAgent(hasty);
  await made.agent.appendAll({ messages: conversation(0, 20, { 4: RULE, 8: MEANT_ELSE }) });
  await settle(made.agent);
  return made;
}

test("a person sees what a summary took for ended with the words that ended it, and lets it hold again", async () => {
  const { agent } = await mistaken();
  const before = await agent.getInstructions({});
  expect(before).toEqual({
    standing: [],
    ended: [{ ...STANDS, by: { messageId: "m8", quote: MEANT_ELSE } }],
  });
  expect(await inForce(agent)).toEqual([]);
  expect(await agent.restoreInstruction(STANDS)).toBe(true);
  expect(await agent.getInstructions({})).toEqual({ standing: [{ ...STANDS, restored: "m8" }], ended: [] });
  expect(await inForce(agent)).toEqual(STANDING);
  // What stands is not restored a second time, and neither is what nobody ended.
  expect(await agent.restoreInstruction(STANDS)).toBe(false);
  expect(await agent.restoreInstruction({ quote: "Speak like a pirate", messageId: "m4" })).toBe(false);
  expect(await refusalOf(() => agent.restoreInstruction({ quote: "", messageId: "m4" }))).toMatch(/^\[invalid_input\]/);
});

test("no later run strikes it by the same message, whether it adds a summary, folds all or reads the messages again", async () => {
  const { agent } = await mistaken();
  await agent.restoreInstruction(STANDS);
  for (let n = 20; n < 80; n += 12) {
    await goOn(agent, n);
    expect(await inForce(agent)).toEqual(STANDING);
  }
  const overlays = await agent.getCompactions({});
  expect(Math.max(...overlays.map(({ details }) => details.level))).toBeGreaterThan(1);
  await agent.compact({ rebuild: true, fresh: true });
  await settle(agent);
  expect(await inForce(agent)).toEqual(STANDING);
  expect((await agent.getInstructions({})).ended).toEqual([]);
});

test("a still later message of the user ends it", async () => {
  const { agent } = await mistaken();
  await agent.restoreInstruction(STANDS);
  await goOn(agent, 20, { 22: LIFTED });
  expect(await inForce(agent)).toEqual([]);
  const { standing, ended } = await agent.getInstructions({});
  expect(standing).toEqual([]);
  expect(ended).toMatchObject([{ ...STANDS, by: { messageId: "m22", quote: LIFTED } }]);
});

test("it is restored on the branch that is shown, and on no other", async () => {
  const { agent } = await mistaken();
  const other = conversation(30, 48, { 31: MEANT_ELSE }).map((message) => ({ ...message, id: `other-${message.id}` }));
  await agent.append({ message: other[0] as UIMessage, parentId: "m6" });
  await agent.appendAll({ messages: other.slice(1) });
  await settle(agent);
  expect((await agent.getInstructions({})).ended).toMatchObject([{ ...STANDS, by: { messageId: "other-m31" } }]);
  // The first branch is taken up again.
  await agent.append({ message: say(99), parentId: "m19" });
  expect((await agent.getInstructions({})).ended).toMatchObject([{ ...STANDS, by: { messageId: "m8" } }]);
  expect(await agent.restoreInstruction(STANDS)).toBe(true);
  expect(await inForce(agent)).toEqual(STANDING);
});
