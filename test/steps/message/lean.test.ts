/** What crosses RPC to a summariser has the words of a message, and of its files only what a transcript tells. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { renderTranscript } from "../../../src/steps/draft/render.ts";
import { leanMessage } from "../../../src/steps/message/message.ts";
import { say } from "../../conversation.ts";
import { tries } from "../../tries.ts";

const render = (message: UIMessage): string => renderTranscript([{ kind: "message", message }]);

function withParts(...parts: object[]): UIMessage {
  return { id: "m", role: "assistant", parts: parts as UIMessage["parts"] };
}

const fileOf = (bytes: number, filename?: string) => ({
  type: "file",
  mediaType: "image/png",
  url: `data:image/png;base64,${"A".repeat(bytes)}`,
  filename,
});

test("a transcript tells the same of files without their bytes", () =>
  fc.assert(
    fc.property(fc.nat(200_000), fc.option(fc.string(), { nil: undefined }), (bytes, filename) => {
      const message = withParts({ type: "text", text: "See this." }, fileOf(bytes, filename));
      const lean = leanMessage(message);
      expect(render(lean)).toBe(render(message));
      expect(JSON.stringify(lean).length).toBeLessThan(2_500 + (filename ?? "").length * 6);
    }),
    { numRuns: tries(200) },
  ));

test("data for a page, metadata, and bytes in an output are left out", () => {
  const image = "iVBORw0KGgo".repeat(10_000);
  const output = { caption: "A cat.", content: [{ type: "image", data: image }] };
  const call = { type: "tool-look", toolCallId: "c", state: "output-available", input: { at: 1 }, output };
  const lean = leanMessage({
    ...withParts({ type: "data-page", data: image }, call, { type: "steering-message", parts: [fileOf(300_000)] }),
    metadata: { image },
  });
  const json = JSON.stringify(lean);
  expect(json.length).toBeLessThan(600);
  expect(json).toContain("A cat.");
  expect(json).toContain("[image/png, 81 KB, left out]");
});

test("a message of words is the same object", () => {
  const message = say(1);
  expect(leanMessage(message)).toBe(message);
});
