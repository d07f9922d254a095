/** Bytes inside an output count as the file that a provider sees, and are shown whole or as a line, never in part. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { fitView } from "../../../src/fit/fit-view.ts";
import { previewOutputs } from "../../../src/fit/preview.ts";
import { shortenOutput, shortenShown, truncateOlderMessages } from "../../../src/fit/truncate.ts";
import { IMAGE_TOKENS } from "../../../src/limits.ts";
import {
  MAX_FILE_TOKENS,
  holdsBytes,
  valueTokens,
  withoutBytes,
  measureMessage,
} from "../../../src/steps/message/message.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { done, say, text } from "../conversations.ts";

/** The header of a picture of 800 by 600 pixels, and much behind it. */
const PNG = `iVBORw0KGgoAAAANSUhEUgAAAyAAAAJY${"AbC4".repeat(150_000)}`;
const PDF = `JVBERi0xLjcK${"x9Yz".repeat(60_000)}`;
const PIXELS = Math.ceil((800 * 600) / 750);

const OUTPUTS: readonly (readonly [name: string, output: unknown, tokens: number])[] = [
  ["a picture of MCP", { content: [{ type: "image", mimeType: "image/png", data: PNG }] }, PIXELS],
  [
    "a picture of MCP beside a text",
    {
      content: [
        { type: "text", text: "The page." },
        { type: "image", mimeType: "image/png", data: PNG },
      ],
    },
    PIXELS,
  ],
  [
    "a resource of MCP",
    { content: [{ type: "resource", resource: { uri: "a://b", mimeType: "application/pdf", blob: PDF } }] },
    MAX_FILE_TOKENS,
  ],
  [
    "contents of the SDK",
    { type: "content", value: [{ type: "image-data", data: PNG, mediaType: "image/png" }] },
    PIXELS,
  ],
  [
    "a file of the SDK",
    { type: "content", value: [{ type: "file", data: { type: "data", data: PNG }, mediaType: "image/png" }] },
    PIXELS,
  ],
  [
    "a source of Anthropic",
    [{ type: "image", source: { type: "base64", media_type: "image/png", data: PNG } }],
    PIXELS,
  ],
  ["a data URL in a field", { title: "Form", shot: `data:image/png;base64,${PNG}` }, PIXELS],
  ["a data URL in a text", `![page](data:image/png;base64,${PNG}) and more`, PIXELS],
  ["base64 in a field", { screenshot: PNG }, PIXELS],
  ["base64 alone", PDF, MAX_FILE_TOKENS],
  [
    "a picture of unknown size",
    { content: [{ type: "image", mimeType: "image/png", data: "AbC4".repeat(9_000) }] },
    IMAGE_TOKENS,
  ],
];

const message = (id: string, output: unknown): UIMessage => say(id, "assistant", done(`c-${id}`, output));
const json = (value: unknown): string => JSON.stringify(value);
const encoded = (value: unknown): number => (/[A-Za-z0-9+/]{150,}/.exec(json(value)) ?? []).length;

describe.each(OUTPUTS)("%s", (_name, output, tokens) => {
  test("counts as the file that it is", () => {
    const counted = valueTokens(output, estimateTokens);
    expect(counted).toBeGreaterThanOrEqual(tokens);
    expect(counted).toBeLessThan(tokens + 100);
    expect(measureMessage(message("a", output), estimateTokens).tokens).toBeLessThan(tokens + 250);
  });

  test("is shown whole, or as a line that says what was there", () => {
    expect(shortenShown(output, 100_000)).toBe(output);
    const short = shortenShown(output, 300);
    expect(encoded(short)).toBe(0);
    expect(json(short)).toMatch(/\[[\w-]+\/[\w-]+, \d+ KB, left out\]/);
    expect(json(withoutBytes(output))).toMatch(/KB, left out/);
    // A store has room for so many characters, whatever they are.
    expect(encoded(shortenOutput(output, 1_000))).toBe(0);
  });

  test("is never cut by previews, truncation or a fit", () => {
    const view = [say("u", "user", text("Look.")), message("a", output), say("v", "user", text("And now?"))];
    expect(previewOutputs(view, { maxBytes: 4_000 })).toBe(view);
    expect(encoded(truncateOlderMessages(view, { keepRecent: 1, step: 1, maxToolOutputChars: 300 }))).toBe(0);
    expect(fitView(view, { budget: tokens + 1_000, countTokens: estimateTokens }).messages).toBe(view);
    const { messages } = fitView(view, { budget: 300, countTokens: estimateTokens });
    expect(encoded(messages)).toBe(0);
  });
});

test.each<[string, unknown]>([
  ["one long word", "x".repeat(50_000)],
  ["digits", { n: "0123456789".repeat(500) }],
  ["a text", { body: "Words and more words. ".repeat(500) }],
  ["an address", "https://example.com/a/b/c"],
  ["an event stream", 'data: {"a":1}\n\n'.repeat(100)],
  ["a list of contents without bytes", { content: [{ type: "text", text: "x".repeat(5_000) }] }],
])("%s is no bytes", (_name, value) => {
  expect(holdsBytes(value)).toBe(false);
  expect(withoutBytes(value)).toBe(value);
});
