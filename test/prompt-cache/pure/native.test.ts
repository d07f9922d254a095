/** A summary that Anthropic writes on demand, through its real package. The fetch keeps the request and answers with a compaction block. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { DEFAULT_PRICES } from "../../../src/limits.ts";
import { native } from "../../../src/prompt-cache/continue.ts";
import type { Question } from "../../../src/model/chosen.ts";
import { buildPrompt, type PromptInput } from "../../../src/steps/draft/prompt.ts";
import { DEFAULT_TEMPLATE } from "../../../src/steps/draft/prompt.ts";

const SUMMARY = "## State\n- The stage is done.";

function answering() {
  const bodies: Record<string, unknown>[] = [];
  const headers: Headers[] = [];
  const answer = (async (_url: unknown, init: { body: string; headers: HeadersInit }) => {
    bodies.push(JSON.parse(init.body) as Record<string, unknown>);
    headers.push(new Headers(init.headers));
    const content = [{ type: "compaction", content: SUMMARY, signature: "signed" }];
    const usage = { input_tokens: 900, output_tokens: 20, cache_read_input_tokens: 800 };
    const body = {
      type: "message",
      id: "m",
      model: "claude",
      role: "assistant",
      content,
      stop_reason: "compaction",
      usage,
    };
    return Response.json({ ...body, stop_sequence: null });
  }) as unknown as typeof fetch;
  return { model: createAnthropic({ apiKey: "none", fetch: answer })("claude-sonnet-4-5"), bodies, headers };
}

const messages: UIMessage[] = [
  { id: "a", role: "user", parts: [{ type: "text", text: `Build the stage. ${"Mind the curtain. ".repeat(400)}` }] },
  { id: "b", role: "assistant", parts: [{ type: "text", text: "Built." }] },
];

test("the agent's own prompt is summarised by our instructions, and the block is read as any other summary", async () => {
  const { model, bodies, headers } = answering();
  const prompt = messages.map(({ role, parts }) => ({ role, content: parts }));
  const later = { role: "user", content: [{ type: "text", text: "And the lights?" }] };
  const providerOptions = { anthropic: { contextManagement: { edits: [] }, effort: "low" } };
  const input: PromptInput = { kind: "chunk", template: DEFAULT_TEMPLATE, summaryTokens: 300, boundary: "b" };
  const question: Question = {
    sent: { request: JSON.stringify({ prompt: [...prompt, later], providerOptions }), prices: DEFAULT_PRICES },
    messages,
    input,
    plain: buildPrompt({ ...input, transcript: messages[0]?.parts.map((part) => JSON.stringify(part)).join("") ?? "" }),
    answerTokens: 300,
  };
  const asked = native(model, { windowTokens: 100_000 }).ask(question);
  const { text, finishReason } = await generateText({
    model: asked?.model.model ?? "",
    instructions: asked?.system ?? "",
    prompt: asked?.prompt ?? "",
    maxRetries: 0,
  });
  expect(text).toBe(SUMMARY);
  expect(finishReason).toBe("other");
  const [body] = bodies;
  expect(JSON.stringify(body?.["messages"])).toContain("Build the stage.");
  expect(JSON.stringify(body?.["messages"])).not.toContain("And the lights?");
  expect(body?.["messages"]).toHaveLength(2);
  expect(body?.["compaction"]).toEqual({
    type: "summarize",
    instructions: expect.stringContaining("Now write the summary.") as string,
  });
  expect(body).not.toHaveProperty("context_management");
  expect(headers[0]?.get("anthropic-beta")).toContain("compact-2026-09-04");
});

test("a model of a provider without a readable summary on demand is refused at once, with what to do", () => {
  for (const provider of ["openai.responses", "google.generative-ai", "amazon-bedrock", "workersai.chat"]) {
    const model = new MockLanguageModelV4({ provider });
    expect(() => native(model, { windowTokens: 9_000 })).toThrow(/^\[invalid_options\].*continuePrompt/);
  }
});

test("a name is refused", () => {
  expect(() => native("claude" as never, { windowTokens: 9_000 })).toThrow("[invalid_options]");
});
