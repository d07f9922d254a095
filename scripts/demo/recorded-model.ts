/**
 * A model endpoint on this machine (OpenAI's chat completions) that answers from recorded answers.
 *
 * The answers of `recorded.json` were written by a language model for the bundled conversation, each for exactly one prompt. A prompt is
 * found by its digest, in which the random boundary does not count. Any other prompt gets what the offline model would say, so the demo needs no
 * network. With PALIMPSEST_RECORD set to a folder, unknown prompts are written there, and an answer is awaited in it.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { generateText } from "ai";
import { extractiveModel } from "../../src/model/extractive.ts";

/** The name under which it stands in ledgers and on the page. */
export const RECORDED_NAME = "recorded";

const FILE = join(import.meta.dirname, "recorded.json");

interface Recorded {
  /** Who wrote the answers, for a person who reads the file. */
  readonly about: string;
  readonly answers: Readonly<Record<string, string>>;
}

/** Identifies a prompt. Its boundary is drawn anew for each call. */
export function keyOf(system: string, prompt: string): string {
  const text = `${system}\n\n${prompt}`;
  const boundary = /Boundary: (\S+)/.exec(text)?.[1];
  const plain = boundary === undefined ? text : text.replaceAll(boundary, "B");
  return createHash("sha256").update(plain).digest("hex").slice(0, 16);
}

export function readRecorded(): Readonly<Record<string, string>> {
  return existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Recorded).answers : {};
}

export class RecordedModel {
  readonly #answers: Readonly<Record<string, string>>;
  readonly #server: Server;
  /** Prompts that had an answer, and prompts that had none. */
  known = 0;
  unknown = 0;

  private constructor(delayMs: number, answers: Readonly<Record<string, string>>) {
    this.#answers = answers;
    this.#server = createServer((request, response) => {
      if (request.method !== "POST") response.end("ok");
      else void this.#reply(request, response, delayMs);
    });
  }

  async #reply(request: IncomingMessage, response: ServerResponse, delayMs: number): Promise<void> {
    const asked = JSON.parse(await readText(request)) as Asked;
    const [system, prompt] = [textOf(asked, "system"), textOf(asked, "user")];
    await setTimeout(delayMs);
    const answer = await this.#answer(system, prompt);
    const [read, written] = [sizeOf(system + prompt), sizeOf(answer)];
    const usage = { prompt_tokens: read, completion_tokens: written, total_tokens: read + written };
    const base = { id: "recorded", created: 0, model: RECORDED_NAME };
    if (asked.stream !== true) {
      response.setHeader("content-type", "application/json");
      const choices = [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }];
      response.end(JSON.stringify({ ...base, object: "chat.completion", choices, usage }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const send = (choice: object, more: object = {}): unknown =>
      response.write(
        `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, ...choice }], ...more })}\n\n`,
      );
    send({ delta: { role: "assistant", content: answer }, finish_reason: null });
    send({ delta: {}, finish_reason: "stop" }, { usage });
    response.end("data: [DONE]\n\n");
  }

  static async start(delayMs: number, answers = readRecorded()): Promise<RecordedModel> {
    const model = new RecordedModel(delayMs, answers);
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  /** For the Worker's variables. */
  get vars(): Record<string, string> {
    const address = this.#server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    return {
      PALIMPSEST_MODEL_URL: `http://127.0.0.1:${port}/v1`,
      PALIMPSEST_MODEL: RECORDED_NAME,
      PALIMPSEST_MODEL_KEY: "none",
      PALIMPSEST_MODEL_WINDOW: "200000",
    };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(system: string, prompt: string): Promise<string> {
    const key = keyOf(system, prompt);
    const known = this.#answers[key] ?? (await awaitAnswer(key, `${system}\n\n${prompt}`));
    if (known !== null) {
      this.known++;
      return known;
    }
    this.unknown++;
    return (await generateText({ model: extractiveModel(), system, prompt })).text;
  }
}

interface Asked {
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly text?: string }[];
  }[];
}

function textOf({ messages }: Asked, role: string): string {
  return messages
    .filter((message) => message.role === role)
    .map(({ content }) => (typeof content === "string" ? content : content.map(({ text = "" }) => text).join("")))
    .join("\n");
}

function sizeOf(text: string): number {
  return Math.round(text.length / 4);
}

/** Writes a prompt for whoever plays the model, and waits for the answer. Null where nobody records. */
async function awaitAnswer(key: string, prompt: string): Promise<string | null> {
  const folder = process.env["PALIMPSEST_RECORD"];
  if (folder === undefined) return null;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${key}.prompt.md`, prompt);
  while (!existsSync(`${folder}/${key}.answer.md`)) await setTimeout(500);
  return readFileSync(`${folder}/${key}.answer.md`, "utf8").trim();
}
