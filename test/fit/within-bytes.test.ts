/** A prompt has no more bytes of files than providers take, and its beginning seldom changes. */
import type { ModelMessage, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { withinBytes } from "../../src/fit/within-bytes.ts";
import { say, stepStart, text } from "../steps/conversations.ts";

/** All sizes are a hundredth of the true ones. */
const MEGABYTE = 10_000;
const LIMIT = 18 * MEGABYTE;
const picture = (n: number): string => `iVBORw0KGgo${String(n).padStart(4, "0")}${"AbC1".repeat(MEGABYTE / 4)}`;
const url = (n: number): string => `data:image/png;base64,${picture(n)}`;
const shot = (n: number, output: unknown): UIMessage =>
  say(`a${n}`, "assistant", stepStart, {
    type: "tool-shot",
    toolCallId: `c${n}`,
    state: "output-available",
    input: {},
    output,
  });

const forms: Record<string, (n: number) => UIMessage> = {
  "files of the user": (n) =>
    say(`u${n}`, "user", text(`Look at ${n}.`), { type: "file", mediaType: "image/png", url: url(n) }),
  "contents of MCP": (n) => shot(n, { content: [{ type: "image", mimeType: "image/png", data: picture(n) }] }),
  "addresses in outputs": (n) => shot(n, { n, page: url(n) }),
};

const size = (messages: readonly unknown[]): number => JSON.stringify(messages).length;

describe.each(Object.entries(forms))("%s", (_name, form) => {
  test("are left out, the oldest first, with a line for each", () => {
    const all = Array.from({ length: 40 }, (_, n) => form(n));
    const shown = withinBytes(all, LIMIT);
    expect(size(shown)).toBeLessThan(19 * MEGABYTE);
    expect(size(shown)).toBeGreaterThan(11 * MEGABYTE);
    expect(shown).toHaveLength(40);
    expect(shown.at(-1)).toBe(all.at(-1));
    expect(JSON.stringify(shown[0])).toMatch(/image\/png.*left out/);
  });

  test("that fit stay, and the beginning changes once for six megabytes", () => {
    const all = Array.from({ length: 48 }, (_, n) => form(n));
    const first = all.slice(0, 17);
    expect(withinBytes(first, LIMIT)).toBe(first);
    let changes = 0;
    let before: boolean[] = [];
    for (let n = 1; n <= all.length; n++) {
      const isWhole = withinBytes(all.slice(0, n), LIMIT).map((message, at) => message === all[at]);
      if (before.some((each, at) => each !== isWhole[at])) changes++;
      before = isWhole;
    }
    expect(changes).toBeLessThanOrEqual(6);
  });
});

test("the newest file stays, however large, and what a provider signed is no file", () => {
  const large = say("u1", "user", { type: "file", mediaType: "image/png", url: url(1).padEnd(16 * MEGABYTE, "A") });
  const signed = say("a", "assistant", {
    type: "reasoning",
    text: "",
    providerMetadata: { openai: { reasoningEncryptedContent: picture(9) } },
  });
  const older = say("u0", "user", { type: "file", mediaType: "image/png", url: url(0).padEnd(16 * MEGABYTE, "A") });
  const shown = withinBytes([signed, older, large], LIMIT);
  expect(shown[0]).toBe(signed);
  expect(shown[2]).toBe(large);
  expect(size(shown)).toBeLessThan(19 * MEGABYTE);
});

test("of a prompt the same are left out", () => {
  const messages = Array.from({ length: 30 }, (_, n): ModelMessage[] => [
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: url(n) }] },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: `c${n}`,
          toolName: "shot",
          output: {
            type: "content",
            value: [{ type: "file", mediaType: "image/png", data: { type: "data", data: picture(n) } }],
          },
        },
      ],
    },
  ]).flat();
  const shown = withinBytes(messages, LIMIT);
  expect(size(shown)).toBeLessThan(19 * MEGABYTE);
  expect(JSON.stringify(shown.slice(0, 2))).toMatch(/left out to fit.*left out/);
});
