/**
 * Compares a summary with the summaries that it replaced, and lists the bullets added, dropped and kept.
 *
 * Summaries in, bullets out, for people who check a compaction. A reworded bullet counts as kept, and its earlier
 * wording is shown beside it.
 */
import { meaningfulWords, saysTheSame } from "../../steps/text/text.ts";
import { readBullets, type SummaryBullet } from "../../steps/draft/audit.ts";
import { splitReferences } from "../../steps/draft/provenance.ts";

export interface KeptBullet extends SummaryBullet {
  /** The earlier wording. Null when it is word for word the same. */
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

/**
 * The most bullets compared with one bullet, starting with those that share its rarest words. A reworded one is among
 * the first.
 */
const MAX_COMPARED = 50;

/**
 * Compares a summary with those that it replaced, oldest first. References are ignored. Results are in the order of the
 * text.
 */
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
  // Exact matches first, so that no reworded bullet takes the source of an unchanged one.
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

/** Bullets without a match yet, indexed by text and by words, so that the work grows linearly with the text. */
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
