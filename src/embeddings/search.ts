/**
 * The search by meaning of one agent. It makes the vectors of hidden messages and compares them with a query.
 *
 * An append makes no vector. A recall makes those of one batch, beside the vector of its query. The rest is made batch by batch after a
 * recall and after a compaction, while nobody waits. Each batch is stored in a transaction of its own as soon as the model answered, so a
 * kill loses the batch that was under way and no other. A message that changed meanwhile is left out.
 *
 * Vectors stand in pages of {@link EMBEDDED_TOGETHER} messages, each made by one model. A page of another model counts as absent, and the
 * next batch of its messages takes its place.
 */
import type { Core } from "../agent/core.ts";
import { yielderOf } from "../agent/yielder.ts";
import { redactionOf } from "../agent/redaction.ts";
import type { MeaningAsked, Near, HiddenMessages } from "../recall/recall.ts";
import type { Embeddings, MeaningSearch } from "../recall/room.ts";
import { isIn, type SeqRange } from "../recall/search.ts";
import {
  ofLengthOne,
  packEntries,
  similarIn,
  type VectorEntry,
  EMBEDDED_TOGETHER,
  EmbeddingStatements,
  type MarksRow,
} from "./pages.ts";
import { inSlices, Pace, type Slices } from "../steps/text/text.ts";
import { checkOptions, Provider, type CheckedOptions, type EmbeddingsOptions } from "./provider.ts";
import type { UIMessage } from "ai";
import type { ByMeaning } from "../agent/recalled.ts";
import { bestFirst, spreadMessages } from "../recall/question.ts";
import { cutMessage, spread, type Passage, type ReadMessage } from "../recall/passages.ts";

/** Most texts of one call. Providers take a hundred. */
export const BATCH_TEXTS = 64;
/** How much smaller a batch is after one that failed. */
const SMALLER = 4;
/** Most messages that are read for one batch, with those in which nothing was written. */
const BATCH_MESSAGES = 256;
/** Most characters of messages that are read for one batch, and in one piece before others get their turn. */
const BATCH_CHARS = 1_000_000;
const BATCH_PIECE_CHARS = 64_000;
/** Most calls after a recall or a compaction. What is left waits for the next one. */
export const CALLS_AFTER = 100;
/** Most pages of a session that are searched, the newest. */
export const SEARCHED_PAGES = 400;
/** Bytes of vectors that are compared in one piece, about ten milliseconds' worth. */
export const COMPARED_BYTES = 4_000_000;

/** A message as it was read for a batch. */
interface BatchMessage {
  readonly seq: number;
  readonly digest: string | undefined;
  readonly texts: readonly string[];
}

/** `refused` when the model failed for one message alone. */
type BatchResult = "made" | "nothing" | "failed" | "refused";

/**
 * Embeddings for the room of recall: `recall({ embeddings: embeddings({ model, embed }) })`. They find what was said in other words, stand
 * beside the search by words, and are never needed. Makes no request. Throws `invalid_options`.
 */
export function embeddings(options: EmbeddingsOptions): Embeddings {
  const checked = checkOptions(options);
  return {
    open: (core, originalsOf) => new EmbeddingSearch(core, checked, originalsOf),
  };
}

class EmbeddingSearch implements MeaningSearch {
  readonly #core: Core;
  readonly #sql: EmbeddingStatements;
  readonly #provider: Provider;
  readonly #originalsOf: (sessionId: string) => HiddenMessages;
  /** By session, the batch that is under way, so that it is asked for once. */
  readonly #batches = new Map<string, Promise<BatchResult>>();
  readonly #catchingUp = new Set<string>();
  /** Texts of a batch. Fewer after a failure, so that one text that the model refuses does not hold up the rest. */
  #batchTexts = BATCH_TEXTS;
  #last: { readonly query: string; readonly vector: readonly number[] } | null = null;

  constructor(core: Core, options: CheckedOptions, originalsOf: (sessionId: string) => HiddenMessages) {
    this.#core = core;
    this.#sql = new EmbeddingStatements(core.db);
    this.#provider = new Provider(core, this.#sql, options);
    this.#originalsOf = originalsOf;
    core.onRunEnded(({ sessionId, outcome }) => {
      if (outcome.kind === "applied" || outcome.kind === "split") this.#catchUp(sessionId);
    });
  }

