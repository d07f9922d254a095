/**
 * A scripted embedding model, without chance. Words that mean the same share a dimension. Any other word has a small part in one of a few.
 *
 * One script serves all agents of a Worker. A test begins with {@link scriptEmbedder}.
 */
import type { Embed } from "../../src/embeddings/provider.ts";

const MEANINGS: readonly (readonly string[])[] = [
  ["car", "automobile", "vehicle", "sedan", "drive", "driving"],
  ["dog", "puppy", "hound", "terrier"],
  ["doctor", "physician", "clinic", "surgeon"],
  ["money", "salary", "wage", "pay", "earn", "earns"],
  ["holiday", "vacation", "trip", "journey"],
];
const OTHERS = 16;
const OTHER_WEIGHT = 0.05;

interface Script {
  /** The texts of each call, in order. */
  readonly calls: { readonly texts: readonly string[]; readonly purpose: string }[];
  /** Replaces the answer of a call, or lets it wait. Null answers as usual. */
  answer: ((texts: readonly string[], purpose: string) => unknown) | null;
}

const shared = ((globalThis as { palimpsestEmbedder?: Script }).palimpsestEmbedder ??= { calls: [], answer: null });

/** A fresh script. */
export function scriptEmbedder(answer: Script["answer"] = null): Script {
  shared.calls.length = 0;
  shared.answer = answer;
  return shared;
}

export const scriptedEmbed: Embed = async (texts, { purpose }) => {
  shared.calls.push({ texts: [...texts], purpose });
  const said = shared.answer === null ? null : await shared.answer(texts, purpose);
  return (said ?? texts.map(vectorOf)) as number[][];
};

export function vectorOf(text: string): number[] {
  const vector = Array.from({ length: MEANINGS.length + OTHERS }, () => 0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    const known = MEANINGS.findIndex((words) => words.includes(word));
    const at = known === -1 ? MEANINGS.length + (hash(word) % OTHERS) : known;
    vector[at] = (vector[at] ?? 0) + (known === -1 ? OTHER_WEIGHT : 1);
  }
  return vector;
}

function hash(word: string): number {
  let sum = 7;
  for (const letter of word) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return sum;
}
