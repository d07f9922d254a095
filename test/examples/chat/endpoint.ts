/** An OpenAI-compatible endpoint on loopback with scripted answers. It records its requests. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { parsePrompt } from "../../../src/steps/draft/prompt.ts";

/** The fields of a request that these tests read. */
export interface WireRequest {
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

export type Said = { readonly text: string } | { readonly tool: string; readonly input: object };

export interface ChatEndpoint extends AsyncDisposable {
  /** Its base URL. */
  readonly url: string;
  /** Chat requests in order of arrival, refused ones included. Requests of a summariser are answered and not recorded. */
  readonly requests: readonly WireRequest[];
}

/** Refuses prompts over `maxChars` with a vendor's error. Answers each other prompt with the next of `script`. */
export async function startEndpoint(script: readonly Said[], maxChars: number): Promise<ChatEndpoint> {
  const requests: WireRequest[] = [];
  const left = [...script];
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request);
    const summary = summaryFor(body);
    if (summary === null) {
      requests.push(body);
      if (JSON.stringify(body.messages).length > maxChars) return sendJson(response, 400, TOO_LONG);
    }
    response.setHeader("content-type", "text/event-stream");
    for (const chunk of chunksOf(summary ?? left.shift() ?? { text: "Nothing." }, body)) {
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: urlOf(server), requests, [Symbol.asyncDispose]: () => stop(server) };
}

const TOO_LONG = {
  error: {
    message: "This model's maximum context length is 8192 tokens. Please reduce the length of the messages.",
    type: "invalid_request_error",
    code: "context_length_exceeded",
  },
};

/** The tokens that this endpoint counts for a prompt. */
export function countTokens({ messages }: WireRequest): number {
  return Math.ceil(JSON.stringify(messages).length / 3.5);
}

/** A text comes in two pieces. Usage comes last, and only when the request asks for it. */
function* chunksOf(said: Said, request: WireRequest): Generator<object> {
  if ("text" in said) {
    const middle = Math.ceil(said.text.length / 2);
    yield chunk({ role: "assistant", content: said.text.slice(0, middle) });
    yield chunk({ content: said.text.slice(middle) });
    yield chunk({}, "stop");
  } else {
    const call = { name: said.tool, arguments: JSON.stringify(said.input) };
    yield chunk({
      tool_calls: [{ index: 0, id: `call_${request.messages.length}`, type: "function", function: call }],
    });
    yield chunk({}, "tool_calls");
  }
  if (request.stream_options?.include_usage !== true) return;
  const tokens = countTokens(request);
  yield { ...chunk({}), choices: [], usage: { prompt_tokens: tokens, completion_tokens: 7, total_tokens: tokens + 7 } };
}

function chunk(delta: object, finish_reason: string | null = null): object {
  const choices = [{ index: 0, delta, finish_reason }];
  return { id: "chat", object: "chat.completion.chunk", created: 0, model: "scripted", choices };
}

/** A small summary with every requested section, so that it passes the audit. Null for a chat's request. */
function summaryFor({ messages }: WireRequest): Said | null {
  const content = messages.at(-1)?.content;
  const prompt = typeof content === "string" ? parsePrompt(content) : null;
  return prompt === null
    ? null
    : { text: prompt.sections.map(({ title }) => `## ${title}\n${title}: the pages say little of it.`).join("\n") };
}

async function readBody(request: IncomingMessage): Promise<WireRequest> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece as string;
  return JSON.parse(body) as WireRequest;
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The endpoint is not listening.");
  return `http://127.0.0.1:${address.port}/v1`;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
