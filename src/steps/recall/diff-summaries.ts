/**
 * What a summary says that the ones before it did not, and what it no longer says.
 *
 * Boundary: summaries in, bullets out; for people who check a compaction. A bullet that says the same in other words is
 * kept, not dropped and added: what changed in it is shown beside it.
 */
import { meaningfulWords, saysTheSame } from "../extract/rank.ts";
import { readBullets, type SummaryBullet } from "../extract/summary-shape.ts";
import { splitReferences } from "../draft/provenance.ts";

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

/** Bullets that one is compared with, of those that share its rarest words: what says the same is among the first. */
const MAX_COMPARED = 50;

/** Compares a summary with those whose place it took, oldest first. References do not count. In the order of the text. */
export function diffSummaries(before: readonly string[], after: string): SummaryDiff {
  const old = new Unmatched(before.flatMap(readComparable));
  const fresh = readComparable(after);
  const sources = new Map<Comparable, Comparable>();
  const match = (find: (bullet: Comparable) => Comparable | undefined): void => {
    for (const bullet of fresh) {
      const source = sources.has(bullet) ? undefined : find(bullet);
      if (source === undefined) continue;
      sources.set(bullet, source);
      old.take(source);
    }
  };
  // Exact ones first: no rewording may take the source of a bullet that was kept as it was.
  match((bullet) => old.findExact(bullet));
  match((bullet) => old.findReworded(bullet));
  return {
    added: fresh.filter((bullet) => !sources.has(bullet)).map(toBullet),
    dropped: old.left().map(toBullet),
    kept: fresh.flatMap((bullet) => {
      const source = sources.get(bullet);
      if (source === undefined) return [];
      return [{ ...toBullet(bullet), before: source.text === bullet.text ? null : source.text }];
    }),
  };
}

/** Bullets that nothing was found for yet, found by their text and by their words. In proportion to the text, not to its square. */
class Unmatched {
  readonly #all: Set<Comparable>;
  readonly #byText = new Map<string, Set<Comparable>>();
  readonly #byWord = new Map<string, Set<Comparable>>();

  constructor(bullets: readonly Comparable[]) {
    this.#all = new Set(bullets);
    for (const bullet of bullets) {
      addTo(this.#byText, bullet.text, bullet);
      for (const word of bullet.words) addTo(this.#byWord, word, bullet);
    }
  }

  take(bullet: Comparable): void {
    this.#all.delete(bullet);
    this.#byText.get(bullet.text)?.delete(bullet);
    for (const word of bullet.words) this.#byWord.get(word)?.delete(bullet);
  }

  findExact({ text }: Comparable): Comparable | undefined {
    const [first] = this.#byText.get(text) ?? [];
    return first;
  }

  findReworded({ words }: Comparable): Comparable | undefined {
    const sharing = [...words].flatMap((word) => this.#byWord.get(word) ?? []);
    let compared = 0;
    for (const bullets of sharing.toSorted((one, other) => one.size - other.size)) {
      for (const bullet of bullets) {
        if (saysTheSame(bullet.words, words)) return bullet;
        if (++compared === MAX_COMPARED) return undefined;
      }
    }
    return undefined;
  }

  left(): readonly Comparable[] {
    return [...this.#all];
  }
}

function addTo(index: Map<string, Set<Comparable>>, key: string, bullet: Comparable): void {
  const known = index.get(key);
  if (known === undefined) index.set(key, new Set([bullet]));
  else known.add(bullet);
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
