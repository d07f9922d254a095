/**
 * A summariser on loopback that a test controls. It is an OpenAI-compatible endpoint that records its calls, answers only those that it
 * should, and outlives the Worker.
 *
 * Counting by keys is safe. A call's key is the digest of the content in its prompt, so the same chunk has the same key in every attempt
 * and every life of the Worker, whatever boundary its prompt was given.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { parsePrompt, type ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { wordFor } from "../word-for.ts";

/** One call of the summariser. */
export interface Asked {
  /** Identifies the prompt's content. Equal content has equal keys. */
  readonly key: string;
  readonly kind: ParsedPrompt["kind"];
  /** The model that was asked for. */
  readonly model: string;
  answered: boolean;
}

export class ModelServer {
  /** Every call so far, in order of arrival. */
  readonly asked: Asked[] = [];
  /** Whether an arriving call is answered. An unanswered call hangs until its caller dies. */
  answers: (asked: Asked) => boolean = () => true;
  /** What a summary says, in one line. */
  says: (asked: Asked) => string = ({ key }) => `Seen: ${key}`;
  /** Called at the moment when an answer was handed to the operating system. From then on it is on its way to the caller. */
  onAnswered: (asked: Asked) => void = () => undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<ModelServer> {
    const model = new ModelServer();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The model server has stopped.");
    return `http://127.0.0.1:${address.port}/v1`;
  }

  /** Calls without an answer, which were open when the Worker died. */
  get unanswered(): Asked[] {
    return this.asked.filter((each) => !each.answered);
  }

  /** Number of calls by key. */
  get timesAsked(): ReadonlyMap<string, number> {
    const times = new Map<string, number>();
    for (const { key } of this.asked) times.set(key, (times.get(key) ?? 0) + 1);
    return times;
  }

  /** Calls that were repeated after an answer, so they were paid for twice. */
  get askedAgain(): Asked[] {
    const answered = new Set<string>();
    return this.asked.filter(({ key, answered: now }) => {
      const again = answered.has(key);
      if (now) answered.add(key);
      return again;
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, model } = await readPrompt(request);
    const content = [prompt.transcript ?? "", prompt.previous ?? "", ...prompt.drafts];
    const asked: Asked = { key: wordFor(model, prompt.kind, ...content), kind: prompt.kind, model, answered: false };
    this.asked.push(asked);
    if (!this.answers(asked)) return;
    response.once("finish", () => {
      asked.answered = true;
      this.onAnswered(asked);
    });
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(completion(summaryOf(prompt, asked.key, this.says(asked)))));
  }
}

async function readPrompt(request: IncomingMessage): Promise<{ prompt: ParsedPrompt; model: string }> {
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece as string;
  const { messages, model } = JSON.parse(body) as { messages: { role: string; content: string }[]; model: string };
  const prompt = parsePrompt(messages.findLast(({ role }) => role === "user")?.content ?? "");
  if (prompt === null) throw new Error(`Not a summariser's prompt: ${body.slice(0, 200)}`);
  return { prompt, model };
}

/** A small summary with every requested section and some words of its source, so that it passes the audit. For notes it returns the section that grows by a line. */
function summaryOf({ kind, sections, previous, transcript, drafts }: ParsedPrompt, key: string, said: string): string {
  if (kind === "notes") {
    const before = previous?.match(/^- Seen: .+$/gm) ?? [];
    return [`## ${sections[0]?.title}`, ...before, `- Seen: ${key}`].join("\n");
  }
  const heard = (drafts[0] ?? transcript ?? "")
    .match(/\b[a-z]{4,}\b/g)
    ?.slice(0, 4)
    .join(" ");
  return sections.map(({ title }, at) => `## ${title}\n${at === 0 ? `- ${heard}. ${said}` : "None."}`).join("\n");
}

function completion(content: string): object {
  return {
    id: "completion",
    object: "chat.completion",
    created: 0,
    model: "held",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
  };
}
