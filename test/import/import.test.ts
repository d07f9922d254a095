/**
 * Files of other tools become messages. Every format is read, sizes are bounded, others get their turn meanwhile, and nothing is imported
 * in part.
 */
import { convertToModelMessages, type UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { errorCode, PalimpsestError } from "../../src/errors.ts";
import { exportJsonl } from "../../src/import/import.ts";
import { detectFormat, FORMATS, importTranscript, readTranscript, type Format } from "../../src/import/import.ts";
import { MAX_BAD_ENTRIES, MAX_IMPORT_ENTRIES, MAX_IMPORT_VALUE_CHARS } from "../../src/import/items.ts";
import * as fixtures from "./fixtures.ts";
import { tries } from "../tries.ts";

const FIXTURES: Readonly<Record<Format, string>> = {
  "uimessage-jsonl": fixtures.uiMessages,
  openai: fixtures.openAi,
  anthropic: fixtures.anthropic,
  pi: fixtures.pi,
  "claude-code": fixtures.claudeCode,
  "openai-responses": fixtures.responses,
  "openai-thread": fixtures.thread,
  codex: fixtures.codex,
  "gemini-cli": fixtures.gemini,
  opencode: fixtures.openCode,
  specstory: fixtures.specStory,
};

function importOne(text: string): { messages: UIMessage[]; branches: [string, string | null][]; notes: string[] } {
  const { conversations, notes } = importTranscript(text);
  expect(conversations).toHaveLength(1);
  return { messages: conversations[0]?.messages ?? [], branches: [...(conversations[0]?.branches ?? [])], notes };
}

function toolParts(messages: readonly UIMessage[]) {
  return messages.flatMap((message) => message.parts).filter((part) => part.type === "dynamic-tool");
}

/** A line of its own. */
const EMPTY = `${JSON.stringify({ id: "m", role: "user", parts: [] })}\n`;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}

function failure(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** A message of so many characters. */
function lineOf(chars: number): string {
  const frame = JSON.stringify({ id: "m", role: "user", parts: [{ type: "text", text: "" }] });
  return frame.replace('"text":""', `"text":"${"x".repeat(chars - frame.length)}"`);
}

describe("one JSON value is bounded, because nobody is let in while it is read", () => {
  test("a line of the most characters is read, and let others in behind it; one more is refused, with what to do", () => {
    const most = lineOf(MAX_IMPORT_VALUE_CHARS);
    expect(most).toHaveLength(MAX_IMPORT_VALUE_CHARS);
    const pieces = [...readTranscript(`${EMPTY}${most}\n${most}`)];
    expect(pieces.length).toBeGreaterThanOrEqual(2);
    expect(importOne(`${EMPTY}${most}\n${most}`).messages).toHaveLength(3);
    const over = messageOf(failure(() => importTranscript(`${EMPTY}${most}\n${lineOf(MAX_IMPORT_VALUE_CHARS + 1)}`)));
    expect(over).toMatch(/^\[import_failed\] line 3: 18000001 characters.*18000000/);
    expect(over).not.toContain("xxx");
  });

  test.each([
    ["one message", () => lineOf(MAX_IMPORT_VALUE_CHARS + 1)],
    ["a document of many", () => JSON.stringify([JSON.parse(lineOf(10_000_000)), JSON.parse(lineOf(10_000_000))])],
    ["a first line before others", () => `${lineOf(MAX_IMPORT_VALUE_CHARS + 1)}\n${EMPTY}`],
    ["a line that is no JSON", () => `${EMPTY}${"{".repeat(MAX_IMPORT_VALUE_CHARS + 1)}`],
  ])("also %s, before it is parsed", (_what, make) => {
    const text = make();
    const parse = vi.spyOn(JSON, "parse");
    try {
      expect(messageOf(failure(() => importTranscript(text)))).toMatch(/^\[import_failed\].*18000000/);
      for (const [parsed] of parse.mock.calls) expect(parsed.length).toBeLessThanOrEqual(MAX_IMPORT_VALUE_CHARS);
    } finally {
      parse.mockRestore();
    }
  });
});

describe("a list is read element by element", () => {
  test("one with more elements than an import takes is refused before it is parsed whole", () => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      const said = messageOf(failure(() => importTranscript(`[${"{},".repeat(4_000_000)}{}]`)));
      expect(said).toContain(`more than ${MAX_IMPORT_ENTRIES} entries`);
      expect(Math.max(...parse.mock.calls.map(([parsed]) => parsed.length))).toBeLessThan(100);
    } finally {
      parse.mockRestore();
    }
  });

  test("others are let in between its elements", () => {
    const list = Array.from({ length: 5_000 }, (_, n) => lineOf(200).replace('"m"', `"m${n}"`));
    expect([...readTranscript(`[${list.join()}]`)].length).toBeGreaterThan(5);
  });

  test("whatever stands in a text, it comes out as it is", () => {
    const message = fc.record({
      id: fc.uuid(),
      role: fc.constant("user"),
      parts: fc.array(fc.record({ type: fc.constant("data-x"), data: fc.jsonValue() })),
    });
    const tricky = fc.constantFrom('"', "\\", '\\"', "],[", "{", "\n", "},{");
    const texts = fc.array(fc.oneof(tricky, fc.string()), { maxLength: 5 }).map((words) => words.join(""));
    fc.assert(
      fc.property(fc.uniqueArray(message, { minLength: 1, selector: ({ id }) => id }), texts, (messages, said) => {
        const given = messages.map((each) => ({ ...each, parts: [...each.parts, { type: "text", text: said }] }));
        const [found] = importTranscript(JSON.stringify(given, null, 2)).conversations;
        expect(found?.messages).toEqual(JSON.parse(JSON.stringify(given)));
      }),
      { numRuns: tries(200) },
    );
  });

  test.each(["[", "[{}", "[{},]", "[{}]]", "[{]}", '[{"a":"}]', "[,]", '["\\"]'])("%s is refused", (text) => {
    expect(errorCode(failure(() => importTranscript(text)))).toBe("import_failed");
  });
});

