/**
 * Chooses what stands beside a summary: how the conversation began, the user's standing instructions and words, loaded texts, and the blocks
 * that are carried along.
 *
 * A Workflow does this for its runs, with what it read from the agent, so that no commit reads a conversation.
 */
import type { UIMessage } from "ai";
import { renderTranscript, wholeCharacters } from "../steps/draft/render.ts";
import { textsOf, type CountTokens } from "../steps/message/message.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import {
  NOTHING_PINNED,
  type Carried,
  type Facts,
  type Instruction,
  type Opening,
  type Pinned,
  type Saying,
} from "./fact.ts";
import { mergeFacts } from "./gather.ts";
import { pickLoaded } from "./loaded.ts";
import { besides, opened, renderInstructions, renderSaid } from "./render.ts";
import { withoutMiddle } from "./said.ts";

/** What was chosen to stand beside a summary. */
export interface Beside {
  readonly pinned: Pinned;
  readonly opening: Opening | null;
  readonly carried: readonly Carried[];
  /** See {@link OverlayDetails.knows}. */
  readonly knows: readonly string[];
}

/** All that is chosen from, redacted. */
export interface BesideSource {
  /** The facts of everything under the summary, in parts, oldest first. */
  readonly facts: readonly Facts[];
  /** Those that earlier summaries hide, which stand before it or go into it. */
  readonly before: readonly Facts[];
  readonly knows: readonly string[];
  readonly begun: BegunSource;
  readonly carried: readonly Carried[];
  readonly budget: BesideBudget;
}

/** Tokens by the estimate. */
export interface BesideBudget {
  /** Of instructions and of the user's words together. Instructions come first. */
  readonly pinnedTokens: number;
  /** Of loaded texts. */
  readonly loadedTokens: number;
  /** Of the beginning of a long first message. */
  readonly openingTokens: number;
  /** What all beside the summary may take, so that a view shrinks (V3). */
  readonly mostTokens: number;
  /** How much of that an earlier summary gives up. Only loaded texts may take it, because they go on to the next summary. */
  readonly freedTokens: number;
}

/** What the opening of a conversation is quoted from. */
export interface BegunSource {
  /** Messages to quote whole. */
  readonly whole: readonly UIMessage[];
  /** A message of which the beginning is quoted. */
  readonly beginning: UIMessage | null;
  /** The opening of a summary that the new one folds in. */
  readonly earlier: Opening | null;
}

export function chooseBeside(source: BesideSource): Beside {
  const { facts, before, knows, begun, carried, budget } = source;
  const opening = quoteOpening(begun, budget.openingTokens, estimateTokens);
  const around = estimateTokens(opened({ opening: opening?.text ?? null }) + besides({ carried }));
  const own = withoutOpening(mergeFacts(facts), opening, begun);
  const pinned = keepFacts(
    own,
    { ...budget, mostTokens: budget.mostTokens - around, countTokens: estimateTokens },
    before,
  );
  return { pinned, opening, carried, knows };
}

/** Null where the messages at the beginning are still in view. */
export function quoteOpening(
  { whole, beginning, earlier }: BegunSource,
  openingTokens: number,
  countTokens: CountTokens,
): Opening | null {
  const texts = [
    ...(whole.length === 0 ? [] : [wholeWords(whole)]),
    ...(beginning === null ? [] : [beginningWords(beginning, openingTokens, countTokens)]),
  ].filter((text) => text.trim() !== "");
  const messageId = beginning?.id ?? whole.at(-1)?.id;
  return messageId === undefined || texts.length === 0 ? earlier : { messageId, text: texts.join("\n\n") };
}

/** The full text of messages. A single user message is quoted as it is. */
function wholeWords(messages: readonly UIMessage[]): string {
  const [first] = messages;
  if (messages.length === 1 && first?.role === "user") return textsOf(first.parts).join("\n");
  return renderTranscript(
    messages.map((message) => ({ kind: "message" as const, message })),
    { reasoningChars: 0 },
  );
}

/** The beginning of a message within so many tokens. */
function beginningWords({ parts }: UIMessage, tokens: number, countTokens: CountTokens): string {
  const text = textsOf(parts).join("\n");
  let cut = wholeCharacters(text, 0, tokens * 8);
  while (cut !== "" && countTokens(cut) > tokens) cut = wholeCharacters(cut, 0, Math.floor(cut.length * 0.9));
  return cut === text ? text : `${cut} […]`;
}

/** The facts without what the user said in a message that the opening quotes whole. It would stand there twice. */
function withoutOpening(facts: Facts, opening: Opening | null, { whole }: BegunSource): Facts {
  if (opening === null) return facts;
  const quoted = new Set([opening.messageId, ...whole.map(({ id }) => id)]);
  const isThere = ({ messageId, text, left }: Saying): boolean =>
    quoted.has(messageId) && left === 0 && opening.text.includes(text);
  return { ...facts, said: facts.said.filter((each) => !isThere(each)) };
}

