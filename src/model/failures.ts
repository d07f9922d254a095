/**
 * Why a summariser call gave no text, as a closed list.
 *
 * The reason is safe to log, because it carries no key and no credentials of a URL.
 */
import { APICallError } from "ai";

/** Why there is no text. The union is closed, because callers switch on it. */
export type ModelFailureCode =
  | "auth"
  | "quota"
  | "rate-limit"
  | "too-long"
  | "bad-request"
  | "content-filter"
  | "tool-call"
  | "empty"
  /** The model wrote far more than it was asked for, and the call was stopped. */
  | "answer-too-long"
  | "timeout"
  | "aborted"
  | "network"
  | "provider";

export interface Failure {
  /** `refused` means that the model or its provider declines to write this. `failed` means that it could not. */
  readonly kind: "refused" | "failed";
  /** True when the same call may succeed later. */
  readonly retryable: boolean;
  /** Reason for people, without secrets, of at most 300 characters. */
  readonly reason: string;
  readonly code: ModelFailureCode;
  /** Milliseconds that the provider asked us to wait. */
  readonly retryAfterMs?: number;
}

/** Thrown by the reader of an answer once the answer exceeds the longest readable length. */
export class AnswerTooLongError extends Error {
  override readonly name = "AnswerTooLongError";
}

/** Longest reason in characters. */
const MAX_REASON = 300;
/** Longest wait that a provider may ask for, in milliseconds. It is an hour. */
const MAX_RETRY_AFTER_MS = 3_600_000;

// True for a code whose failure may pass by itself.
const RETRYABLE: Readonly<Record<ModelFailureCode, boolean>> = {
  auth: false,
  quota: false,
  "rate-limit": true,
  "too-long": false,
  "bad-request": false,
  "content-filter": false,
  "tool-call": true,
  empty: true,
  "answer-too-long": false,
  timeout: true,
  aborted: false,
  network: true,
  provider: true,
};