describe("every format", () => {
  test.each(FORMATS)("%s is told apart without being named", (format) => {
    expect(detectFormat(FIXTURES[format])).toBe(format);
  });

  test.each(FORMATS)("%s converts to model messages with no tool set", async (format) => {
    for (const { messages } of importTranscript(FIXTURES[format]).conversations) {
      const converted = await convertToModelMessages(messages, { ignoreIncompleteToolCalls: true });
      expect(converted.length).toBeGreaterThan(0);
    }
  });

  test.each(FORMATS)("%s gives unique ids, the same at every import (M1)", (format) => {
    const ids = () => importTranscript(FIXTURES[format]).conversations.flatMap((c) => c.messages.map((m) => m.id));
    expect(new Set(ids()).size).toBe(ids().length);
    expect(ids()).toEqual(ids());
  });

  test.each(FORMATS)("%s holds one tool part per call id (V2)", (format) => {
    for (const { messages } of importTranscript(FIXTURES[format]).conversations) {
      const ids = toolParts(messages).map((part) => part.toolCallId);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});

describe("openai", () => {
  const { messages, notes } = importOne(fixtures.openAi);

  test("results go into their calls, in whatever order they came", () => {
    expect(messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "assistant", "user"]);
    expect(toolParts(messages)).toMatchObject([
      { toolCallId: "call_0", toolName: "stock", input: { grain: "rye" }, state: "output-available", output: "40 kg" },
      { toolCallId: "call_1", input: '{"grain":', state: "output-available", output: "bad arguments" },
      { toolCallId: "call_0_2", toolName: "log", input: {}, state: "input-available" },
    ]);
  });

  test("a result without a call stays visible and says so (M1)", () => {
    expect(messages.at(-1)?.parts[0]).toMatchObject({
      type: "text",
      text: expect.stringMatching(/call_9.*\n.*another life/),
    });
    expect(notes).toEqual([
      "tool calls without a result: 1",
      "tool results without a call, kept as text: 1",
      "repeated ids made unique: 1",
    ]);
  });

  test("a result answers the newest call of its id, not one that was left dangling", () => {
    const call = { role: "assistant", tool_calls: [{ id: "call_0", function: { name: "stock", arguments: "{}" } }] };
    const chat = [call, call, { role: "tool", tool_call_id: "call_0", content: "40 kg" }];
    const states = toolParts(importOne(JSON.stringify(chat)).messages).map((part) => part.state);
    expect(states).toEqual(["input-available", "output-available"]);
  });

  test("records that hold a conversation each give one conversation each", () => {
    const chat = JSON.parse(fixtures.openAi) as unknown[];
    const records = JSON.stringify([{ task_id: 4, traj: chat }, { task_id: 4, traj: chat }, { messages: chat }]);
    const { conversations } = importTranscript(records, { name: "air" });
    expect(conversations.map((conversation) => conversation.name)).toEqual(["air/4", "air/4~2", "air/3"]);
    expect(conversations.map((conversation) => conversation.messages.length)).toEqual([5, 5, 5]);
    expect(importTranscript(records, { index: 1 }).conversations.map((one) => one.name)).toEqual(["openai/4~2"]);
    expect(errorCode(failure(() => importTranscript(records, { index: 3 })))).toBe("import_failed");
  });
});

describe("anthropic", () => {
  const { messages } = importOne(fixtures.anthropic);

  test("files, reasoning and provider-run tools keep what the provider needs to take them back", () => {
    expect(messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "user"]);
    expect(messages[1]?.parts).toEqual([
      { type: "text", text: "What does this receipt say?" },
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
      { type: "text", text: "Rye: 12.40" },
    ]);
    expect(messages[2]).toMatchObject({
      id: "msg_1",
      metadata: { usage: { inputTokens: 100, outputTokens: 5 } },
      parts: [
        { type: "reasoning", text: "Look it up.", providerMetadata: { anthropic: { signature: "sig" } } },
        { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: "xyz" } } },
        { toolCallId: "toolu_1", state: "output-error", errorText: "no page 1" },
        { toolCallId: "srvtoolu_1", state: "output-available", providerExecuted: true },
        { type: "data-imported-block", data: { type: "made_up_later", payload: 7 } },
      ],
    });
  });

  test("content, input and output that are left out are empty, not errors", () => {
    const chat = [
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "ping" }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t" }] },
      { role: "user" },
    ];
    const { messages } = importOne(JSON.stringify(chat));
    expect(toolParts(messages)).toMatchObject([{ input: {}, output: "" }]);
    expect(messages[1]?.parts).toEqual([{ type: "text", text: "(empty message)" }]);
  });

  test("what the user said beside a tool result is a message of its own", () => {
    expect(messages[3]?.parts).toEqual([{ type: "text", text: "Try page 2." }]);
  });
});