  async near(sessionId: string, { query, ranges, hidden }: MeaningAsked): Promise<Near> {
    const [asked, batch] = await Promise.all([this.#embedQuery(sessionId, query), this.#batch(sessionId)]);
    if (asked.kind === "failed") return nothingNear(asked);
    if (batch === "refused") await this.#passOver(sessionId);
    const found = await inSlices(this.#compare(sessionId, ranges, asked.vector), yielderOf(this.#core));
    const { waiting } = this.#waiting(sessionId, hidden, asked.vector.length);
    if (waiting > 0 && batch === "made") this.#catchUp(sessionId);
    return nearOf(found, { kind: "searched", waiting });
  }

  async #embedQuery(sessionId: string, query: string) {
    const text = redactionOf(this.#core.settings.get(sessionId)).text(query);
    if (this.#last?.query === text) return { kind: "vector", vector: this.#last.vector } as const;
    const answer = await this.#provider.embed(sessionId, [text], "query");
    if (answer.kind === "failed") return answer;
    const vector = answer.vectors[0] ?? [];
    this.#last = { query: text, vector };
    this.#core.db.transaction(() => this.#provider.count(sessionId, answer.tokens));
    return { kind: "vector", vector } as const;
  }

  /** Makes the vectors of hidden messages that have none, after the caller was answered. */
  #catchUp(sessionId: string): void {
    if (this.#catchingUp.has(sessionId)) return;
    this.#catchingUp.add(sessionId);
    const work = async (): Promise<void> => {
      for (let call = 0; call < CALLS_AFTER; call++) if ((await this.#batch(sessionId)) !== "made") return;
    };
    this.#core.platform.background(
      work()
        // The session may be gone by now. What is left waits for the next recall.
        .catch(() => undefined)
        .finally(() => this.#catchingUp.delete(sessionId)),
    );
  }

  /** Makes the vectors of one batch, or joins the batch that is under way. */
  async #batch(sessionId: string): Promise<BatchResult> {
    const running = this.#batches.get(sessionId);
    if (running !== undefined) return running;
    const batch = this.#makeBatch(sessionId).finally(() => this.#batches.delete(sessionId));
    this.#batches.set(sessionId, batch);
    return batch;
  }

  async #makeBatch(sessionId: string): Promise<BatchResult> {
    const batch = await this.#read(sessionId, this.#batchTexts);
    if (batch.length === 0) return "nothing";
    const texts = batch.flatMap((each) => each.texts);
    if (texts.length === 0) {
      this.#core.db.transaction(() => this.#store(sessionId, batch, []));
      return "made";
    }
    const answer = await this.#provider.embed(sessionId, texts, "passage");
    if (answer.kind === "failed") {
      if (answer.reason !== "no-answer" && answer.reason !== "bad-answer") return "failed";
      this.#batchTexts = Math.max(1, Math.floor(this.#batchTexts / SMALLER));
      return batch.filter((each) => each.texts.length > 0).length === 1 ? "refused" : "failed";
    }
    this.#batchTexts = Math.min(BATCH_TEXTS, this.#batchTexts * SMALLER);
    this.#core.db.transaction(() => {
      this.#provider.count(sessionId, answer.tokens);
      this.#store(sessionId, batch, answer.vectors);
    });
    return "made";
  }

  /**
   * Where the model embeds a query and refuses one message alone, leaves the message to its words. Without that it would be asked for
   * again and again, and older messages would never be.
   */
  async #passOver(sessionId: string): Promise<void> {
    const batch = await this.#read(sessionId, 1);
    this.#core.db.transaction(() =>
      this.#store(
        sessionId,
        batch.map((each) => ({ ...each, texts: [] })),
        [],
      ),
    );
  }

  /** The newest hidden messages that were not taken in, up to so many texts. */
  async #read(sessionId: string, texts: number): Promise<BatchMessage[]> {
    return this.#core.read(sessionId, async () => {
      const originals = this.#originalsOf(sessionId);
      const { seqs } = this.#waiting(sessionId, originals.hidden(), this.#last?.vector.length ?? 0);
      const next = [...Iterator.from(seqs).take(BATCH_MESSAGES)];
      originals.need(next);
      return inSlices(this.#readMessages(originals, sessionId, { seqs: next, texts }), yielderOf(this.#core));
    });
  }

  *#readMessages(
    originals: HiddenMessages,
    sessionId: string,
    { seqs, texts: most }: { readonly seqs: readonly number[]; readonly texts: number },
  ): Slices<BatchMessage[]> {
    const redaction = redactionOf(this.#core.settings.get(sessionId));
    const batch: BatchMessage[] = [];
    const pace = new Pace(BATCH_PIECE_CHARS);
    let [texts, chars] = [0, 0];
    for (const seq of seqs) {
      // The digest comes first. A message that changes after it is noticed when its vectors are stored.
      const digest = this.#sql.digest(sessionId, seq);
      const read = digest === undefined ? null : originals.read(seq);
      const pieces =
        read === null
          ? []
          : // The whole message first, because a secret may be cut in two.
            pieceTexts(redaction.message(read.message)).filter((text) => text.trim() !== "");
      if (batch.length > 0 && texts + pieces.length > most) break;
      texts += pieces.length;
      const size = pieces.reduce((sum, { length }) => sum + length, 0);
      chars += size;
      batch.push({ seq, digest, texts: pieces });
      if (chars > BATCH_CHARS) break;
      if (pace.isOver(size)) yield;
    }
    return batch;
  }

  /** Stores vectors in the pages of their messages. A message that changed since it was read is left out. */
  #store(sessionId: string, batch: readonly BatchMessage[], vectors: readonly (readonly number[])[]): void {
    let at = 0;
    const read = batch.map((each) => {
      const own = vectors.slice(at, at + each.texts.length);
      at += each.texts.length;
      return { ...each, own };
    });
    const kept = read.filter(({ seq, digest }) => this.#sql.digest(sessionId, seq) === digest);
    const size = vectors[0]?.length ?? 0;
    for (const [page, messages] of Map.groupBy(kept, ({ seq }) => pageOf(seq))) {
      const known = this.#sql.page(sessionId, page);
      const isSame = known !== undefined && this.#isValid(known, size);
      const marks = isSame ? new Uint8Array(known.marks) : new Uint8Array(EMBEDDED_TOGETHER / 8);
      const entries: VectorEntry[] = [];
      for (const { seq, own } of messages) {
        mark(marks, seq);
        entries.push(...own.map((vector, piece) => ({ offset: seq % EMBEDDED_TOGETHER, piece, vector })));
      }
      const packed = packEntries(isSame ? new Uint8Array(known.vectors) : new Uint8Array(), entries);
      const isEmpty = packed.length === 0;
      const row = { page, model: this.#provider.model, size: isEmpty ? 0 : size || (known?.size ?? 0) };
      this.#sql.put(sessionId, { ...row, marks, vectors: packed });
    }
  }

  /** Whether the vectors of a page can be compared with those of this model and size. 0 is any size. */
  #isValid({ model, size }: Pick<MarksRow, "model" | "size">, of: number): boolean {
    return model === this.#provider.model && (size === 0 || of === 0 || size === of);
  }

  /** The hidden messages that were not taken in, newest first, and their number. */
  #waiting(sessionId: string, hidden: readonly SeqRange[], size: number): { seqs: Iterable<number>; waiting: number } {
    const newestFirst = hidden.toSorted((a, b) => b.toSeq - a.toSeq);
    const newest = newestFirst[0]?.toSeq ?? -1;
    const rows = this.#sql.marks(sessionId, pageOf(newest), SEARCHED_PAGES);
    const marks = new Map(
      rows.filter((row) => this.#isValid(row, size)).map(({ page, marks }) => [page, new Uint8Array(marks)]),
    );
    const isEmbedded = (seq: number): boolean => isMarked(marks.get(pageOf(seq)), seq);
    const oldest = (pageOf(newest) - SEARCHED_PAGES + 1) * EMBEDDED_TOGETHER;
    let waiting = 0;
    for (const { fromSeq, toSeq } of newestFirst)
      for (let seq = fromSeq; seq <= toSeq; seq++) if (!isEmbedded(seq)) waiting++;
    return { seqs: waitingIn(newestFirst, oldest, isEmbedded), waiting };
  }

  /** The pieces of a session that can be compared with a vector, with their similarity. */
  *#compare(sessionId: string, ranges: readonly SeqRange[], vector: readonly number[]): Slices<SimilarPiece[]> {
    const question = ofLengthOne(vector);
    const newest = Math.max(...ranges.map(({ toSeq }) => toSeq));
    const rows = this.#sql.marks(sessionId, pageOf(newest), SEARCHED_PAGES);
    const found: SimilarPiece[] = [];
    const pace = new Pace(COMPARED_BYTES);
    for (const { page } of rows.filter((row) => row.size > 0 && this.#isValid(row, vector.length))) {
      // A page may have gone since, or may have been made again by another model.
      const row = this.#sql.page(sessionId, page);
      if (row === undefined || row.size !== vector.length || !this.#isValid(row, vector.length)) continue;
      for (const { offset, piece, similarity } of similarIn(new Uint8Array(row.vectors), question)) {
        const seq = page * EMBEDDED_TOGETHER + offset;
        if (isIn(ranges, seq)) found.push({ seq, piece, similarity });
      }
      if (pace.isOver(row.vectors.byteLength)) yield;
    }
    return found;
  }
}

function pageOf(seq: number): number {
  return Math.floor(seq / EMBEDDED_TOGETHER);
}

function mark(marks: Uint8Array, seq: number): void {
  const at = seq % EMBEDDED_TOGETHER;
  marks[at >> 3] = (marks[at >> 3] ?? 0) | (1 << (at & 7));
}

function isMarked(marks: Uint8Array | undefined, seq: number): boolean {
  const at = seq % EMBEDDED_TOGETHER;
  return ((marks?.[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
}

function* waitingIn(
  newestFirst: readonly SeqRange[],
  oldest: number,
  isEmbedded: (seq: number) => boolean,
): Generator<number> {
  for (const { fromSeq, toSeq } of newestFirst) {
    for (let seq = toSeq; seq >= Math.max(fromSeq, oldest); seq--) if (!isEmbedded(seq)) yield seq;
  }
}

// What an embedding model reads of a message, and how what is near by meaning joins with what was found by words.
//
// Both are lists, and the place in each list decides (reciprocal rank fusion). A cosine of one model says nothing beside that of another,
// or beside a score of words, and places need no scale.

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
  const most = [...likeness].map(([seq, shares]) => [seq, Math.max(...shares.values())] as const);
  const byLikeness = bestFirst(spreadMessages(most));
  return {
    state,
    seqs: new Set(found),
    rank: (byWords, isInside) => bestFirst(fused(byWords, byLikeness.filter(isInside))),
    weigh: (cuts, passages, byWords) => weighBoth(byWords, spread(passages, likenessIn(cuts, passages, likeness))),
  };
}

/** The worth of each item in two lists, by its places. */
function fused(byWords: readonly number[], byLikeness: readonly number[]): Map<number, number> {
  const worth = new Map<number, number>();
  for (const [rank, item] of byWords.entries()) worth.set(item, rankWorth(rank));
  for (const [rank, item] of byLikeness.entries()) {
    worth.set(item, (worth.get(item) ?? 0) + MEANING_SHARE * rankWorth(rank));
  }
  return worth;
}

/** 1 for the first place. */
function rankWorth(rank: number): number {
  return (RANK_CONSTANT + 1) / (RANK_CONSTANT + rank + 1);
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
  const [first, second] = [byWords, byLikeness].map((list) =>
    bestFirst([...list.entries()].filter(([, each]) => each > 0)),
  );
  const worth = fused(first ?? [], second ?? []);
  return byWords.map((_, at) => (worth.get(at) ?? 0) / (1 + MEANING_SHARE));
}