export function failure(code: ModelFailureCode, reason: string, retryAfterMs?: number): Failure {
  return {
    kind: code === "content-filter" ? "refused" : "failed",
    retryable: RETRYABLE[code],
    reason: redact(reason),
    code,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

export function classifyError(error: unknown): Failure {
  const message = describe(error);
  if (findCause(error, isEndless) !== null) return failure("answer-too-long", message);
  const call = findCause(error, isCallError);
  const status = call?.statusCode ?? bindingStatus(error, message);
  if (status !== undefined) return classifyStatus(status, message, call);
  const name = error instanceof Error ? error.name : "";
  if (name === "TimeoutError") return failure("timeout", message);
  if (name === "AbortError") return failure("aborted", message);
  if (TOO_LONG.test(message)) return failure("too-long", message);
  if (QUOTA.test(message)) return failure("quota", message);
  if (RATE.test(message)) return failure("rate-limit", message);
  if (AUTH.test(message)) return failure("auth", message);
  if (/\btime[d]?[ -]?out\b|ETIMEDOUT/i.test(message)) return failure("timeout", message);
  if (NETWORK.test(message)) return failure("network", message);
  if (FILTER.test(message)) return failure("content-filter", message);
  return failure("provider", message);
}

/** The wordings in which providers, gateways and servers of open models refuse a prompt that is too long. */
const TOO_LONG = new RegExp(
  [
    /context[ _-]?(?:length|window|size|limit)|maximum context|context the overflows/,
    /too many (?:total )?(?:input )?(?:tokens|text bytes)|(?:prompt|input)(?: is|:)? too (?:long|large)/,
    /exceeds? the (?:model'?s )?(?:maximum|context|token)|exceeds? max message tokens/,
    /reduce (?:the length|your (?:prompt|message)|the number of messages)|max_tokens.{0,200}exceed/,
    // xAI, Z.ai, GitHub Copilot, Gemini, Moonshot, DashScope, vLLM, Bedrock, and Text Generation Inference in this order.
    /maximum prompt length|prompt exceeds max(?:imum)? length|(?:prompt|input) token count.{0,40}?(?:exceeds|only supports)|prompt_tokens_exceeded|input tokens \d+ cannot exceed/,
    /\d input tokens[;,] (?:the )?limit is \d|exceeded model token limit|range of input length|longer than the maximum (?:model|input) length|input tokens exceeded/,
    /(?:inputs?|prompt)`? (?:must have less than|tokens \+)|request (?:body )?too large for .{0,40}?(?:model|tokens)/,
    /\.content\S{0,40} string too long|tokens_limit_reached|input length \S+ exceeds|longer than the model'?s|tokens must be reduced/,
    /prompt ?(?:过长|超长)|输入(?:过长|超长|长度(?:超|过))|超(?:出|过)了?(?:模型)?(?:最大)?(?:上下文|输入|令牌|token)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
/** What a failing server says of a prompt. Another of its limits may be exceeded as well. */
const OF_PROMPT = /prompt|context|input|token/i;
/** A request above what a minute allows fails at any time. */
const TOO_LARGE_EVER = /request too large|tokens must be reduced/i;
const QUOTA =
  /insufficient[_ ]quota|exceeded your current quota|billing|credit balance|payment required|out of credits|daily free allocation|neurons/i;
const RATE = /rate.?limit|too many requests|capacity temporarily exceeded|overloaded/i;
/** A binding throws plain errors, and says in words that it lets nobody in. A package of the AI SDK says that its key is missing. */
const AUTH =
  /\b401\b|\bunauthori[sz]ed\b|authentication (?:error|failed|required)|(?:invalid|incorrect|missing) (?:api[ _-]?(?:key|token)|credentials)|api key is missing/i;
const FILTER = /content[_ -]?(?:filter|policy)|safety (?:system|policy)|flagged|moderation/i;
const NETWORK =
  /ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|socket|network|fetch failed|connection (?:lost|refused|reset|closed)|internal error; reference|cannot connect/i;

/** The statuses of Workers AI's own codes: https://developers.cloudflare.com/workers-ai/platform/errors/ */
const WORKERS_AI_STATUS: Readonly<Record<string, number>> = {
  3003: 400,
  3006: 413,
  3007: 408,
  3008: 408,
  3023: 403,
  3036: 429,
  3039: 400,
  3040: 429,
  3041: 403,
  3042: 404,
  5004: 400,
  5005: 405,
  5007: 400,
  5016: 403,
  5018: 403,
  5019: 405,
};

/** The status of an error that is no call's, as the binding of Workers AI throws it: as a field, or as a code before its words. */
function bindingStatus(error: unknown, message: string): number | undefined {
  const [, code = ""] = /(?:^|[: ])([35]0\d\d): /.exec(message) ?? [];
  return findCause(error, hasStatus)?.httpCode ?? WORKERS_AI_STATUS[code];
}

function hasStatus(error: Error): error is Error & { readonly httpCode: number } {
  const { httpCode } = error as { readonly httpCode?: unknown };
  return typeof httpCode === "number" && httpCode >= 400 && httpCode < 600;
}

function classifyStatus(status: number, message: string, call: APICallError | null): Failure {
  const text = `${message} ${call?.responseBody?.slice(0, 4_000) ?? ""}`;
  if (status === 401 || status === 403) return failure("auth", message);
  if (status === 402) return failure("quota", message);
  if (status === 408 || status === 504) return failure("timeout", message);
  if (isTooLong(status, text)) return failure("too-long", message);
  if (status === 429) {
    return QUOTA.test(text) ? failure("quota", message) : failure("rate-limit", message, retryAfter(call));
  }
  if (status >= 500) return failure("provider", message, retryAfter(call));
  if (FILTER.test(text)) return failure("content-filter", message);
  // A redirect that is not followed points to a wrong endpoint.
  return status >= 300 ? failure("bad-request", message) : failure("provider", message);
}

function isTooLong(status: number, text: string): boolean {
  if (status === 429) return TOO_LARGE_EVER.test(text);
  const [wording] = TOO_LONG.exec(text) ?? [];
  return status === 413 || (wording !== undefined && (status < 500 || OF_PROMPT.test(wording)));
}

function isCallError(error: Error): error is APICallError {
  return APICallError.isInstance(error);
}

/** Compares by name, because the error may come from a stream of another realm. */
function isEndless(error: Error): error is AnswerTooLongError {
  return error.name === "AnswerTooLongError";
}

function findCause<Found extends Error>(error: unknown, is: (error: Error) => error is Found): Found | null {
  let each: unknown = error;
  for (let depth = 0; depth < 5 && each instanceof Error; depth++) {
    if (is(each)) return each;
    each = causeOf(each);
  }
  return null;
}

/** The error behind another one. The SDK's error after several tries holds that of each try, and the last one decides. */
function causeOf(error: Error): unknown {
  const { lastError, errors } = error as { lastError?: unknown; errors?: unknown };
  return error.cause ?? lastError ?? (Array.isArray(errors) ? errors.at(-1) : undefined);
}

/** Reads the header as seconds. A date would need a clock, and the step's own backoff serves as well. */
function retryAfter(call: APICallError | null): number | undefined {
  const headers = call?.responseHeaders ?? {};
  const seconds = headers["retry-after-ms"] ? Number(headers["retry-after-ms"]) / 1000 : Number(headers["retry-after"]);
  return Number.isFinite(seconds) && seconds >= 0
    ? Math.min(MAX_RETRY_AFTER_MS, Math.round(seconds * 1000))
    : undefined;
}

function describe(error: unknown): string {
  const parts: string[] = [];
  let each: unknown = error;
  for (let depth = 0; depth < 4 && each instanceof Error; depth++) {
    if (each.message !== "" && !parts.some((part) => part.includes((each as Error).message))) parts.push(each.message);
    each = causeOf(each);
  }
  if (parts.length > 0) return parts.join(": ");
  // Within a stream, providers report an error as a plain object.
  return typeof error === "string" ? error : (JSON.stringify(error) ?? "unknown");
}

/** Removes credentials from a message, such as keys, bearer tokens, and credentials and query strings of URLs. */
export function redact(message: string): string {
  const clean = message
    .slice(0, 4_000)
    .replace(/(\b[a-z][a-z0-9+.-]{1,10}:\/\/)[^\s/@]*@/gi, "$1[redacted]@")
    .replace(/(\bhttps?:\/\/[^\s?#]+)\?[^\s]*/gi, "$1?[redacted]")
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]{6,}/gi, "$1 [redacted]")
    .replace(
      /\b((?:api[_ -]?key|authorization|token|secret|password)\b["']?(?: provided)?\s*[:=]\s*["']?)[^\s"',;]{4,}/gi,
      "$1[redacted]",
    )
    .replace(/\b(?:sk|pk|rk|key|ghp|gho|xox[a-z]|AIza|AKIA|cfut|eyJ)[-_]?[\w*.-]{10,}/g, "[redacted]")
    .replace(/\s+/g, " ")
    .trim();
  return clean.length > MAX_REASON ? `${clean.slice(0, MAX_REASON - 1)}…` : clean;
}

/** Returns true for the status codes and wordings of many providers, also inside `cause` and retry errors. */
export function isContextOverflow(error: unknown): boolean {
  return classifyError(error).code === "too-long";
}
