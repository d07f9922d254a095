/** What a host's turn has brought keeps the rules of a view. */
import type { ModelMessage } from "ai";
import { expect, test } from "vitest";
import { asTaken } from "../../src/turn/brought.ts";

const call = (toolCallId: string, toolName: string, input: unknown = {}): object => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
});
const result = (toolCallId: string, toolName: string, value: string): object => ({
  type: "tool-result",
  toolCallId,
  toolName,
  output: { type: "text", value },
});
const step = (calls: object[], results: object[]): ModelMessage[] =>
  [
    { role: "assistant", content: calls },
    { role: "tool", content: results },
  ] as ModelMessage[];

function parts(messages: readonly ModelMessage[], type: string): Record<string, unknown>[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.filter((part) => part.type === type).map((part) => part as unknown as Record<string, unknown>),
  );
}

test("an id that the view or an earlier step has is another one, for the call and for its result", () => {
  const before = step([call("call_0", "look")], [result("call_0", "look", "first")]);
  const brought = [
    ...step([call("call_0", "look")], [result("call_0", "look", "second")]),
    ...step([call("call_0", "look")], [result("call_0", "look", "third")]),
  ];
  const taken = asTaken(brought, before);
  const calls = parts(taken, "tool-call").map(({ toolCallId }) => toolCallId);
  expect(new Set(["call_0", ...calls]).size).toBe(3);
  const results = parts(taken, "tool-result").map(({ toolCallId, output }) => [toolCallId, output]);
  expect(results).toEqual([
    [calls[0], { type: "text", value: "second" }],
    [calls[1], { type: "text", value: "third" }],
  ]);
});

test("two calls of one step under one id keep their own results", () => {
  const brought = step(
    [call("c", "look", { city: "Rome" }), call("c", "look", { city: "Oslo" })],
    [result("c", "look", "Rome"), result("c", "look", "Oslo")],
  );
  const taken = asTaken(brought, []);
  const asked = new Map(parts(taken, "tool-call").map(({ toolCallId, input }) => [toolCallId, input]));
  expect(asked.size).toBe(2);
  for (const { toolCallId, output } of parts(taken, "tool-result"))
    expect(asked.get(toolCallId)).toEqual({ city: (output as { value: string }).value });
});

test("an invented name is one that providers take, and a declared one stays", () => {
  const brought = step(
    [call("a", "files.read"), call("b", "")],
    [result("a", "files.read", "x"), result("b", "", "y")],
  );
  const names = (tools?: object): unknown[] =>
    parts(asTaken(brought, [], tools as never), "tool-call").map(({ toolName }) => toolName);
  for (const name of names()) expect(name).toMatch(/^[a-z_][\w-]{0,63}$/i);
  expect(names({ "files.read": {} })[0]).toBe("files.read");
});

test("a blank text is left out, and a message of nothing else too", () => {
  const brought = [
    { role: "assistant", content: [{ type: "text", text: " \n" }] },
    { role: "assistant", content: "" },
    { role: "assistant", content: [{ type: "text", text: "Done." }] },
  ] as ModelMessage[];
  expect(asTaken(brought, [])).toEqual([brought[2]]);
});

test("thoughts behind which a step says nothing are left out, and the others stay", () => {
  const thought = { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "s" } } };
  const brought = step([thought, call("c1", "look"), thought, thought], [result("c1", "look", "found")]);
  const alone = [{ role: "assistant", content: [thought] }] as ModelMessage[];
  expect(parts(asTaken([...brought, ...alone], []), "reasoning")).toHaveLength(1);
  expect(asTaken(alone, [])).toEqual([]);
});
