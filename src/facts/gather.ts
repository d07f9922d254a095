/** Gathers what messages leave behind without a model, merges it part by part, and chooses what of it is shown. */
import type { UIMessage } from "ai";
import type { CountTokens } from "../steps/message/message.ts";
import { isSummary, storedId } from "../steps/view/view.ts";
import { recordedInstructions, renderInstructions, renderSaid } from "./render.ts";
import { NO_FACTS, NOTHING_PINNED, type Facts, type Pinned } from "./fact.ts";
import { mergeInstructions } from "./instructions.ts";
import type { Loaded } from "./fact.ts";
import { mergeLoaded, pickLoaded, readLoaded } from "./loaded.ts";
import { readSaid, shorten } from "./said.ts";

/** Most of each kind that is kept with a draft. They exceed what any budget shows. */
const MAX_INSTRUCTIONS = 100;
const MAX_SAID = 80;

/** The facts of `messages`, oldest first. Never throws on a message that could be stored. */
export function gatherFacts(messages: readonly UIMessage[]): Facts {
  const own = messages.filter((message) => !isSummary(message));
  return bound({
    // A session that continues another one begins with its summary, which brings its instructions.
    instructions: messages.flatMap(recordedInstructions),
    ended: [],
    said: readSaid(own).flatMap(({ messageId, text }) => shorten(messageId, text)),
    loaded: own.reduce<readonly Loaded[]>((all, each) => mergeLoaded(all, readLoaded(each, storedId(each.id))), []),
  });
}

/** The facts of all parts, given oldest first. A later part may end an instruction of an earlier one. */
export function mergeFacts(parts: readonly Facts[]): Facts {
  return parts.reduce(
    (earlier, later): Facts =>
      bound({
        ...mergeInstructions(earlier, later),
        said: [...earlier.said, ...later.said],
        loaded: mergeLoaded(earlier.loaded, later.loaded),
      }),
    NO_FACTS,
  );
}

function bound(facts: Facts): Facts {
  return {
    instructions: facts.instructions.slice(-MAX_INSTRUCTIONS),
    ended: facts.ended.slice(-MAX_INSTRUCTIONS),
    said: facts.said.slice(-MAX_SAID),
    loaded: facts.loaded,
  };
}

/** The budgets beside a summary. */
export interface KeepBudget {
  /** Tokens of instructions and of the user's words together. Instructions come first. */
  readonly pinnedTokens: number;
  /** Tokens of loaded texts. Default: 0. */
  readonly loadedTokens?: number | undefined;
  /** What the summary and all beside it may take, so that a view shrinks (V3). Default: without bound. */
  readonly mostTokens?: number | undefined;
  /** How much of that an earlier summary gives up. Only loaded texts may take it, because they go on to the next summary. Default: 0. */
  readonly freedTokens?: number | undefined;
  readonly countTokens: CountTokens;
}

/** What the view showed before the span of a summary: the facts of what earlier summaries hide. */
export interface Before {
  readonly facts: readonly Facts[];
}

/**
 * Chooses what is shown beside a summary of `facts`. All instructions stay. The user's words and loaded texts take what is left of
 * their budgets, the newest first.
 */
export function keepFacts(
  facts: Facts,
  { pinnedTokens, loadedTokens = 0, mostTokens = Infinity, freedTokens = 0, countTokens }: KeepBudget,
  earlier: Before = { facts: [] },
): Pinned {
  const hidden = mergeFacts([...earlier.facts, facts]);
  const { instructions, ended } = hidden;
  const ruled = countTokens(renderInstructions(instructions));
  const words = Math.min(pinnedTokens - ruled, mostTokens - freedTokens - ruled);
  let said = facts.said;
  // Each round drops as much as is over, so few rounds are enough.
  for (let over = countTokens(renderSaid(said)) - words; said.length > 0 && over > 0;) {
    let dropped = 0;
    let freed = 0;
    while (dropped < said.length && freed < over) freed += countTokens(renderSaid(said.slice(dropped, ++dropped)));
    said = said.slice(Math.max(1, dropped));
    over = countTokens(renderSaid(said)) - words;
  }
  const left = mostTokens - ruled - countTokens(renderSaid(said));
  const budgetTokens = Math.max(0, Math.min(loadedTokens, left));
  const loaded = pickLoaded(hidden.loaded, { budgetTokens, countTokens });
  return { ...NOTHING_PINNED, instructions, ended, said, loaded };
}