describe("pi", () => {
  const { messages, branches, notes } = importOne(fixtures.pi);

  test("every message is kept, entries that are none are counted (M1)", () => {
    expect(messages.map((message) => message.id)).toEqual(["e1", "e2", "e4", "e6", "e7", "e8"]);
    expect(notes[0]).toContain("left out: 3");
    expect(messages[1]).toMatchObject({ metadata: { usage: { inputTokens: 110, outputTokens: 2 } } });
    expect(messages[0]?.metadata).toEqual({ createdAt: Date.UTC(2026, 0, 2, 3, 4, 6) });
  });

  test("a reply that broke off is kept, with its error, and never sent", async () => {
    expect(messages[2]).toMatchObject({ metadata: { error: "overloaded" }, parts: [{ type: "data-empty" }] });
    expect(await convertToModelMessages([messages[2] as UIMessage])).toEqual([]);
  });

  test("a branch of the source can be built again", () => {
    expect(branches).toEqual([["e7", "e2"]]);
  });
});

describe("claude-code", () => {
  const { conversations } = importTranscript(fixtures.claudeCode);
  const [main, side] = conversations;

  test("lines of one reply stay apart, share the reply's id and count its usage once", () => {
    expect(main?.messages.map((message) => message.id)).toEqual(["u1", "u2", "u3", "u4", "u7", "u9"]);
    const metadata = main?.messages.slice(1, 4).map((message) => message.metadata);
    expect(metadata).toEqual([
      { model: "m", providerMessageId: "msg_1" },
      { model: "m", providerMessageId: "msg_1" },
      { model: "m", providerMessageId: "msg_1", usage: { inputTokens: 50, outputTokens: 9 } },
    ]);
    expect(toolParts(main?.messages ?? [])).toMatchObject([{ output: "3" }, { output: "9" }]);
  });

  test("parallel results and a harness's own cut do not look like branches", () => {
    expect([...(main?.branches ?? [])]).toEqual([]);
  });

  test("a side chain is a conversation of its own", () => {
    expect(side?.name).toBe("claude-code/x1");
    expect(side?.messages.map((message) => message.id)).toEqual(["x1", "x2"]);
  });
});

