/**
 * The endpoint that the local Worker's summariser calls. It looks for kept answers and passes other calls on.
 *
 * The Worker is given no key. Its address holds a random word instead, so that no other program of the machine can spend the user's money.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Answer, ChatBody } from "./chat.ts";
import { noUsage, type Keep, type Model, type Usage } from "./keep.ts";

/** A status that the product does not try again. */
const FAILED = 400;

export class Summariser {
  readonly #server: Server;
  readonly #word = randomBytes(16).toString("hex");
  readonly #keep: Keep;
  readonly #model: Model;
  #purpose = "";
  #usage = noUsage();
  #failure: unknown = null;

  private constructor(keep: Keep, model: Model) {
    this.#keep = keep;
    this.#model = model;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.#failure ??= error;
        refuse(response, error);
      });
    });
  }

  static async open(keep: Keep, model: Model): Promise<Summariser> {
    const opened = new Summariser(keep, model);
    opened.#server.listen(0, "127.0.0.1");
    await once(opened.#server, "listening");
    return opened;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/${this.#word}`;
  }

  /** Begins to count anew. */
  begin(purpose: string): void {
    this.#purpose = purpose;
    this.#usage = noUsage();
    this.#failure = null;
  }

  get usage(): Usage {
    return { ...this.#usage };
  }

  /** Throws the first failure of a call since {@link begin}. What the product made of it is no summary of this model. */
  check(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== "POST" || request.url !== `/${this.#word}/chat/completions`) {
      response.writeHead(404).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ChatBody;
    const answer = await this.#keep.ask(this.#model, body, { purpose: this.#purpose, usage: this.#usage });
    if (body["stream"] === true) stream(response, this.#model.name, answer);
    else whole(response, this.#model.name, answer);
  }
}

function messageOf({ text, toolCalls }: Answer): object {
  return { role: "assistant", content: text, ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }) };
}

function usageOf({ inputTokens, outputTokens }: Answer): object {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

function whole(response: ServerResponse, model: string, answer: Answer): void {
  const choices = [{ index: 0, message: messageOf(answer), finish_reason: answer.finish }];
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ id: "eval", object: "chat.completion", model, choices, usage: usageOf(answer) }));
}

function stream(response: ServerResponse, model: string, answer: Answer): void {
  const chunk = { id: "eval", object: "chat.completion.chunk", model };
  const send = (value: object): void => void response.write(`data: ${JSON.stringify({ ...chunk, ...value })}\n\n`);
  response.writeHead(200, { "content-type": "text/event-stream" });
  send({ choices: [{ index: 0, delta: messageOf(answer), finish_reason: null }] });
  send({ choices: [{ index: 0, delta: {}, finish_reason: answer.finish }], usage: usageOf(answer) });
  response.end("data: [DONE]\n\n");
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return;
  const message = error instanceof Error ? error.message : String(error);
  response.writeHead(FAILED, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
}
