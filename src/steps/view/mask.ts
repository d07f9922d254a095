/**
 * Stubs that replace older tool outputs in the view of a model.
 *
 * Chooses the words that a stub keeps, and puts stubs into a copy of a message. steps/decide/rent.ts decides which
 * outputs are masked and when, and the masks are stored beside the messages. No stored message changes (M1).
 *
 * Why it is safe:
 * - The call and its input stay, so call and result remain paired (V2). The stub names the place of the whole output.
 * - A stub consists of its output's size, its message's reference and words that were chosen once. So it is the same in
 *   every view, and the provider's cache of a prompt stays valid until the next edit.
 * - These stay whole: errors in any form, and outputs that the provider produced, because it checks those when they
 *   come back.
 */
import type { UIMessage } from "ai";
import { referenceTo } from "../message/reference.ts";
import { messageSteps } from "../message/slice.ts";
import { toolPart, type Part } from "../message/tool-parts.ts";
import { NAME_CHARS_PER_TOKEN } from "../pinned/keep.ts";
import { readSayings } from "../pinned/gather.ts";
import { chooseWords, talkOf } from "../salience/choose.ts";
import { gatherWords, mergeWords, type Words } from "../salience/table.ts";
import { wordsIn } from "../salience/words.ts";
import { maskableText, withOutput } from "./stub.ts";

/** Most tokens of its output's own words in a stub. */
const STUB_WORDS_TOKENS = 40;

/** The beginning of each stub. */
export const STUB_START = "[Left out: an output of ";

/** The words in stubs, by tool call id. */
export type StubWords = Readonly<Record<string, string>>;

/** The words that stay of the outputs that an edit masks. */
export interface MaskWords {
  /** Words for the stub of each output that this edit masks. */
  readonly stubs: StubWords;
  /** Words of everything that is masked in the view, shown beside the last stub. */
  readonly names: readonly string[];
}

export interface Masking {
  /** The words of its stubs. An output without an entry gets a stub without words. */
  readonly words: StubWords;
  /** Steps up to this one are masked. */
  readonly toStep: number;
  /** The names shown beside the last stub, where the line ends in this message. */
  readonly names: readonly string[];
}

/** The message with stubs for the outputs of its first steps. Returns the same object where there is nothing to mask. */
export function maskMessage(message: UIMessage, { words, toStep, names }: Masking): UIMessage {
  if (message.role !== "assistant") return message;
  const steps = messageSteps(message);
  const stub = (part: Part): Part => {
    const text = maskableText(part);
    if (text === null) return part;
    return withOutput(part, stubText(message.id, text.length, words[toolPart(part)?.toolCallId ?? ""] ?? ""));
  };
  const parts = steps.flatMap((each, step) => (step > toStep ? each : each.map(stub)));
  if (parts.every((part, at) => part === message.parts[at])) return message;
  return { ...message, parts: names.length === 0 ? parts : withNames(parts, message.parts, names) };
}

/** Adds the names beside the last stub. */
function withNames(parts: readonly Part[], before: readonly Part[], names: readonly string[]): Part[] {
  const last = parts.findLastIndex((part, at) => part !== before[at]);
  return parts.map((part, at) => {
    const tool = at === last ? toolPart(part) : null;
    if (tool?.state !== "output-available") return part;
    return withOutput(part, `${stubOf(tool.output)}\n${namesText(names)}`);
  });
}

export function namesText(names: readonly string[]): string {
  return `Words of outputs that were left out, this one and earlier ones: ${names.join(" ")}`;
}

function stubText(messageId: string, characters: number, words: string): string {
  const line = `${STUB_START}${characters} characters. recall ${referenceTo(messageId)} reads it again.]`;
  return words === "" ? line : `${line} ${words}`;
}

function stubOf(output: unknown): string {
  const held: unknown = Array.isArray(output) ? output[0] : output;
  return typeof held === "object" && held !== null ? String((held as { leftOut?: unknown }).leftOut) : String(held);
}

/** A message of the view at an edit, with the steps that the edit masks and the steps that are masked already. */
export interface Maskee {
  readonly message: UIMessage;
  /** The last step to mask. Null where the whole message stays. */
  readonly toStep: number | null;
  /** The last step that had its stubs before. -1 where there was none. */
  readonly maskedTo: number;
}

/**
 * Chooses the words that stay of the masked outputs: beside each stub words of its own output, and beside the last stub
 * words of all masked outputs.
 */
export function chooseMaskWords(view: readonly Maskee[], namesTokens: number): MaskWords {
  const tables = view.map(({ message, toStep }) => tableOf(hideOutputs(message, toStep)));
  const talk = talkOf(tables.slice(view.findLastIndex(({ toStep }) => toStep !== null) + 1));
  const said = new Set(tables.flatMap(({ rows }) => rows.map(([word]) => word)));
  const hidden = view.map(({ message, toStep }) =>
    gatherWords(maskedOutputs(message, { from: 0, to: toStep ?? -1 }).map(({ text }) => ({ written: false, text }))),
  );
  const words = mergeWords(hidden);
  const characters = Math.max(0, namesTokens) * NAME_CHARS_PER_TOKEN;
  const names = chooseWords(words, { characters, talk, isShown: (word) => said.has(word) });
  const taken = new Set([...said, ...names]);
  const room = {
    characters: STUB_WORDS_TOKENS * NAME_CHARS_PER_TOKEN,
    talk,
    isShown: (word: string) => taken.has(word),
  };
  const stubs: Record<string, string> = {};
  for (const { message, toStep, maskedTo } of view) {
    for (const { callId, text } of maskedOutputs(message, { from: maskedTo + 1, to: toStep ?? -1 })) {
      const own = new Set(wordsIn(text));
      const rows = words.rows.filter(([word]) => own.has(word));
      const chosen = chooseWords({ ...words, rows }, room);
      for (const word of chosen) taken.add(word);
      stubs[callId] = chosen.join(" ");
    }
  }
  return { stubs, names };
}

function tableOf(message: UIMessage): Words {
  return gatherWords(readSayings(message).map(({ by, text }) => ({ written: by !== "output", text })));
}

/** The part of a message that stays in view, without the sentences of its stubs. */
function hideOutputs(message: UIMessage, toStep: number | null): UIMessage {
  if (toStep === null) return message;
  const parts = messageSteps(message).flatMap((each, step) =>
    step > toStep ? each : each.map((part) => (maskableText(part) === null ? part : withOutput(part, ""))),
  );
  return { ...message, parts };
}

function maskedOutputs(message: UIMessage, { from, to }: { readonly from: number; readonly to: number }) {
  const parts = messageSteps(message)
    .slice(from, to + 1)
    .flat();
  return parts.flatMap((part) => {
    const text = maskableText(part);
    return text === null ? [] : [{ callId: toolPart(part)?.toolCallId ?? "", text }];
  });
}
