/** A search by meaning beside the one by words: what it finds, what it costs, what it forgets, and that nothing needs it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { workersAiEmbeddings } from "../../src/embeddings/provider.ts";
import { embeddings } from "../../src/embeddings/search.ts";
import type { EmbeddingsOptions } from "../../src/embeddings/provider.ts";
import { BATCH_TEXTS } from "../../src/embeddings/search.ts";
import { EMBEDDED_TOGETHER } from "../../src/embeddings/pages.ts";
import { recall } from "../../src/recall/room.ts";
import { utcDay } from "../../src/steps/decide/decide.ts";
import { talk } from "../conversation.ts";
import { everyTable } from "../rows.ts";
import type { MeaningAgent, MeaningSession } from "../worker.ts";
import { scriptedEmbed, scriptEmbedder, vectorOf } from "./scripted-embedder.ts";

function message(id: string, text: string): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

let agents = 0;
const newStub = () => env.MeaningAgent.get(env.MeaningAgent.idFromName(`meaning-${agents++}`));

const SEDAN = message("sedan", "Bob bought a red sedan yesterday.");
/** No word of it stands in {@link SEDAN}. */
const PARAPHRASE = "Which automobile does he own?";

interface Setup {
  readonly agent: MeaningAgent;
  readonly session: MeaningSession;
  readonly state: DurableObjectState;
}

/** A session of 40 messages, of which a summary hides those from the second to the 31st. The sedan is among them. */
async function hidden<T>(work: (setup: Setup) => Promise<T>, sessionId = "hidden"): Promise<T> {
  return runInDurableObject(newStub(), async (agent, state) => {
    const session = Session.create(agent).forSession(sessionId);
    await session.appendAll([...talk(0, 10), SEDAN, ...talk(10, 39)]);
    await session.addCompaction("Much was said.", "m1", "m29");
    return work({ agent, session, state });
  });
}

type Page = { page: number; model: string; size: number; marks: ArrayBuffer; vectors: ArrayBuffer };

function pagesOf(state: DurableObjectState): Page[] {
  try {
    return state.storage.sql.exec<Page>("SELECT * FROM palimpsest_embeddings ORDER BY page").toArray();
  } catch {
    return [];
  }
}

const asked = { query: PARAPHRASE };

test("a message is found by a paraphrase that shares no word with it, word for word, and counts as found", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session }) => {
    const found = await session.recall(asked);
    expect(found).toMatchObject({ kind: "found", byMeaning: { kind: "searched", waiting: 0 } });
    expect(found.text).toContain("Bob bought a red sedan yesterday.");
    expect(found.kind === "found" && found.messages.find(({ id }) => id === "sedan")?.beside).toBe(false);
    expect(script.calls.map(({ purpose }) => purpose).toSorted()).toEqual(["passage", "query"]);
  });
  // By words alone nothing has any of them.
  scriptEmbedder(() => Promise.reject(new Error("down")));
  await hidden(async ({ session }) => {
    const found = await session.recall({ query: "automobile" });
    expect(found).toMatchObject({ kind: "nothing", reason: "no-match" });
  });
});

test("what words find stays in the answer where a paraphrase is found as well", async () => {
  scriptEmbedder();
  await hidden(async ({ session }) => {
    const found = await session.recall({ query: "Which automobile, and what about number 17?", maxTokens: 600 });
    expect(found.text).toContain("red sedan");
    expect(found.text).toContain("src/watchdog-17.ts");
  });
});

test("an append makes no vector, and a message in view has none", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session, state }) => {
    expect(script.calls).toEqual([]);
    await session.recall(asked);
    const texts = script.calls.flatMap((call) => call.texts);
    expect(texts.some((text) => text.includes("Message 29:"))).toBe(true);
    expect(texts.some((text) => /Message (?:0|30|38):/.test(text))).toBe(false);
    const before = script.calls.length;
    await session.appendMessage(message("late", "A terrier barks."));
    expect(script.calls).toHaveLength(before);
    expect(pagesOf(state)).toHaveLength(1);
  });
});

test("a vector takes a byte for each dimension and six more", async () => {
  scriptEmbedder();
  await hidden(async ({ session, state }) => {
    await session.recall(asked);
    const [page] = pagesOf(state);
    const size = vectorOf("").length;
    expect(page).toMatchObject({ page: 0, model: "scripted", size });
    expect(page?.vectors.byteLength).toBe(30 * (size + 6));
    expect(page?.marks.byteLength).toBe(EMBEDDED_TOGETHER / 8);
  });
});

