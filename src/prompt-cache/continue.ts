/**
 * Asks for a summary behind the prompt that the agent last sent, so that the provider reads that prompt from its cache.
 *
 * The request is the agent's own up to the last message to summarise, with one more message of the user. It is made only where the prompt
 * holds those messages, fits the model's window together with the answer, and costs less than the plain call by the session's prices.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { TOLERATED_SUMMARY_TOKENS } from "../limits.ts";
import { checkModel, type Continues, type Question } from "../model/chosen.ts";
import { buildPrompt, LISTS, rules, type RoomTask } from "../steps/draft/prompt.ts";
import type { Prices } from "../steps/decide/decide.ts";
import { hasResult, isSaid, toolName, toolPart, type Part } from "../steps/message/message.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { nameOf, wrapCalls, type AnyModel, type SentRequest } from "./remember.ts";

export interface ContinueOptions {
  /** The model's context window, in tokens. */
  readonly windowTokens: number;
  /** The model's name in ledgers and bills, as in `SummaryModel`. Default: `provider:model`. */
  readonly name?: string | undefined;
}

/**
 * For a Workflow: `model` is the agent's own one and may continue its prompt, as in
 * `{ model: cheap, windowTokens: 128_000, continues: continuePrompt(own, { windowTokens: 200_000 }) }`. Throws `invalid_options`.
 */
export function continuePrompt(model: AnyModel, options: ContinueOptions): Continues {
  return continuing("continuePrompt", { model, options, ask: continued });
}

/**
 * The same for a model of Anthropic that summarises on demand (`compaction` of `@ai-sdk/anthropic`). The provider is given our instructions,
 * and writes a summary that is read, audited and shown as any other. Throws `invalid_options`, also for a model of another provider.
 */
export function native(model: AnyModel, options: ContinueOptions): Continues {
  const provider = typeof model === "string" ? "anthropic" : model.provider;
  if (!/anthropic/.test(provider)) {
    throw new PalimpsestError(
      "invalid_options",
      `native was given a model of "${provider}", which writes no summary on demand that can be read. Give a model of @ai-sdk/anthropic, or use continuePrompt(model, { windowTokens }), which any model answers.`,
    );
  }
  return continuing("native", { model, options, ask: summarising });
}

interface Continuing {
  readonly model: AnyModel;
  readonly options: ContinueOptions;
  readonly ask: (model: AnyModel, request: SentRequest) => AnyModel;
}

function continuing(caller: string, { model, options, ask }: Continuing): Continues {
  checkFields(caller, options, { windowTokens: true, name: true });
  if (typeof model === "string") {
    throw new PalimpsestError("invalid_options", `${caller} was given a name: give the model itself.`);
  }
  const { windowTokens, name } = options;
  const chosen = checkModel({ model, windowTokens, ...(name !== undefined && { name }) });
  return {
    id: nameOf(model),
    name: chosen.name,
    ask: (question) => {
      const sent = JSON.parse(question.sent.request) as SentRequest;
      const length = lengthUpTo(sent.prompt, question.messages);
      if (length === null) return null;
      const request = { ...sent, prompt: sent.prompt.slice(0, length) };
      const prompt = promptBehind(question);
      const before = JSON.stringify(request);
      const tokens = { cached: estimateTokens(before), added: estimateTokens(prompt.system + prompt.prompt) };
      return fits(question, tokens, windowTokens)
        ? { model: { ...chosen, model: ask(model, request) }, ...prompt, before }
        : null;
    },
  };
}

/** Whether the window holds the request with as much of an answer as the call allows, and the request costs less than the plain call. */
function fits(
  { sent, plain, answerTokens }: Question,
  { cached, added }: { readonly cached: number; readonly added: number },
  windowTokens: number,
): boolean {
  if (cached + added + 2 * Math.max(answerTokens, TOLERATED_SUMMARY_TOKENS) > windowTokens) return false;
  const plainTokens = estimateTokens(plain.system + plain.prompt);
  const charges = chargesOf({ plainTokens, cachedTokens: cached, addedTokens: added, answerTokens }, sent.prices);
  return charges.continued < charges.plain;
}

