/** A long conversation with the AIChatAgent example, killed in the middle. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { everything } from "../../tries.ts";
import { configOf } from "../config.ts";
import { installChat } from "./installed.ts";
import { HARD_LINE, LongChat, MOST_DEATHS, MOST_TURNS, type Death } from "./long-chat.ts";

const TURNS = everything ? MOST_TURNS : 30;
const DEATHS: readonly Death[] = everything ? MOST_DEATHS : ["in a run"];
const FROM = everything ? "the packed package" : "the sources";

test(`${TURNS} turns with tools on ${FROM}, SIGKILL ${DEATHS.join(", ")}: the transcript is whole, the model's view fits, and no turn waits for a summary`, async () => {
  await using chat = await LongChat.open(await configured());
  await chat.talk(TURNS, DEATHS);
  const { shown, summaries, runs } = await chat.look();
  expect(chat.deaths.map(({ how }) => how)).toEqual(DEATHS);
  // What a person said and was answered is there, unchanged and in its order.
  expect(shown.filter(({ role }) => role === "user").map(({ id }) => id)).toEqual(chat.said);
  const byId = new Map(shown.map((message) => [message.id, JSON.stringify(message)]));
  const answers = chat.turns.map(({ answer }) => answer);
  expect(answers.length).toBeGreaterThanOrEqual(TURNS);
  expect(answers.filter((answer) => byId.get(answer.id) !== JSON.stringify(answer))).toEqual([]);
  expect(answers.filter((answer) => JSON.stringify(answer).includes("output-available"))).toHaveLength(answers.length);
  // What the model was given, of how much.
  expect(Math.max(...chat.turns.map(({ given }) => given))).toBeLessThanOrEqual(HARD_LINE);
  expect(Math.max(...chat.turns.map(({ whole }) => whole))).toBeGreaterThan(HARD_LINE);
  expect(summaries).toBeGreaterThan(TURNS / 60);
  // The summariser of each run waited until a turn had come and gone. If a turn waited for a summary, none could.
  const within = new Set(chat.turns.flatMap((turn) => turn.within));
  const meanwhile = runs.filter(({ id }) => !chat.closing.has(id));
  expect(meanwhile.length).toBeGreaterThan(TURNS / 60);
  expect(meanwhile.filter(({ id }) => !within.has(id)).map(({ id, outcome }) => ({ id, outcome }))).toEqual([]);
  const ends = meanwhile.map(({ outcome }) => outcome?.kind);
  expect(ends.filter((kind) => kind !== "applied")).toEqual([]);
}, 540_000);

/** Everything is tried with the package as its reader installs it. */
async function configured(): Promise<string> {
  if (!everything) return configOf("ai-chat", { main: join(import.meta.dirname, "slow-chat.ts") });
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-installed-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return installChat(folder, "slow-chat.ts");
}
