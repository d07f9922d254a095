/** The code path of Workers AI as far as it runs without the service, with the real provider over a scripted binding. */
import { isStepCount, streamText, tool } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { chooseModel } from "../../src/providers/choose.ts";

interface Input {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** A binding that streams one answer a call, as server-sent events, and keeps what it was given. */
function scriptedBinding(answers: readonly (readonly object[])[]) {
  const inputs: Input[] = [];
  const run = async (_model: string, input: Input): Promise<ReadableStream<Uint8Array>> => {
    const chunks = answers[inputs.length] ?? [];
    inputs.push(structuredClone(input));
    const events = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`);
    return new Blob(events).stream();
  };
  return { AI: { run } as unknown as Ai, inputs };
}

function chunk(delta: object, finish_reason: string | null = null): object {
  return { id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] };
}

function used(prompt_tokens: number): object {
  return { ...chunk({}), choices: [], usage: { prompt_tokens, completion_tokens: 5, total_tokens: prompt_tokens + 5 } };
}

test("a streamed turn calls its tools through the binding, and each call's usage is reported", async () => {
  const look = { index: 0, id: "c1", type: "function", function: { name: "look", arguments: '{"n":1}' } };
  const { AI, inputs } = scriptedBinding([
    [chunk({ tool_calls: [look] }), chunk({}, "tool_calls"), used(50)],
    [chunk({ content: "Do" }), chunk({ content: "ne." }), chunk({}, "stop"), used(60)],
  ]);
  const counted: (number | undefined)[] = [];
  const { textStream } = streamText({
    model: chooseModel({ AI }).model,
    instructions: "Be brief.",
    prompt: "Look.",
    tools: { look: tool({ inputSchema: z.object({ n: z.number() }), execute: async () => "seen" }) },
    stopWhen: isStepCount(5),
    onStepEnd: ({ usage }) => void counted.push(usage.inputTokens),
  });
  expect((await Array.fromAsync(textStream)).join("")).toBe("Done.");
  expect(counted).toEqual([50, 60]);
  expect(inputs.map(({ messages }) => messages.map(({ role }) => role).join(" "))).toEqual([
    "system user",
    "system user assistant tool",
  ]);
  expect(inputs[1]?.messages.at(-1)?.content).toBe("seen");
  expect(inputs[0]?.tools?.map((each) => each.function.name)).toEqual(["look"]);
});