export interface CallTokens {
  /** Tokens of the prompt that the plain call would send. */
  readonly plainTokens: number;
  /** Tokens that the other call reads from the cache, and those that it adds. */
  readonly cachedTokens: number;
  readonly addedTokens: number;
  /** Tokens of either answer. */
  readonly answerTokens: number;
}

/**
 * What both calls cost, in tokens of the agent's uncached input. `input` and `output` are the summariser's prices. An answer of the agent's
 * own model is taken to cost as many times its input as the summariser's answer does.
 */
export function chargesOf(
  { plainTokens, cachedTokens, addedTokens, answerTokens }: CallTokens,
  { input, output, cacheRead }: Prices,
): { readonly plain: number; readonly continued: number } {
  const plain = input * plainTokens + output * answerTokens;
  // A summariser that charges nothing for input is never the dearer one.
  if (input <= 0) return { plain, continued: Number.POSITIVE_INFINITY };
  return { plain, continued: cacheRead * cachedTokens + addedTokens + (output / input) * answerTokens };
}

const STOP =
  "Stop the work here. The conversation above is a record now: do not answer it, do not go on with its work, and call no tool.";

const SYSTEM = `${STOP} You keep its memory. Messages of it that no longer fit your context are replaced by the summary that you write now, and you go on from it without seeing them again. What you leave out is forgotten; what you invent is believed.

Rules:
${rules('Use every section heading you are given, in order, each as a line "## Title". Write "None." where there is nothing.', "summary")}

${LISTS}`;

const NAMED =
  "The transcript names messages of the conversation above, each by its number, its author and its first words. Read them there.";

const TASK: RoomTask = {
  name: "continue",
  system: SYSTEM,
  task:
    "Summarise a part of the conversation above. The transcript names the messages of that part, each by its number, its author and its " +
    "first words. Of what stands before the part tell nothing but the previous summary, where one is given.",
  closing: "Now write the summary.",
};

/** The message behind the agent's prompt. A room's own task stands behind the call to stop. */
function promptBehind({ input, messages }: Question): { readonly system: string; readonly prompt: string } {
  const { kind } = input;
  const task =
    typeof kind === "string" ? TASK : { ...kind, system: `${STOP}\n\n${kind.system}`, task: `${kind.task} ${NAMED}` };
  return buildPrompt({ ...input, kind: task, transcript: messages.map(messageLine).join("\n") });
}

/** Characters of a message by which it is found in the prompt. */
const FIRST_CHARS = 60;

/** The line by which the message behind the prompt names one message of the part. */
export function messageLine({ role, parts }: UIMessage, at: number): string {
  const text = parts.find((part) => part.type === "text" && part.text.trim() !== "");
  const calls = parts.flatMap((part) => {
    const call = toolPart(part);
    return call === null ? [] : [toolName(call)];
  });
  const first = text?.type === "text" ? text.text.replaceAll(/\s+/g, " ").trim().slice(0, FIRST_CHARS) : "";
  const words = first === "" ? `calls ${calls.slice(0, 3).join(", ")}` : first.toWellFormed();
  return `[#${at + 1} ${role}] ${words}`;
}

/** The model with the agent's request before its own prompt. Of its own prompt the texts are one message of the user. */
function continued(model: AnyModel, { prompt, ...request }: SentRequest): AnyModel {
  return wrapCalls(model, (ask, options: LanguageModelV4CallOptions) =>
    ask({ ...options, ...request, prompt: [...prompt, { role: "user", content: textsOf(options) }] }),
  );
}

