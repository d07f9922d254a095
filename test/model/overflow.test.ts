/** A refusal for a prompt that is too long is told from every other failure. */
import { APICallError } from "@ai-sdk/provider";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, RetryError } from "ai";
import { expect, test } from "vitest";
import { isContextOverflow } from "../../src/model/failures.ts";

function refusal(statusCode: number, message: string): APICallError {
  return new APICallError({ message, statusCode, url: "https://api.example.com/v1", requestBodyValues: {} });
}

test("a prompt that was refused as too long is told from every other failure", () => {
  const tooLong = refusal(400, "This model's maximum context length is 32768 tokens.");
  expect(isContextOverflow(tooLong)).toBe(true);
  expect(isContextOverflow(new Error("The step failed", { cause: tooLong }))).toBe(true);
  const message = `Failed after 2 attempts. Last error: ${tooLong.message}`;
  expect(isContextOverflow(new RetryError({ message, reason: "errorNotRetryable", errors: [tooLong] }))).toBe(true);
  expect(isContextOverflow(refusal(429, "Too many requests"))).toBe(false);
  expect(isContextOverflow(refusal(401, "No such key"))).toBe(false);
  expect(isContextOverflow(new TypeError("fetch failed"))).toBe(false);
  expect(isContextOverflow("nothing")).toBe(false);
});

test.each([
  ["OpenAI", 400, "Your input exceeds the context window of this model. Please adjust your input and try again."],
  [
    "OpenAI, for a minute",
    429,
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000. The input or output tokens must be reduced in order to run successfully.",
  ],
  ["Anthropic", 400, "prompt is too long: 201822 tokens > 200000 maximum"],
  [
    "Anthropic, with the answer",
    400,
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
  ],
  ["Gemini", 400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."],
  ["Bedrock", 400, "Input is too long for requested model."],
  [
    "Bedrock, Nova",
    400,
    "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
  ],
  [
    "Mistral",
    400,
    "Prompt contains 40122 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
  ],
  ["Cohere", 400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"],
  ["Groq", 413, "Please reduce the length of the messages or completion."],
  [
    "Cerebras",
    400,
    "Please reduce the length of the messages or completion. Current length is 9811 while limit is 8192",
  ],
  ["Fireworks", 400, "The prompt is too long: 140000, model maximum context length: 131071"],
  [
    "Together",
    422,
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`",
  ],
  ["Hugging Face", 422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5120"],
  ["Vertex", 400, "Vertex Claude request uses 256984 input tokens; limit is 167232."],
  ["Baidu", 400, "Query or prefix prompt is too long, you can reduce the prefix prompt, or shrink the max token."],
  ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ["Moonshot", 400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 270001)"],
  ["DashScope", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]"],
  ["Z.ai", 400, "Prompt exceeds max length"],
  ["Zhipu", 400, "Prompt 超长"],
  ["Volcengine", 400, "Total tokens of image and text exceed max message tokens. Request id: 0217"],
  ["GitHub Copilot", 400, "prompt token count of 125000 exceeds the limit of 64000"],
  ["GitHub Models", 413, "Request body too large for gpt-4o model. Max size: 8000 tokens."],
  [
    "OpenRouter",
    400,
    "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens.",
  ],
  ["MiniMax", 400, "invalid params, context window exceeds limit (2013)"],
  ["vLLM", 400, "The decoder prompt (length 5201) is longer than the maximum model length of 4096."],
  ["SGLang", 400, "The input (5201 tokens) is longer than the model's context length (4096 tokens)."],
  ["llama.cpp", 400, "the request exceeds the available context size, try increasing it"],
  [
    "LM Studio",
    400,
    "Trying to keep the first 9124 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
  ],
  ["Ollama", 500, "prompt too long; exceeded max context length by 812 tokens"],
  [
    "Vertex",
    400,
    "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.",
  ],
  ["watsonx", 400, "the number of input tokens 5001 cannot exceed the total tokens limit 4096 for this model"],
  [
    "OpenAI, one text",
    400,
    "Invalid 'input[12].content[0].text': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.",
  ],
  [
    "Workers AI",
    413,
    "The estimated number of input and maximum output tokens (25123) exceeded this model context window limit (24000).",
  ],
])("%s says in its own words that a prompt is too long", (_name, status, message) => {
  expect(isContextOverflow(refusal(status, message))).toBe(true);
  if (status === 400) expect(isContextOverflow({ error: { message } })).toBe(true);
});

test.each([
  ["an answer's limit", 400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens."],
  ["an answer's limit at DashScope", 400, "Range of max_tokens should be [1, 8192]"],
  ["an id", 400, "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 64."],
  [
    "a minute's tokens",
    429,
    "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 1500.",
  ],
  ["a day's tokens", 429, "Tokens per day limit exceeded - too many tokens processed."],
  ["a server's load", 503, "The number of requests exceeds the maximum of this server."],
  ["a number of tools", 400, "Invalid 'tools': array too long. Expected an array with maximum length 128."],
])("a refusal for %s is no prompt that is too long", (_name, status, message) => {
  expect(isContextOverflow(refusal(status, message))).toBe(false);
});

test.each([
  ["a code without words", 400, '{"error":{"message":"Bad request","code":"context_length_exceeded"}}'],
  ["a bare 413", 413, "<html>413</html>"],
])("%s after a passing fault, which the SDK puts into one error", async (_name, status, body) => {
  let calls = 0;
  const headers = { "retry-after-ms": "1", "content-type": "application/json" };
  const answer = async (): Promise<Response> =>
    calls++ === 0
      ? new Response('{"error":{"message":"boom"}}', { status: 500, headers })
      : new Response(body, { status, headers });
  const model = createOpenAI({ apiKey: "none", fetch: answer }).chat("m");
  const error: unknown = await generateText({ model, prompt: "hi", maxRetries: 1 }).catch((reason: unknown) => reason);
  expect(calls).toBe(2);
  expect(isContextOverflow(error)).toBe(true);
});
