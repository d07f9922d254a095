/**
 * Packs vectors into pages of bytes, and compares a page with the vector of a question.
 *
 * An entry is the message's place in its page, the piece of the message, a scale, and one signed byte for each dimension. A byte
 * holds a share of the largest dimension, so a comparison is nearly the exact one. Vectors are stored with a length of one,
 * so a product of two is their cosine.
 */

/** Bytes of an entry before its dimensions: place, piece, and a scale of 32 bits. */
export const ENTRY_BYTES = 6;
const MOST_IN_A_BYTE = 127;

/** A piece of a message, by the message's place in its page. */
export interface VectorEntry {
  readonly offset: number;
  readonly piece: number;
  readonly vector: readonly number[];
}

/** What is similar to a question. */
export interface Similar {
  readonly offset: number;
  readonly piece: number;
  /** The cosine, from -1 to 1. */
  readonly similarity: number;
}

/** The vector with a length of one. All zeros stay zeros. */
export function ofLengthOne(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (each) => (length === 0 ? 0 : each / length));
}

/** Adds entries behind those of a page. */
export function packEntries(page: Uint8Array, entries: readonly VectorEntry[]): Uint8Array {
  const size = entries[0]?.vector.length ?? 0;
  const packed = new Uint8Array(page.length + entries.length * (ENTRY_BYTES + size));
  packed.set(page);
  const view = new DataView(packed.buffer);
  let at = page.length;
  for (const { offset, piece, vector } of entries) {
    const unit = ofLengthOne(vector);
    const largest = unit.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
    const scale = largest / MOST_IN_A_BYTE;
    view.setUint8(at, offset);
    view.setUint8(at + 1, piece);
    view.setFloat32(at + 2, scale);
    for (const [dimension, each] of unit.entries()) {
      view.setInt8(at + ENTRY_BYTES + dimension, scale === 0 ? 0 : Math.round(each / scale));
    }
    at += ENTRY_BYTES + size;
  }
  return packed;
}

/** Compares each entry of a page with a question's vector, which {@link ofLengthOne} made. */
export function similarIn(page: Uint8Array, question: Float32Array): Similar[] {
  const size = question.length;
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const bytes = new Int8Array(page.buffer, page.byteOffset, page.byteLength);
  const found: Similar[] = [];
  for (let at = 0; at + ENTRY_BYTES + size <= page.length; at += ENTRY_BYTES + size) {
    const first = at + ENTRY_BYTES;
    let product = 0;
    for (let each = 0; each < size; each++) product += (bytes[first + each] ?? 0) * (question[each] ?? 0);
    const similarity = product * view.getFloat32(at + 2);
    found.push({ offset: view.getUint8(at), piece: view.getUint8(at + 1), similarity });
  }
  return found;
}
