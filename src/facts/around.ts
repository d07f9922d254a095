/**
 * Finds the words and loaded texts that a view shows without the part beside a summary, and the words of its latest
 * messages.
 *
 * The visible messages in, tests on words out. An error is harmless, because a name that is wrongly taken for hidden
 * only takes the tokens of one name.
 */
import type { UIMessage } from "ai";
import { talkOf } from "./names/choose.ts";
import { containsWord, wordsIn } from "./words.ts";
import type { Facts } from "./fact.ts";
import { settledIn, wordsOf } from "./gather.ts";
import { isWhole, readLoaded } from "./loaded.ts";
import type { Around } from "./keep.ts";
import { readPinnedRules } from "./render.ts";
import { contains } from "./contains.ts";

export interface InView {
  /** Messages before the hidden part, oldest first. */
  readonly head: readonly UIMessage[];
  /** Messages behind the hidden part. */
  readonly tail: readonly UIMessage[];
  /** The other summaries, as they are shown. */
  readonly summaries: readonly string[];
  /** The facts of the messages that those summaries hide, oldest first. */
  readonly hidden: readonly Facts[];
}

export function lookAround({ head, tail, summaries, hidden }: InView): Around {
  const tables = [...head, ...tail].map(wordsOf);
  // Messages show a word that stands there as one of its own. `t.Errorf` does not show `t.Error`, nor a path its folder.
  const said = new Set(tables.flatMap(({ rows }) => rows.map(([word]) => word)));
  const summarised = containsWord(wordsIn(summaries.join("\n")));
  const loaded = tail.flatMap((message) => readLoaded(message, { messageId: message.id, nameCall: () => "" }));
  return {
    hidden,
    talk: talkOf(tables.slice(head.length)),
    shows: (word) => said.has(word) || summarised(word),
    ruled: contains(summaries.flatMap((each) => readPinnedRules(each).map(({ value }) => value)).join("\n")),
    settled: settledIn(tail),
    // Without their texts, which a later edit of their messages may take back.
    loaded: loaded.filter(isWhole).map((each) => ({ ...each, text: "", edits: [], doubted: true })),
  };
}
