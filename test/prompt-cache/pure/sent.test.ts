/** A prompt is known for as long as its provider keeps it, and is forgotten with what was said. */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { promptCache } from "../../../src/prompt-cache/room.ts";
import { continuePrompt } from "../../../src/prompt-cache/continue.ts";
import { SentPrompts } from "../../../src/prompt-cache/sent.ts";
import { extractiveModel } from "../../../src/model/extractive.ts";

const PROMPT: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text: "quokka" }] }];

const EDIT = {};

function at(now: { ms: number }): SentPrompts {
  return new SentPrompts(1_000, () => now.ms);
}

function send(sent: SentPrompts, options: Partial<LanguageModelV4CallOptions> = {}, sessionId = "s"): void {
  sent.begin(sessionId, "p:m", { prompt: PROMPT, ...options }, EDIT)(EDIT);
}

test("a prompt is known until its provider's cache forgets it, by the model that it was sent to", () => {
  const now = { ms: 0 };
  const sent = at(now);
  expect(sent.read("s", "p:m", EDIT)).toBeNull();
  send(sent, { temperature: 1, headers: { "x-beta": "long" } });
  now.ms = 999;
  expect(JSON.parse(sent.read("s", "p:m", EDIT) ?? "null")).toEqual({ prompt: PROMPT, headers: { "x-beta": "long" } });
  expect(sent.read("s", "p:other", EDIT)).toBeNull();
  expect(sent.read("another", "p:m", EDIT)).toBeNull();
  now.ms = 1_000;
  expect(sent.read("s", "p:m", EDIT)).toBeNull();
});

test("a call that ends after its session was cleared brings nothing back", () => {
  const sent = at({ ms: 0 });
  const ended = sent.begin("s", "p:m", { prompt: PROMPT }, EDIT);
  sent.forget("s");
  ended({});
  expect(sent.read("s", "p:m", EDIT)).toBeNull();
  send(sent);
  sent.forget("s");
  expect(sent.read("s", "p:m", EDIT)).toBeNull();
});

test("a request whose model must call a tool or answer in JSON is not continued, nor is the one before it", () => {
  for (const options of [
    { responseFormat: { type: "json" } },
    { toolChoice: { type: "required" } },
    { toolChoice: { type: "tool", toolName: "look" } },
    { toolChoice: { type: "none" } },
  ] satisfies Partial<LanguageModelV4CallOptions>[]) {
    const sent = at({ ms: 0 });
    send(sent);
    send(sent, options);
    expect(sent.read("s", "p:m", EDIT)).toBeNull();
  }
});

test("a request that JSON does not hold whole is not continued", () => {
  const data = [
    { type: "data", data: new Uint8Array(3) },
    { type: "url", url: new URL("https://example.com/a.png") },
  ] as const;
  for (const each of data) {
    const sent = at({ ms: 0 });
    send(sent, { prompt: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: each }] }] });
    expect(sent.read("s", "p:m", EDIT)).toBeNull();
  }
});

test("only the prompts of the sessions that were last at work are kept", () => {
  const sent = at({ ms: 0 });
  for (let n = 0; n < 20; n++) send(sent, {}, `s${n}`);
  const known = Array.from({ length: 20 }, (_, n) => sent.read(`s${n}`, "p:m", EDIT) !== null);
  expect(known.lastIndexOf(false)).toBe(11);
  expect(known.filter(Boolean).length).toBe(8);
});

test("wrong options are refused by name", () => {
  const invalid = expect.objectContaining({ code: "invalid_options" }) as Error;
  expect(() => promptCache({ keptForMs: 0 })).toThrow(invalid);
  expect(() => promptCache({ misspelt: 1 } as object)).toThrow(invalid);
  expect(() => continuePrompt(extractiveModel(), { windowTokens: 10 })).toThrow(invalid);
  expect(() => continuePrompt("a name" as never, { windowTokens: 9_000 })).toThrow(invalid);
  expect(() => continuePrompt(extractiveModel(), { windowTokens: 9_000, misspelt: 1 } as never)).toThrow(invalid);
});

test("a prompt is unknown after an edit, also where the call was under way, and is kept as it was sent", () => {
  const sent = at({ ms: 0 });
  const input = { path: "a.ts" };
  const call = { type: "tool-call", toolCallId: "c", toolName: "look", input } as const;
  send(sent, { prompt: [{ role: "assistant", content: [call] }] });
  input.path = "b.ts";
  expect(sent.read("s", "p:m", EDIT)).toContain("a.ts");
  expect(sent.read("s", "p:m", {})).toBeNull();
});
