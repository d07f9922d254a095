/**
 * One call of the summariser, and its outcome as a value.
 *
 * Boundary: prompt in, text or a classified failure out; nothing is stored and nothing is tried again here, because the
 * step that calls it has the retry policy. Safe to log: a reason carries no key and no credentials of a URL.
 */
import { APICallError } from "@ai-sdk/provider";
import { generateText, type LanguageModel } from "ai";

export interface SummarizeInput {
  readonly model: LanguageModel;
  readonly system: string;
  readonly prompt: string;
  readonly maxOutputTokens: number;
  readonly abortSignal?: AbortSignal;
}

/** Why there is no text. Closed: callers switch on it. */
type SummarizeFailure =
  | "auth"
  | "quota"
  | "rate-limit"
  | "too-long"
  | "bad-request"
  | "content-filter"
  | "tool-call"
  | "empty"
  | "timeout"
  | "aborted"
  | "network"
  | "provider";

export type SummarizeResult =
  | {
      readonly kind: "text";
      readonly text: string;
      /** `length` means that the answer was cut off. */
      readonly finishReason: "stop" | "length" | "other";
      /** As the provider counted; 0 when it did not. */
      readonly inputTokens: number;
      readonly outputTokens: number;
    }
  | {
      /** `refused`: the model or its provider will not write this. `failed`: it could not. */
      readonly kind: "refused" | "failed";
      /** Whether the same call may succeed if it is made again. */
      readonly retryable: boolean;
      /** For people, without secrets; at most 300 characters. */
      readonly reason: string;
      readonly code: SummarizeFailure;
      /** How long the provider asked to be left alone, in milliseconds. */
      readonly retryAfterMs?: number;
    };

type Failure = Exclude<SummarizeResult, { kind: "text" }>;

/** Longest reason, in characters. */
const MAX_REASON = 300;
/** Longest wait, in milliseconds, that a provider may ask for: an hour. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Whether a failure of this code may pass by itself. */
const RETRYABLE: Readonly<Record<SummarizeFailure, boolean>> = {
  auth: false,
  quota: false,
  "rate-limit": true,
  "too-long": false,
  "bad-request": false,
  "content-filter": false,
  "tool-call": true,
  empty: true,
  timeout: true,
  aborted: false,
  network: true,
  provider: true,
};

/** Asks the model once. Never throws for what a provider does: every failure is a value. */
export async function summarize(input: SummarizeInput): Promise<SummarizeResult> {
  try {
    const answer = await generateText({
      model: input.model,
      system: input.system,
      prompt: input.prompt,
      maxOutputTokens: input.maxOutputTokens,
      maxRetries: 0,
      ...(input.abortSignal === undefined ? {} : { abortSignal: input.abortSignal }),
    });
    return readAnswer(answer);
  } catch (error) {
    return classifyError(error);
  }
}

type Answer = Pick<Awaited<ReturnType<typeof generateText>>, "text" | "finishReason" | "toolCalls" | "usage">;

function readAnswer({ text: raw, finishReason, toolCalls, usage }: Answer): SummarizeResult {
  if (finishReason === "content-filter") return failure("content-filter", "The provider's content filter stopped it.");
  if (toolCalls.length > 0 || finishReason === "tool-calls") {
    return failure("tool-call", "The model called a tool instead of writing.");
  }
  const text = stripThinking(raw);
  if (text === "") return failure("empty", `The answer was empty (finish reason: ${finishReason}).`);
  if (finishReason === "error") return failure("provider", "The provider broke off the answer with an error.");
  return {
    kind: "text",
    text,
    finishReason: finishReason === "stop" || finishReason === "length" ? finishReason : "other",
    inputTokens: usage.inputTokens ?? 0,
    outputTokens: usage.outputTokens ?? 0,
  };
}

const THINK_TAG = /<(\/?)(?:think|thinking|reasoning)>/gi;

/**
 * The answer without what a reasoning model thought aloud: at its start, where such models put it. What follows an
 * unclosed thought is thought too; an answer that names the tag later on is left alone.
 */
