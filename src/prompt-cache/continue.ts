/**
 * Asks for a summary behind the prompt that the agent last sent, so that the provider reads that prompt from its cache.
 *
 * The request is the agent's own up to the last message to summarise, with one more message of the user. It is made only where the prompt
 * holds those messages, fits the model's window together with the answer, and costs less than the plain call by the session's prices.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { TOLERATED_SUMMARY_TOKENS } from "../limits.ts";
import { checkModel, type Continues, type Question } from "../model/chosen.ts";
import { buildPrompt, rules, type OwnTask } from "../steps/draft/prompt.ts";
import { toolName, toolPart } from "../steps/message/tool-parts.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { wrapCalls, type AnyModel } from "./wrap-calls.ts";
import { chargesOf } from "./cheaper.ts";
import { lengthUpTo } from "./holds.ts";
import { nameOf } from "./room.ts";
import type { SentRequest } from "./sent.ts";

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
  checkFields("continuePrompt", options, { windowTokens: true, name: true });
  if (typeof model === "string") {
    throw new PalimpsestError("invalid_options", "continuePrompt was given a name: give the model itself.");
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
        ? { model: { ...chosen, model: continued(model, request) }, ...prompt, before }
        : null;
    },
  };
}

function fits(
  { sent, plain, answerTokens }: Question,
  { cached, added }: { readonly cached: number; readonly added: number },
  windowTokens: number,
): boolean {
  // As much as the call allows an answer.
  if (cached + added + 2 * Math.max(answerTokens, TOLERATED_SUMMARY_TOKENS) > windowTokens) return false;
  const plainTokens = estimateTokens(plain.system + plain.prompt);
  const calls = { plainTokens, cachedTokens: cached, addedTokens: added, answerTokens };
  const charges = chargesOf(calls, sent.prices);
  return charges.continued < charges.plain;
}

const STOP =
  "Stop the work here. The conversation above is a record now: do not answer it, do not go on with its work, and call no tool.";

const SYSTEM = `${STOP} You keep its memory. Messages of it that no longer fit your context are replaced by the summary that you write now, and you go on from it without seeing them again. What you leave out is forgotten; what you invent is believed.

Rules:
${rules('Use every section heading you are given, in order, each as a line "## Title". Write "None." where there is nothing.', "summary")}`;

const TASK: OwnTask = {
  name: "continue",
  system: SYSTEM,
  task:
    "Summarise a part of the conversation above. The transcript names the messages of that part, each by its number, its author and its " +
    "first words. What stands before the part is not in your summary.",
  closing: "Now write the summary.",
};

/** A room's own task behind the agent's prompt. */
function behind({ name, system, task, closing }: OwnTask): OwnTask {
  const named =
    "The transcript names messages of the conversation above, each by its number, its author and its first words. Read them there.";
  return { name, system: `${STOP}\n\n${system}`, task: `${task} ${named}`, closing };
}

/** The message behind the agent's prompt. */
function promptBehind({ input, messages }: Question): { readonly system: string; readonly prompt: string } {
  const kind = typeof input.kind === "string" ? TASK : behind(input.kind);
  return buildPrompt({ ...input, kind, transcript: messages.map(messageLine).join("\n") });
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
  return wrapCalls(model, (ask, options: LanguageModelV4CallOptions) => {
    const content = options.prompt.flatMap((message) =>
      message.role === "system"
        ? [{ type: "text" as const, text: message.content }]
        : message.role === "user"
          ? message.content
          : [],
    );
    return ask({ ...options, ...request, prompt: [...prompt, { role: "user", content }] });
  });
}
