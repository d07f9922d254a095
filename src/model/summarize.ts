/**
 * One call of the summariser, with its outcome as a value and its cost in tokens.
 *
 * The answer is read as a stream, so that an endless one can be stopped, in length and in time. Nothing is stored or retried here. A
 * provider's report of tokens counts where it is plausible, and otherwise an estimate of the texts, so a budget holds whatever is reported.
 *
 * Pieces of an answer are passed on in larger ones. The AI SDK sends each through many streams, and in workerd one takes 0.15 ms of the
 * processor, which for an answer of 400 words would be more than the rest of a run.
 */
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { type LanguageModel, streamText, type TextStreamPart, type ToolSet } from "ai";
import { classifyError, failure, type Failure, type ModelFailureCode } from "./failures.ts";

export interface CallCost {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The input tokens that the provider read from its prompt cache. Absent where it reported none. */
  readonly cachedTokens?: number;
  /** Those that it wrote there. Absent where it reported none. */
  readonly writtenTokens?: number;
  /** Tokens of the sum that we estimated, because the provider reported no plausible count. */
  readonly estimatedTokens: number;
}

/** A provider's report. It is not trusted, because a count may be absent, negative or no number at all. */
export interface ReportedUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  readonly writtenTokens?: number | undefined;
}

/** A prompt counts at most this many times its estimate, plus an allowance for the provider's framing. */
export const MOST_TIMES_ESTIMATE = 10;
export const MOST_FRAMING_TOKENS = 10_000;

/** Upper bound of the tokens that a model writes in one call, hidden thoughts included. */
export const MOST_WRITTEN_TOKENS = 250_000;

/** Computes the cost. `asked` is the whole prompt, and `written` is all that the model wrote, thoughts included. */
export function costOf(reported: ReportedUsage, asked: string, written: string): CallCost {
  const estimate = { input: estimateTokens(asked), output: estimateTokens(written) };
  const mostAsked = MOST_TIMES_ESTIMATE * estimate.input + MOST_FRAMING_TOKENS;
  const input = believable(reported.inputTokens, estimate.input, mostAsked);
  const output = believable(reported.outputTokens, estimate.output, MOST_WRITTEN_TOKENS);
  const cached = believable(reported.cachedTokens, 0, input ?? 0) ?? 0;
  const stored = believable(reported.writtenTokens, 0, (input ?? 0) - cached) ?? 0;
  return {
    ...(cached > 0 && { cachedTokens: cached }),
    ...(stored > 0 && { writtenTokens: stored }),
    inputTokens: input ?? estimate.input,
    outputTokens: output ?? estimate.output,
    estimatedTokens: (input === null ? estimate.input : 0) + (output === null ? estimate.output : 0),
  };
}

/** Returns null for a number that cannot be a count of this text. Providers that do not count report 0. */
function believable(reported: number | undefined, estimate: number, most: number): number | null {
  if (reported === undefined || !Number.isSafeInteger(reported)) return null;
  const least = estimate === 0 ? 0 : 1;
  return reported >= least && reported <= most ? reported : null;
}

/** Characters from which a piece is passed on. So many may be missing from the bill of an answer that is cut off. */
const PIECE_CHARS = 1_000;

/** A part of a streamed answer, in each version of the AI SDK's interface. Only the pieces of a text have a `delta`. */
interface StreamPart {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly providerMetadata?: unknown;
}

interface Streaming {
  doStream(options: unknown): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
}

/** A model that is given by name streams as it does. */
export function inLargerPieces(model: LanguageModel): LanguageModel {
  if (typeof model === "string") return model;
  const streaming = model as unknown as Streaming;
  const doStream: Streaming["doStream"] = async (options) => {
    const answer = await streaming.doStream(options);
    return { ...answer, stream: joinPieces(answer.stream) };
  };
  return new Proxy(model, {
    get: (target, name): unknown => (name === "doStream" ? doStream : Reflect.get(target, name)),
  });
}

