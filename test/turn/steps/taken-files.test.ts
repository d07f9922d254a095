/** A prompt has no more pictures and documents than its provider takes, and none that it refuses for its size. */
import type { ModelMessage, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { withTakenFiles } from "../../../src/turn/taken-files.ts";
import { say, text } from "../../steps/conversations.ts";
import { bodyFor, providers } from "../../steps/view/providers/bodies.ts";
import { judge } from "../../steps/view/providers/refusals.ts";

function png(width: number, height = width): string {
  const bytes = new Uint8Array(40);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  new DataView(bytes.buffer).setUint32(16, width);
  new DataView(bytes.buffer).setUint32(20, height);
  return btoa(String.fromCharCode(...bytes));
}

const picture = (width: number, name = "shot.png"): UIMessage["parts"][number] => ({
  type: "file",
  mediaType: "image/png",
  filename: name,
  url: `data:image/png;base64,${png(width)}`,
});
const pdf = (n: number): UIMessage["parts"][number] => ({
  type: "file",
  mediaType: "application/pdf",
  filename: `page ${n}.pdf`,
  url: `data:application/pdf;base64,${btoa("%PDF-1.4")}`,
});

/** A question with these files, and its answer. */
const asked = (n: number, ...parts: UIMessage["parts"]): UIMessage[] => [
  say(`u${n}`, "user", text(`What is on ${n}?`), ...parts),
  say(`a${n}`, "assistant", text(`A form, ${n}.`)),
];
const talk = (many: number, width: number): UIMessage[] => [
  ...Array.from({ length: many }, (_, n) => asked(n, picture(width, `${n}.png`))).flat(),
  say("last", "user", text("And now?")),
];

const talks: Record<string, UIMessage[]> = {
  "120 small pictures": talk(120, 900),
  "25 pictures of which one is large": [...asked(99, picture(2_400)), ...talk(24, 900)],
  "30 large pictures": talk(30, 2_400),
  "40 pictures in one message": [
    ...asked(0, ...Array.from({ length: 40 }, () => picture(900))),
    say("l", "user", text("?")),
  ],
  "a page of 9,000 px": [...asked(0, picture(9_000)), say("l", "user", text("And now?"))],
  "19 pictures and 5 documents": [
    ...talk(19, 900).slice(0, -1),
    ...Array.from({ length: 5 }, (_, n) => asked(n + 20, pdf(n))).flat(),
    say("l", "user", text("And now?")),
  ],
  "8 documents": [...Array.from({ length: 8 }, (_, n) => asked(n, pdf(n))).flat(), say("l", "user", text("And now?"))],
};

const lines = async (provider: (typeof providers)[number], messages: UIMessage[]): Promise<number> =>
  JSON.stringify(await bodyFor(provider, messages)).split("left out to fit").length - 1;

const large = (chars: number): ModelMessage[] => [
  {
    role: "user",
    content: [{ type: "file", mediaType: "image/png", data: png(900).padEnd(chars, "A") }],
  },
];

describe.each(Object.entries(talks))("%s", (_name, messages) => {
  test.each(providers)("%s takes them", async (provider) => {
    expect(judge(provider, await bodyFor(provider, messages))).toEqual([]);
  });
});

test("as many as the provider takes are all sent", async () => {
  expect(await lines("anthropic", talk(100, 2_000))).toBe(0);
  expect(await lines("anthropic", talk(20, 8_000))).toBe(0);
  expect(await lines("bedrock", talk(20, 8_000))).toBe(0);
  expect(await lines("mistral", talk(8, 8_000))).toBe(0);
  expect(await lines("openai", talk(60, 8_000))).toBe(0);
  expect(await lines("google", talk(120, 8_000))).toBe(0);
  expect(await lines("chat", talk(120, 8_000))).toBe(0);
});

const shots = (many: number, width: number): ModelMessage[] =>
  Array.from({ length: many }, (_, n): ModelMessage[] => [
    { role: "assistant", content: [{ type: "tool-call", toolCallId: `c${n}`, toolName: "shot", input: {} }] },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: `c${n}`,
          toolName: "shot",
          output: {
            type: "content",
            value: [
              { type: "text", text: `Page ${n}` },
              { type: "file", mediaType: "image/png", data: { type: "data", data: png(width) } },
            ],
          },
        },
      ],
    },
  ]).flat();

test("screenshots of a tool go oldest first, seven at a time, each with a line in its place", () => {
  let changes = 0;
  let before: boolean[] = [];
  for (let many = 1; many <= 60; many++) {
    const messages = shots(many, 2_400);
    const shown = withTakenFiles(messages, "anthropic.messages", "claude-sonnet-5");
    const isWhole = shown.map((message, at) => message === messages[at]);
    if (before.some((each, at) => each !== isWhole[at])) changes++;
    before = isWhole;
    expect(JSON.stringify(shown).split("iVBOR").length - 1).toBeLessThanOrEqual(20);
    expect(shown.at(-1)).toBe(messages.at(-1));
  }
  expect(changes).toBe(6);
  const [, first] = withTakenFiles(shots(60, 2_400), "anthropic.messages", "claude-sonnet-5");
  expect(JSON.stringify(first)).toContain('{"type":"text","text":"[File (image/png) left out to fit.]"}');
  expect(JSON.stringify(first)).toContain("Page 0");
});

const isWhole = (chars: number, provider: string): boolean => {
  const messages = large(chars);
  return withTakenFiles(messages, provider, "claude-sonnet-5")[0] === messages[0];
};

test("a picture of more bytes than Claude takes is a line, and half as much where another platform has it", () => {
  expect([isWhole(8_000_000, "anthropic.messages"), isWhole(11_000_000, "anthropic.messages")]).toEqual([true, false]);
  expect([isWhole(4_000_000, "amazon-bedrock"), isWhole(8_000_000, "amazon-bedrock")]).toEqual([true, false]);
});

test("a model of Bedrock whose id does not tell it has Claude's limits", () => {
  const wide: ModelMessage[] = [
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: png(9_000, 9) }] },
  ];
  const arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc";
  expect(JSON.stringify(withTakenFiles(wide, "amazon-bedrock", arn))).toContain("left out to fit");
});

test("a picture whose size cannot be read counts as a large one for Claude", () => {
  const elsewhere = Array.from({ length: 24 }, (_, n): ModelMessage[] => [
    { role: "user", content: [{ type: "file", mediaType: "image/png", data: new URL(`https://a.example/${n}.png`) }] },
  ]).flat();
  const left = withTakenFiles(elsewhere, "anthropic.messages", "claude-sonnet-5");
  expect(left.filter((message, at) => message === elsewhere[at])).toHaveLength(17);
});