test("a second recall asks the model for its query alone, and the same query again for nothing", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session }) => {
    await session.recall(asked);
    script.calls.length = 0;
    await session.recall({ query: "Is there a puppy?" });
    expect(script.calls).toEqual([{ texts: ["Is there a puppy?"], purpose: "query" }]);
    await session.recall({ query: "Is there a puppy?" });
    expect(script.calls).toHaveLength(1);
  });
});

test.each<[what: string, query: object]>([
  ["words in quotes alone", { query: '"red sedan"' }],
  ["ids", { ids: ["sedan"] }],
  ["what stands around a message", { around: "sedan" }],
  [
    "a text that describes work",
    {
      query: "parser scheduler ledger fence outline watchdog promise number source changed keeping message",
    },
  ],
])("%s asks no model", async (_what, request) => {
  const script = scriptEmbedder();
  await hidden(async ({ session }) => {
    const found = await session.recall(request);
    expect(found.kind).toBe("found");
    expect(found.byMeaning).toBeUndefined();
    expect(script.calls).toEqual([]);
  });
});

test.each<[what: string, change: (session: MeaningSession) => Promise<unknown>]>([
  ["an edit", (session) => session.updateMessage(message("sedan", "Nothing to see here."))],
  ["a delete", (session) => session.deleteMessages(["sedan"])],
  ["a clear", (session) => session.clearMessages()],
])("S2: %s forgets a vector at once, and what is left is made again", async (_what, change) => {
  const script = scriptEmbedder();
  await hidden(async ({ session, state }) => {
    await session.recall(asked);
    expect(pagesOf(state)).toHaveLength(1);
    await change(session);
    expect(pagesOf(state)).toEqual([]);
    script.calls.length = 0;
    const again = await session.recall(asked);
    expect(again.text).not.toContain("sedan");
    const texts = script.calls.flatMap(({ texts: each }) => each);
    expect(texts.join("\n")).not.toContain("sedan");
  });
});

test("S2: a deleted session leaves no vector, and the vectors of another stay", async () => {
  scriptEmbedder();
  await hidden(async ({ agent, session, state }) => {
    await session.recall(asked);
    const other = Session.create(agent).forSession("other");
    await other.appendAll([...talk(0, 10), SEDAN, ...talk(10, 20)]);
    await other.addCompaction("Some was said.", "m1", "m15");
    await other.recall(asked);
    expect(pagesOf(state)).toHaveLength(2);
    await agent.deleteSession({ sessionId: "other" });
    expect(pagesOf(state)).toMatchObject([{ page: 0 }]);
    expect((await session.recall(asked)).text).toContain("red sedan");
  });
});

test("S2: a session that is deleted while the model reads it is nowhere afterwards", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ agent, session, state }) => {
    // The number of a deleted message, under the summary, has nothing to read.
    await session.deleteMessages(["m5"]);
    await session.addCompaction("Much was said again.", "m1", "m29");
    script.answer = async (_texts, purpose) => {
      if (purpose === "passage") await agent.deleteSession({ sessionId: "zqdeleted" });
      return null;
    };
    await session.recall(asked).catch(() => undefined);
    expect(script.calls.map(({ purpose }) => purpose)).toContain("passage");
    const left = [...everyTable(state.storage)].filter(([, text]) => text.includes("zqdeleted"));
    expect(left.map(([name]) => name)).toEqual([]);
  }, "zqdeleted");
});

test("a message that changes while the model reads it is left out, and its new text is taken in by a later recall", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session, state }) => {
    script.answer = async (_texts, purpose) => {
      if (purpose === "passage") await session.updateMessage(message("sedan", "Bob has a terrier."));
      return null;
    };
    const first = await session.recall({ ...asked, everywhere: true });
    expect(first.byMeaning).toEqual({ kind: "searched", waiting: 1 });
    expect(pagesOf(state)[0]?.vectors.byteLength).toBe(29 * (vectorOf("").length + 6));
    script.answer = null;
    await session.addCompaction("Much was said again.", "m1", "m29");
    const found = await session.recall({ query: "Who keeps puppies, or one puppy?" });
    expect(found.byMeaning).toEqual({ kind: "searched", waiting: 0 });
    expect(found.text).toContain("Bob has a terrier.");
  });
});

