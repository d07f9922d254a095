/**
 * Stubs in the place of older tool outputs: what a model is sent of an output that it read long ago.
 *
 * Job: say what a stub would take away, choose the words that stay, and put stubs into a copy of a message. Boundary: which
 * outputs give way, and since when, is decided elsewhere (steps/decide/rent.ts) and kept beside the messages; nothing of a message
 * is changed where it is stored (M1).
 *
 * Why it is safe:
 * - The call and its input stay, and the pair of call and result with them (V2). What the stub says is where the whole is.
 * - A stub is made of its output's size, its message's name and words that were chosen once, so it is the same in every view: the
 *   provider's cache of a prompt stays valid until the next edit.
 * - Left whole: errors, however a tool tells them, and what the provider ran itself, which it checks when it comes back.
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

/** Tokens of its output's own words that a stub holds at most. */
const STUB_WORDS_TOKENS = 40;

/** The words that stand in stubs, by the call that they stand for. */
export type StubWords = Readonly<Record<string, string>>;

/** What an edit masks, and what stays of it. */
export interface MaskWords {
  /** Of each output that gives way with this edit. */
  readonly stubs: StubWords;
  /** Of everything that is masked in the view, beside the last stub. */
  readonly names: readonly string[];
}

export interface Masking {
  /** The words of its stubs; an output that has none there is masked without. */
  readonly words: StubWords;
  /** Steps up to this one are masked. */
  readonly toStep: number;
  /** Where the line ends in this message: what stands beside its last stub. */
  readonly names: readonly string[];
}

/** The message with stubs for the outputs of its first steps; the very same object where there is nothing to mask. */
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

/** Beside the last stub. */
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
  const line = `[Left out: an output of ${characters} characters. recall ${referenceTo(messageId)} reads it again.]`;
  return words === "" ? line : `${line} ${words}`;
}

function stubOf(output: unknown): string {
  const held: unknown = Array.isArray(output) ? output[0] : output;
  return typeof held === "object" && held !== null ? String((held as { leftOut?: unknown }).leftOut) : String(held);
}

/** A message of the view at an edit, with the steps of it that the edit masks, and those that are masked already. */
export interface Maskee {
  readonly message: UIMessage;
  /** Null where all of it stays. */
  readonly toStep: number | null;
  /** Outputs up to this step had their stubs before; -1 where none had. */
  readonly maskedTo: number;
}

/** Which words stay of what an edit masks: beside each stub those of its own output, and beside the last of all that are masked. */
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

/** What stays in view of a message, without the sentences of its stubs. */
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
