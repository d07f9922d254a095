/** A view is a request that every provider takes. The providers' own packages make the bodies, and their documented rules judge them. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fitView } from "../../../src/fit/fit-view.ts";
import { truncateOlderMessages } from "../../../src/fit/truncate.ts";
import { acceptedId, acceptedName, callKey, unusedId } from "../../../src/steps/view/accepted.ts";
import { itemOf } from "../../../src/steps/view/items.ts";
import { repairMessages } from "../../../src/steps/view/repair.ts";
import { inTurns } from "../../../src/steps/view/turns.ts";
import { summaryMessage } from "../../../src/facts/render.ts";
import { overlayMessageId, parseSyntheticId, RECORD_END } from "../../../src/steps/view/view.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import type { Part } from "../../../src/steps/message/message.ts";
import { say, stepStart, text } from "../conversations.ts";
import { bodyFor } from "./providers/bodies.ts";
import { tries } from "../../tries.ts";
import { anyConversation } from "./any-conversation.ts";
import { refusals } from "./providers/refusals.ts";

const asked = (id: string, words = "Go on."): UIMessage => say(id, "user", text(words));
const shown = (messages: UIMessage[]): UIMessage[] => inTurns(repairMessages(messages));
const tool = (toolCallId: string, fields: object = {}, name = "read"): Part => ({
  type: `tool-${name}`,
  toolCallId,
  state: "output-available",
  input: {},
  output: "x",
  ...fields,
});
const thought = (fields: object = {}): Part => ({ type: "reasoning", text: "Let me think abou", ...fields });
const step = (...parts: object[]): Part[] => [stepStart, ...(parts as Part[])];
const system = (id: string): UIMessage => say(id, "system", text("You are terse."));
const item = (itemId: string) => ({ providerMetadata: { openai: { itemId } } });

const said = (words: string): Part => ({ ...text(words), ...item("msg_1") });

async function accepted(messages: UIMessage[]): Promise<UIMessage[]> {
  const view = shown(messages);
  expect(await refusals(view)).toEqual([]);
  expect(shown(view)).toEqual(view);
  return view;
}

const partsOf = (messages: readonly UIMessage[]): Part[] => messages.flatMap(({ parts }) => parts);
const idsOf = (messages: readonly UIMessage[]): string[] =>
  partsOf(messages).flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : []));

describe("ids of calls", () => {
  test.each([
    ["a number that is used in each turn", ["call_0", "call_0", "call_0"]],
    ["64 characters, twice", ["a".repeat(64), "a".repeat(64)]],
    ["none, twice", ["", ""]],
    ["100 characters", [`toolu_${"x".repeat(100)}`, `toolu_${"x".repeat(101)}`]],
    ["signs that no provider takes", ["call:1~2", "call:1.2", "functions.read:0", "größe"]],
    ["a mark that a model wrote", ["a", "a__again2", "a"]],
  ])("%s", async (_name, ids) => {
    const messages = ids.flatMap((id, n) => [
      asked(`u${n}`),
      say(`a${n}`, "assistant", tool(id, { output: `out ${n}` })),
    ]);
    const view = await accepted([...messages, asked("end")]);
    const after = idsOf(view);
    expect(new Set(after).size).toBe(ids.length);
    for (const [n, id] of after.entries()) {
      expect(id).toMatch(/^[\w-]{1,64}$/);
      expect(callKey(id)).toBe(callKey(ids[n] ?? ""));
    }
  });

  test("an accepted id stays, and each form of an id has the same key", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 90 }), (id) => {
        const first = acceptedId(id);
        const again = unusedId(id, new Set([first]));
        expect(acceptedId(first)).toBe(first);
        expect([callKey(first), callKey(again)]).toEqual([callKey(id), callKey(id)]);
        expect(again).toMatch(/^[\w-]{1,64}$/);
      }),
    );
  });
});

describe("names of tools that a model invents", () => {
  test.each(["multi_tool_use.parallel", "", "mcp: files/read", `mcp__${"x".repeat(140)}`, "7zip", "größe", "…", "-x"])(
    "%s",
    async (toolName) => {
      const call = {
        type: "dynamic-tool",
        toolName,
        toolCallId: "c1",
        state: "output-error",
        input: {},
        errorText: "no such tool",
      };
      await accepted([asked("u"), say("a", "assistant", stepStart, call as Part), asked("v")]);
      expect(acceptedName(acceptedName(toolName))).toBe(acceptedName(toolName));
    },
  );

  test("the name of a tool that the caller has stays, because its provider takes it", () => {
    const messages = [asked("u"), say("a", "assistant", tool("c1", {}, "files.read"))];
    expect(inTurns(messages, { tools: { "files.read": {} } })).toBe(messages);
    expect(JSON.stringify(inTurns(messages))).toContain("tool-files_read");
  });
});

describe("messages that say nothing", () => {
  const signed = thought({ providerMetadata: { anthropic: { signature: "s" } } });

  test.each<[string, Part[]]>([
    ["a thought that was cut off", [stepStart, thought({ state: "streaming" })]],
    ["a thought of OpenAI", [stepStart, thought({ text: "", ...item("rs_1") })]],
    ["a thought behind a call", [stepStart, signed, tool("toolu_1"), stepStart, thought({ state: "streaming" })]],
    ["a signed thought behind a call of its step", [stepStart, signed, tool("toolu_1"), signed]],
    ["an empty answer", [stepStart, text("")]],
    ["an answer of blanks", [stepStart, signed, text(" \n")]],
    ["data for the page", [stepStart, { type: "data-chart", data: {} }]],
    [
      "a thought before a call whose input never came",
      [stepStart, signed, tool("t", { state: "input-streaming", input: undefined })],
    ],
  ])("%s, followed by a question", async (_name, parts) => {
    const view = await accepted([asked("u1", "Hello."), say("a", "assistant", ...parts), asked("u2", "I mean this.")]);
    expect(JSON.stringify(view)).toContain("I mean this.");
    expect(partsOf(view).some((part) => part.type === "text" && part.text.trim() === "")).toBe(false);
  });

  test.each(["", "  \n"])("a question of %j", async (words) => {
    await accepted([
      asked("u1"),
      say("a1", "assistant", text("Hi")),
      asked("u2", words),
      say("a2", "assistant", text("Nothing?")),
      asked("u3"),
    ]);
  });

  test("a thought of the last reply, alone, is not sent", async () => {
    const view = await accepted([asked("u1"), say("a1", "assistant", stepStart, signed)]);
    expect(view).toEqual([asked("u1")]);
  });

  test("an output without a word says so", async () => {
    const view = await accepted([asked("u1"), say("a1", "assistant", tool("c", { output: "" })), asked("u2")]);
    expect(JSON.stringify(view)).toContain("(no output)");
  });

  test("an error without a word says so", async () => {
    const failed = tool("c", { state: "output-error", output: undefined, errorText: " " });
    const view = await accepted([asked("u1"), say("a1", "assistant", failed), asked("u2")]);
    expect(JSON.stringify(view)).toContain("The call failed.");
  });
});

describe("what was stored twice", () => {
  const reasoning = { type: "reasoning", text: "", ...item("rs_1") };
  const call = {
    ...tool("call_1", { input: { n: 1 }, output: "ok" }),
    callProviderMetadata: { openai: { itemId: "fc_1" } },
  };

  test("a continuation that repeats reasoning and call is told once", async () => {
    const again = [...step(reasoning, call), ...step({ ...text("Done."), ...item("msg_1") })];
    const view = await accepted([
      asked("u1"),
      say("a1", "assistant", ...step(reasoning, call)),
      say("a2", "assistant", ...again),
      asked("u2"),
    ]);
    expect(partsOf(view).filter(({ type }) => type === "reasoning")).toHaveLength(1);
    expect(idsOf(view)).toEqual(["call_1"]);
    expect(
      partsOf(view)
        .map(itemOf)
        .filter((id) => id !== null),
    ).toEqual(["rs_1", "fc_1", "msg_1"]);
  });

  test("without an item, only an id that nobody writes twice tells a repeated call, and only within a turn", () => {
    const random = "call_x7Gh29LmQp41Zt8s";
    const turn = (id: string) => [
      asked("u"),
      say("a", "assistant", tool(id)),
      say("b", "assistant", tool(id), text("Done.")),
    ];
    expect(idsOf(shown(turn(random)))).toEqual([random]);
    expect(idsOf(shown(turn("call_0")))).toEqual(["call_0", "call_0__again2"]);
    expect(idsOf(shown([...turn(random), asked("v"), say("c", "assistant", tool(random))]))).toHaveLength(2);
  });

  test("a step with an id of an item that no provider takes, as gateways give, is sent whole", async () => {
    const long: Part = { type: "text", text: "One.", ...item(`msg_${"A".repeat(400)}`) };
    const sent = await bodyFor(
      "openai",
      shown([asked("u"), say("a", "assistant", stepStart, reasoning as Part, long)]),
    );
    expect(JSON.stringify(sent["input"])).toContain("One.");
    expect(JSON.stringify(sent["input"])).not.toContain("item_reference");
  });

  test("a text of the same item that says something else is sent whole", () => {
    const view = shown([
      asked("u"),
      say("a", "assistant", said("One.")),
      asked("v"),
      say("b", "assistant", said("Two.")),
    ]);
    expect(partsOf(view).map((part) => [part.type === "text" ? part.text : "", itemOf(part)])).toContainEqual([
      "Two.",
      null,
    ]);
  });
});

test("a call of more characters than OpenAI takes is sent with both ends of its input, in each view the same", async () => {
  const long = tool("call_1", { input: { path: `a${' "'.repeat(800_000)}b` } });
  const view = await accepted([asked("u"), say("a", "assistant", stepStart, long), asked("v")]);
  const call = partsOf(view).find((part) => part.type === "tool-read");
  expect(JSON.stringify(call).length).toBeLessThan(1_000_000);
  expect(JSON.stringify(call)).toMatch(/path.*b/);
});

test("half a surrogate pair is sent nowhere", async () => {
  const call = tool("c1", { input: { p: "\ude00", "\ud83d": 1 }, output: ["x\ud83d", { deep: "\ude00y" }] });
  const failed = tool("c2", { state: "output-error", output: undefined, errorText: "\ud83d" });
  const messages = [asked("u", "Hello \ud83d"), say("a", "assistant", stepStart, call, failed), asked("v", "😀 stays")];
  const view = await accepted(messages);
  expect(JSON.stringify(view)).toContain("😀 stays");
});

test.each<[string, unknown]>([
  ["a text", "{not json"],
  ["a list", [1, 2]],
  ["null", null],
  ["a number", 7],
])("an input that is %s is sent in an object", async (_name, input) => {
  const failed = tool("c1", { state: "output-error", input, output: undefined, errorText: "bad input" });
  const view = await accepted([asked("u"), say("a", "assistant", failed), asked("v")]);
  if (input !== null) expect(JSON.stringify(view)).toContain(JSON.stringify({ input }));
});

describe("user and assistant alternate", () => {
  const summary = summaryMessage({ overlayId: "o1", summary: "## State\n- The parser works.", spanMessages: 4 });
  const calls = say("a2", "assistant", stepStart, tool("c1"), stepStart, text("It says x."));

  test("a summary and the user's next words are one message, in which a line tells where the record ends", async () => {
    const [joined] = await accepted([summary, asked("u1", "Delete the old parser.")]);
    const texts = joined?.parts.map((part) => (part.type === "text" ? part.text : "")) ?? [];
    expect(texts).toHaveLength(2);
    expect(texts[0]?.endsWith(`\n\n${RECORD_END}`)).toBe(true);
    expect(texts[1]).toContain("Delete the old parser.");
  });

  test("two answers in a row, the second of which begins with a call, are one", async () => {
    const view = await accepted([
      asked("u1"),
      say("a1", "assistant", stepStart, text("I am about to")),
      calls,
      asked("u3"),
    ]);
    expect(view.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("a step of text and a step with a call are one step", async () => {
    await accepted([
      asked("u1"),
      say("a1", "assistant", stepStart, text("I will look."), stepStart, tool("c1")),
      asked("u3"),
    ]);
  });

  test("a result without a call, told as a text, joins the answer behind it", async () => {
    const left = tool("c0", { input: undefined, output: "left over" });
    await accepted([
      asked("u1"),
      say("a0", "assistant", left),
      say("a1", "assistant", stepStart, tool("c1")),
      asked("u3"),
    ]);
  });

  test("an answer that ends with a call stays apart from the next one", () => {
    const messages = [asked("u1"), say("a1", "assistant", stepStart, tool("c1")), calls, asked("u3")];
    expect(inTurns(messages)).toBe(messages);
  });

  test("between a result and the user stand words of the assistant, because results count as nobody's", async () => {
    const steering = { type: "steering-message", id: "s", parts: [text("Faster.")] } as unknown as Part;
    const view = await accepted([
      asked("u1"),
      say("a1", "assistant", stepStart, text("I look."), tool("c1"), stepStart, thought({ state: "streaming" })),
      asked("u2"),
      say(
        "a2",
        "assistant",
        stepStart,
        tool("c2"),
        steering,
        stepStart,
        tool("c3", { state: "input-available", output: undefined }),
      ),
      asked("u3"),
    ]);
    const answers = partsOf(view).filter((part) => part.type === "text" && part.text.includes("went on before"));
    expect(answers).toHaveLength(3);
    // The turn itself goes on without them.
    const running = [asked("u1"), say("a1", "assistant", stepStart, tool("c1"))];
    expect(shown(running)).toBe(running);
  });

  test("a summary and the user's messages beside it are one message, in their order, under the summary's id", async () => {
    const view = await accepted([asked("u1"), calls, asked("u2", "Before."), summary, asked("u9", "After.")]);
    expect(view.at(-1)?.id).toBe(overlayMessageId("o1"));
    expect(view.at(-1)?.parts.map((part) => (part.type === "text" ? part.text.slice(0, 7) : ""))).toEqual([
      "Before.",
      "[Summar",
      "After.",
    ]);
  });

  test("a joined message has a reserved id, so that no stored message is taken for it", async () => {
    const [view] = await accepted([asked("u1", "One."), asked("u2", "Two.")]);
    expect(parseSyntheticId(view?.id ?? "")).toEqual({ kind: "fitted", messageId: "u1" });
  });

  test("a system message is shown as the user's", async () => {
    const view = await accepted([
      system("s0"),
      asked("u1"),
      say("a1", "assistant", text("Hi.")),
      system("s1"),
      asked("u2"),
    ]);
    expect(JSON.stringify(view.map(({ parts }) => parts))).toContain("[System] You are terse.");
  });

  test("a conversation that the assistant begins has a message of the user before it", async () => {
    const view = await accepted([say("a0", "assistant", text("How can I help?")), asked("u1")]);
    expect(view.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("what steers a reply at its beginning is the user's, and joins his message", async () => {
    const steering = { type: "steering-message", id: "s", parts: [text("Faster.")] } as unknown as Part;
    const view = await accepted([
      asked("u1"),
      say("a1", "assistant", stepStart, steering, stepStart, text("Yes.")),
      asked("u2"),
    ]);
    expect(view.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(view[0])).toContain("Faster.");
  });
});

test("what steers a reply at its end is the user's, and joins the next question", async () => {
  const steering = { type: "steering-message", id: "s", parts: [text("Faster.")] } as unknown as Part;
  const view = await accepted([asked("u1"), say("a1", "assistant", stepStart, text("Yes."), steering), asked("u2")]);
  expect(view.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  expect(JSON.stringify(view[2])).toContain("Faster.");
});

describe("a text that was shortened is no reference to the provider's whole one", () => {
  const whole = "The ledger keeps its promise and the outline stays short. ".repeat(300);
  const turn = (n: number): UIMessage[] => [
    asked(`u${n}`, `Question ${n}.`),
    say(
      `a${n}`,
      "assistant",
      stepStart,
      { type: "reasoning", text: "", ...item(`rs_${n}`) },
      { ...text(whole), ...item(`msg_${n}`) },
    ),
  ];
  const messages = [...Array.from({ length: 8 }, (_, n) => turn(n)).flat(), asked("end")];

  test.each<[string, (messages: UIMessage[]) => UIMessage[]]>([
    ["truncated", (all) => truncateOlderMessages(all, { keepRecent: 2, maxTextChars: 1_000, step: 1 })],
    ["fitted", (all) => fitView(all, { budget: 3_000, countTokens: estimateTokens }).messages],
    ["squeezed", (all) => fitView(all, { budget: 300, countTokens: estimateTokens }).messages],
  ])("%s", async (_name, change) => {
    const view = shown(change(messages));
    expect(await refusals(view)).toEqual([]);
    const texts = partsOf(view).filter((part) => part.type === "text" && part.text !== whole);
    expect(texts.flatMap((part) => itemOf(part) ?? [])).toEqual([]);
  });
});

test("any conversation is taken by every provider, whole, shortened and fitted", { timeout: 240_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(anyConversation, fc.constantFrom(64, 200, 800, 100_000), async (messages, budget) => {
      const repaired = repairMessages(messages);
      expect(repairMessages(repaired)).toBe(repaired);
      const short = truncateOlderMessages(repaired, { keepRecent: 1, maxTextChars: 200, step: 1 });
      const { messages: fitted } = fitView(short, { budget, countTokens: estimateTokens });
      const view = shown(fitted);
      expect(await refusals(view)).toEqual([]);
      expect(inTurns(view)).toBe(view);
    }),
    { numRuns: tries(1_000) },
  );
});