describe("nothing is half imported", () => {
  test("a bad line is named with its reason, and up to five are", () => {
    const lines = fixtures.pi.split("\n");
    lines[3] = '{"type":"message","message":{"role":"assistant","content":[{"type":"text"}]}}';
    const error = failure(() => importTranscript(lines.join("\n")));
    expect(errorCode(error)).toBe("import_failed");
    expect(messageOf(error)).toMatch(/line 4: message\.content\.0\.text: .*\(format pi\)/);

    const bad = Array.from({ length: 9 }, () => "{");
    expect(messageOf(failure(() => importTranscript([...lines, ...bad].join("\n"))))).toMatch(
      /^\[import_failed\] line 11: not JSON .*line 15: [^;]*; and 4 more$/,
    );
  });

  test("a million bad lines are read as far as tells something: the first are named, the next counted", () => {
    const noJson = "{\n".repeat(1_000_000);
    const noMessages = `${EMPTY}${'{"id":7}\n'.repeat(MAX_IMPORT_ENTRIES - 1)}`;
    for (const [text, first] of [
      [noJson, 1],
      [noMessages, 2],
    ] as const) {
      const parse = vi.spyOn(JSON, "parse");
      const said = messageOf(failure(() => importTranscript(text)));
      // The text as one document, and each line that was read.
      expect(parse.mock.calls.length - 1).toBe(first === 1 ? MAX_BAD_ENTRIES : MAX_IMPORT_ENTRIES);
      vi.restoreAllMocks();
      const stopped = `and at least ${MAX_BAD_ENTRIES - 5} more: reading stopped at line ${MAX_BAD_ENTRIES + first - 1}`;
      expect(said).toMatch(new RegExp(`^\\[import_failed\\] line ${first}: .*; line ${first + 4}: [^;]*; ${stopped}$`));
    }
  });

  test("more entries than one import takes are refused before they are read, in a list and in lines", () => {
    const many = Array.from({ length: MAX_IMPORT_ENTRIES + 1 }, () => EMPTY);
    for (const text of [many.join(""), `[${many.join()}]`, `{"messages":[${many.join()}]}`]) {
      const error = failure(() => importTranscript(text));
      expect(errorCode(error)).toBe("import_failed");
      expect(messageOf(error)).toContain(`more than ${MAX_IMPORT_ENTRIES} entries`);
    }
  });

  test("a list of a million bad parts is one problem", () => {
    const text = `{"id":"m","role":"user","parts":[${"0,".repeat(1_000_000)}0]}`;
    expect(messageOf(failure(() => importTranscript(text)))).toMatch(/^\[import_failed\] line 1: parts\.0: [^;]*$/);
  });

  test("one id that comes again and again costs each time the same", () => {
    const asked = vi.spyOn(Set.prototype, "has");
    const askedFor = (lines: number): number => {
      const before = asked.mock.calls.length;
      importTranscript(EMPTY.repeat(lines));
      return asked.mock.calls.length - before;
    };
    const [few, many] = [askedFor(100), askedFor(1_000)];
    vi.restoreAllMocks();
    expect(many).toBeLessThan(12 * few);
  });

  test.each([
    ["a short one", EMPTY, [0, 0]],
    ["a long one", EMPTY.repeat(20_000), [20, 100]],
    ["a bad one", `${EMPTY.repeat(20_000)}{"id":7}`, [20, 100]],
    ["one of blank lines", `${"\n".repeat(2_000_000)}${EMPTY.repeat(2)}`, [10, 20]],
  ] as const)("%s is read in as many pieces as it is long", (_, text, [least, most]) => {
    let pieces = 0;
    const work = readTranscript(text);
    failure(() => {
      while (work.next().done !== true) pieces++;
    });
    expect(pieces).toBeGreaterThanOrEqual(least);
    expect(pieces).toBeLessThanOrEqual(most);
  });

  test.each([
    ["", "empty"],
    ["  \n", "empty"],
    ["[1, 2]", "Known are"],
    ['{"a": 1}', "Known are"],
    ["hello", "line 1: not JSON"],
    // What Copilot CLI, Cline's view and Copilot Chat write.
    [
      '{"type":"user.message","data":{"content":"a"},"id":"1","parentId":null}\n{"type":"assistant.message","data":{}}',
      "Known are",
    ],
    ['[{"ts":1,"type":"say","say":"text","text":"a"},{"ts":2,"type":"ask","ask":"tool","text":"{}"}]', "Known are"],
    ['{"version":3,"requests":[{"message":{"text":"a"},"response":[{"value":"b"}]}]}', "Known are"],
    [fixtures.pi.split("\n")[0] ?? "", "no messages"],
  ])("%j is refused with advice", (text, advice) => {
    const error = failure(() => importTranscript(text));
    expect(errorCode(error)).toBe("import_failed");
    expect(messageOf(error)).toContain(advice);
  });

  test("no content of the transcript is in the error", () => {
    const error = failure(() => importTranscript("a secret\n{}"));
    expect(messageOf(error)).not.toContain("secret");
  });

  test("random corruption gives a whole result or an import_failed, never another error", () => {
    const corruption = fc.record({
      text: fc.constantFrom(...Object.values(FIXTURES)),
      at: fc.nat(),
      length: fc.nat(40),
      put: fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom("null", "[]", "{}", '"', "\n", "\\ud800", "-1")),
    });
    fc.assert(
      fc.property(corruption, ({ text, at, length, put }) => {
        const start = at % text.length;
        const corrupted = text.slice(0, start) + put + text.slice(start + length);
        const error = failure(() => importTranscript(corrupted));
        if (error !== undefined) {
          expect(error).toBeInstanceOf(PalimpsestError);
          expect(errorCode(error)).toBe("import_failed");
        }
      }),
      { numRuns: tries(2000) },
    );
  });
});

