import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { APICallError, type LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, it } from "vitest";
import { chooseModel } from "../../src/model/choose.ts";
import { redact, stripThinking, summarize, type SummarizeResult } from "../../src/model/summarize.ts";

type Finish = LanguageModelV4GenerateResult["finishReason"]["unified"];

const asked = { system: "Summarise.", prompt: "A long talk.", maxOutputTokens: 100 };

function answering(text: string, finish: Finish = "stop"): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: "text", text }],
      finishReason: { unified: finish, raw: finish },
      usage: {
        inputTokens: { total: 12, noCache: 12, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 5, text: 5, reasoning: 0 },
      },
      warnings: [],
    },
  });
}

function throwing(error: unknown): MockLanguageModelV4 {
  const fail = async (): Promise<never> => {
    throw error;
  };
  return new MockLanguageModelV4({ doGenerate: fail });
}

function apiError(statusCode: number, message: string, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({ message, url: "https://host/v1", requestBodyValues: {}, statusCode, responseHeaders });
}

describe("an answer is a value", () => {
  it("gives the text, how it ended and what it cost", async () => {
    expect(await summarize({ ...asked, model: answering("## Goal\n- Ship it.") })).toEqual({
      kind: "text",
      text: "## Goal\n- Ship it.",
      finishReason: "stop",
      inputTokens: 12,
      outputTokens: 5,
    });
  });

  it("passes on the system prompt, the prompt and the limit, once", async () => {
    const model = answering("text");
    await summarize({ ...asked, model });
    expect(model.doGenerateCalls).toHaveLength(1);
    expect(model.doGenerateCalls[0]).toMatchObject({
      maxOutputTokens: 100,
      prompt: [{ role: "system", content: "Summarise." }, { role: "user" }],
    });
  });

  it("says when the answer was cut off", async () => {
    expect(await summarize({ ...asked, model: answering("half", "length") })).toMatchObject({ finishReason: "length" });
  });

  it.each([
    ["<think>hm\nwell</think>\n\n## Goal", "## Goal"],
    ["  <THINK>a</THINK><thinking>b</thinking>## Goal", "## Goal"],
    ["hm, well\n</think>\n## Goal", "## Goal"],
    ["<think>never ends", ""],
    ["## Goal\n- Strip `<think>` and `</think>` tags", "## Goal\n- Strip `<think>` and `</think>` tags"],
    ["plain", "plain"],
  ])("leaves out what the model thought aloud: %j", (raw, clean) => {
    expect(stripThinking(raw)).toBe(clean);
  });

  it("stays linear on thoughts that never end", () => {
    expect(stripThinking("<think>".repeat(100_000))).toBe("");
    expect(stripThinking("<think></think>".repeat(20_000))).toBe("");
  });
});

describe("what is no summary is a typed failure", () => {
  it.each<[string, MockLanguageModelV4, Partial<SummarizeResult>]>([
    ["an empty answer", answering("  "), { kind: "failed", code: "empty", retryable: true }],
    ["only thoughts", answering("<think>x</think>"), { kind: "failed", code: "empty", retryable: true }],
    [
      "a filtered answer",
      answering("", "content-filter"),
      { kind: "refused", code: "content-filter", retryable: false },
    ],
    ["an answer broken off", answering("ha", "error"), { kind: "failed", code: "provider", retryable: true }],
    ["a wrong key", throwing(apiError(401, "bad key")), { kind: "failed", code: "auth", retryable: false }],
    ["a closed door", throwing(apiError(403, "no")), { kind: "failed", code: "auth", retryable: false }],
    ["an unpaid bill", throwing(apiError(402, "pay")), { kind: "failed", code: "quota", retryable: false }],
    ["a spent quota", throwing(apiError(429, "You exceeded your current quota")), { code: "quota", retryable: false }],
    [
      "a rate limit",
      throwing(apiError(429, "slow down", { "retry-after": "7" })),
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
    ],
    [
      "a prompt too long",
      throwing(apiError(400, "maximum context length is 8192 tokens")),
      { code: "too-long", retryable: false },
    ],
    ["a filtered prompt", throwing(apiError(400, "blocked by content filter")), { kind: "refused", retryable: false }],
    ["a bad request", throwing(apiError(400, "no such model")), { code: "bad-request", retryable: false }],
    ["a fault over there", throwing(apiError(503, "try later")), { code: "provider", retryable: true }],
    ["a gateway's timeout", throwing(apiError(504, "late")), { code: "timeout", retryable: true }],
    ["our own timeout", throwing(new DOMException("late", "TimeoutError")), { code: "timeout", retryable: true }],
    ["an abort", throwing(new DOMException("stop", "AbortError")), { code: "aborted", retryable: false }],
    ["a lost connection", throwing(new Error("Network connection lost.")), { code: "network", retryable: true }],
    ["no internet", throwing(new Error("internal error; reference = abc")), { code: "network", retryable: true }],
    [
      "no capacity",
      throwing(new Error("3040: Capacity temporarily exceeded")),
      { code: "rate-limit", retryable: true },
    ],
    [
      "the daily allocation used",
      throwing(new Error("you have used up your daily free allocation of 10,000 neurons")),
      { code: "quota", retryable: false },
    ],
    ["something else", throwing("odd"), { code: "provider", retryable: true }],
  ])("%s", async (_name, model, expected) => {
    expect(await summarize({ ...asked, model })).toMatchObject(expected);
  });

  it("a tool call instead of text", async () => {
    const model = new MockLanguageModelV4({
      doGenerate: {
        ...(await answering("").doGenerate({ prompt: [] })),
        content: [{ type: "tool-call", toolCallId: "1", toolName: "bash", input: "{}" }],
        finishReason: { unified: "tool-calls", raw: "tool_calls" },
      },
    });
    expect(await summarize({ ...asked, model })).toMatchObject({ kind: "failed", code: "tool-call" });
  });
});

