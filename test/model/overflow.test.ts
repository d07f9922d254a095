/** A refusal for a prompt that is too long is told from every other failure. */
import { APICallError } from "@ai-sdk/provider";
import { RetryError } from "ai";
import { expect, test } from "vitest";
import { isContextOverflow } from "../../src/model/overflow.ts";

function refusal(statusCode: number, message: string): APICallError {
  return new APICallError({ message, statusCode, url: "https://api.example.com/v1", requestBodyValues: {} });
}

test("a prompt that was refused as too long is told from every other failure", () => {
  const tooLong = refusal(400, "This model's maximum context length is 32768 tokens.");
  expect(isContextOverflow(tooLong)).toBe(true);
  expect(isContextOverflow(new Error("The step failed", { cause: tooLong }))).toBe(true);
  const message = `Failed after 2 attempts. Last error: ${tooLong.message}`;
  expect(isContextOverflow(new RetryError({ message, reason: "errorNotRetryable", errors: [tooLong] }))).toBe(true);
  expect(isContextOverflow(refusal(429, "Too many requests"))).toBe(false);
  expect(isContextOverflow(refusal(401, "No such key"))).toBe(false);
  expect(isContextOverflow(new TypeError("fetch failed"))).toBe(false);
  expect(isContextOverflow("nothing")).toBe(false);
});
