/**
 * One call of the summariser, with its outcome as a value.
 *
 * It takes a prompt and returns a text or a classified failure, with the cost. The answer is read as a stream, so that an endless one can
 * be stopped. Both its length and its time are bounded. Nothing is stored or retried here, because the calling step has the retry policy.
 */
import { streamText, type LanguageModel, type TextStreamPart, type ToolSet } from "ai";
import { costOf, type CallCost, type ReportedUsage } from "./call-cost.ts";
import { inLargerPieces } from "./larger-pieces.ts";
import { classifyError, failure, type Failure, type ModelFailureCode } from "./failures.ts";

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
 * Removes from an answer a model's thoughts at its start, the marks of its chat format, and a next turn that it made up. Everything
 * after an unclosed mark of thoughts counts as thought. A mark further on in an answer stays.
 */
export function stripThinking(text: string): string {
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
