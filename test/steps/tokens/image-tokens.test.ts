/** An image weighs what providers charge for its pixels, and no malformed image can break the count. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { IMAGE_TOKENS } from "../../../src/limits.ts";
import { imageTokens, LEAST_IMAGE_TOKENS, PIXELS_PER_TOKEN } from "../../../src/steps/tokens/image-tokens.ts";

function dataUrl(bytes: readonly number[]): string {
  return `data:image/x;base64,${btoa(String.fromCharCode(...bytes))}`;
}

const ascii = (text: string): number[] => Array.from(text, (char) => char.charCodeAt(0));
const big = (value: number, bytes: number): number[] =>
  Array.from({ length: bytes }, (_, n) => (value >>> (8 * (bytes - 1 - n))) & 255);
const little = (value: number, bytes: number): number[] => big(value, bytes).toReversed();
const padded = (bytes: readonly number[]): number[] => [...bytes, ...Array.from({ length: 40 }, () => 0)];

const nothing = (bytes: number): number[] => big(0, bytes);
const webp = (kind: string): number[] => [ascii("RIFF"), nothing(4), ascii(`WEBP${kind}`)].flat();

const headers: Record<string, (width: number, height: number) => number[]> = {
  png: (width, height) =>
    [[0x89], ascii("PNG\r\n\u001A\n"), big(13, 4), ascii("IHDR"), big(width, 4), big(height, 4)].flat(),
  gif: (width, height) => [ascii("GIF89a"), little(width, 2), little(height, 2)].flat(),
  jpeg: (width, height) => {
    const application = [[0xff, 0xd8, 0xff, 0xe0], big(16, 2), nothing(14)];
    const frame = [[0xff, 0xff, 0xc0], big(17, 2), [8], big(height, 2), big(width, 2)];
    return [...application, ...frame].flat();
  },
  "webp, extended": (width, height) =>
    [webp("VP8X"), little(10, 4), nothing(4), little(width - 1, 3), little(height - 1, 3)].flat(),
  "webp, lossless": (width, height) =>
    [webp("VP8L"), nothing(4), [0x2f], little((width - 1) | ((height - 1) << 14), 4)].flat(),
  "webp, lossy": (width, height) =>
    [webp("VP8 "), nothing(7), [0x9d, 0x01, 0x2a], little(width, 2), little(height, 2)].flat(),
};

test.each(Object.entries(headers))(
  "%s: its pixels, between a base price and that of a full image",
  (_format, header) => {
    const tokens = (width: number, height: number): number => imageTokens(dataUrl(padded(header(width, height))));
    expect(tokens(1_000, 750)).toBe(1_000_000 / 1_000);
    expect(tokens(640, 480)).toBe(Math.ceil((640 * 480) / PIXELS_PER_TOKEN));
    expect(tokens(16, 16)).toBe(LEAST_IMAGE_TOKENS);
    expect(tokens(8_000, 6_000)).toBe(IMAGE_TOKENS);
  },
);

test("an image elsewhere, a broken one, and one of another kind are counted as a usual one", () => {
  const urls = ["https://example.com/a.png", "data:image/png;base64,!!!", "data:image/svg+xml,<svg/>", "data:", ""];
  for (const url of urls) expect(imageTokens(url)).toBe(IMAGE_TOKENS);
});

test("whatever the bytes are, the count is a whole number within its bounds", () => {
  const anything = fc.array(fc.nat({ max: 255 }), { maxLength: 200 });
  const begun = fc
    .tuple(fc.constantFrom(...Object.values(headers)), anything)
    .map(([header, rest]) => [...header(3, 3).slice(0, 20), ...rest]);
  fc.assert(
    fc.property(fc.oneof(anything, begun), (bytes) => {
      const tokens = imageTokens(dataUrl(bytes));
      expect(Number.isInteger(tokens)).toBe(true);
      expect(tokens).toBeGreaterThanOrEqual(LEAST_IMAGE_TOKENS);
      expect(tokens).toBeLessThanOrEqual(IMAGE_TOKENS);
    }),
  );
});
