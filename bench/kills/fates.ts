/**
 * What happened to the model calls of a process that died, and which of them were made again.
 *
 * Counting by keys is safe. Equal calls have equal keys (see test/kill/model-server.ts), and the held summariser writes the key of its call
 * into its answer, so a stored draft names its call.
 */
import type { Asked } from "../../test/kill/model-server.ts";

interface Fate {
  readonly calls: number;
  /** Calls of these that were made once more after the kill. */
  readonly again: number;
}

export interface Fates {
  /** The model had not answered. */
  readonly unanswered: Fate;
  /** The answer had left the model and was in no ledger, so it was paid for and lost. */
  readonly unstored: Fate;
  /** The answer was in the ledger. */
  readonly stored: Fate;
}

/** `drafts` are the texts in the ledger when the process was dead. `before` and `after` are the calls before and after that moment. */
export function fatesOf({
  before,
  after,
  drafts,
}: {
  readonly before: readonly Readonly<Asked>[];
  readonly after: readonly Readonly<Asked>[];
  readonly drafts: readonly string[];
}): Fates {
  const later = new Set(after.map(({ key }) => key));
  const fate = (is: (asked: Asked) => boolean): Fate => {
    const those = before.filter(is);
    return { calls: those.length, again: those.filter(({ key }) => later.has(key)).length };
  };
  const isStored = ({ key }: Asked): boolean => drafts.some((text) => text.includes(key));
  return {
    unanswered: fate(({ answered }) => !answered),
    unstored: fate((asked) => asked.answered && !isStored(asked)),
    stored: fate((asked) => asked.answered && isStored(asked)),
  };
}
