/**
 * One call of a model behind an endpoint of OpenAI's chat-completions form.
 *
 * A request has no limit of time here, because a judge may think for long, and a person may play one. It is sent as a stream, so that a
 * proxy on the way sees that something is coming.
 */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout } from "node:timers/promises";
import { CommandFailure, EXIT } from "../failure.ts";
import { estimateTokens } from "../in-package.ts";

export interface Endpoint {
  /** Base URL, such as `https://api.example.com/v1`. */
  readonly url: string;
  readonly key: string | null;
  /** The environment variable of the key, for advice. */
  readonly keyName: string;
}

export interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
}

/** The body of a request, as far as it is looked into. Other fields are passed on. */
export interface ChatBody {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly [field: string]: unknown;
}

export interface Answer {
  readonly text: string;
  /** Tool calls that a model made although it was offered no tool. The product refuses such an answer. */
  readonly toolCalls?: readonly unknown[];
  readonly finish: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

const MOST_TRIES = 4;
const FIRST_WAIT_MS = 1_000;
/** Longest wait that an endpoint's `Retry-After` is followed for. */
const LONGEST_WAIT_MS = 60_000;
const LONGEST_DETAIL = 300;

/** Throws a {@link CommandFailure} that says what to do. No message of it holds the key. */
export async function chat(endpoint: Endpoint, body: ChatBody): Promise<Answer> {
  const url = new URL(`${endpoint.url.replace(/\/+$/, "")}/chat/completions`);
  let countsUsage = true;
  for (let tries = 1; ; tries++) {
    const sent = { ...body, stream: true, ...(countsUsage ? { stream_options: { include_usage: true } } : {}) };
    const got = await post(url, endpoint.key, JSON.stringify(sent)).catch((error: unknown) => failureOf(error));
    if ("text" in got && got.status === 200) return readAnswer(piecesOf(got, endpoint, body.model), body);
    // Some endpoints do not know the option. Tokens are estimated then.
    if ("text" in got && got.status === 400 && countsUsage && got.text.includes("stream_options")) {
      countsUsage = false;
      continue;
    }
    const isPassing = "text" in got ? got.status === 429 || got.status >= 500 : got.isPassing;
    if (!isPassing || tries === MOST_TRIES) throw explain(endpoint, body.model, got);
    await setTimeout(Math.min(got.retryAfterMs ?? FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS));
  }
}

/** The texts of a request, by role, as a digest and an estimate see them. */
export function saidIn({ messages }: Pick<ChatBody, "messages">): string {
  return messages.map(({ role, content }) => `[${role}]\n${textOf(content)}`).join("\n\n");
}

interface Got {
  readonly status: number;
  readonly text: string;
  readonly isStream: boolean;
  readonly retryAfterMs?: number;
}

interface Unreached {
  readonly status: 0;
  readonly why: string;
  readonly isPassing: boolean;
  readonly retryAfterMs?: number;
}

function post(url: URL, key: string | null, body: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    };
    const request = send(url.href, { method: "POST", headers }, (response) => {
      read(response).then(resolve, reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

async function read(response: IncomingMessage): Promise<Got> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const after = Number(response.headers["retry-after"]);
  return {
    status: response.statusCode ?? 500,
    text: Buffer.concat(chunks).toString("utf8"),
    isStream: (response.headers["content-type"] ?? "").includes("event-stream"),
    ...(after > 0 ? { retryAfterMs: after * 1_000 } : {}),
  };
}

function failureOf(error: unknown): Unreached {
  const code = (error as { code?: unknown } | null)?.code;
  const why = typeof code === "string" ? code : error instanceof Error ? error.message : String(error);
  return { status: 0, why, isPassing: code === "ECONNRESET" || code === "EPIPE" || code === "EAI_AGAIN" };
}

function explain({ url, key, keyName }: Endpoint, model: string, got: Got | Unreached): CommandFailure {
  const about = `The endpoint at ${url}`;
  if (!("text" in got)) {
    return new CommandFailure(
      EXIT.unreachable,
      `${about} cannot be reached (${got.why}). Check the address, and that it is running.`,
    );
  }
  const { status, text } = got;
  const said = (key === null ? text : text.replaceAll(key, "…")).slice(0, LONGEST_DETAIL).trim();
  const detail = said === "" ? "" : ` It said: ${said}`;
  if (status === 401 || status === 403) {
    const advice = key === null ? `Set ${keyName} to its key.` : `Check the key in ${keyName}.`;
    return new CommandFailure(EXIT.unreachable, `${about} refused the credentials. ${advice}${detail}`, "unauthorized");
  }
  const advice =
    status === 404 ? ` Give its base address, which mostly ends in /v1, and a model that it has ("${model}").` : "";
  return new CommandFailure(EXIT.unreachable, `${about} answered with status ${status}.${advice}${detail}`);
}

interface Said {
  readonly error?: unknown;
  readonly choices?: readonly {
    readonly message?: Piece;
    readonly delta?: Piece;
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens?: number; readonly completion_tokens?: number } | null;
}

interface Piece {
  readonly content?: string | null;
  readonly tool_calls?: readonly unknown[];
}

function piecesOf(got: Got, endpoint: Endpoint, model: string): Said[] {
  const pieces = got.isStream ? eventsOf(got.text) : [parse(got.text)];
  // An error that came after the endpoint had begun to answer.
  if (pieces.some(({ error }) => error !== undefined && error !== null)) throw explain(endpoint, model, got);
  return pieces;
}

function readAnswer(pieces: readonly Said[], body: ChatBody): Answer {
  let [said, finish] = ["", "stop"];
  let [inputTokens, outputTokens] = [0, 0];
  const toolCalls: unknown[] = [];
  for (const { choices, usage } of pieces) {
    const [choice] = choices ?? [];
    const piece = choice?.message ?? choice?.delta;
    said += piece?.content ?? "";
    toolCalls.push(...(piece?.tool_calls ?? []));
    finish = choice?.finish_reason ?? finish;
    inputTokens = usage?.prompt_tokens ?? inputTokens;
    outputTokens = usage?.completion_tokens ?? outputTokens;
  }
  return {
    text: said,
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
    finish,
    inputTokens: inputTokens || estimateTokens(saidIn(body)),
    outputTokens: outputTokens || estimateTokens(said),
  };
}

function eventsOf(text: string): Said[] {
  const lines = text.split(/\r?\n/).flatMap((line) => (line.startsWith("data:") ? [line.slice(5).trim()] : []));
  return lines.filter((line) => line !== "" && line !== "[DONE]").map(parse);
}

function parse(json: string): Said {
  try {
    return JSON.parse(json) as Said;
  } catch {
    throw new CommandFailure(
      EXIT.unreachable,
      `The endpoint's answer is no JSON of OpenAI's chat-completions form: ${json.slice(0, LONGEST_DETAIL)}`,
    );
  }
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("");
}
