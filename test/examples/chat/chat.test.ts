/**
 * examples/chat as a production bundle, over a WebSocket: long turns, branches, memory and provider counts. A whole turn survives
 * compactions in its middle.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { convertToModelMessages } from "ai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { configOf } from "../config.ts";
import { connect, pagesRead, storedMessages, type Chat, type Reply } from "./client.ts";

const root = resolve(import.meta.dirname, "../../..");
const server = createTestHarness({ workers: [{ configPath: configOf("chat") }] });
beforeAll(async () => void (await server.listen()));
afterAll(() => server.close());

const newChat = (name: string): Promise<Chat> => connect(server, name);

interface Heard {
  readonly type: string;
  readonly result?: unknown;
  readonly replyId?: string;
  readonly delta?: string;
}

/** Sends everything at once over one WebSocket. Returns the frames until all of it is answered, in order. */
async function callAll(name: string, texts: readonly string[]): Promise<Heard[]> {
  const { url } = await server.listen();
  const socket = new WebSocket(`ws://${url.host}/agents/chat-agent/${name}`);
  const heard: Heard[] = [];
  const { promise: answered, resolve, reject } = Promise.withResolvers<void>();
  socket.addEventListener("error", () => reject(new Error("The connection broke.")));
  socket.addEventListener("open", () => {
    for (const [id, text] of texts.entries()) {
      socket.send(JSON.stringify({ type: "rpc", id: `${id}`, method: "chat", args: [text] }));
    }
  });
  socket.addEventListener("message", ({ data }) => {
    heard.push(JSON.parse(String(data)) as Heard);
    if (heard.filter(({ type }) => type === "rpc").length === texts.length) resolve();
  });
  await answered;
  socket.close();
  return heard;
}

// The example's model refuses, as providers do, any prompt that holds a call without its result or the reverse. So every
// turn that ends well was, at each of its steps, a view without an orphan (V2).

test("a turn of fifty steps is compacted in its middle, more than once, and goes on as if nothing had been (V2, M1)", async () => {
  const chat = await newChat("long");
  const { id, text } = await chat.chat("Please read pages 1 to 49.");
  expect(text).toBe("I have read up to page 49.");
  const runs = await chat.runs({});
  expect(runs.length).toBeGreaterThan(1);
  expect(runs.map((run) => run.outcome?.kind)).toEqual(runs.map(() => "applied"));
  const reply = await chat.getMessage({ id });
  expect(pagesRead(reply)).toEqual(Array.from({ length: 49 }, (_, index) => index + 1));
  const { thresholdTokens, viewTokens } = await chat.status({});
  expect(viewTokens).toBeLessThan(thresholdTokens ?? 0);
  const { messages } = await chat.getView({});
  expect(pagesRead(messages.at(-1) ?? null).length).toBeLessThan(40);
  expect((await convertToModelMessages(messages)).length).toBeGreaterThan(2);
});

test("the conversation goes on after that, turn after turn", async () => {
  const chat = await newChat("long");
  expect((await chat.chat("Please find inspector")).text).toContain("It is on pages [2,6,10,");
  expect((await chat.chat("Good night.")).text).toContain("Good night.");
  expect((await storedMessages(chat)).map((message) => message.role)).toEqual(
    Array.from({ length: 6 }, (_, index) => (index % 2 === 0 ? "user" : "assistant")),
  );
});

test("a prompt that the provider refuses as too long is compacted and asked once more, in the same turn", async () => {
  const chat = await newChat("overflow");
  await chat.chat("Please read pages 1 to 20.");
  expect(await chat.runs({})).toHaveLength(0);
  // This one pasted message takes the view over the threshold and over the model's window.
  const pasted = "The keeper's letter says that the oil was measured again. ".repeat(500);
  const { id, text } = await chat.chat(pasted);
  expect(text).toContain("You said: ");
  // The run left the view near the threshold. The answer may start another run, which then finds nothing to do.
  const outcomes = (await chat.runs({})).map(({ outcome }) => outcome?.kind);
  expect(outcomes.filter((kind) => kind !== "nothing")).toEqual(["applied"]);
  expect(await chat.getMessage({ id })).toMatchObject({ parts: [{ type: "step-start" }, { type: "text", text }] });
  expect(await storedMessages(chat)).toHaveLength(4);
});