describe("reasons carry no secrets", () => {
  it.each([
    ["Incorrect API key provided: sk-proj-abcdef1234567890abcd", "abcdef1234567890"],
    ["GET https://user:hunter2@host/v1 failed", "hunter2"],
    ["https://host/v1?api_key=supersecretvalue failed", "supersecretvalue"],
    ["header Authorization: Bearer abc.def.ghi-jkl", "abc.def.ghi"],
    ['{"token":"t0psecret-value"}', "t0psecret"],
  ])("%s", (message, secret) => {
    expect(redact(message)).not.toContain(secret);
  });

  it("and stay short", () => {
    expect(redact("x ".repeat(10_000)).length).toBeLessThanOrEqual(300);
  });
});

function ask(url: string): Promise<SummarizeResult> {
  const { model } = chooseModel({
    PALIMPSEST_MODEL_URL: url,
    PALIMPSEST_MODEL: "m",
    PALIMPSEST_MODEL_KEY: "sk-secret",
  });
  return summarize({ ...asked, model });
}

describe("a real OpenAI-compatible endpoint on localhost", () => {
  let server: Server | undefined;
  afterEach(() => new Promise((resolve) => (server?.listening ? server.close(resolve) : resolve(undefined))));

  async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    server = createServer(handle);
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  function failing(status: number, error: object, headers: Record<string, string> = {}): Promise<string> {
    return serve((_request, response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error }));
    });
  }

  it("answers with text and usage, given the key and the model", async () => {
    let seen: { path: string | undefined; key: string | undefined } | undefined;
    const url = await serve((request, response) => {
      seen = { path: request.url, key: request.headers.authorization };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          id: "1",
          created: 1,
          model: "m",
          choices: [{ index: 0, message: { role: "assistant", content: "## Goal" }, finish_reason: "stop" }],
          usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
        }),
      );
    });
    expect(await ask(url)).toEqual({
      kind: "text",
      text: "## Goal",
      finishReason: "stop",
      inputTokens: 9,
      outputTokens: 3,
    });
    expect(seen).toEqual({ path: "/v1/chat/completions", key: "Bearer sk-secret" });
  });

  it("401 is auth", async () => {
    const answer = await ask(await failing(401, { message: "Incorrect API key provided: sk-secret-1234567890" }));
    expect(answer).toMatchObject({ kind: "failed", code: "auth", retryable: false });
    expect(JSON.stringify(answer)).not.toContain("1234567890");
  });

  it("429 is a rate limit with its wait, or a spent quota", async () => {
    expect(await ask(await failing(429, { message: "slow" }, { "retry-after": "2" }))).toMatchObject({
      code: "rate-limit",
      retryAfterMs: 2_000,
    });
    server?.close();
    const spent = { message: "stop", type: "insufficient_quota", code: "insufficient_quota" };
    expect(await ask(await failing(429, spent))).toMatchObject({ code: "quota", retryable: false });
  });

  it("500 may pass", async () => {
    expect(await ask(await failing(500, { message: "oops" }))).toMatchObject({ code: "provider", retryable: true });
  });

  it("a dead port may pass", async () => {
    const url = await serve(() => {});
    await new Promise((resolve) => server?.close(resolve));
    expect(await ask(url)).toMatchObject({ kind: "failed", code: "network", retryable: true });
  });
});