describe("export", () => {
  const text = fc.record({ type: fc.constant("text" as const), text: fc.string({ unit: "binary" }) });
  const tool = fc.record({
    type: fc.constant("dynamic-tool" as const),
    toolName: fc.string({ minLength: 1 }),
    toolCallId: fc.string({ minLength: 1 }),
    state: fc.constant("output-available" as const),
    input: fc.jsonValue(),
    output: fc.jsonValue(),
  });
  const start = fc.constant({ type: "step-start" as const });
  const message = fc.record({
    id: fc.string({ minLength: 1 }),
    role: fc.constantFrom("system" as const, "user" as const, "assistant" as const),
    metadata: fc.jsonValue(),
    parts: fc.array(fc.oneof(text, tool, start)),
  });
  const history = fc.uniqueArray(message, { selector: (each) => each.id, minLength: 1 });

  test("what was exported is imported unchanged (M1)", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const lines = [...exportJsonl(messages as UIMessage[])].join("");
        const stored = JSON.parse(JSON.stringify(messages)) as unknown;
        const { conversations } = importTranscript(lines, { format: "uimessage-jsonl" });
        expect(conversations[0]?.messages).toEqual(stored);
      }),
    );
  });

  test("an export is recognised as what it is", () => {
    expect(importOne(fixtures.uiMessages).messages).toHaveLength(2);
    expect([...exportJsonl(importOne(fixtures.uiMessages).messages)].join("").trim()).toBe(fixtures.uiMessages);
  });
});