test("an answer is made again as a branch beside the first, and the conversation goes on from it", async () => {
  const chat = await newChat("branches");
  const first = await chat.chat("Please read pages 3 to 5.");
  const second = await chat.regenerate(first.id);
  expect(second.id).not.toBe(first.id);
  const [question] = await storedMessages(chat);
  expect((await chat.getBranches({ id: question?.id ?? "" })).map(({ id }) => id)).toEqual([first.id, second.id]);
  await chat.chat("Thank you.");
  const ids = (await storedMessages(chat)).map(({ id }) => id);
  expect(ids).toHaveLength(4);
  expect(ids).toContain(second.id);
  expect(ids).not.toContain(first.id);
});

test("a reply that a compaction cut through is made again beside it, under the same question, by the id of either", async () => {
  const chat = await newChat("cut");
  const first = await chat.chat("Please read pages 1 to 49.");
  const cut = (await chat.getView({ leafId: first.id })).elements.find(({ kind }) => kind === "overlay");
  expect(cut).toMatchObject({ span: { toId: first.id } });
  const second = await chat.regenerate(first.id);
  const [question] = await storedMessages(chat);
  const third = await chat.regenerate(question?.id ?? "");
  expect((await chat.getBranches({ id: question?.id ?? "" })).map(({ id }) => id)).toEqual([
    first.id,
    second.id,
    third.id,
  ]);
  expect(pagesRead(await chat.getMessage({ id: third.id }))).toHaveLength(49);
  expect((await storedMessages(chat)).map(({ id }) => id)).toEqual([question?.id, third.id]);
  await expect(chat.regenerate(question?.id ?? "", "another")).rejects.toThrow("unknown_message");
});

test("what the model writes to its memory stands in the system prompt once that is refreshed (C2)", async () => {
  const chat = await newChat("memory");
  await chat.chat("Remember: I prefer answers in one line.");
  await chat.chat("Hello.");
  const prompt = await chat.refreshPrompt();
  expect(prompt).toContain("clerk of a lighthouse's archive");
  expect(prompt).toContain("I prefer answers in one line.");
});

test("what the provider counted is recorded at every step, and the session is as large as it says", async () => {
  const chat = await newChat("usage");
  await chat.chat("Please read pages 1 to 9.");
  const [usage] = await chat.usage();
  expect(usage).toMatchObject({ model: "example:clerk", calls: 10 });
  const view = await chat.getView({});
  const { viewTokens } = await chat.status({});
  // System prompt and tools, which nobody told the session of.
  expect(viewTokens).toBeGreaterThan(view.tokens + 300);
});

test("what a client says while the model is at work waits for its answer, also while that waits for a compaction", async () => {
  const asked = ["Please read pages 1 to 40.", "Please read page 7.", "Bye."];
  const heard = await callAll("at-once", asked);
  const answers = heard.flatMap(({ result }) => (result === undefined ? [] : [result as Reply]));
  expect(answers.map(({ text }) => text.slice(0, 25))).toEqual([
    "I have read up to page 40",
    "I have read up to page 7.",
    'You said: "Bye.". Ask me ',
  ]);
  const [first] = answers;
  const streamed = heard.flatMap((each) =>
    each.type === "chat:text" && each.replyId === first?.id ? [each.delta] : [],
  );
  expect(streamed.join("")).toBe(first?.text);
  const chat = await newChat("at-once");
  expect(await chat.runs({})).not.toHaveLength(0);
  const messages = await storedMessages(chat);
  expect(messages.map((message) => message.role).join(" ")).toBe("user assistant user assistant user assistant");
});

test("curl can talk to it", async () => {
  const response = await server.fetch("/agents/chat-agent/curl", { method: "POST", body: "Please read page 2." });
  expect(await response.text()).toBe("I have read up to page 2.\n");
});

test("docs/chat.md shows what is tested here, letter by letter", () => {
  const docs = readFileSync(resolve(root, "docs/chat.md"), "utf8");
  const code = ["worker.ts", "logbook.ts", "skills.ts"]
    .map((file) => readFileSync(resolve(root, "examples/chat", file), "utf8"))
    .join("\n");
  const excerpts = [...docs.matchAll(/```ts\n(.*?)```/gs)].map(([, excerpt]) => excerpt ?? "");
  expect(excerpts.length).toBeGreaterThan(3);
  // The first one is a smaller agent, which test/scripts/docs/snippets.test.ts compiles.
  const [whole = "", ...parts] = excerpts;
  expect(whole).toMatch(/^import /);
  // So are other whole files, such as the ones for other loops.
  for (const excerpt of parts) if (!excerpt.startsWith("import ")) expect(code).toContain(excerpt);
});
