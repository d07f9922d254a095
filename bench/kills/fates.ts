/**
 * What had become of the calls of a model when the process that made them died, and which of them were asked again.
 *
 * Safe to count by: equal calls have equal keys (see test/kill/model-server.ts), and the held summariser writes the key of what it
 * was asked into its answer, so that a stored draft says whose it is.
 */
import type { Asked } from "../../test/kill/model-server.ts";

interface Fate {
  readonly calls: number;
  /** Of these, such as were asked for once more after the kill. */
  readonly again: number;
}

export interface Fates {
  /** The model had not answered. */
  readonly unanswered: Fate;
  /** The answer had left the model, and stood in no ledger: paid for, and gone. */
  readonly unstored: Fate;
  /** The answer stood in the ledger. */
  readonly stored: Fate;
}

/** `drafts` are the texts that the ledger held when the process was dead; `before` and `after` are calls, by that moment. */
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
