/**
 * What an embedding model reads of a message, and how what is near by meaning joins with what was found by words.
 *
 * Both are lists, and the place in each list decides (reciprocal rank fusion). A cosine of one model says nothing beside that of another,
 * or beside a score of words, and places need no scale.
 */
import type { UIMessage } from "ai";
import type { ByMeaning } from "../agent/recalled.ts";
import { cutMessage, spreadLikeness, type Passage, type ReadMessage } from "../recall/passages.ts";
import type { Near } from "../recall/recall.ts";

/** Characters of a piece, which the smallest windows of embedding models hold. A passage that crosses the end is in it. */
export const PIECE_CHARS = 1_000;
/** Most pieces of a message. Of a longer one the first and the last are kept, because the end tells the result. */
export const MAX_PIECES = 4;

/**
 * The pieces of a message, in order: what a user or the agent wrote, in whole passages, so that a piece that is found says which passages
 * to quote. What tools were asked and answered is left out, because it is long and words find it.
 */
export function piecesOf({ blocks, passages }: ReadMessage): (readonly Passage[])[] {
  const pieces: Passage[][] = [];
  let chars = PIECE_CHARS;
  for (const passage of passages) {
    if (blocks[passage.block]?.kind !== "text") continue;
    if (chars >= PIECE_CHARS) {
      pieces.push([]);
      chars = 0;
    }
    pieces.at(-1)?.push(passage);
    chars += passage.text.length;
  }
  return pieces.length <= MAX_PIECES ? pieces : [...pieces.slice(0, MAX_PIECES - 1), ...pieces.slice(-1)];
}

/** The texts of a message's pieces. Empty for a message in which nothing was written. */
export function pieceTexts(message: UIMessage): string[] {
  const written = { ...message, parts: message.parts.filter(({ type }) => type === "text") };
  const texts = piecesOf(cutMessage({ seq: 0, message: written, createdAt: 0 })).map((piece) =>
    piece.map(({ text }) => text).join(""),
  );
  return texts.map((text) => text.trim());
}

/** A piece of a message that is similar to the query. */
export interface SimilarPiece {
  readonly seq: number;
  readonly piece: number;
  readonly similarity: number;
}

/** The usual constant of the fusion. A place among the first counts little more than the next one. */
const RANK_CONSTANT = 60;
/**
 * The weight of a place by meaning, where one by words has 1. With as much, a weak model takes away from what words find, and with half it
 * adds to it (docs/decisions/0017).
 */
const MEANING_SHARE = 0.5;
/** Most messages that are near. Later ones are hardly about the query. */
const MOST_NEAR = 200;
/** Of these, the ones that count as found. The rest only helps others. */
const MOST_FOUND = 20;
/** The share of its likeness that a message's neighbours get, by distance. Turns of a conversation explain each other. */
const NEAR_SHARES: readonly number[] = [1, 0.5, 0.4, 0.33, 0.28, 0.24, 0.2, 0.17, 0.14, 0.12, 0.1];

/** An answer by words alone. */
export function nothingNear(state: ByMeaning): Near {
  return { state, seqs: new Set(), rank: (byWords) => byWords, weigh: (_cuts, _passages, byWords) => byWords };
}

/** The pieces may have any order. */
export function nearOf(pieces: readonly SimilarPiece[], state: ByMeaning): Near {
  // Numbers are sorted ten times as fast as objects, and few of many pieces are kept.
  const least =
    Float64Array.from(pieces, ({ similarity }) => similarity)
      .toSorted()
      .at(-MOST_NEAR) ?? -1;
  const best = pieces
    .filter(({ similarity }) => similarity >= least)
    .toSorted((a, b) => b.similarity - a.similarity || b.seq - a.seq)
    .slice(0, MOST_NEAR);
  if (best.length === 0) return nothingNear(state);
  const average = pieces.reduce((sum, { similarity }) => sum + similarity, 0) / pieces.length;
  const span = (best[0]?.similarity ?? 0) - average;
  // How far a piece stands out of all pieces. Cosines of many models hardly differ otherwise.
  const likeness = new Map<number, Map<number, number>>();
  for (const { seq, piece, similarity } of best) {
    const share = span > 0 ? Math.max(0, (similarity - average) / span) : 1;
    likeness.set(seq, (likeness.get(seq) ?? new Map()).set(piece, share));
  }
  const found = [...new Set(best.map(({ seq }) => seq))].slice(0, MOST_FOUND);
  return {
    state,
    seqs: new Set(found),
    rank: (byWords, isInside) => fused(byWords, rankLikely(likeness, isInside)),
    weigh: (cuts, passages, byWords) =>
      weighBoth(byWords, spreadLikeness(passages, likenessIn(cuts, passages, likeness), NEAR_SHARES)),
  };
}

/** Messages by their likeness and that of their neighbours. */
function rankLikely(
  likeness: ReadonlyMap<number, ReadonlyMap<number, number>>,
  isInside: (seq: number) => boolean,
): number[] {
  const worth = new Map<number, number>();
  for (const [seq, pieces] of likeness) {
    const own = Math.max(...pieces.values());
    for (let near = seq - NEAR_SHARES.length + 1; near < seq + NEAR_SHARES.length; near++) {
      const share = own * (NEAR_SHARES[Math.abs(near - seq)] ?? 0);
      if (share > (worth.get(near) ?? 0) && isInside(near)) worth.set(near, share);
    }
  }
  return [...worth].toSorted((a, b) => b[1] - a[1] || b[0] - a[0]).map(([seq]) => seq);
}

function fused(byWords: readonly number[], byLikeness: readonly number[]): number[] {
  const worth = new Map<number, number>();
  for (const [place, seq] of byWords.entries()) worth.set(seq, placeWorth(place));
  for (const [place, seq] of byLikeness.entries()) {
    worth.set(seq, (worth.get(seq) ?? 0) + MEANING_SHARE * placeWorth(place));
  }
  return [...worth].toSorted((a, b) => b[1] - a[1] || b[0] - a[0]).map(([seq]) => seq);
}

/** 1 for the first place. */
function placeWorth(place: number): number {
  return (RANK_CONSTANT + 1) / (RANK_CONSTANT + place + 1);
}

/** The likeness of each passage, by the piece that it is in. */
function likenessIn(
  cuts: readonly ReadMessage[],
  passages: readonly Passage[],
  likeness: ReadonlyMap<number, ReadonlyMap<number, number>>,
): Float64Array {
  const shares = new Map<Passage, number>();
  for (const cut of cuts) {
    const known = likeness.get(cut.seq);
    if (known === undefined) continue;
    for (const [at, piece] of piecesOf(cut).entries()) for (const each of piece) shares.set(each, known.get(at) ?? 0);
  }
  return Float64Array.from(passages, (each) => shares.get(each) ?? 0);
}

/** 1 for a passage that is the first by words and by likeness. */
function weighBoth(byWords: Float64Array, byLikeness: Float64Array): Float64Array {
  const worth = new Float64Array(byWords.length);
  for (const [list, share] of [
    [byWords, 1],
    [byLikeness, MEANING_SHARE],
  ] as const) {
    const ranked = [...list.keys()].filter((at) => (list[at] ?? 0) > 0);
    ranked.sort((a, b) => (list[b] ?? 0) - (list[a] ?? 0) || b - a);
    for (const [place, at] of ranked.entries()) worth[at] = (worth[at] ?? 0) + share * placeWorth(place);
  }
  return worth.map((each) => each / (1 + MEANING_SHARE));
}