export function stripThinking(text: string): string {
  let rest = text.trim();
  for (;;) {
    THINK_TAG.lastIndex = 0;
    const open = THINK_TAG.exec(rest);
    const stray = open !== null && open[1] === "/";
    if (open === null || (open.index !== 0 && !stray)) return rest;
    if (stray && rest.slice(0, open.index).includes("## ")) return rest;
    const close = stray ? open : nextClose(rest);
    rest = close === null ? "" : rest.slice(close.index + close[0].length).trim();
  }
}

function nextClose(text: string): RegExpExecArray | null {
  for (let tag = THINK_TAG.exec(text); tag !== null; tag = THINK_TAG.exec(text)) if (tag[1] === "/") return tag;
  return null;
}

// ── failures ────────────────────────────────────────────────────────────────────────────────────────────────────────

function failure(code: SummarizeFailure, reason: string, retryAfterMs?: number): Failure {
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
  const call = findCallError(error);
  if (call?.statusCode !== undefined) return classifyStatus(call, message);
  const name = error instanceof Error ? error.name : "";
  if (name === "TimeoutError") return failure("timeout", message);
  if (name === "AbortError") return failure("aborted", message);
  if (TOO_LONG.test(message)) return failure("too-long", message);
  if (QUOTA.test(message)) return failure("quota", message);
  if (RATE.test(message)) return failure("rate-limit", message);
  if (/\btime[d]?[ -]?out\b|ETIMEDOUT/i.test(message)) return failure("timeout", message);
  if (NETWORK.test(message)) return failure("network", message);
  if (FILTER.test(message)) return failure("content-filter", message);
  return failure("provider", message);
}

const TOO_LONG =
  /context[ _-]?(?:length|window|size)|maximum context|too many (?:input )?tokens|prompt is too long|input (?:is )?too long|exceeds? the (?:model'?s )?(?:maximum|context|token)|reduce the length|max_tokens.*exceed/i;
const QUOTA =
  /insufficient[_ ]quota|exceeded your current quota|billing|credit balance|payment required|out of credits|daily free allocation|neurons/i;
const RATE = /rate.?limit|too many requests|capacity temporarily exceeded|overloaded/i;
const FILTER = /content[_ -]?(?:filter|policy)|safety (?:system|policy)|flagged|moderation/i;
const NETWORK =
  /ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|socket|network|fetch failed|connection (?:lost|refused|reset|closed)|internal error; reference|cannot connect/i;

function classifyStatus(call: APICallError, message: string): Failure {
  const status = call.statusCode ?? 0;
  const said = `${message} ${call.responseBody?.slice(0, 4_000) ?? ""}`;
  if (status === 401 || status === 403) return failure("auth", message);
  if (status === 402) return failure("quota", message);
  if (status === 408 || status === 504) return failure("timeout", message);
  if (status === 429) {
    return QUOTA.test(said) ? failure("quota", message) : failure("rate-limit", message, retryAfter(call));
  }
  if (status === 413) return failure("too-long", message);
  if (status >= 500) return failure("provider", message, retryAfter(call));
  if (TOO_LONG.test(said)) return failure("too-long", message);
  if (FILTER.test(said)) return failure("content-filter", message);
  return status >= 400 ? failure("bad-request", message) : failure("provider", message);
}

function findCallError(error: unknown): APICallError | null {
  let each: unknown = error;
  for (let depth = 0; depth < 5 && each instanceof Error; depth++) {
    if (APICallError.isInstance(each)) return each;
    each = each.cause;
  }
  return null;
}

/** Seconds in the header; a date there would need a clock, and a wait by the step's own policy does as well. */
function retryAfter(call: APICallError): number | undefined {
  const headers = call.responseHeaders ?? {};
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
    each = each.cause;
  }
  return parts.length > 0 ? parts.join(": ") : String(error);
}

/** The message without anything that opens a door: keys, bearer tokens, credentials and query strings of URLs. */
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
