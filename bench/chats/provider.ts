/** A model's provider on this machine. It outlives the Worker, counts what it is asked, and refuses a prompt over the window. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { parsePrompt } from "../../src/steps/draft/prompt.ts";
import { WINDOW, type Asked } from "./terms.ts";

const CHARS_PER_TOKEN = 4;

export interface Call {
  readonly asked: Asked;
  /** The name of the agent. */
  readonly agent: string;
  readonly messages: number;
  readonly tokens: number;
  /** The same text has the same key. */
  readonly key: string;
  readonly refused: boolean;
  answered: boolean;
}

interface Request {
  readonly model: string;
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export class Provider {
  readonly calls: Call[] = [];
  /** Resolves when a summary may be answered. */
  beforeSummary: (call: Call) => Promise<void> = async () => undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<Provider> {
    const provider = new Provider();
    provider.#server.listen(0, "127.0.0.1");
    await once(provider.#server, "listening");
    return provider;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The provider has stopped.");
    return `http://127.0.0.1:${address.port}/v1`;
  }

  of(agent: string, asked: Asked): Call[] {
    return this.calls.filter((call) => call.agent === agent && call.asked === asked);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const piece of request.setEncoding("utf8")) body += piece as string;
    const { model, stream = false, messages } = JSON.parse(body) as Request;
    const [asked = "", agent = ""] = model.split(" ");
    const text = JSON.stringify(messages);
    const tokens = Math.ceil(text.length / CHARS_PER_TOKEN);
    const refused = asked === "chat" && tokens > WINDOW;
    const call: Call = {
      asked: asked as Asked,
      agent,
      messages: messages.length,
      tokens,
      key: keyOf(messages),
      refused,
      answered: false,
    };
    this.calls.push(call);
    response.setHeader("content-type", stream ? "text/event-stream" : "application/json");
    if (refused) {
      response.statusCode = 400;
      response.setHeader("content-type", "application/json");
      const message = `This model's maximum context length is ${WINDOW} tokens.`;
      response.end(JSON.stringify({ error: { message, code: "context_length_exceeded" } }));
      return;
    }
    if (asked === "summary") await this.beforeSummary(call);
    const said = asked === "summary" ? summaryOf(messages) : `Answer ${this.of(agent, "chat").length}.`;
    response.once("finish", () => (call.answered = true));
    response.end(stream ? streamed(said, tokens) : completion(said, tokens));
  }
}

/** Our prompts have a boundary of their own each time, and so the content is what counts. */
function keyOf(messages: Request["messages"]): string {
  const prompt = parsePrompt(lastOf(messages));
  return prompt === null ? lastOf(messages) : JSON.stringify([prompt.transcript, prompt.previous, prompt.drafts]);
}

function lastOf(messages: Request["messages"]): string {
  const content = messages.findLast(({ role }) => role === "user")?.content ?? "";
  return typeof content === "string" ? content : JSON.stringify(content);
}

/** Short, with every section that was asked for. */
function summaryOf(messages: Request["messages"]): string {
  const sections = parsePrompt(lastOf(messages))?.sections ?? [];
  if (sections.length === 0) return "They looked at several things.";
  return sections
    .map(({ title }, at) => `## ${title}\n${at === 0 ? "- They looked at several things." : "None."}`)
    .join("\n");
}

function usage(tokens: number) {
  return { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 };
}

function completion(content: string, tokens: number): string {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  return JSON.stringify({
    id: "a",
    object: "chat.completion",
    created: 0,
    model: "bench",
    choices,
    usage: usage(tokens),
  });
}

function streamed(content: string, tokens: number): string {
  return [
    chunk({ choices: [{ index: 0, delta: { role: "assistant", content } }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: usage(tokens) }),
    "data: [DONE]\n\n",
  ].join("");
}

function chunk(rest: object): string {
  return `data: ${JSON.stringify({ id: "a", object: "chat.completion.chunk", created: 0, model: "bench", ...rest })}\n\n`;
}