test.each<[what: string, answer: (texts: readonly string[]) => unknown, reason: string]>([
  ["fails", () => Promise.reject(new Error("quokka")), "no-answer"],
  ["answers with too few vectors", (texts) => texts.slice(1).map(vectorOf), "bad-answer"],
  ["answers with no number", (texts) => texts.map(() => [Number.NaN, 1]), "bad-answer"],
  ["answers with something else", () => ({ data: 1 }), "bad-answer"],
  ["answers with empty vectors", (texts) => texts.map(() => []), "bad-answer"],
])("where the model %s, words are searched, and the answer says so", async (_what, answer, reason) => {
  const script = scriptEmbedder(answer);
  await hidden(async ({ session, state }) => {
    const found = await session.recall({ query: "Which vehicle was the red sedan?" });
    expect(found).toMatchObject({ kind: "found", byMeaning: { kind: "failed", reason } });
    expect(found.text).toContain("Bob bought a red sedan yesterday.");
    expect(found.text).toContain("Searched by words alone");
    expect(found.text).not.toContain("quokka");
    expect(pagesOf(state)).toEqual([]);
    // It is left alone for a while.
    const before = script.calls.length;
    expect(await session.recall({ query: "Which vehicle?" })).toMatchObject({
      byMeaning: { kind: "failed", reason: "paused" },
    });
    expect(script.calls).toHaveLength(before);
  });
});

test("a model that refuses the messages still embeds the query, and the rest stays searched by meaning", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session }) => {
    await session.recall(asked);
    await session.appendAll(talk(50, 60));
    await session.addCompaction("More was said.", "m1", "m52");
    script.answer = (_texts, purpose) => (purpose === "passage" ? Promise.reject(new Error("down")) : null);
    const found = await session.recall({ query: "And his vehicle?" });
    expect(found.text).toContain("red sedan");
    expect(found.byMeaning).toMatchObject({ kind: "searched" });
    expect(found.text).toMatch(/Of \d+ of the messages only the words were searched\./);
  });
});

test("vectors of another model or of another size are never compared, and are made again", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session, state }) => {
    await session.recall(asked);
    state.storage.sql.exec("UPDATE palimpsest_embeddings SET model = 'older'");
    script.calls.length = 0;
    // The batch is refused, so only the old vectors are there.
    script.answer = (_texts, purpose) => (purpose === "passage" ? Promise.reject(new Error("down")) : null);
    const without = await session.recall({ query: "Some automobile?" });
    expect(without.text).not.toContain("sedan");
    expect(without.byMeaning).toEqual({ kind: "searched", waiting: 30 });
  });
  script.answer = null;
  await hidden(async ({ session, state }) => {
    await session.recall(asked);
    state.storage.sql.exec("UPDATE palimpsest_embeddings SET model = 'older'");
    expect((await session.recall({ query: "Some automobile?" })).text).toContain("sedan");
    expect(pagesOf(state)).toMatchObject([{ model: "scripted" }]);
    // The same name, with longer vectors.
    script.answer = (texts) => texts.map((text) => [...vectorOf(text), 0, 0]);
    await session.recall({ query: "An automobile?" });
    const found = await session.recall({ query: "Any automobile?" });
    expect(found.text).toContain("sedan");
    expect(pagesOf(state)).toMatchObject([{ size: vectorOf("").length + 2 }]);
  });
});

test("a compaction has vectors made while nobody waits, batch by batch", async () => {
  const script = scriptEmbedder();
  await runInDurableObject(newStub(), async (agent) => {
    const session = Session.create(agent).forSession("compacts");
    const { promise, resolve } = Promise.withResolvers<void>();
    script.answer = (_texts, purpose) => {
      if (purpose === "passage") resolve();
      return null;
    };
    await session.appendAll([SEDAN, ...talk(0, 40)]);
    const [run] = await agent.runs({ sessionId: "compacts" });
    await agent.palimpsest.ended(run?.id ?? "");
    await promise;
    expect(script.calls[0]?.texts.join("\n")).toContain("Message 3:");
    expect(script.calls.every(({ texts }) => texts.length <= BATCH_TEXTS)).toBe(true);
  });
});

