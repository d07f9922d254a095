/** Where a word is still found once the messages that said it are cleared, deleted or edited: in every table, and in every answer. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { rest } from "../../noted.ts";
import { everyTable } from "../../rows.ts";
import { scriptModel, summaryOf, type Script } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { inside } from "../inside.ts";

skipRetryDelays();

const WORD = "zqcanary7";
const FILE = `src/${WORD}.ts`;
/** Its compactions are by a model. */
const SUMMARISED = "summarised";
/** Its compactions are notes. */
const NOTED = "noted-of-words";

const tells: Script = (prompt) =>
  prompt.kind === "notes" ? `## Task\n- We changed ${FILE}.` : summaryOf(prompt, `We changed ${FILE}.`);

const names = (id: string): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text: `Never touch ${FILE} again. Look at ${FILE} once more.` }],
});

/** The messages that say the word: one under the first summary, and one behind it. */
const SAID = ["m3", "again"] as const;

/** Two sessions that said the word, and hold it in all that rooms and core derive from messages. */
async function told() {
  const made = newAgent(tells);
  for (const sessionId of [SUMMARISED, NOTED]) {
    const messages = talk(0, 17).map((message) => (message.id === "m3" ? say(3, `See ${FILE}. `) : message));
    for (const batch of [messages, [names("again")], talk(20, 36)]) {
      for (const message of batch) {
        await made.agent.append({ sessionId, message });
        if (sessionId === NOTED) await rest(made.agent, sessionId);
      }
      await rest(made.agent, sessionId);
    }
    await made.agent.search({ sessionId, query: WORD });
    await made.agent.recordUsage({ sessionId, inputTokens: 1_000, outputTokens: 10, model: "big" });
  }
  return made;
}

type Made = Awaited<ReturnType<typeof told>>;

/** The tables that hold the word. */
function tablesWithIt(made: Made): Promise<string[]> {
  return inside(made, (_, __, storage) =>
    [...everyTable(storage)]
      .filter(([, text]) => text.toLowerCase().includes(WORD))
      .map(([name]) => name)
      .toSorted(),
  );
}

/** The calls whose answers have the word. */
async function answersWithIt({ agent }: Made, sessionId: string): Promise<string[]> {
  const overlays = await agent.getCompactions({ sessionId });
  const ofOverlay = (overlayId: string) => ({
    expand: agent.expand({ sessionId, overlayId }),
    diffCompaction: agent.diffCompaction({ sessionId, overlayId }),
    getProvenance: agent.getProvenance({ sessionId, overlayId }),
    getViewAsOf: agent.getViewAsOf({ sessionId, overlayId }),
  });
  const asked: [string, Promise<unknown>][] = [
    ...overlays.flatMap(({ id, n }) =>
      Object.entries(ofOverlay(id)).map(([name, answer]): [string, Promise<unknown>] => [`${name} ${n}`, answer]),
    ),
    ...Object.entries({
      getCompactions: Promise.resolve(overlays),
      getView: agent.getView({ sessionId }),
      getHistory: agent.getHistory({ sessionId }),
      search: agent.search({ sessionId, query: "promise" }),
      searchSessions: agent.searchSessions({ query: "promise" }),
      recall: agent.recall({ sessionId, query: "promise" }),
      getCosts: agent.getCosts({ sessionId }),
      getUsage: agent.getUsage({ sessionId }),
      health: agent.health({ sessionId }),
      status: agent.status({ sessionId }),
      plan: agent.plan({ sessionId }),
      runs: agent.runs({ sessionId }),
      getNotes: agent.getNotes({ sessionId }),
      notesHistory: agent.notesHistory({ sessionId }),
      exportTranscript: agent.exportTranscript({ sessionId }),
      loadEvents: agent.loadEvents({ sessionId }),
      buildWorkingContext: agent.buildWorkingContext({ sessionId }),
      getContextBlocks: agent.getContextBlocks({ sessionId }),
    }),
  ];
  const found: string[] = [];
  for (const [name, answer] of asked) if (JSON.stringify((await answer) ?? null).includes(WORD)) found.push(name);
  return found;
}

/** As in an agent that had its rooms once and does not add them now. */
function removeRooms({ palimpsest }: PalimpsestAgent): void {
  Object.assign(palimpsest, { rooms: {}, installed: [] });
}

const ROOMS = { "with its rooms": () => undefined, "without the rooms that stored it": removeRooms };

/** Every table that holds words of messages, or what was made of them. */
const WITH_WORDS = ["drafts", "messages", "overlays", "search", "search_content", "search_data"];
/** After an edit these still hold what was made of the old words, out of force, and no answer shows it. */
const OUT_OF_FORCE = ["drafts", "overlays"];

const named = (tables: readonly string[]) => tables.map((name) => `palimpsest_${name}`);

test.each(Object.entries(ROOMS))("S2: %s, a clear and a delete leave the word in no table", async (_, prepare) => {
  const made = await told();
  expect(await tablesWithIt(made)).toEqual(named(WITH_WORDS));
  await inside(made, async (manager, agent) => {
    prepare(agent);
    await manager.clearMessages(SUMMARISED);
    await manager.delete(NOTED);
  });
  expect(await tablesWithIt(made)).toEqual([]);
});

const silent: Script = (prompt) => (prompt.kind === "notes" ? "## Task\n- We go on." : summaryOf(prompt, "We go on."));

/** From now on the model has nothing to tell, because a change of the messages may start a run. */
function silence({ name }: Made): void {
  scriptModel(name, silent);
}

const CHANGES = {
  "an edit": async ({ agent }: Made, sessionId: string) => {
    await agent.upsert({ sessionId, message: say(3, "Edited. ") });
    await agent.upsert({ sessionId, message: { ...names("again"), parts: [{ type: "text", text: "Edited too." }] } });
  },
  "a deletion": async ({ agent }: Made, sessionId: string) => {
    await agent.deleteMessages({ sessionId, ids: [...SAID] });
  },
};

test.each(Object.entries(CHANGES))("S3: after %s of the messages no answer has the word", async (_, change) => {
  const made = await told();
  silence(made);
  for (const sessionId of [SUMMARISED, NOTED]) {
    expect(await answersWithIt(made, sessionId)).not.toEqual([]);
    await change(made, sessionId);
    expect(await answersWithIt(made, sessionId)).toEqual([]);
    expect(await made.agent.search({ sessionId, query: WORD })).toEqual([]);
  }
  expect(await tablesWithIt(made)).toEqual(named(OUT_OF_FORCE));
});

test.each(Object.entries(CHANGES))("S3: after %s no index has the word, its room added or not", async (_, change) => {
  const made = await told();
  silence(made);
  await inside(made, (_manager, agent) => removeRooms(agent));
  for (const sessionId of [SUMMARISED, NOTED]) await change(made, sessionId);
  expect(await tablesWithIt(made)).toEqual(named(OUT_OF_FORCE));
});