function joinPieces(stream: ReadableStream<StreamPart>): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  let waiting: StreamPart | undefined;
  return new ReadableStream({
    async pull(controller) {
      const part = waiting ?? (await reader.read()).value;
      waiting = undefined;
      if (part === undefined) return controller.close();
      let text = part.delta;
      while (text !== undefined && text.length < PIECE_CHARS) {
        // An error is thrown again at the next read, once this piece was passed on.
        const { value } = await reader.read().catch(() => ({ value: undefined }));
        if (value === undefined || !goesOn(part, value)) {
          waiting = value;
          break;
        }
        text += value.delta ?? "";
      }
      controller.enqueue(text === undefined ? part : { ...part, delta: text });
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Whether a part is the next piece of the same text. */
function goesOn(part: StreamPart, next: StreamPart): boolean {
  const isSame = next.type === part.type && next.id === part.id && next.delta !== undefined;
  return isSame && next.providerMetadata === undefined && part.providerMetadata === undefined;
}

/** Characters that are read of an answer for each allowed token. That is four times the usual number, thoughts included. */
export const ANSWER_CHARS_PER_TOKEN = 16;

export interface SummarizeInput {
  readonly model: LanguageModel;
  readonly system: string;
  readonly prompt: string;
  /** The text before it that the model itself adds. */
  readonly before?: string | null;
  /** Most tokens of the answer's text. */
  readonly maxOutputTokens: number;
  /** Tokens that the model may think before it. Most providers count them to one limit with the text. Default: 0. */
  readonly thinkingTokens?: number;
  /** Time limit of the call in milliseconds. */
  readonly limitMs: number;
}

export type SummarizeResult =
  | {
      readonly kind: "text";
      readonly text: string;
      /** `length` means that the model's limit cut the answer off. `too-long` means that ours did, because the answer did not end. */
      readonly finishReason: "stop" | "length" | "too-long" | "other";
      readonly cost: CallCost;
    }
  /** `cost` is null where the call was refused before the model began, because nobody charges for that. */
  | (Failure & { readonly cost: CallCost | null });

/** A provider has read the prompt of a call that we cut off, and charges for it. */
const CUT_OFF: ReadonlySet<ModelFailureCode> = new Set<ModelFailureCode>(["timeout", "answer-too-long"]);

/** Asks the model once. A provider's failure is returned as a value and never thrown. */
export async function summarize(input: SummarizeInput): Promise<SummarizeResult> {
  const { model, system, prompt, before = null, maxOutputTokens, thinkingTokens = 0, limitMs } = input;
  const stop = new AbortController();
  const timer = setTimeout(() => {
    stop.abort(new DOMException(`No answer within ${Math.round(limitMs / 1_000)} seconds.`, "TimeoutError"));
  }, limitMs);
  const answer = new Answer((maxOutputTokens + thinkingTokens) * ANSWER_CHARS_PER_TOKEN);
  const costs = (): CallCost => costOf(answer.usage, `${before ?? ""}${system}\n${prompt}`, answer.written);
  try {
    const most = { maxOutputTokens: maxOutputTokens + thinkingTokens, maxRetries: 0 };
    const asked = { system, prompt, ...most, abortSignal: stop.signal };
    // The AI SDK 6 and 7 both have this name.
    const { fullStream } = streamText({ model: inLargerPieces(model), ...asked, onError: () => undefined });
    for await (const part of readUntil(fullStream, stop.signal)) {
      answer.hear(part);
      if (answer.isFull) break;
    }
    return { ...readAnswer(answer), cost: costs() };
  } catch (error) {
    const failed = classifyError(error);
    return { ...failed, cost: answer.began || CUT_OFF.has(failed.code) ? costs() : null };
  } finally {
    clearTimeout(timer);
    // Ends the request of an answer that is not read to its end.
    stop.abort();
  }
}

/** The part of one answer that has been read. Throws the errors that the stream reports. */
class Answer {
  text = "";
  /** All output that is charged for, which is text, thoughts and the input of tools. */
  written = "";
  calledTool = false;
  finishReason = "other";
  usage: ReportedUsage = {};
  /** True once the model wrote something or ended its answer. */
  began = false;
  /** True once the model wrote more than is read. */
  isFull = false;
  readonly #maxChars: number;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  hear(part: TextStreamPart<ToolSet>): void {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") this.text += this.#take(part.text);
    else if (part.type === "reasoning-delta") this.#take(part.text);
    else if (part.type === "tool-input-delta") this.#take(part.delta);
    else if (part.type === "tool-call") this.calledTool = this.began = true;
    else if (part.type === "finish-step") {
      this.began = true;
      this.finishReason = part.finishReason;
      const { inputTokenDetails: details } = part.usage as Partial<typeof part.usage>;
      const { cacheReadTokens: cachedTokens, cacheWriteTokens: writtenTokens } = details ?? {};
      this.usage = { ...part.usage, cachedTokens, writtenTokens };
    }
  }

  /** Returns the part of a piece that is within the limit. */
  #take(piece: string): string {
    const read = piece.slice(0, this.#maxChars - this.written.length);
    this.began ||= piece !== "";
    this.isFull ||= read.length < piece.length;
    this.written += read;
    return read;
  }
}

/** Reads a stream that may ignore an abort. */
async function* readUntil<Part>(stream: ReadableStream<Part>, signal: AbortSignal): AsyncGenerator<Part> {
  const reader = stream.getReader();
  const stopped = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  // Marks the rejection as handled, because nobody awaits it between two reads.
  stopped.catch(() => undefined);
  for (;;) {
    const { done, value } = await Promise.race([reader.read(), stopped]);
    if (done) return;
    yield value;
  }
}

function readAnswer({ text: raw, finishReason, calledTool, isFull }: Answer): Failure | Text {
  if (finishReason === "content-filter") return failure("content-filter", "The provider's content filter stopped it.");
  if (calledTool || finishReason === "tool-calls") {
    return failure("tool-call", "The model called a tool instead of writing.");
  }
  const text = stripThinking(raw);
  if (isFull) {
    if (text !== "") return { kind: "text", text, finishReason: "too-long" };
    return failure("answer-too-long", "The answer did not come to an end, and had no word of a summary so far.");
  }
  if (text === "") return failure("empty", `The answer was empty (finish reason: ${finishReason}).`);
  if (finishReason === "error") return failure("provider", "The provider broke off the answer with an error.");
  return {
    kind: "text",
    text,
    finishReason: finishReason === "stop" || finishReason === "length" ? finishReason : "other",
  };
}

type Text = Omit<SummarizeResult & { readonly kind: "text" }, "cost">;

/** The marks between which models write their thoughts, and those with which they end a turn. */
const THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|seed:think";
const THINK_TAG = new RegExp(`[<\\[◁](/?)(?:${THINK})[>\\]▷]`, "gi");
/** What comes before the last channel of an answer in OpenAI's open form. */
const CHANNEL = /^[^]*<\|channel\|>final[^<]*<\|message\|>/;
const TURN_END =
  /<\|(?:im_end|im_start|eot_id|end|return|endoftext|start_header_id|end_of_text|assistant|user)\|>|<(?:end_of_turn|start_of_turn|\/s)>|<｜[^｜\n]{1,40}｜>|\[\/?INST\]/;
/** A line of a transcript that opens a message. */
const COPIED_TURN = /^\[#\d+ \w+\]$/m;
/** What a model goes on with as somebody else: a message as the transcript has them, or a paragraph. */
const NEXT_TURN = /\n(?:\[#\d{1,9} user\][ \t]*(?:\n|$)|[ \t]{0,9}\n(?:\*\*)?(?:User|Human|USER|HUMAN):(?:\*\*)?[ \n])/;

/**
 * Removes from an answer a model's thoughts at its start, the marks of its chat format, a next turn that it made up, and what it wrapped the
 * answer in. Everything after an unclosed mark of thoughts counts as thought. A mark further on in an answer stays.
 */
export function stripThinking(text: string): string {
  return unwrap(stripTurns(text));
}

function stripTurns(text: string): string {
  let rest = text.replace(CHANNEL, "").trim();
  for (;;) {
    THINK_TAG.lastIndex = 0;
    const open = THINK_TAG.exec(rest);
    const stray = open !== null && open[1] === "/";
    if (open === null || (open.index !== 0 && !stray)) return firstTurn(rest);
    if (stray && rest.slice(0, open.index).includes("## ")) return firstTurn(rest);
    const close = stray ? open : nextClose(rest);
    rest = close === null ? "" : rest.slice(close.index + close[0].length).trim();
  }
}

function firstTurn(text: string): string {
  const begun = text.replace(/^(?:<\|[^|\n]{1,40}\|>(?:assistant\s*)?)+/, "").trim();
  const end = TURN_END.exec(begun)?.index ?? begun.length;
  // Within a section it may be what the user said.
  const last = Math.max(0, begun.lastIndexOf("\n#"));
  const next = last + (NEXT_TURN.exec(begun.slice(last))?.index ?? begun.length);
  // Where other turns come before it, the answer copies the transcript. It stays whole for the audit, which refuses it.
  const isCopy = COPIED_TURN.test(begun.slice(0, next));
  return begun.slice(0, isCopy ? end : Math.min(end, next)).trim();
}

function nextClose(text: string): RegExpExecArray | null {
  for (let tag = THINK_TAG.exec(text); tag !== null; tag = THINK_TAG.exec(text)) if (tag[1] === "/") return tag;
  return null;
}

const HEADING_LINE = /^ {0,3}(?:#{1,6}[ \t]|\*\*[^*\n]{1,80}\*\*:?[ \t]{0,9}$)/;
const FENCE_LINE = /^(?:```|~~~)[ \t]{0,9}(markdown|md)?[ \t]{0,9}$/i;
const ANY_FENCE = /^[ \t]{0,9}(?:```|~~~)/;
const RULE_LINE = /^ {0,3}(?:---|\*\*\*|___)[ \t]{0,9}$/;
/** An item of a list, a quotation, a row, or a line with a reference. */
const HOLDS_MATTER = /^\s{0,9}(?:[-*+•>|]\s|\d{1,3}[.)]\s)|\[[#@]/;
/** Longer words around an answer may be a part of it. */
const REMARK_CHARS = 200;

/** The answer without what says that it comes, a fence around all of it, and a remark behind it, which are known by their form. */
function unwrap(text: string): string {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => HEADING_LINE.test(line) || FENCE_LINE.test(line));
  if (first === -1) return text;
  const own = lines.slice(first);
  const wraps = isWrapped(own);
  const said = lines.slice(0, first).join("\n").trim();
  const announces = said === "" || (isRemark(said) && /[:：][*_]{0,3}$/.test(said));
  if (!announces || !(wraps || HEADING_LINE.test(own[0] ?? ""))) return withoutRemark(lines).join("\n").trim();
  if (!wraps) return withoutRemark(own).join("\n").trim();
  const isClosed = own.filter((line) => ANY_FENCE.test(line)).length % 2 === 0;
  const end = isClosed ? own.findLastIndex((line) => FENCE_LINE.test(line)) : own.length;
  return withoutRemark(own.slice(1, end)).join("\n").trim();
}

/** The lines without a last question, or a last line behind a rule. Alone under a heading it is a part of the answer. */
function withoutRemark(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex(isTold);
  const before = lines.slice(0, Math.max(0, last)).findLastIndex(isTold);
  const [remark = "", above = ""] = [lines[last], lines[before]];
  const isRuled = RULE_LINE.test(above);
  const isApart = isRuled || (before < last - 1 && /[?？؟][*_)]{0,3}\s{0,9}$/.test(remark));
  if (!isApart || !isRemark(remark) || HEADING_LINE.test(remark) || HEADING_LINE.test(above)) return lines;
  const isInFence = lines.filter((line) => ANY_FENCE.test(line)).length % 2 === 1;
  const isBehind = lines.slice(0, before).some((line) => HEADING_LINE.test(line));
  return isBehind && !isInFence ? lines.slice(0, isRuled ? before : last) : lines;
}

function isTold(line: string): boolean {
  return line.trim() !== "";
}

function isRemark(text: string): boolean {
  return text.length <= REMARK_CHARS && !HOLDS_MATTER.test(text);
}

/** Whether a fence begins here that goes to the end, with no more than a remark behind it. */
function isWrapped([first = "", ...rest]: readonly string[]): boolean {
  const opened = FENCE_LINE.exec(first);
  if (opened === null) return false;
  const begin = rest.find((line) => line.trim() !== "") ?? "";
  if (opened[1] === undefined && !HEADING_LINE.test(begin)) return false;
  const end = rest.findLastIndex((line) => FENCE_LINE.test(line));
  const isClosed = rest.filter((line) => ANY_FENCE.test(line)).length % 2 === 1;
  const behind = isClosed
    ? rest
        .slice(end + 1)
        .join("\n")
        .trim()
    : "";
  return behind.length <= REMARK_CHARS && !behind.split("\n").some((line) => HEADING_LINE.test(line));
}
