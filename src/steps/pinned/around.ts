/**
 * What a view says without the names beside a summary, and what is talked of at its end.
 *
 * Boundary: what stays in view in, questions to it out. Safe to be incomplete: a name that is thought to be out of view costs the
 * room of one.
 */
import type { UIMessage } from "ai";
import { talkOf } from "../salience/choose.ts";
import { gatherWords } from "../salience/table.ts";
import type { Facts } from "./fact.ts";
import { readSayings } from "./gather.ts";
import { isWhole, keyOf, readLoaded } from "./loaded.ts";
import { sayingWords, type Around } from "./keep.ts";

export interface InView {
  /** Before what is hidden, oldest first. */
  readonly head: readonly UIMessage[];
  /** Behind it. */
  readonly tail: readonly UIMessage[];
  /** Other summaries, as they are shown. */
  readonly summaries: readonly string[];
  /** What those hide, oldest first. */
  readonly hidden: readonly Facts[];
}

export function lookAround({ head, tail, summaries, hidden }: InView): Around {
  const tables = [...head, ...tail].map((message) =>
    gatherWords(readSayings(message).map(({ by, text }) => ({ written: by !== "output", text }))),
  );
  const said = [...new Set(tables.flatMap(({ rows }) => rows.map(([word]) => word)))];
  const shows = sayingWords([...summaries, said.join("\n")].join("\n"));
  const loaded = tail.flatMap((message) => readLoaded(message, { messageId: message.id, nameCall: () => "" }));
  return {
    hidden,
    talk: talkOf(tables.slice(head.length)),
    shows,
    loaded: new Set(loaded.flatMap((each) => (isWhole(each) ? [keyOf(each)] : []))),
  };
}