/** The model with the agent's request, and its own prompt as the instructions of a summary on demand. */
function summarising(model: AnyModel, { prompt, providerOptions, ...request }: SentRequest): AnyModel {
  return wrapCalls(model, (ask, options: LanguageModelV4CallOptions) => {
    const instructions = textsOf(options)
      .map(({ text }) => text)
      .join("\n\n");
    const { anthropic, ...others } = providerOptions ?? options.providerOptions ?? {};
    const { contextManagement: _edits, ...own } = anthropic ?? {};
    const compaction = { type: "summarize", instructions };
    return ask({ ...options, ...request, prompt, providerOptions: { ...others, anthropic: { ...own, compaction } } });
  });
}

function textsOf({ prompt }: LanguageModelV4CallOptions) {
  return prompt.flatMap((message) =>
    message.role === "system"
      ? [{ type: "text" as const, text: message.content }]
      : message.role === "user"
        ? message.content.flatMap((part) => (part.type === "text" ? [part] : []))
        : [],
  );
}

/**
 * The length of the prompt's beginning that ends with the messages as they are stored now, in the prompt's own messages. Null where the
 * prompt does not hold them.
 *
 * Compares texts, calls with their inputs, and outputs, and nothing may stand between them. What was shown in another form (previewed,
 * truncated, redacted or changed since) does not count. Messages behind these are not in it, so no summary can describe them.
 */
export function lengthUpTo(prompt: LanguageModelV4Prompt, messages: readonly UIMessage[]): number | null {
  const own = messages.flatMap(({ role, parts }) => parts.map((part) => saidOf(role, part)));
  const wanted = own.filter((each) => each !== null);
  const texts = prompt.flatMap((message, at) => readSaid(message).map((text) => ({ text, at })));
  const first = texts.findIndex((_, at) => wanted.every((each, n) => each !== "" && texts[at + n]?.text === each));
  const last = texts[first + wanted.length - 1]?.at;
  // The message of the prompt must end there as well.
  if (wanted.length === 0 || first === -1 || last === undefined || texts[first + wanted.length]?.at === last)
    return null;
  const rest = prompt.findIndex(({ role }, at) => at > last && role !== "tool");
  const length = rest === -1 ? prompt.length : rest;
  const outputs = new Map(prompt.slice(0, length).flatMap(readOutputs));
  return messages.every(({ parts }) => parts.every((part) => isShown(outputs, part))) ? length : null;
}

/** A text or a call, by its author. Null for a part that the model is not sent, and empty for one of an unknown form. */
function saidOf(role: UIMessage["role"], part: Part): string | null {
  const call = toolPart(part);
  if (call !== null) return callOf(call.toolCallId, toolName(call), call.input);
  if (part.type === "text") return part.text === "" ? null : `${role} ${part.text}`;
  // What a model thought comes back in each provider's own form, and it is no part of a summary's source.
  return part.type === "reasoning" || !isSaid(part) ? null : "";
}

function isShown(outputs: ReadonlyMap<string, unknown>, part: Part): boolean {
  const call = toolPart(part);
  if (call === null) return true;
  const shown = outputs.get(call.toolCallId);
  if (!hasResult(call)) return true;
  if (shown === undefined) return false;
  const json = JSON.stringify(shown);
  if (call.state === "output-available") return json === JSON.stringify(call.output);
  return call.state !== "output-error" || json === JSON.stringify(call.errorText);
}

function readSaid(message: LanguageModelV4Prompt[number]): string[] {
  const { role, content } = message;
  if (typeof content === "string") return [`${role} ${content}`];
  return content.flatMap((part) => {
    if (part.type === "text") return part.text === "" ? [] : [`${role} ${part.text}`];
    return part.type === "tool-call" ? [callOf(part.toolCallId, part.toolName, part.input)] : [];
  });
}

function readOutputs({ content }: LanguageModelV4Prompt[number]): (readonly [id: string, output: unknown])[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type !== "tool-result") return [];
    const { output } = part;
    return [[part.toolCallId, "value" in output ? output.value : null] as const];
  });
}

function callOf(id: string, name: string, input: unknown): string {
  return `call ${JSON.stringify([id, name, input])}`;
}
