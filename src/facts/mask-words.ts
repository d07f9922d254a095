/**
 * Chooses the words that stay of the tool outputs that an edit masks.
 *
 * The messages of a view and a budget in, words out, for each stub and for the last one. steps/view/mask.ts shows them. They are chosen
 * once and stored, so that a stub never changes.
 */
import type { UIMessage } from "ai";
import { messageSteps } from "../steps/message/slice.ts";
import { maskedOutputs, type MaskedOutput, type StubWords } from "../steps/view/mask.ts";
import { withOutput } from "../steps/view/stub.ts";
import { wordsOf } from "./gather.ts";
import { NAME_CHARS_PER_TOKEN } from "./keep.ts";
import { chooseWords, talkOf } from "./names/choose.ts";
import { gatherWords, mergeWords } from "./names/table.ts";
import { wordsIn } from "./words.ts";

/** Most tokens of its output's own words in a stub. */
const STUB_WORDS_TOKENS = 40;

/** The words that stay of the outputs that an edit masks. */
export interface MaskWords {
  /** Words for the stub of each output that this edit masks. */
  readonly stubs: StubWords;
  /** Words of everything that is masked in the view, shown beside the last stub. */
  readonly names: readonly string[];
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
export function budgetForNames(budget: {
  readonly namesTokens: number;
  readonly shownTokens: number;
  readonly freedTokens: number;
}): number {
  return Math.min(budget.namesTokens, budget.shownTokens + Math.floor(budget.freedTokens / 2));
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
  const budget = {
    characters: STUB_WORDS_TOKENS * NAME_CHARS_PER_TOKEN,
    talk,
    isShown: (word: string) => taken.has(word),
  };
  const stubs: Record<string, string> = {};
  for (const maskee of view) {
    for (const { reference, text } of hiddenOutputs(maskee, Math.max(maskee.shown.from, maskee.maskedTo + 1))) {
      const own = new Set(wordsIn(text));
      const rows = words.rows.filter(([word]) => own.has(word));
      const chosen = chooseWords({ ...words, rows }, budget);
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
