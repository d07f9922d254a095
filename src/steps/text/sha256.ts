/**
 * SHA-256 (FIPS 180-4), synchronous and without a platform API. Steps are pure, and the platform's own implementation
 * is asynchronous on some platforms and out of a step's reach.
 */

const BLOCK_BYTES = 64;

/** First 32 bits of the fractional parts of cube roots (rounds) and square roots (start) of the first primes. */
const ROUNDS = new Int32Array(64);
const START = new Int32Array(8);

for (let candidate = 2, found = 0; found < 64; candidate++) {
  if (!isPrime(candidate)) continue;
  if (found < 8) START[found] = fraction(Math.sqrt(candidate));
  ROUNDS[found++] = fraction(Math.cbrt(candidate));
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

/** The 32 bytes of a message's digest. */
export function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK_BYTES) * BLOCK_BYTES);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  // The length in bits, as 64 bits.
  view.setUint32(padded.length - 8, message.length / 2 ** 29);
  view.setUint32(padded.length - 4, message.length << 3);
  const state = START.slice();
  const words = new Int32Array(64);
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) mixBlock(state, words, view, offset);
  const digest = new DataView(new ArrayBuffer(32));
  for (let index = 0; index < 8; index++) digest.setInt32(index * 4, state[index]!);
  return new Uint8Array(digest.buffer);
}

function mixBlock(state: Int32Array, w: Int32Array, view: DataView, offset: number): void {
  for (let index = 0; index < 16; index++) w[index] = view.getInt32(offset + index * 4);
  for (let index = 16; index < 64; index++) {
    const early = w[index - 15]!;
    const late = w[index - 2]!;
    const low = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const high = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    w[index] = (w[index - 16]! + low + w[index - 7]! + high) | 0;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let index = 0; index < 64; index++) {
    const high = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const one = (h + high + ((e & f) ^ (~e & g)) + ROUNDS[index]! + w[index]!) | 0;
    const low = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  state[0] = state[0]! + a;
  state[1] = state[1]! + b;
  state[2] = state[2]! + c;
  state[3] = state[3]! + d;
  state[4] = state[4]! + e;
  state[5] = state[5]! + f;
  state[6] = state[6]! + g;
  state[7] = state[7]! + h;
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
