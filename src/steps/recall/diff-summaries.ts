/**
 * What a summary says that the ones before it did not, and what it no longer says.
 *
 * Boundary: summaries in, bullets out; for people who check a compaction. A bullet that says the same in other words is
 * kept, not dropped and added: what changed in it is shown beside it.
 */
import { meaningfulWords, saysTheSame } from "../extract/rank.ts";
import { readBullets, type SummaryBullet } from "../extract/summary-shape.ts";
import { splitReferences } from "../provenance.ts";

export interface KeptBullet extends SummaryBullet {
  /** How it was said before; null when word for word. */
  readonly before: string | null;
}

export interface SummaryDiff {
  readonly added: readonly SummaryBullet[];
  readonly dropped: readonly SummaryBullet[];
  readonly kept: readonly KeptBullet[];
}

interface Comparable extends SummaryBullet {
  readonly words: ReadonlySet<string>;
}

/** Compares a summary with those whose place it took, oldest first. References do not count. In the order of the text. */
export function diffSummaries(before: readonly string[], after: string): SummaryDiff {
  const old = new Set(before.flatMap(readComparable));
  const fresh = readComparable(after);
  const sources = new Map<Comparable, Comparable>();
  const match = (isSame: (one: Comparable, other: Comparable) => boolean): void => {
    for (const bullet of fresh) {
      const source = sources.has(bullet) ? undefined : [...old].find((each) => isSame(each, bullet));
      if (source === undefined) continue;
      sources.set(bullet, source);
      old.delete(source);
    }
  };
  // Exact ones first: no rewording may take the source of a bullet that was kept as it was.
  match((one, other) => one.text === other.text);
  match((one, other) => saysTheSame(one.words, other.words));
  return {
    added: fresh.filter((bullet) => !sources.has(bullet)).map(toBullet),
    dropped: [...old].map(toBullet),
    kept: fresh.flatMap((bullet) => {
      const source = sources.get(bullet);
      if (source === undefined) return [];
      return [{ ...toBullet(bullet), before: source.text === bullet.text ? null : source.text }];
    }),
  };
}

function readComparable(summary: string): Comparable[] {
  return readBullets(summary).map(({ section, text }) => {
    const plain = splitReferences(text).text;
    return { section, text: plain, words: meaningfulWords(plain) };
  });
}

function toBullet({ section, text }: Comparable): SummaryBullet {
  return { section, text };
}