test("a kill between the model's answer and its storing costs the batch under way and no other", async () => {
  const script = scriptEmbedder();
  const name = `meaning-${agents++}`;
  const stub = () => env.MeaningAgent.get(env.MeaningAgent.idFromName(name));
  const many = Array.from({ length: 3 * BATCH_TEXTS }, (_, n) => message(`n${n}`, `Note ${n} about a dog.`));
  const inFlight = Promise.withResolvers<void>();
  await runInDurableObject(stub(), async (agent) => {
    const session = Session.create(agent).forSession("killed");
    await session.appendAll([message("first", "Begin."), ...many, ...talk(0, 4)]);
    await session.addCompaction("Notes.", "n0", many.at(-1)?.id ?? "");
    let passages = 0;
    script.answer = async (_texts, purpose) => {
      if (purpose !== "passage" || ++passages < 2) return null;
      inFlight.resolve();
      return new Promise(() => undefined);
    };
    const found = await session.recall({ query: "Whose puppy?" });
    expect(found.byMeaning).toEqual({ kind: "searched", waiting: 2 * BATCH_TEXTS });
    // The next batch is asked for after the answer.
    await inFlight.promise;
  });
  const before = script.calls.flatMap(({ texts }) => texts);
  await runInDurableObject(stub(), (_agent, state) => state.abort("killed")).catch(() => undefined);
  script.answer = null;
  const done = Promise.withResolvers<void>();
  script.answer = (texts) => {
    if (texts.includes("Note 0 about a dog.")) done.resolve();
    return null;
  };
  await runInDurableObject(stub(), async (agent) => {
    const session = Session.create(agent).forSession("killed");
    await session.recall({ query: "Whose puppy is it?" });
    await done.promise;
  });
  const after = script.calls.flatMap(({ texts }) => texts).slice(before.length);
  const twice = after.filter((text) => text.startsWith("Note") && before.includes(text));
  expect(twice).toHaveLength(BATCH_TEXTS);
});

test("one message that the model refuses is left to its words, and the others get their vectors", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ agent, session }) => {
    // The pauses after a failure are over at once.
    let now = Date.now();
    Object.assign(agent.palimpsest.platform, { now: () => (now += 3_600_000) });
    script.answer = (texts, purpose) =>
      purpose === "passage" && texts.some((text) => text.startsWith("Message 20:"))
        ? Promise.reject(new Error("no"))
        : null;
    const waiting: number[] = [];
    for (let round = 0; round < 40 && waiting.at(-1) !== 0; round++) {
      const found = await session.recall({ query: `Which automobile, ${round}?` });
      waiting.push(found.byMeaning?.kind === "searched" ? found.byMeaning.waiting : -1);
    }
    expect(waiting.at(-1)).toBe(0);
    expect((await session.recall(asked)).text).toContain("red sedan");
  });
});

test("today's tokens are counted, shown with the session's costs, and end the calls when they are spent", async () => {
  const script = scriptEmbedder();
  await hidden(async ({ session, state }) => {
    await session.recall(asked);
    const [spent] = state.storage.sql
      .exec<{ tokens: number }>("SELECT tokens FROM palimpsest_embedding_spend")
      .toArray();
    expect(spent?.tokens).toBeGreaterThan(2_000);
    expect(JSON.stringify(await session.getCosts())).toContain(`${spent?.tokens}`);
    state.storage.sql.exec("UPDATE palimpsest_embedding_spend SET tokens = 1000000, day = ?", utcDay(Date.now()));
    script.calls.length = 0;
    const found = await session.recall({ query: "Which automobile was the sedan?" });
    expect(found).toMatchObject({ kind: "found", byMeaning: { kind: "failed", reason: "budget" } });
    expect(script.calls).toEqual([]);
  });
});

test("the model is sent no secret that the session's rules know", async () => {
  const script = scriptEmbedder();
  const key = `ghp_${"a1B2".repeat(9)}`;
  await runInDurableObject(newStub(), async (agent) => {
    const session = Session.create(agent).forSession("clean");
    await session.appendAll([...talk(0, 3), message("key", `The key is ${key}, said Bob.`), ...talk(3, 8)]);
    await session.addCompaction("A key.", "m1", "m6");
    await session.recall({ query: `Whose key is ${key}?` });
    expect(JSON.stringify(script.calls)).toContain("said Bob");
    expect(JSON.stringify(script.calls)).not.toContain(key);
  });
});

test("a secret that is longer than a piece is taken out before the message is cut", async () => {
  const script = scriptEmbedder();
  const lines = Array.from({ length: 60 }, (_, n) => `${"MIIEpQIBAAKCAQEA7".repeat(3)}${String(n).padStart(13, "x")}`);
  const [first, last] = ["BEGIN", "END"].map((word) => `-----${word} PRIVATE KEY-----`);
  await runInDurableObject(newStub(), async (agent) => {
    const session = Session.create(agent).forSession("clean");
    const text = ["This is what Bob sent.", first, ...lines, last, "Keep it."].join("\n");
    await session.appendAll([...talk(0, 3), message("key", text), ...talk(3, 8)]);
    await session.addCompaction("A key.", "m1", "m6");
    await session.recall({ query: "What did Bob send?" });
    expect(JSON.stringify(script.calls)).toContain("Bob sent");
    for (const line of lines) expect(JSON.stringify(script.calls)).not.toContain(line);
  });
});

