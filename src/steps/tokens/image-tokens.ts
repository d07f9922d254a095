/**
 * The tokens of one image, by its size in pixels, as providers charge it. The size is read from the first bytes of a
 * data URL.
 *
 * Reads headers of PNG, JPEG, GIF and WebP and decodes no picture. An image that it cannot read counts as a usual one.
 */
import { IMAGE_TOKENS } from "../../limits.ts";

/** Characters of a data URL's content that are searched for the image size. A JPEG may begin with a thumbnail. */
const IMAGE_HEADER_CHARS = 100_000;

/** Pixels of an image per token, as the large providers charge. */
export const PIXELS_PER_TOKEN = 750;

/** Least tokens of an image, a base price for any size. */
export const LEAST_IMAGE_TOKENS = 85;

/** Estimated tokens of an image, given as a data URL or as an address elsewhere. */
export function imageTokens(url: string): number {
  const size = imageSize(url);
  if (size === null) return IMAGE_TOKENS;
  const tokens = Math.ceil((size.width * size.height) / PIXELS_PER_TOKEN);
  // Providers scale a larger image down before they charge for it.
  return Math.min(IMAGE_TOKENS, Math.max(LEAST_IMAGE_TOKENS, tokens));
}

/** The size of an image in pixels. Null for an address elsewhere, and for a format that is not known. */
export function imageSize(content: unknown): Size | null {
  if (content instanceof Uint8Array) return readSize(content.slice(0, IMAGE_HEADER_CHARS));
  if (typeof content !== "string") return null;
  const comma = content.startsWith("data:") ? content.indexOf(",") : -1;
  if (comma !== -1 && !content.slice(0, comma).endsWith(";base64")) return null;
  try {
    const header = atob(content.slice(comma + 1, comma + 1 + IMAGE_HEADER_CHARS));
    return readSize(Uint8Array.from(header, (char) => char.charCodeAt(0)));
  } catch {
    return null;
  }
}

interface Size {
  readonly width: number;
  readonly height: number;
}

function readSize(bytes: Uint8Array): Size | null {
  const at = new DataView(bytes.buffer);
  // The first 30 bytes hold the size in every format but JPEG, where other segments come first.
  if (bytes.length < 30) return null;
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("PNG", 1)) return { width: at.getUint32(16), height: at.getUint32(20) };
  if (head.startsWith("GIF8")) return { width: at.getUint16(6, true), height: at.getUint16(8, true) };
  if (head.startsWith("RIFF") && head.endsWith("WEBP")) return readWebp(at);
  return at.getUint16(0) === 0xff_d8 ? readJpeg(at) : null;
}

function readWebp(at: DataView): Size | null {
  const three = (offset: number): number => at.getUint16(offset, true) + at.getUint8(offset + 2) * 0x1_00_00;
  switch (at.getUint32(12)) {
    case 0x56_50_38_58: // VP8X
      return { width: three(24) + 1, height: three(27) + 1 };
    case 0x56_50_38_4c: {
      // VP8L
      const bits = at.getUint32(21, true);
      return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 };
    }
    case 0x56_50_38_20: // VP8
      return { width: at.getUint16(26, true) & 0x3f_ff, height: at.getUint16(28, true) & 0x3f_ff };
    default:
      return null;
  }
}

/** Skips segments up to the frame with the size. */
function readJpeg(at: DataView): Size | null {
  for (let offset = 2; offset + 9 < at.byteLength;) {
    if (at.getUint8(offset) !== 0xff) return null;
    const marker = at.getUint8(offset + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { width: at.getUint16(offset + 7), height: at.getUint16(offset + 5) };
    // A marker of 0xff is padding. Every other marker here is followed by its length.
    offset += marker === 0xff ? 1 : 2 + at.getUint16(offset + 2);
  }
  return null;
}
