/** Messages change while something reads them. Nothing that comes into force holds a word that no message says any more. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { say } from "../../conversation.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import type { FullSession } from "../../rooms.ts";
import { rowsOf } from "../../rows.ts";
import type { Script } from "../../scripted-model.ts";
import { tries } from "../../tries.ts";
import { keptNotes, type PalimpsestAgent } from "../../worker.ts";
import { inside } from "../inside.ts";

skipRetryDelays();

/** Beyond any threshold, so that nothing but the test compacts. Its chunks have several messages. */
/** Its chunks hold several messages, so that they are read in slices. */
const SESSION = "wide terse!90000";
/** Many bytes of few tokens, so that a chunk is read in several slices. */
const FILLING = { type: "file" as const, mediaType: "image/png", url: `data:image/png;base64,${"A".repeat(110_000)}` };

/** As much as a run keeps at the end. */
const TAIL = { type: "text" as const, text: "Go on. ".repeat(9_000) };

const WORDS = /src\/zq-\d+\.ts/g;
const wordsIn = (text: string): Set<string> => new Set(text.match(WORDS));

const user = (id: string, word: number): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text: `Never touch src/zq-${word}.ts. ${"Mind it well. ".repeat(20)}` }, FILLING],
});

/** A message of several steps. The second one says the word. */
function work(word: number, later = ""): UIMessage {
  const texts = ["We begin.", `We changed src/zq-${word}.ts.`, "Then we went on.", ...(later === "" ? [] : [later])];
  const parts = texts.flatMap((text) => [
    { type: "step-start" as const },
    { type: "text" as const, text: `${text} ${"We took care. ".repeat(20)}` },
  ]);
  return { id: "part", role: "assistant", parts: [...parts.slice(0, 2), FILLING, ...parts.slice(2)] };
}

/** Whichever messages a reader reads, one of these is among those that it reads late. */
const OTHERS = [0, 3];

/** What happens at a pause. Each edit says a word of its own, and `back` is what was there first. */
const CHANGES: Record<string, (session: FullSession, word: number) => Promise<unknown>> = {
  "an edit": (session, word) => session.upsertMessage(work(word)),
  "an edit of others": (session, word) => Promise.all(OTHERS.map((n) => session.upsertMessage(user(`m${n}`, word)))),
  back: (session) => session.upsertMessage(work(7)),
  "the others back": (session) => Promise.all(OTHERS.map((n) => session.upsertMessage(user(`m${n}`, n)))),
  growth: (session, word) => session.upsertMessage(work(7, `And src/zq-${word}.ts.`)),
  metadata: (session, word) => session.upsertMessage({ ...work(7), metadata: { word } }),
  "a deletion": (session) => session.deleteMessages(["part"]),
  "the same again": async (session) => {
    await session.deleteMessages(["m3"]);
    await session.appendMessage(user("m3", 3));
  },
  "a clearing": (session) => session.clearMessages(),
  nothing: async () => undefined,
};

/** After these there is little left to read. */
const DRASTIC = ["a deletion", "a clearing"];

/** Edits that are there while something is read, and gone when it is compared. */
const TAKEN_BACK: [string[]][] = [1, 2, 3, 4].flatMap((pauses) =>
  [
    ["an edit", "back"],
    ["an edit of others", "the others back"],
  ].map(([edit = "", back = ""]): [string[]] => [
    [...Array.from({ length: pauses - 1 }, () => "nothing"), edit, ...(pauses % 2 === 0 ? ["nothing"] : []), back],
  ]),
);

/** Each begins with the same messages, and brings something into force where it can. */
const READERS: Record<string, (session: FullSession) => Promise<unknown>> = {
  "an update of the notes": async (session) => session.ended((await session.refreshNotes()).run.id),
  "a run": async (session) => session.ended((await session.compact()).run.id),
};

/** Tells every word that it is shown. */
const tells: Script = (prompt) => {
  const words = [...wordsIn(JSON.stringify(prompt))].map((word) => `- We changed ${word}.`).join("\n");
  return prompt.kind === "notes" ? `## Task\n${words}` : `## Goal\n${words}`;
};

/** Changes the messages at each pause of long work. Returns how many changes there were. */
function changeAtPauses({ palimpsest: { uses } }: PalimpsestAgent, session: FullSession, names: readonly string[]) {
  const yieldToCallers = uses.yieldToCallers.bind(uses);
  const did = { changes: 0 };
  Object.assign(uses, {
    yieldToCallers: async (most: number) => {
      const name = names[did.changes++];
      if (name !== undefined) await CHANGES[name]?.(session, 10 + did.changes);
      await yieldToCallers(most);
    },
  });
  return did;
}

function wordsInForce(storage: DurableObjectStorage): Set<string> {
  const layers = rowsOf(storage, "palimpsest_overlays");
  const inForce = layers.filter(({ state }) => state === "active" || state === "notes");
  return wordsIn(JSON.stringify(inForce));
}

function wordsSaid(storage: DurableObjectStorage): Set<string> {
  return wordsIn(
    JSON.stringify([...rowsOf(storage, "palimpsest_messages"), ...rowsOf(storage, "palimpsest_message_parts")]),
  );
}

for (const [reader, read] of Object.entries(READERS)) {
  test(`C3, S3: whatever changes while ${reader} reads, nothing in force holds a word that no message says`, async () => {
    const gentle = Object.keys(CHANGES).filter((name) => !DRASTIC.includes(name));
    const change = fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...gentle) },
      { weight: 1, arbitrary: fc.constantFrom(...DRASTIC) },
    );
    const changes = fc.array(change, { minLength: 1, maxLength: 12 });
    const told = { changes: 0, words: 0 };
    await fc.assert(
      fc.asyncProperty(changes, async (names) => {
        const made = newAgent(tells);
        const key = `${made.name}/${SESSION}`;
        keptNotes.set(key, { growthTokens: 1_000_000 });
        await inside(made, async (manager, agent, storage) => {
          const session = manager.getSession(SESSION);
          for (let n = 0; n < 5; n++) await session.appendMessage(user(`m${n}`, n));
          await session.appendMessage(work(7));
          await session.appendMessage(user("m9", 9));
          // A run keeps these.
          const kept = reader === "a run" ? ["tail-1", "tail-2"] : [];
          for (const id of kept) await session.appendMessage({ ...say(0), id, parts: [TAIL] });
          const did = changeAtPauses(agent, session, names);
          // A change during the reading may cause a refusal.
          await read(session).catch(() => undefined);
          told.changes += did.changes;
          const inForce = wordsInForce(storage);
          told.words += inForce.size;
          expect([...inForce].filter((word) => !wordsSaid(storage).has(word))).toEqual([]);
        });
      }),
      { numRuns: tries(60), examples: TAKEN_BACK },
    );
    expect(Math.min(told.changes, told.words)).toBeGreaterThan(0);
  });
}
