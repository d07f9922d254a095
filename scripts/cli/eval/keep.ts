/**
 * Calls of models, each asked once and kept in a folder.
 *
 * A call is named by a digest of its model and its texts, without the random boundary that the product puts into its prompts. So a second
 * run finds every answer, and a run without an endpoint replays what is there and lists what is not.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailure, EXIT } from "../failure.ts";
import { chat, saidIn, type Answer, type ChatBody, type Endpoint } from "./chat.ts";

export interface Model {
  readonly name: string;
  /** Null replays what was kept. */
  readonly endpoint: Endpoint | null;
}

/** Sums of the calls of a part of the work, whether they were asked now or found. */
export interface Usage {
  calls: number;
  inputTokens: number;
  outputTokens: number;
}

export const noUsage = (): Usage => ({ calls: 0, inputTokens: 0, outputTokens: 0 });

export interface Missing {
  readonly key: string;
  readonly model: string;
  readonly purpose: string;
}

/** Thrown for a call that is not kept, where there is no endpoint to ask. */
export class NotRecorded extends Error {
  constructor({ key, purpose }: Missing) {
    super(`The answer ${key} is not recorded (${purpose}).`);
  }
}

/** Characters of a digest in a file's name. */
const KEY_CHARS = 16;

export class Keep {
  readonly #folder: string;
  readonly #asking = new Map<string, Promise<Answer>>();
  readonly #missing = new Map<string, Missing>();
  readonly #used = new Set<string>();
  #made = 0;
  #found = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Calls that were sent to an endpoint. */
  get made(): number {
    return this.#made;
  }

  /** Calls whose answers were in the folder. */
  get found(): number {
    return this.#found;
  }

  /** Keys of all answers that were used, each of which is a file of the folder. */
  get keys(): readonly string[] {
    return [...this.#used];
  }

  get missing(): readonly Missing[] {
    return [...this.#missing.values()];
  }

  /** The kept answer, or a new one. Two calls of one key at the same time are one. `usage` counts it. */
  async ask(model: Model, body: Omit<ChatBody, "model">, { purpose, usage }: { purpose: string; usage: Usage }) {
    const whole = { ...body, messages: body.messages as ChatBody["messages"], model: model.name };
    const key = keyOf(whole);
    const asking = this.#asking.get(key) ?? this.#answer(model, whole, { key, model: model.name, purpose });
    this.#asking.set(key, asking);
    try {
      const answer = await asking;
      this.#used.add(key);
      usage.calls += 1;
      usage.inputTokens += answer.inputTokens;
      usage.outputTokens += answer.outputTokens;
      return answer;
    } finally {
      this.#asking.delete(key);
    }
  }

  async #answer({ endpoint }: Model, body: ChatBody, call: Missing): Promise<Answer> {
    const kept = await this.#read(call.key);
    if (kept !== null) {
      this.#found += 1;
      return kept;
    }
    if (endpoint === null) {
      this.#missing.set(call.key, call);
      throw new NotRecorded(call);
    }
    this.#made += 1;
    const answer = await chat(endpoint, body);
    await this.#write(call, answer);
    return answer;
  }

  async #read(key: string): Promise<Answer | null> {
    const file = join(this.#folder, `${key}.json`);
    const json = await readFile(file, "utf8").catch(() => null);
    if (json === null) return null;
    try {
      return (JSON.parse(json) as { answer: Answer }).answer;
    } catch {
      throw new CommandFailure(
        EXIT.usage,
        `${file} is no JSON: remove it, and it is asked for again.`,
        "invalid_input",
      );
    }
  }

  /** Readable by its owner alone, because answers tell of the conversation. A new folder is kept out of git. */
  async #write({ key, model, purpose }: Missing, answer: Answer): Promise<void> {
    if (!(await isThere(this.#folder))) {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeFile(join(this.#folder, ".gitignore"), "*\n");
    }
    const file = join(this.#folder, `${key}.json`);
    const part = `${file}.${randomUUID()}`;
    await writeFile(part, `${JSON.stringify({ model, purpose, answer }, null, 1)}\n`, { mode: 0o600 });
    await rename(part, file);
  }
}

/** The same for the same model and texts, whatever boundary the prompt was given. */
export function keyOf(body: ChatBody): string {
  const text = saidIn(body);
  const boundary = /Boundary: (\S+)/.exec(text)?.[1];
  const plain = boundary === undefined ? text : text.replaceAll(boundary, "B");
  return createHash("sha256").update(`${body.model}\n\n${plain}`).digest("hex").slice(0, KEY_CHARS);
}

async function isThere(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  );
}
