/** A result that is put into the part of its call. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import type { GivenResult } from "../../src/steps/message/message.ts";
import { answerCalls, firstResults, resultOf, type ToolEnded } from "../../src/turn/call-results.ts";

type Part = UIMessage["parts"][number];

function call(fields: object): Part {
  return { type: "tool-look", toolCallId: "c", input: { at: "it" }, ...fields } as object as Part;
}

const answer = (part: Part, result: GivenResult): Part | undefined => answerCalls([part], () => result)[0];

function result(toolCallId: string, output: object) {
  return { type: "tool-result", toolCallId, toolName: "look", output };
}

function ended(toolOutput: ToolEnded["toolOutput"]): GivenResult | undefined {
  return resultOf({ toolCall: { toolCallId: "c" }, toolOutput }).get("c");
}

test("a call that a view closed with a stub gets its result, without the stub and its mark, and keeps what else it has", () => {
  const stub = { state: "output-error", errorText: "No result was recorded for this call." };
  const marked = call({ ...stub, toolMetadata: { palimpsest: { stub: "no-result" } } });
  const given = { state: "output-available", output: 7 } as const;
  expect(answer(marked, given)).toEqual(call(given));
  const own = { ...marked, toolMetadata: { palimpsest: { stub: "no-result" }, took: 3 } } as Part;
  expect(answer(own, given)).toEqual(call({ ...given, toolMetadata: { took: 3 } }));
});

test("a call that has its result keeps it, and parts without an open call are the same array", () => {
  const parts = [call({ state: "output-available", output: 1 }), call({ state: "output-error", errorText: "no" })];
  expect(answerCalls(parts, () => ({ state: "output-available", output: 2 }))).toBe(parts);
});

test("a refused call says so in its approval, under its id, with the reason where there is one", () => {
  const asked = call({ state: "approval-responded", approval: { id: "a", approved: true } });
  expect(answer(asked, { state: "output-denied", reason: "Not now." })).toEqual(
    call({ state: "output-denied", approval: { id: "a", approved: false, reason: "Not now." } }),
  );
  const bare = call({ state: "input-available" });
  expect(answer(bare, { state: "output-denied", reason: null })).toEqual(
    call({ state: "output-denied", approval: { id: "c", approved: false } }),
  );
});

test("open calls are counted from 0, without those that have their result", () => {
  const parts = [
    call({ state: "input-available", input: 1 }),
    call({ state: "output-available", output: 1 }),
    call({ state: "input-available", input: 2 }),
  ];
  const numbers: number[] = [];
  answerCalls(parts, (_, n) => void numbers.push(n));
  expect(numbers).toEqual([0, 1]);
});

test("results in front of a turn are read in each form that the AI SDK gives them", () => {
  const content = [
    result("text", { type: "text", value: "seen" }),
    result("error", { type: "error-text", value: "gone" }),
    result("json", { type: "error-json", value: { code: 1 } }),
    result("denied", { type: "execution-denied" }),
    result("reason", { type: "execution-denied", reason: "Not now." }),
  ];
  const responseMessages = [
    { role: "tool", content },
    { role: "assistant", content: "So I went on." },
    { role: "tool", content: [result("later", { type: "text", value: "of this turn" })] },
  ];
  expect([...firstResults({ responseMessages: responseMessages as never })]).toEqual([
    ["text", { state: "output-available", output: "seen" }],
    ["error", { state: "output-error", errorText: "gone" }],
    ["json", { state: "output-error", errorText: '{"code":1}' }],
    ["denied", { state: "output-denied", reason: null }],
    ["reason", { state: "output-denied", reason: "Not now." }],
  ]);
  expect(ended({ type: "tool-result", output: undefined })).toEqual({ state: "output-available", output: null });
  expect(ended({ type: "tool-error", error: new Error("gone") })).toEqual({ state: "output-error", errorText: "gone" });
  expect(ended({ type: "tool-error", error: 404 })).toEqual({ state: "output-error", errorText: "404" });
});
