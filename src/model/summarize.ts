/**
 * One call of the summariser, with its outcome as a value and its cost in tokens.
 *
 * The answer is read as a stream, so that an endless one can be stopped, in length and in time. Nothing is stored or retried here. A
 * provider's report of tokens counts where it is plausible, and otherwise an estimate of the texts, so a budget holds whatever is reported.
 *
 * Pieces of an answer are passed on in larger ones. The AI SDK sends each through many streams, and in workerd one takes 0.15 ms of the
 * processor, which for an answer of 400 words would be more than the rest of a run.
 */
import { topicOf } from "../steps/draft/audit.ts";
import { followFence } from "../steps/text/text.ts";
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
    return { ...readAnswer(answer, prompt), cost: costs() };
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

function readAnswer({ text: raw, finishReason, calledTool, isFull }: Answer, asked: string): Failure | Text {
  if (finishReason === "content-filter") return failure("content-filter", "The provider's content filter stopped it.");
  if (calledTool || finishReason === "tool-calls") {
    return failure("tool-call", "The model called a tool instead of writing.");
  }
  const text = stripThinking(raw, asked);
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
const CHANNEL = /^[^]*<\|channel\|>final[^<]*<\|message\|>(?!`)/;
const MARK = String.raw`(?:<\|(?:im_end|im_start|eot_id|end|return|endoftext|start_header_id|end_of_text|assistant|user)\|>|<(?:end_of_turn|start_of_turn|\/s)>|<｜[^｜\n]{1,40}｜>|\[\/?INST\])`;
const MARKS = new RegExp(String.raw`${MARK}(?:\s*(?:${MARK}|<s>))*`, "g");
/** What stands behind the marks that end a turn: nothing, or the name of who speaks. */
const TURN_BEHIND = /\s*(?:$|(?:user|human|assistant|model)(?:[:\n]|<\||$))/iy;
/** A mark that opens a turn by itself. */
const OPENS = /(?:<[|｜](?:user|assistant)[|｜]>|\[INST\])$/i;
const FIRST_MARKS = /^(?:(?:<\|[^|\n]{1,40}\|>|<start_of_turn>|\[\/INST\])\s*(?:(?:assistant|model)\b\s*)?)+/;
/** A line of a transcript that opens a message. */
const COPIED_TURN = /^\[#\d+ \w+\]$/;
/** What a model goes on with as somebody else: a message as the transcript has them, or a paragraph. */
const NEXT_MESSAGE = /^\[#\d{1,9} user\][ \t]*$/;
const NEXT_PARAGRAPH = /^(?:\*\*)?(?:User|Human|USER|HUMAN):(?:\*\*)?(?: |$)/;
/** What a paragraph of the same form may follow: a line over it, or what was said before. */
const LEADS = /[:：][*_]{0,3}\s{0,9}$|^(?:\*\*)?(?:Assistant|ASSISTANT|AI|User|Human|USER|HUMAN):/;
/** Fewer characters may stand anywhere. */
const LEAST_SAID = 12;

/**
 * Removes from an answer a model's thoughts at its start, the marks of its chat format, a next turn that it made up, and what it wrapped the
 * answer in. Everything after an unclosed mark of thoughts counts as thought. A mark further on in an answer stays. `asked` is the prompt.
 */
export function stripThinking(text: string, asked = ""): string {
  return unwrap(stripTurns(text, asked), asked);
}

function stripTurns(text: string, asked: string): string {
  const channels = CHANNEL.exec(text)?.[0] ?? "";
  const isThought = channels.trimStart().startsWith("<|") || !channels.includes("## ");
  let rest = text.slice(isThought ? channels.length : 0).trim();
  for (;;) {
    THINK_TAG.lastIndex = 0;
    const open = THINK_TAG.exec(rest);
    const stray = open !== null && open[1] === "/";
    if (open === null || (open.index !== 0 && !stray)) return firstTurn(rest, asked);
    if (stray && rest.slice(0, open.index).includes("## ")) return firstTurn(rest, asked);
    const close = stray ? open : nextClose(rest);
    rest = close === null ? "" : rest.slice(close.index + close[0].length).trim();
  }
}

/** The answer up to where a next turn begins. A heading that it does not have yet shows that it goes on. */
function firstTurn(text: string, asked: string): string {
  const begun = text.replace(FIRST_MARKS, "").trim();
  const headings = new Set<string>();
  const marks = [...begun.matchAll(MARKS)];
  const lines = begun.split("\n");
  let [at, mark, isCopy] = [0, 0, COPIED_TURN.test(lines[0] ?? "")];
  let [fence, end]: [string | null, number | null] = [null, null];
  for (const [row, line] of lines.entries()) {
    if (fence === null && HEADING_LINE.test(line)) {
      if (!headings.has(line.trim())) end = null;
      else if (end !== null) break;
      headings.add(line.trim());
    }
    const tag = at + line.search(/<s[ >]|$/);
    for (let found = marks[mark]; found !== undefined && found.index <= at + line.length; found = marks[++mark]) {
      const isTag = found[0].startsWith("</s>") && tag < found.index;
      if (!isTag && endsTurn(found, at, fence !== null)) end ??= found.index;
    }
    // Where other turns come before it, the answer copies the transcript. It stays whole for the audit, which refuses it.
    if (end === null && fence === null && !isCopy && opensTurn(lines, row, asked)) end = at;
    isCopy ||= COPIED_TURN.test(line);
    fence = followFence(fence, line);
    at += line.length + 1;
  }
  return begun.slice(0, end ?? begun.length).trim();
}

/** Whether marks end the turn. What an answer tells of marks has other words behind it, or is code. */
function endsTurn({ 0: marks, index, input }: RegExpExecArray, at: number, isCode: boolean): boolean {
  TURN_BEHIND.lastIndex = index + marks.length;
  const behind = TURN_BEHIND.exec(input)?.[0].trim();
  if (isCode) return behind === "";
  return behind !== undefined || (OPENS.test(marks) && (index === at || /[>\]]\s*[<[]/.test(marks)));
}

/** A paragraph may also tell what the user said: under its heading, behind a colon, with its message, or in his words. */
function opensTurn(lines: readonly string[], row: number, asked: string): boolean {
  const line = lines[row] ?? "";
  if (!NEXT_PARAGRAPH.test(line)) return NEXT_MESSAGE.test(line);
  let over = row - 1;
  while (over > 0 && !isTold(lines[over] ?? "")) over--;
  const above = lines[over] ?? "";
  const said = line.slice(line.indexOf(":") + 1).replaceAll("*", "");
  const isHis = said.trim().length >= LEAST_SAID && asked.includes(said.trim());
  const isTelling = isHis || HEADING_LINE.test(above) || LEADS.test(above) || /\[[#@]/.test(line);
  return over < row - 1 && !isTelling;
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
function unwrap(text: string, asked: string): string {
  const lines = text.split("\n");
  const first = lines.findIndex((line) => HEADING_LINE.test(line) || FENCE_LINE.test(line));
  if (first === -1) return text;
  const own = lines.slice(first);
  const wraps = isWrapped(own);
  const said = lines.slice(0, first).join("\n").trim();
  const announces = said === "" || (isRemark(said) && /[:：][*_]{0,3}$/.test(said));
  if (!announces || !(wraps || HEADING_LINE.test(own[0] ?? ""))) return withoutRemark(lines, asked).join("\n").trim();
  if (!wraps) return withoutRemark(own, asked).join("\n").trim();
  const isClosed = own.filter((line) => ANY_FENCE.test(line)).length % 2 === 0;
  const end = isClosed ? own.findLastIndex((line) => FENCE_LINE.test(line)) : own.length;
  return withoutRemark(own.slice(1, end), asked).join("\n").trim();
}

/** The lines without a last question, or a last line behind a rule, that has nothing to do with the answer. */
function withoutRemark(lines: readonly string[], asked: string): readonly string[] {
  const last = lines.findLastIndex(isTold);
  const before = lines.slice(0, Math.max(0, last)).findLastIndex(isTold);
  const [remark = "", above = ""] = [lines[last], lines[before]];
  const isRuled = RULE_LINE.test(above);
  const isApart = isRuled || (before < last - 1 && /[?？؟][*_)]{0,3}\s{0,9}$/.test(remark));
  if (!isApart || !isRemark(remark) || HEADING_LINE.test(remark) || HEADING_LINE.test(above)) return lines;
  const isInFence = lines.filter((line) => ANY_FENCE.test(line)).length % 2 === 1;
  const from = lines.slice(0, before).findLastIndex((line) => HEADING_LINE.test(line));
  const [heading = "", ...section] = lines.slice(Math.max(0, from), before + 1);
  const isOpen = topicOf(heading.replace(/^[ #*]+/, "")) === "questions" || sharesWord(remark, section);
  if (from === -1 || isInFence || isOpen || asked.includes(remark.trim())) return lines;
  return lines.slice(0, isRuled ? before : last);
}

/** A word that says something. Signs of scripts without blanks are none, because a remark in them shares some with any text. */
const WORD = /\p{L}{5,}|\p{N}{2,}/gu;

function sharesWord(remark: string, told: readonly string[]): boolean {
  const known = new Set(told.flatMap((line) => line.toLowerCase().match(WORD) ?? []));
  return (remark.toLowerCase().match(WORD) ?? []).some((word) => known.has(word));
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
