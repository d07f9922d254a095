/** The summariser at an OpenAI-compatible endpoint, over real HTTP on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { chooseModel } from "../../src/providers/choose.ts";
import { MAX_REDIRECTS, openAiCompatible } from "../../src/providers/openai-compatible.ts";
import { summarize, type SummarizeResult } from "../../src/model/summarize.ts";

const asked = { system: "Summarise.", prompt: "A long talk.", maxOutputTokens: 100, limitMs: 60_000 };

function ask(url: string): Promise<SummarizeResult> {
  const { model } = chooseModel({
    PALIMPSEST_MODEL_URL: url,
    PALIMPSEST_MODEL: "m",
    PALIMPSEST_MODEL_KEY: "sk-secret",
  });
  return summarize({ ...asked, model });
}

function stream(response: ServerResponse, chunks: readonly object[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  response.end("data: [DONE]\n\n");
}

function delta(delta: object, finish_reason: string | null = null): object {
  return { id: "1", choices: [{ index: 0, delta, finish_reason }] };
}

describe("a real OpenAI-compatible endpoint on localhost", () => {
  let server: Server | undefined;
  afterEach(() => new Promise((resolve) => (server?.listening ? server.close(resolve) : resolve(undefined))));

  async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
    server = createServer(handle);
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  /** Redirects `times` times and then answers. Records the requested paths. */
  async function moving(times: number, status = 307): Promise<{ url: string; seen: string[] }> {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      if (seen.length <= times) response.writeHead(status, { location: `/moved-${seen.length}` }).end();
      else stream(response, [delta({ content: "## Goal" }), delta({}, "stop")]);
    });
    return { url, seen };
  }

  function failing(status: number, error: object, headers: Record<string, string> = {}): Promise<string> {
    return serve((_request, response) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error }));
    });
  }

  it("answers with text and usage, given the key and the model, though it knows no streams", async () => {
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
      cost: { inputTokens: 9, outputTokens: 3, estimatedTokens: 0 },
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

  it("streams its answer, and tells at the end what it counted", async () => {
    let body = "";
    const url = await serve((request, response) => {
      request.on("data", (piece: Buffer) => (body += piece.toString()));
      request.on("end", () =>
        stream(response, [
          delta({ role: "assistant", content: "## Go" }),
          delta({ content: "al" }),
          delta({}, "stop"),
          { id: "1", choices: [], usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } },
        ]),
      );
    });
    expect(await ask(url)).toMatchObject({ kind: "text", text: "## Goal", cost: { inputTokens: 9, outputTokens: 3 } });
    expect(JSON.parse(body)).toMatchObject({ stream: true, stream_options: { include_usage: true }, max_tokens: 100 });
  });

  it("null for an answer is an empty one, and is paid for as it says", async () => {
    const url = await serve((_request, response) => {
      stream(response, [
        delta({ role: "assistant", content: null }),
        delta({}, "stop"),
        { id: "1", choices: [], usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 } },
      ]);
    });
    expect(await ask(url)).toMatchObject({
      code: "empty",
      cost: { inputTokens: 9, outputTokens: 0, estimatedTokens: 0 },
    });
  });

  it("is hung up on once it writes more than is read", async () => {
    const hungUp = new Promise<number>((resolve) => {
      void serve((_request, response) => {
        let sent = 0;
        response.writeHead(200, { "content-type": "text/event-stream" });
        const piece = `data: ${JSON.stringify(delta({ content: "and so on ".repeat(100) }))}\n\n`;
        const write = (): void => {
          while (!response.destroyed && response.write(piece)) sent += piece.length;
        };
        response.on("drain", write).on("close", () => resolve(sent));
        write();
      }).then(async (url) => expect(await ask(url)).toMatchObject({ kind: "text", finishReason: "too-long" }));
    });
    expect(await hungUp).toBeGreaterThan(0);
  });

  it("is hung up on where one line has no end", async () => {
    const url = await serve((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(1_000_000)));
      };
      response.on("drain", write);
      write();
    });
    const answer = await ask(url);
    expect(answer, JSON.stringify(answer)).toMatchObject({ code: "answer-too-long", retryable: false });
  });

  describe("that has moved", () => {
    it.each([301, 302, 307, 308])("%d is followed to the same host, as it was asked", async (status) => {
      const { url, seen } = await moving(MAX_REDIRECTS, status);
      expect(await ask(url)).toMatchObject({ kind: "text", text: "## Goal" });
      expect(seen).toHaveLength(MAX_REDIRECTS + 1);
      expect(seen.at(-1)).toBe(`POST /moved-${MAX_REDIRECTS} Bearer sk-secret`);
    });

    it("is not followed more than a few times, and the next try would be no better", async () => {
      const { url, seen } = await moving(1_000);
      const answer = await ask(url);
      expect(answer).toMatchObject({ code: "bad-request", retryable: false, cost: null });
      expect(answer).toMatchObject({ reason: expect.stringContaining("PALIMPSEST_MODEL_URL") });
      expect(seen).toHaveLength(MAX_REDIRECTS + 1);
    });

    it("is not followed to another host without https, nor to nowhere, nor by another method", async () => {
      let asked = 0;
      const other = createServer((_request, response) => {
        asked++;
        response.end();
      });
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}/v1`;
      for (const [status, location] of [
        [307, elsewhere],
        [307, "http://["],
        [307, "file:///etc/passwd"],
        [303, "/elsewhere"],
      ] as const) {
        const url = await serve((_request, response) => response.writeHead(status, { location }).end());
        expect(await ask(url), location).toMatchObject({ code: "bad-request", retryable: false });
        await new Promise((resolve) => server?.close(resolve));
      }
      expect(asked).toBe(0);
      await new Promise((resolve) => other.close(resolve));
    });

    it("to another host over https is sent no key", async () => {
      const sent: { url: string; headers: Headers; method: string | undefined }[] = [];
      const reply = (input: URL, init: RequestInit = {}): Promise<Response> => {
        sent.push({ url: input.href, headers: new Headers(init.headers), method: init.method });
        const location = sent.length === 1 ? "https://other.example/v1" : "https://first.example/v1/again";
        return Promise.resolve(
          sent.length < 3
            ? new Response(null, { status: 308, headers: { location } })
            : new Response("{}", { status: 401 }),
        );
      };
      vi.stubGlobal("fetch", reply);
      expect(await ask("https://first.example/v1")).toMatchObject({ code: "auth" });
      vi.unstubAllGlobals();
      expect(sent.map(({ url }) => new URL(url).host)).toEqual(["first.example", "other.example", "first.example"]);
      expect(sent.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer sk-secret", null, null]);
      expect(sent[1]?.headers.get("content-type")).toBe("application/json");
    });
  });

  it("a dead port may pass", async () => {
    const url = await serve(() => {});
    await new Promise((resolve) => server?.close(resolve));
    expect(await ask(url)).toMatchObject({ kind: "failed", code: "network", retryable: true });
  });
});

it("refuses an option that it does not know, and a model without a name", () => {
  const url = "https://models.example.com/v1";
  expect(() => openAiCompatible({ url, modelId: "m", window: 5 } as never)).toThrow(
    /window: no such option.*windowTokens/,
  );
  expect(() => openAiCompatible({ url } as never)).toThrow(/invalid_options.*modelId/);
  expect(openAiCompatible({ url, modelId: "m" }).name).toBe("models.example.com:m");
});