/** Rows that a recall reads where so many messages have their vectors. */
async function rowsOf(messages: number): Promise<number> {
  return runInDurableObject(newStub(), async (agent) => {
    const session = Session.create(agent).forSession("long");
    const notes = Array.from({ length: messages }, (_, n) => message(`n${n}`, `Note ${n}.`));
    await session.appendAll([message("first", "Begin."), ...notes, ...talk(0, 2)]);
    await session.addCompaction("Notes.", "n0", notes.at(-1)?.id ?? "");
    for (let round = 0; ; round++) {
      const found = await session.recall({ query: `Which puppy, ${round}?`, maxTokens: 200 });
      if (found.byMeaning?.kind === "searched" && found.byMeaning.waiting === 0) break;
    }
    const { meter } = agent.palimpsest.db;
    const before = meter.rowsRead;
    await session.recall({ query: "Which dog?", maxTokens: 200 });
    return meter.rowsRead - before;
  });
}

test("rows read for vectors grow by the pages of the session, not by its messages", async () => {
  scriptEmbedder();
  const [few, many] = [await rowsOf(2 * EMBEDDED_TOGETHER), await rowsOf(6 * EMBEDDED_TOGETHER)];
  expect(many - few).toBeLessThanOrEqual(4 * 4 + 4);
});

test.each<[what: string, options: unknown]>([
  ["no model", { embed: async () => [] }],
  ["no function", { model: "m" }],
  ["an unknown option", { model: "m", embed: async () => [], batch: 3 }],
  ["a budget that is no number", { model: "m", embed: async () => [], dayTokens: -1 }],
])("%s is refused where the agent is declared", (_what, options) => {
  expect(() => embeddings(options as EmbeddingsOptions)).toThrow(/^\[invalid_options\] embeddings/);
  expect(() => recall({ embeddings: options as never })).toThrow(/^\[invalid_options\] recall: embeddings/);
});

/** A model of one's own, as the example calls it. */
async function vectorsOf(texts: readonly string[], purpose: string, signal: AbortSignal) {
  return scriptedEmbed(texts, { purpose: purpose === "query" ? "query" : "passage", signal });
}

test("the examples of docs/recall.md on embeddings do what they say", async () => {
  scriptEmbedder();
  {
    // example of a model
    const own = embeddings({
      model: "my-model-384",
      embed: async (texts, { purpose, signal }) => vectorsOf(texts, purpose, signal),
      dayTokens: 1_000_000,
    });
    const rooms = [recall({ embeddings: own })] as const; // withCompaction(Agent, { rooms })
    // end
    expect(rooms[0].name).toBe("recall");
  }
  const said = vi.spyOn(console, "log").mockReturnValue(undefined);
  await hidden(async ({ session }) => {
    // example
    const found = await session.recall({ query: "Which automobile does he own?" });
    if (found.kind === "found") console.log(found.text); // … Bob bought a red sedan yesterday. …
    if (found.byMeaning?.kind === "searched") console.log(`${found.byMeaning.waiting} messages by words alone`);
    if (found.byMeaning?.kind === "failed") console.log(`all by words alone: ${found.byMeaning.reason}`);
    // end
  });
  expect(said.mock.calls.map(([text]) => String(text))).toEqual([
    expect.stringContaining("Bob bought a red sedan yesterday."),
    "0 messages by words alone",
  ]);
  said.mockRestore();
});

test("a binding of Workers AI is asked in its own form, and another answer of it is no vector", async () => {
  const asked: unknown[] = [];
  const answers: unknown[] = [{ shape: [1, 2], data: [[1, 0]] }, { other: true }, null];
  const { model, embed } = workersAiEmbeddings({
    run: async (...call) => {
      asked.push(call);
      return answers.shift();
    },
  });
  const { signal } = new AbortController();
  expect(await embed(["A dog."], { purpose: "query", signal })).toEqual([[1, 0]]);
  expect(asked).toEqual([[model, { text: ["A dog."] }]]);
  expect(await embed(["A dog."], { purpose: "query", signal })).toEqual([]);
  expect(await embed(["A dog."], { purpose: "query", signal })).toEqual([]);
});
