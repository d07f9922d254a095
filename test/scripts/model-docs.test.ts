import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { ANSWER_CHARS_PER_TOKEN, MODEL_CALL_MS, MODEL_STEP_MS } from "../../src/limits.ts";
import { MAX_REDIRECTS, MAX_RESPONSE_BYTES } from "../../src/model/endpoint-fetch.ts";
import { MOST_FRAMING_TOKENS, MOST_TIMES_ESTIMATE, MOST_WRITTEN_TOKENS } from "../../src/model/call-cost.ts";

function page(name: string): string {
  return readFileSync(resolve(import.meta.dirname, "../..", name), "utf8");
}

test("what docs/operations.md says that a call may take is what it may take", () => {
  const text = page("docs/operations.md");
  const says = (words: string): unknown => expect(text).toMatch(new RegExp(String.raw`(?<![\d,.])${words}`));
  says(`${ANSWER_CHARS_PER_TOKEN} times as many characters`);
  says(`${MODEL_CALL_MS / 60_000} minutes at most. All tries`);
  says(`${MODEL_STEP_MS / 60_000} minutes at most, so a model that hangs`);
  says(
    `${MOST_TIMES_ESTIMATE} times what we estimate for a prompt and ${MOST_FRAMING_TOKENS.toLocaleString("en")} more`,
  );
  says(`${MOST_WRITTEN_TOKENS.toLocaleString("en")} for an answer`);
  says(`${MAX_REDIRECTS} times: to its own host`);
  says(`${MAX_RESPONSE_BYTES / 1_000_000} MB are read of one response`);
});

test("the limits of ARCHITECTURE.md on a summariser's call are those of the code", () => {
  const text = page("ARCHITECTURE.md");
  expect(text).toContain(`| ${ANSWER_CHARS_PER_TOKEN} characters read for each token that it may have |`);
  expect(text).toContain(`| ${MODEL_CALL_MS / 60_000} minutes a call, ${MODEL_STEP_MS / 60_000} minutes a step`);
});
