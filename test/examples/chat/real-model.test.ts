/** The unchanged chat example with a model at an OpenAI-compatible endpoint. Tests the requests that it sends. */
import { expect, onTestFinished, test } from "vitest";
import { createTestHarness } from "wrangler";
import { configOf } from "../config.ts";
import { connect, storedMessages, type Chat } from "./client.ts";
import { countTokens, startEndpoint, type Said } from "./endpoint.ts";

const configPath = configOf("chat");

async function newChat(script: readonly Said[], maxChars = 1_000_000) {
  const endpoint = await startEndpoint(script, maxChars);
  onTestFinished(() => endpoint[Symbol.asyncDispose]());
  const vars = { PALIMPSEST_MODEL_URL: endpoint.url, PALIMPSEST_MODEL: "scripted" };
  const server = createTestHarness({ workers: [{ configPath, vars }] });
  await server.listen();
  onTestFinished(() => server.close());
  const chat: Chat = await connect(server, "wire");
  return { chat, requests: endpoint.requests };
}

test("a streamed turn with tools goes over the wire, and what the endpoint counted is recorded", async () => {
  const { chat, requests } = await newChat([
    { tool: "load_context", input: { label: "skills", key: "letters" } },
    { tool: "read_log", input: { from: 2, to: 2 } },
    { text: "Page 2 says fog." },
  ]);
  expect((await chat.chat("What does page 2 say?")).text).toBe("Page 2 says fog.");
  expect(requests.map(({ messages }) => messages.map(({ role }) => role).join(" "))).toEqual([
    "system user",
    "system user assistant tool",
    "system user assistant tool assistant tool",
  ]);
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain("also where the spelling is old");
  expect(JSON.stringify(requests[2]?.messages.at(-1))).toContain("Page 2. ");
  expect(requests[0]?.tools?.map((tool) => tool.function.name)).toEqual([
    "set_context",
    "load_context",
    "unload_context",
    "search_context",
    "recall",
    "session_search",
    "read_log",
    "find_in_log",
  ]);
  const inputTokens = requests.map(countTokens).reduce((sum, each) => sum + each, 0);
  expect(await chat.usage()).toMatchObject([
    { model: "endpoint.chat:scripted", calls: 3, inputTokens, outputTokens: 21 },
  ]);
});

test("a prompt that the endpoint refuses as too long is compacted, by the same model, and answered in the same turn", async () => {
  const pages = Array.from({ length: 8 }, (_, at) => ({ tool: "read_log", input: { from: at + 1, to: at + 1 } }));
  const { chat, requests } = await newChat([...pages, { text: "Read." }, { text: "Thank you." }], 18_000);
  await chat.chat("Please read pages 1 to 8.");
  const asked = requests.length;
  const { text } = await chat.chat("The keeper's letter: it was cold. ".repeat(250));
  expect(text).toBe("Thank you.");
  const [refused, answered, ...more] = requests.slice(asked);
  expect(more).toEqual([]);
  // One user's message holds the question, the summary and what was said last, because no provider takes two in a row.
  const said = refused?.messages.at(-1)?.content;
  expect(answered?.messages.at(-1)).toMatchObject({ role: "user" });
  expect(answered?.messages.at(-1)?.content).toContain(said);
  expect(JSON.stringify(answered).length).toBeLessThan(JSON.stringify(refused).length - 3_000);
  const [run] = (await chat.runs({})).toReversed();
  expect(run?.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(await storedMessages(chat)).toHaveLength(4);
});
