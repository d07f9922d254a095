/** A stored file that a package or its provider would refuse is said in words, so that no later turn fails for it. */
import type { ModelMessage, UIMessage } from "ai";
import { expect, test } from "vitest";
import { repairMessages } from "../../../src/steps/view/repair.ts";
import { inTurns } from "../../../src/steps/view/turns.ts";
import { readable } from "../../../src/turn/readable.ts";
import { say, text } from "../../steps/conversations.ts";
import { bodyFor, providers, type Provider } from "../../steps/view/providers/bodies.ts";

const PNG = "iVBORw0KGgo=";
const file = (url: unknown, mediaType: unknown = "image/png", rest: object = {}) => ({ url, mediaType, ...rest });
const by = (reference: unknown) => file("", "image/png", { providerReference: reference });
const saved = (mediaType: string, content: string) => file(`data:${mediaType};base64,${btoa(content)}`, mediaType);
const PAGE = "<!DOCTYPE html><html><body>The page was not found.</body></html>";
const data = (mediaType: string) => file(`data:${mediaType};base64,${PNG}`, mediaType);

const files: readonly (readonly [what: string, file: object, sentBy: readonly Provider[] | "all"])[] = [
  ["no address", { mediaType: "image/png" }, []],
  ["an id in the place of an address", file("file-abc123", "application/pdf"), []],
  ["an address of a page", file("blob:https://a.example/1"), []],
  ["an address of a disk", file("file:///tmp/x.png"), []],
  ["a scheme of its own", file("attachment:///x.png"), []],
  ["no bytes", file("data:image/png;base64,"), []],
  ["bytes that are no base64", file("data:image/png;base64,a{b}"), []],
  ["a text that is not encoded", file("data:text/plain,oats%20and%20rye", "text/plain"), "all"],
  ["a table", saved("text/csv", "oats;rye"), "all"],
  ["notes", saved("text/markdown", "# Oats"), "all"],
  ["JSON", saved("application/json", '{"oats":"rye"}'), "all"],
  ["an office document", saved("application/vnd.ms-excel", "oats"), ["bedrock"]],
  ["an archive", saved("application/zip", "oats"), []],
  ["a sound", saved("audio/ogg", "oats"), ["google"]],
  ["bytes without a type", file(`data:;base64,${PNG}`), "all"],
  ["a picture by a name that nobody knows", data("image/jpg"), "all"],
  ["a page under the name of a picture", saved("image/png", PAGE), []],
  ["a page under the name of a document", saved("application/pdf", PAGE), []],
  [
    "a document with other bytes before its head",
    saved("application/pdf", `\n${" ".repeat(900)}%PDF-1.4 and more`),
    "all",
  ],
  ["a photo under the name of another kind", saved("image/png", "\u00FF\u00D8\u00FF\u00E0"), "all"],
  ["a drawing", file("data:image/svg+xml,<svg/>", "image/svg+xml"), []],
  ["a bitmap", data("image/bmp"), ["chat"]],
  ["a photo of a phone", data("image/heic"), ["google", "chat"]],
  ["a moving picture", data("image/gif"), ["anthropic", "openai", "openaiWithoutStore", "bedrock", "mistral", "chat"]],
  ["OpenAI's id of it", by({ openai: "file-abc" }), ["openai", "openaiWithoutStore"]],
  ["Anthropic's id of it", by({ anthropic: "file_011" }), ["anthropic"]],
  ["Google's id of it", by({ google: "https://a.example/v1beta/files/x" }), ["google"]],
  ["nobody's id of it", by({}), []],
  ["an id without its provider", by("file-abc"), []],
  ["an address in Google's cloud", file("gs://bucket/x.png"), []],
  ["an address in Amazon's cloud", file("s3://bucket/x.png"), ["bedrock"]],
];

const results: readonly (readonly [what: string, mediaType: string, data: string, shown: unknown])[] = [
  [
    "a picture by a name that nobody knows",
    "image/jpg",
    "/9j/4AAQ",
    expect.objectContaining({ mediaType: "image/jpeg" }),
  ],
  ["a page under the name of a picture", "image/png", btoa(PAGE), expect.objectContaining({ type: "text" })],
  ["a page under the name of a document", "application/pdf", btoa(PAGE), expect.objectContaining({ type: "text" })],
];

test.each(results)("in a result, %s", (_what, mediaType, bytes, shown) => {
  for (const item of [
    { type: "file", mediaType, data: { type: "data", data: bytes } },
    { type: "file-data", mediaType, data: bytes },
  ]) {
    const output = { type: "content", value: [item] };
    const result = { type: "tool-result", toolCallId: "c", toolName: "shot", output };
    const said = [{ role: "tool", content: [result] }] as unknown as ModelMessage[];
    const [read] = readable(said, { provider: "anthropic.messages", modelId: "claude-sonnet-5" });
    expect(read?.content).toEqual([{ ...result, output: { ...output, value: [shown] } }]);
  }
});

test.each(files)("%s", async (_what, given, sentBy) => {
  const messages = [
    say("u0", "user", text("See."), { type: "file", ...given } as UIMessage["parts"][number]),
    say("a0", "assistant", text("Seen."), { type: "file", ...given } as UIMessage["parts"][number]),
    say("u1", "user", text("And?")),
  ];
  const sent: Provider[] = [];
  for (const provider of providers) {
    const body = await bodyFor(provider, inTurns(repairMessages(messages)));
    const [asked] = (body["messages"] ?? body["input"] ?? body["contents"]) as unknown[];
    if (!/\[File /.test(JSON.stringify(asked))) sent.push(provider);
  }
  expect(sent).toEqual(sentBy === "all" ? providers : sentBy);
});
