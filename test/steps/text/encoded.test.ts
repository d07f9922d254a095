/** Encoded bytes in the form of text, and text that only looks like them. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isEncoded } from "../../../src/steps/text/text.ts";

test("data URLs and long unbroken base64 are bytes", () => {
  const payload = "QUJD".repeat(300);
  for (const text of [
    `data:image/png;base64,${payload}`,
    "data:image/png;base64,QUJD",
    "data:;base64,QUJD",
    "data:text/plain;charset=utf-8;base64,QUJD",
    "data:image/svg+xml,%3Csvg%20xmlns=%22x%22/%3E",
    "DATA:IMAGE/PNG;BASE64,QUJD",
    payload,
  ]) {
    expect([text.slice(0, 40), isEncoded(text, 1_000)]).toEqual([text.slice(0, 40), true]);
  }
  expect(isEncoded(payload, 1_200)).toBe(true);
  expect(isEncoded(payload, 1_201)).toBe(false);
});

test("lines of an event stream, prose and JSON that begin with data: are texts", () => {
  for (const text of [
    'data: {"choices":[{"delta":{"content":"hello"}}]}\n\ndata: [DONE]',
    'data:{"id":1,"name":"row"}',
    "data: image/png;base64 is how it began, and then nothing",
    "data:image/png;base64,QUJD and more words",
    "data:a,b,c",
    "data:",
    "database",
  ]) {
    expect([text, isEncoded(text, 1_000)]).toEqual([text, false]);
  }
});

test("a text of several words is never taken for bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 2 }), (words) => {
      expect(isEncoded(`data:${words.join(" ")}`, 200)).toBe(false);
      expect(isEncoded(words.join(" "), 1)).toBe(false);
    }),
  );
});
