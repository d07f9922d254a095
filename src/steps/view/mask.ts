/**
 * Stubs that replace older tool outputs in the view of a model.
 *
 * Chooses the words that a stub keeps, and puts stubs into a copy of a message. steps/decide/rent.ts decides which
 * outputs are masked and when, and the masks are stored beside the messages. No stored message changes (M1).
 *
 * Why it is safe:
 * - The call and its input stay, so call and result remain paired (V2). The stub names the place of the whole output.
 * - A stub consists of its output's size, a reference to its call where `recall` may read it, and words that were chosen once. So it is the
 * same in
 *   every view, and the provider's cache of a prompt stays valid until the next edit.
 * - stub.ts says which outputs stay whole, and what stays of the shape of an object.
 */
import type { UIMessage } from "ai";
import { referenceToCall } from "../message/reference.ts";
import { messageSteps } from "../message/slice.ts";
import { toolPart, type Part } from "../message/tool-parts.ts";
import { NAME_CHARS_PER_TOKEN } from "../pinned/keep.ts";
import { wordsOf } from "../pinned/gather.ts";
import { chooseWords, talkOf } from "../salience/choose.ts";
import { gatherWords, mergeWords } from "../salience/table.ts";
import { wordsIn } from "../salience/words.ts";
import { maskableOutput, STUB_START, stubOf, withOutput } from "./stub.ts";

/** Most tokens of its output's own words in a stub. */
const STUB_WORDS_TOKENS = 40;

const NAMES_START = "Words of outputs that were left out, this one and earlier ones: ";

/**
 * The words in stubs, by the reference of the call. Ids of calls may repeat in one conversation. Null for an output that
 * stays whole although it is before the line.
 */
export type StubWords = Readonly<Record<string, string | null>>;

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
  /** The names shown beside the last stub of the steps up to `namesStep`. */
  readonly names: readonly string[];
  readonly namesStep: number;
  /** Whether the model may have the tool `recall`. No stub names it otherwise. */
  readonly canRecall: boolean;
}

/** The message with stubs for the outputs of its first steps. Returns the same object where there is nothing to mask. */
export function maskMessage(message: UIMessage, { words, toStep, names, namesStep, canRecall }: Masking): UIMessage {
  const masked = maskedOutputs(message, { from: 0, to: toStep }, words);
  if (masked.length === 0) return message;
  const stubs = new Map(masked.map((each) => [each.part, stubText(each, { words: words[each.reference], canRecall })]));
  const named = masked.findLast(({ step }) => step <= namesStep)?.part;
  if (named !== undefined && names.length > 0) stubs.set(named, `${stubs.get(named) ?? ""}\n${namesText(names)}`);
  const stub = (part: Part): Part => {
    const text = stubs.get(part);
    return text === undefined ? part : stubOf(part, text);
  };
  return { ...message, parts: message.parts.map(stub) };
}

export function namesText(names: readonly string[]): string {
  return `${NAMES_START}${names.join(" ")}`;
}

/** A stub's text without the names of all outputs that were left out. */
export function withoutNames(stub: string): string {
  const at = stub.indexOf(`\n${NAMES_START}`);
  return at === -1 ? stub : stub.slice(0, at);
}

/** A stub's first sentence with another size, without any word of an output. */
export function bareStub(stub: string, characters: number): string {
  const sized = stub.slice(STUB_START.length, stub.indexOf("]") + 1).replace(/^\d+/, `${characters}`);
  return `${STUB_START}${sized}`;
}

function stubText(
  { text, reference }: MaskedOutput,
  { words = "", canRecall }: { readonly words: string | null | undefined; readonly canRecall: boolean },
): string {
  const line = `${STUB_START}${text.length} characters.${canRecall ? ` recall ${reference} reads it again.` : ""}]`;
  return words === "" ? line : `${line} ${words}`;
}

/** A message of the view at an edit, with the steps that the edit masks and the steps that are masked already. */
export interface Maskee {
  readonly message: UIMessage;
  /** The steps that the view shows, both included. */
  readonly shown: { readonly from: number; readonly to: number };
  /** The last step to mask. Null where the whole message stays. */
  readonly toStep: number | null;
  /** The last step that had its stubs before. -1 where there was none. */
  readonly maskedTo: number;
  /** The words of the stubs before. */
  readonly words: StubWords;
}

/**
 * Tokens of the names beside the last stub. They may take half of what an edit frees, beyond those that stand there already, so that a mask
 * always makes a view smaller.
 */
export function roomForNames(room: {
  readonly namesTokens: number;
  readonly shownTokens: number;
  readonly freedTokens: number;
}): number {
  return Math.min(room.namesTokens, room.shownTokens + Math.floor(room.freedTokens / 2));
}

/**
 * Chooses the words that stay of the masked outputs: beside each stub words of its own output, and beside the last stub
 * words of all masked outputs.
 */
export function chooseMaskWords(view: readonly Maskee[], namesTokens: number): MaskWords {
  const tables = view.map((maskee) => wordsOf(hideOutputs(maskee)));
  const talk = talkOf(tables.slice(view.findLastIndex(({ toStep }) => toStep !== null) + 1));
  const said = new Set(tables.flatMap(({ rows }) => rows.map(([word]) => word)));
  const hidden = view.map((maskee) =>
    gatherWords(hiddenOutputs(maskee, maskee.shown.from).map(({ text }) => ({ written: false, text }))),
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
  for (const maskee of view) {
    for (const { reference, text } of hiddenOutputs(maskee, Math.max(maskee.shown.from, maskee.maskedTo + 1))) {
      const own = new Set(wordsIn(text));
      const rows = words.rows.filter(([word]) => own.has(word));
      const chosen = chooseWords({ ...words, rows }, room);
      for (const word of chosen) taken.add(word);
      stubs[reference] = chosen.join(" ");
    }
  }
  return { stubs, names };
}

/** The part of a message that stays in view, without the sentences of its stubs. */
function hideOutputs(maskee: Maskee): UIMessage {
  const { message, shown } = maskee;
  const masked = new Set(hiddenOutputs(maskee, shown.from).map(({ part }) => part));
  const parts = messageSteps(message)
    .slice(shown.from, shown.to + 1)
    .flat();
  return { ...message, parts: parts.map((part) => (masked.has(part) ? withOutput(part, "") : part)) };
}

/** The outputs of a message in the view that the edit hides, from a step on. */
function hiddenOutputs({ message, shown, toStep, words }: Maskee, from: number): MaskedOutput[] {
  return maskedOutputs(message, { from, to: Math.min(toStep ?? -1, shown.to) }, words);
}

interface MaskedOutput {
  readonly part: Part;
  /** The whole output as a text. */
  readonly text: string;
  readonly reference: string;
  readonly step: number;
}

/** The outputs of the given steps that may be masked. */
function maskedOutputs(
  message: UIMessage,
  steps: { readonly from: number; readonly to: number },
  words: StubWords,
): MaskedOutput[] {
  if (message.role !== "assistant") return [];
  let call = 0;
  return messageSteps(message).flatMap((parts, step) =>
    parts.flatMap((part) => {
      if (toolPart(part) === null) return [];
      call++;
      const reference = referenceToCall(message.id, call);
      const isWhole = step < steps.from || step > steps.to || words[reference] === null;
      const output = isWhole ? null : maskableOutput(part);
      return output === null ? [] : [{ part, text: output.text, reference, step }];
    }),
  );
}
