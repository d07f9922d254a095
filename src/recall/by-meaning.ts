/**
 * The interface of a search by meaning, which may stand beside the search by words.
 *
 * Interfaces only. The room of recall asks it before an answer is chosen, and an answer needs none of it.
 */
import type { HiddenMessages } from "./hidden-messages.ts";
import type { SeqRange } from "../memory/search/search-rows.ts";
import type { MessageBlocks, Passage } from "./steps/passages.ts";
import type { Core } from "../agent/core.ts";
import type { ByMeaning } from "../agent/recalled.ts";

/** What is near to a query by its meaning. */
export interface Near {
  readonly state: ByMeaning;
  /** The messages that count as found. */
  readonly seqs: ReadonlySet<number>;
  /** Messages in the order in which they are likely to answer, by words and by meaning. */
  rank(byWords: readonly number[], how: { readonly isInside: (seq: number) => boolean }): readonly number[];
  /** The worth of each passage by words and by meaning. `byWords` is the worth by words. */
  weigh(cuts: readonly MessageBlocks[], passages: readonly Passage[], byWords: Float64Array): Float64Array;
}

/** What is asked of a search by meaning. */
export interface MeaningAsked {
  readonly query: string;
  /** Where to search. Null searches the whole session. */
  readonly ranges: readonly SeqRange[] | null;
  /** What the view does not show. Vectors are made for these messages alone. */
  readonly hidden: readonly SeqRange[];
}

/** A search by meaning in one agent. */
export interface MeaningSearch {
  /** Never throws for a model that fails. */
  near(sessionId: string, asked: MeaningAsked): Promise<Near>;
}

/** A search by meaning, as the room of recall is declared with it. */
export interface Embeddings {
  /** @internal */
  readonly open: (core: Core, placesOf: (sessionId: string) => HiddenMessages) => MeaningSearch;
}