type KeepBudget = Partial<BesideBudget> &
  Pick<BesideBudget, "pinnedTokens"> & {
    readonly countTokens: CountTokens;
  };

/**
 * Chooses what is shown beside a summary of `facts`. All instructions of the user stay. What system messages said, the user's words and loaded
 * texts take what is left of their budgets, the newest first. `before` has the facts of what earlier summaries hide.
 */
export function keepFacts(
  facts: Facts,
  { pinnedTokens, loadedTokens = 0, mostTokens = Infinity, freedTokens = 0, countTokens }: KeepBudget,
  before: readonly Facts[] = [],
): Pinned {
  const hidden = mergeFacts([...before, facts]);
  const { ended } = hidden;
  const kept = { instructions: withinBudget(hidden.instructions, pinnedTokens, countTokens), said: facts.said };
  const own = fitOwn(kept, { pinnedTokens, mostTokens: mostTokens - freedTokens, countTokens });
  const taken = countTokens(renderInstructions(own.instructions)) + countTokens(renderSaid(own.said));
  const budgetTokens = Math.max(0, Math.min(loadedTokens, mostTokens - taken));
  const loaded = pickLoaded(hidden.loaded, { budgetTokens, countTokens });
  return { ...NOTHING_PINNED, ...own, ended, loaded };
}

/**
 * The instructions in half of the budget or what the user's words leave of it, the oldest in short, and the newest of the words in half of it or
 * what the instructions leave.
 */
export function fitOwn(
  { instructions: all, said: words }: Pick<Facts, "instructions" | "said">,
  { pinnedTokens, mostTokens = Infinity, countTokens }: KeepBudget,
): Pick<Pinned, "instructions" | "said"> {
  const half = Math.floor(pinnedTokens / 2);
  const least = countTokens(renderSaid(fitSaid(words, half, countTokens)));
  const instructions = shortenOldest(all, pinnedTokens - least, countTokens);
  const ruled = countTokens(renderInstructions(instructions));
  const room = Math.min(Math.max(half, pinnedTokens - ruled), mostTokens - ruled);
  return { instructions, said: fitSaid(words, room, countTokens) };
}

/** So many of the oldest in short that all fit. The newest stays whole, and so does one that a person restored. */
function shortenOldest(all: readonly Instruction[], tokens: number, countTokens: CountTokens): readonly Instruction[] {
  let over = countTokens(renderInstructions(all)) - tokens;
  return all.map((each, at) => {
    if (over <= 0 || at === all.length - 1 || each.system === true || each.restored !== undefined) return each;
    const brief = { ...each, brief: true as const };
    over -= countTokens(renderInstructions([each])) - countTokens(renderInstructions([brief]));
    return brief;
  });
}

/** All of the user's, and the newest of system messages that fit, which may be many and long. */
function withinBudget(all: readonly Instruction[], tokens: number, countTokens: CountTokens): readonly Instruction[] {
  let ofSystem = all.filter(({ system }) => system);
  while (ofSystem.length > 0 && countTokens(renderInstructions(ofSystem)) > tokens) ofSystem = ofSystem.slice(1);
  return all.filter((each) => each.system !== true || ofSystem.includes(each));
}

/** The newest of the user's words that fit. Where the newest message alone does not fit, it stays without its middle. */
function fitSaid(words: readonly Saying[], tokens: number, countTokens: CountTokens): readonly Saying[] {
  let said = newestInShort(words, tokens, countTokens);
  // Each round drops as much as is over, so few rounds are enough.
  for (let over = countTokens(renderSaid(said)) - tokens; said.length > 0 && over > 0;) {
    let dropped = 0;
    let freed = 0;
    while (dropped < said.length && freed < over) freed += countTokens(renderSaid(said.slice(dropped, ++dropped)));
    said = said.slice(Math.max(1, dropped));
    over = countTokens(renderSaid(said)) - tokens;
  }
  return said;
}

/** Characters of a message under which it is left out. */
const FEW_CHARS = 100;

function newestInShort(said: readonly Saying[], tokens: number, countTokens: CountTokens): readonly Saying[] {
  const [before, newest] = [said.slice(0, -1), said.at(-1)];
  if (newest === undefined) return said;
  let most = newest.text.length;
  do {
    const { text, left } = withoutMiddle(newest.text, most);
    const short = { ...newest, text, left: newest.left + left };
    if (countTokens(renderSaid([short])) <= tokens) return left === 0 ? said : [...before, short];
    most = Math.floor(most * 0.7);
  } while (most >= FEW_CHARS);
  return before;
}
