/** Calls that a package would refuse or leave out are told in words: the request is made, and says what was called and what came of it. */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type LanguageModel, type ToolSet, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { keepTurn } from "../../src/turn/turn.ts";
import type { Part } from "../../src/steps/message/message.ts";
import { inside } from "../agent/inside.ts";
import { newAgent } from "../agents.ts";
import { say, stepStart, text } from "../steps/conversations.ts";

const apiKey = "none";
const { shell, applyPatch } = createOpenAI({ apiKey }).tools;
const ownTools: ToolSet = {
  shell: shell({ execute: async () => ({ output: [] }) }),
  apply_patch: applyPatch({ execute: async () => ({ status: "completed" }) }),
};

interface Talk {
  readonly messages: UIMessage[];
  readonly reply?: Part[];
  readonly tools: ToolSet;
  readonly maxTokens?: number;
}

/** The body of the request that the package of the model makes in a turn. Throws what the package throws before it asks. */
async function sent(make: (fetch: typeof globalThis.fetch) => LanguageModel, talk: Talk) {
  const { messages, reply = [], tools, ...limit } = talk;
  return inside(newAgent(), async (manager) => {
    const session = manager.getSession("x!1000000");
    await session.appendAll(messages);
    await session.appendMessage({ id: "reply", role: "assistant", parts: reply });
    let body: string | null = null;
    const model = make((async (_url: unknown, init: { body: string | Uint8Array }) => {
      body ??= typeof init.body === "string" ? init.body : new TextDecoder().decode(init.body);
      throw new Error("kept");
    }) as unknown as typeof fetch);
    const turn = keepTurn(session, { replyId: "reply", tools, ...limit });
    const base = { model, tools, maxRetries: 0, providerOptions: { openai: { store: false } } };
    await generateText({
      ...base,
      ...(await turn.prepareStep()),
      ...turn,
    }).catch((error: unknown) => {
      if (body === null) throw error;
    });
    return JSON.parse(body ?? "{}") as { input: { type: string; role?: string }[]; messages: { role: string }[] };
  });
}

const openai = (fetch: typeof globalThis.fetch) => createOpenAI({ apiKey, fetch }).responses("gpt-5.1");
const bedrock = (fetch: typeof globalThis.fetch) =>
  createAmazonBedrock({ region: "us-east-1", apiKey, fetch })("anthropic.claude-sonnet-4-5-20250929-v1:0");

const asked = (id: string): UIMessage => say(id, "user", text("Go on."));
const line = { stdout: "line ".repeat(200), stderr: "", outcome: { type: "exit", exitCode: 0 } };
const ran = (fields: object): Part =>
  ({
    type: "tool-shell",
    toolCallId: "c1",
    state: "output-available",
    input: { action: { commands: ["list-ledger"] } },
    output: { output: [line] },
    ...fields,
  }) as unknown as Part;
const patched = (callId: string, toolCallId = "c1"): Part =>
  ran({
    type: "tool-apply_patch",
    toolCallId,
    output: { status: "completed" },
    input: { callId, operation: { type: "delete_file", path: "list-ledger" } },
  });
const around = (part: Part): UIMessage[] => [
  asked("u"),
  say("a", "assistant", stepStart, part, stepStart, text("Listed.")),
  asked("u2"),
];

test.each<[string, UIMessage[], number | undefined, string]>([
  ["was stopped", around(ran({ state: "input-available", output: undefined })), undefined, "list-ledger"],
  ["failed", around(ran({ state: "output-error", output: undefined, errorText: "no disk" })), undefined, "no disk"],
  [
    "had an input of no form",
    around(
      ran({ state: "output-error", input: undefined, rawInput: '{"list-ledger', output: undefined, errorText: "bad" }),
    ),
    undefined,
    "list-ledger",
  ],
  [
    "had an output that a limit cuts",
    around(ran({ output: { output: Array.from({ length: 400 }, () => line) } })),
    3_000,
    "list-ledger",
  ],
  ["has another id in its input", around(patched("c0")), undefined, "list-ledger"],
])("OpenAI's own tool whose call %s is told in words", async (_name, messages, maxTokens, said) => {
  const { input } = await sent(openai, { messages, tools: ownTools, ...(maxTokens !== undefined && { maxTokens }) });
  expect(input.map(({ type }) => type).filter((type) => /call/.test(type ?? ""))).toEqual([]);
  expect(JSON.stringify(input)).toContain(said);
});

test("OpenAI's own tools are sent in their forms where they fit", async () => {
  const { input } = await sent(openai, {
    messages: [...around(ran({})), ...around(patched("c2", "c2")).map((each) => ({ ...each, id: `${each.id}p` }))],
    tools: ownTools,
  });
  const types = input.map(({ type }) => type).filter((type) => /call/.test(type ?? ""));
  expect(types).toEqual(["shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output"]);
});

test("Bedrock is told of calls and results in a turn without tools, and the request ends with the user", async () => {
  const read = ran({ type: "tool-read", output: "the ledger has 4711 rows" });
  const before = await sent(bedrock, { messages: around(read), tools: {} });
  const newest = await sent(bedrock, { messages: [asked("u")], reply: [stepStart, read], tools: {} });
  for (const body of [before, newest]) {
    expect(JSON.stringify(body)).toContain("4711");
    expect(body.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  }
});
