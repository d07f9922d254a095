/** Real sessions of other tools. They are not part of the project. Where they are absent, these tests are skipped. */
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { convertToModelMessages } from "ai";
import { describe, expect, test } from "vitest";
import { importTranscript } from "../../src/import/import.ts";

const folder = resolve(process.env["PALIMPSEST_TRANSCRIPTS"] ?? "../shared/transcripts");

function absent(file: string): boolean {
  if (existsSync(resolve(folder, file))) return false;
  console.info(`${file} is absent: its tests are skipped. PALIMPSEST_TRANSCRIPTS names the folder that holds it.`);
  return true;
}

function importFile(file: string) {
  const result = importTranscript(readFileSync(resolve(folder, file), "utf8"));
  const messages = result.conversations.flatMap((conversation) => conversation.messages);
  const tools = messages.flatMap((message) => message.parts).filter((part) => part.type === "dynamic-tool");
  return { ...result, messages, tools };
}

describe.skipIf(absent("pi-coding-session.jsonl"))("a long coding session of pi", () => {
  test("no message, call or result is lost (M1)", () => {
    const { format, messages, tools, notes, conversations } = importFile("pi-coding-session.jsonl");
    expect(format).toBe("pi");
    expect(messages.filter((message) => message.role === "assistant")).toHaveLength(484);
    // 55 said by the user, 3 commands that the user ran.
    expect(messages.filter((message) => message.role === "user")).toHaveLength(55 + 3);
    expect(tools.filter((part) => part.state.startsWith("output-"))).toHaveLength(448);
    expect(tools.filter((part) => part.state === "input-available")).toHaveLength(6);
    expect(notes).toHaveLength(2);
    expect(conversations[0]?.branches.size).toBe(0);
    const usage = messages.map((message) => (message.metadata as { usage?: { inputTokens: number } }).usage);
    expect(Math.max(...usage.map((each) => each?.inputTokens ?? 0))).toBeGreaterThan(180_000);
  });

  test("it converts to model messages", async () => {
    const { messages } = importFile("pi-coding-session.jsonl");
    const converted = await convertToModelMessages(messages);
    // 13 replies were aborted before their first word. They stay in the history and are never sent.
    expect(converted.filter((message) => message.role === "assistant")).toHaveLength(484 - 13);
  });
});

describe.skipIf(absent("tau-airline-100.json"))("a hundred customer-service conversations", () => {
  test("each is a conversation whose calls have their results and ids of their own (V2)", async () => {
    const { format, conversations, tools } = importFile("tau-airline-100.json");
    expect(format).toBe("openai");
    expect(conversations).toHaveLength(100);
    expect(tools).toHaveLength(572);
    for (const { messages } of conversations) {
      const calls = messages.flatMap((message) => message.parts).filter((part) => part.type === "dynamic-tool");
      expect(new Set(calls.map((part) => part.toolCallId)).size).toBe(calls.length);
      expect(calls.every((part) => part.state === "output-available")).toBe(true);
      expect((await convertToModelMessages(messages)).length).toBeGreaterThan(messages.length - 1);
    }
  });
});
