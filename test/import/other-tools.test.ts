/**
 * What other tools write comes out as they meant it: each thing once, in the order of time, with what the provider needs to take it back. What a
 * harness wrote in the user's role is marked, and what no model will be sent is noted.
 */
import { convertToModelMessages, type UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { detectFormat, importTranscript } from "../../src/import/import.ts";
import { isHarness } from "../../src/import/formats/harness.ts";
import * as fixtures from "./fixtures.ts";

function importOne(text: string) {
  const { conversations, notes, format } = importTranscript(text);
  const [conversation] = conversations;
  return { format, notes, messages: conversation?.messages ?? [], branches: [...(conversation?.branches ?? [])] };
}

const lines = (...values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join("\n");

/** Each part in a word or two: a text as it is, a call by its name, its id and what came of it. */
function told({ role, parts }: UIMessage): string[] {
  return [
    role,
    ...parts.map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text;
      if (part.type !== "dynamic-tool") return part.type;
      return `${part.toolName} ${part.toolCallId} ${part.state} ${JSON.stringify(part.output ?? part.errorText ?? part.input)}`;
    }),
  ];
}

function marksOf(messages: readonly UIMessage[]): Record<string, unknown> {
  const marked = messages.map(({ id, metadata }) => {
    const { isMeta, isCompactSummary } = (metadata ?? {}) as Record<string, unknown>;
    return [id, isMeta === true ? "meta" : isCompactSummary === true ? "summary" : null] as const;
  });
  return Object.fromEntries(marked.filter(([, mark]) => mark !== null));
}

let uuids = 0;

/** A line of a Claude Code session. */
function claude(uuid: string, parentUuid: string | null, content: unknown, more: object = {}) {
  const role = uuid.startsWith("a") ? "assistant" : "user";
  const message = { role, content, ...(role === "assistant" && { id: `msg_${uuids++}` }) };
  return { type: role, uuid, parentUuid, isSidechain: false, sessionId: "s", message, ...more };
}

const toolUse = (id: string) => [{ type: "tool_use", id, name: "Read", input: {} }];
const toolResult = (id: string) => [{ type: "tool_result", tool_use_id: id, content: id }];
/** A record of progress with a message of a sub-agent. */
const report = (agentId: string, uuid: string, content: unknown) => ({
  type: "progress",
  uuid: `p${uuids++}`,
  parentUuid: "a2",
  data: {
    type: "agent_progress",
    agentId,
    message: {
      type: uuid.startsWith("a") ? "assistant" : "user",
      uuid,
      message: { role: uuid.startsWith("a") ? "assistant" : "user", content },
    },
  },
});

describe("claude-code", () => {
  test("what the harness said in the user's role is stored and marked, and his own words are not", () => {
    const { messages, branches } = importOne(
      lines(
        claude("u1", null, "Bind it in grey. Never in red."),
        claude("u2", "u1", "<local-command-caveat>Do not answer.</local-command-caveat>", { isMeta: true }),
        claude("u3", "u2", "<command-name>/cost</command-name>\n<command-args></command-args>"),
        claude("u4", "u3", "<local-command-stdout>Always pay first.</local-command-stdout>"),
        claude("u5", "u4", "<command-name>/plan</command-name>\n<command-args>the spine, no glue</command-args>"),
        claude("u6", "u5", [{ type: "text", text: "[Request interrupted by user]" }]),
        claude("u7", "u6", "<system-reminder>Be brief.</system-reminder>\nand the old thread stays"),
        claude("u8", "u7", [{ type: "text", text: "# Binding\n\nNEVER hurry." }], { isMeta: true }),
        claude("u9", "u8", "This session is being continued from a previous conversation. Always press twice."),
      ),
    );
    expect(messages.map(({ id }) => id)).toEqual(["u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "u9"]);
    expect(branches).toEqual([]);
    const marked = { u2: "meta", u3: "meta", u4: "meta", u6: "meta", u8: "meta", u9: "summary" };
    expect(marksOf(messages)).toEqual(marked);
    expect(messages[1]?.metadata).toEqual({ isMeta: true });
    expect(messages[0]?.metadata).toBeUndefined();
  });

  test.each([
    ["a summary", claude("u3", null, "So far: a book.", { isCompactSummary: true })],
    ["a boundary", { type: "system", subtype: "compact_boundary", uuid: "u3", parentUuid: null }],
  ])("%s that names no parent follows the line before it, and hides nothing", (_, cut) => {
    const { messages, branches } = importOne(
      lines(
        claude("u1", null, "Bind it"),
        claude("a2", "u1", "Bound."),
        cut,
        claude("u4", "u3", "and the next"),
        claude("a5", "u4", "Bound too."),
      ),
    );
    expect(messages.map(({ id }) => id)).toEqual(expect.arrayContaining(["u1", "a2", "u4", "a5"]));
    expect(branches).toEqual([]);
  });

  test("a new root that is no cut stays a root", () => {
    const text = lines(claude("u1", null, "Bind it"), claude("a2", "u1", "Bound."), claude("u3", null, "Anew"));
    expect(importOne(text).branches).toEqual([["u3", null]]);
  });

  const reply = (uuid: string, parent: string, id: string) => ({
    ...claude(uuid, parent, toolUse(id)),
    message: { role: "assistant", id: "msg_all", content: toolUse(id) },
  });
  const parallel = [
    claude("u1", null, "Read all three"),
    reply("a2", "u1", "t1"),
    reply("a3", "a2", "t2"),
    reply("a4", "a3", "t3"),
    claude("u5", "a2", toolResult("t1")),
    claude("u6", "a3", toolResult("t2")),
    claude("u7", "a4", toolResult("t3")),
  ];

  test.each([1, 2, 3])("parallel calls stay on the path, whichever result the next line names (%i)", (named) => {
    const rest = [claude("u8", "u7", "<teammate-message>Paper came.</teammate-message>"), claude("a9", "u8", "Read.")];
    const { messages, branches } = importOne(
      lines(...parallel, ...(named === 3 ? rest : [rest[0], claude("a9", `u${4 + named}`, "Read.")])),
    );
    expect(messages.map(({ id }) => id)).toEqual(["u1", "a2", "a3", "a4", "u8", "a9"]);
    expect(branches).toEqual([]);
    expect(messages.slice(1, 4).flatMap(told)).toEqual([
      "assistant",
      'Read t1 output-available "t1"',
      "assistant",
      'Read t2 output-available "t2"',
      "assistant",
      'Read t3 output-available "t3"',
    ]);
  });

  test("a second line on the same result is a branch beside the first", () => {
    const { branches } = importOne(
      lines(...parallel, claude("a8", "u5", "Read."), claude("u9", "a8", "thanks"), claude("u10", "u5", "read again")),
    );
    expect(branches).toEqual([["u10", "a4"]]);
  });

  test("sub-agents in records of progress are conversations of their own, each message once", () => {
    const first = report("one", "ux1", "Find the thread. You must not buy any.");
    const { conversations, notes } = importTranscript(
      lines(
        claude("u1", null, "Ask two agents"),
        claude("a2", "u1", [...toolUse("t1")]),
        first,
        report("two", "uy1", "Find the glue."),
        report("one", "ax2", toolUse("s1")),
        { type: "progress", uuid: "p", parentUuid: "a2", data: { type: "bash_progress", output: "1 of 2" } },
        first,
        report("one", "ux3", toolResult("s1")),
        report("two", "ay2", "None."),
        claude("u3", "a2", toolResult("t1")),
        claude("a4", "u3", "Found."),
      ),
    );
    expect(conversations.map(({ name, isSubAgent }) => [name, isSubAgent])).toEqual([
      ["claude-code", false],
      ["claude-code/one", true],
      ["claude-code/two", true],
    ]);
    expect(conversations.map(({ messages }) => messages.map(({ id }) => id))).toEqual([
      ["u1", "a2", "a4"],
      ["ux1", "ax2"],
      ["uy1", "ay2"],
    ]);
    expect(conversations.flatMap(({ messages }) => Object.entries(marksOf(messages)))).toEqual([
      ["ux1", "meta"],
      ["uy1", "meta"],
    ]);
    expect(conversations[1]?.messages[1]).toMatchObject({ parts: [{ toolCallId: "s1", output: "s1" }] });
    expect(notes).toEqual(["entries without a message left out: 1 (progress: 1)"]);
  });

  test("what the user typed while the agent worked is his message", () => {
    const typed = {
      type: "attachment",
      uuid: "x1",
      parentUuid: "u1",
      attachment: { type: "queued_command", prompt: "and no glue" },
    };
    const { messages } = importOne(lines(claude("u1", null, "Bind it"), typed, claude("a2", "x1", "Bound.")));
    expect(messages.map(told)).toEqual([
      ["user", "Bind it"],
      ["user", "and no glue"],
      ["assistant", "Bound."],
    ]);
  });

  test("entries that are no messages are counted by kind, and links between them hold", () => {
    const { notes, branches } = importOne(
      lines(
        { type: "summary", summary: "Binding" },
        claude("u1", null, "Bind it"),
        { type: "file-history-snapshot", uuid: "x1", parentUuid: "u1" },
        { type: "file-history-snapshot", uuid: "x2", parentUuid: "x1" },
        claude("a2", "x2", "Bound."),
      ),
    );
    expect(notes).toEqual(["entries without a message left out: 3 (file-history-snapshot: 2, summary: 1)"]);
    expect(branches).toEqual([]);
  });
});

describe("a text in the user's role is a harness's where all of it is", () => {
  test.each([
    ["<bash-stdout>3</bash-stdout><bash-stderr></bash-stderr>", true],
    ['<teammate-message teammate_id="a">Never.</teammate-message>', true],
    ["<task-notification>\ndone\n</task-notification>\n\n", true],
    ["# AGENTS.md instructions for x\n\n<INSTRUCTIONS>Never.</INSTRUCTIONS>", true],
    ["<command-name>/x</command-name><command-args> </command-args>", true],
    ["<command-name>/x</command-name><command-args>no glue</command-args>", false],
    ["<system-reminder>x</system-reminder> but grey", false],
    ["grey <system-reminder>x</system-reminder>", false],
    ["<system-reminder>never closed", false],
    ["<b>grey</b>", false],
    ["", false],
    ["# AGENTS.md needs a line on glue", false],
  ])("%j: %s", (text, harness) => {
    expect(isHarness(text)).toBe(harness);
  });
});

const saidItem = (role: string, text: string) => ({ role, content: [{ type: "input_text", text }] });
const callItem = (n: number) => ({ type: "function_call", call_id: "c", name: "count", arguments: `{"n":${n}}` });
const outputItem = (text: string) => ({ type: "function_call_output", call_id: "c", output: text });

describe("openai-responses", () => {
  const { messages, notes } = importOne(fixtures.responses);

  test("a reply's items are one message, with each output in its call and a step for each call of the model", () => {
    expect(messages.map(told)).toEqual([
      ["system", "You help a bookbinder."],
      ["user", "How much linen is left? Never cut the red roll.", "file", "data-imported-block"],
      [
        "assistant",
        "Two rolls.",
        'measure call_a output-available "7 m\\none tear"',
        'measure call_b output-available "3 m"',
        "step-start",
        "Ten metres.",
        "web_search ws_a output-available {}",
        "I name no price.",
      ],
      ["user", "order five"],
      ["assistant", 'order call_c input-available "linen 5"'],
    ]);
    expect(notes).toEqual([
      "entries without a message left out: 1 (item_reference: 1)",
      "blocks of a kind that no model will be sent, kept as data: 1 (input_file: 1)",
      "tool calls without a result: 1",
    ]);
  });

  test("reasoning keeps what the AI SDK's provider sends back, and a search is the provider's own", () => {
    const [reasoning] = messages[2]?.parts ?? [];
    expect(reasoning).toEqual({
      type: "reasoning",
      text: "Two rolls.",
      providerMetadata: { openai: { itemId: "rs_a", reasoningEncryptedContent: "SEALED" } },
    });
    expect(messages[2]?.parts[5]).toMatchObject({
      providerExecuted: true,
      input: { type: "search", query: "linen" },
    });
  });

  const items = JSON.parse(fixtures.responses) as readonly object[];

  test.each([
    ["one a line", items.map((each) => JSON.stringify(each)).join("\n")],
    ["a page of a list", JSON.stringify({ object: "list", data: items, has_more: false })],
    ["a page of the newest first", JSON.stringify({ object: "list", data: items.toReversed(), has_more: false })],
    ["an input", JSON.stringify({ model: "m", input: items })],
  ])("as %s they say the same", (_, text) => {
    const read = importOne(text);
    expect([read.format, read.messages.map(told)]).toEqual(["openai-responses", messages.map(told)]);
  });

  test("a page without a call is told to be the newest first by who speaks first", () => {
    const page = { object: "list", data: [saidItem("assistant", "Bound."), saidItem("user", "Bind it")] };
    expect(importOne(JSON.stringify(page)).messages.map(told)).toEqual([
      ["user", "Bind it"],
      ["assistant", "Bound."],
    ]);
  });

  test("an id that a backend uses again finds each call its own output, and an output without a call is text", () => {
    const user = { role: "user", content: "again" };
    const { messages, notes } = importOne(
      JSON.stringify([user, callItem(1), outputItem("one"), user, callItem(2), outputItem("two"), outputItem("three")]),
    );
    expect(messages.flatMap(told)).toEqual([
      "user",
      "again",
      "assistant",
      'count c output-available "one"',
      "user",
      "again",
      "assistant",
      'count c_2 output-available "two"',
      expect.stringContaining("three"),
    ]);
    expect(notes).toContain("tool results without a call, kept as text: 1");
  });

  test("texts, pictures and files reach the model, also in a file that is named as chat completions", async () => {
    const content = [
      { type: "input_text", text: "Look" },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" },
      { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
    ];
    const { conversations } = importTranscript(JSON.stringify([{ role: "user", content }]), { format: "openai" });
    expect(await convertToModelMessages(conversations[0]?.messages ?? [])).toMatchObject([
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "file", mediaType: "image/png" },
          { type: "file", mediaType: "application/pdf", filename: "a.pdf" },
        ],
      },
    ]);
  });
});

test("openai-thread: a thread is in the order of time, also within one second", () => {
  const { messages, notes } = importOne(fixtures.thread);
  expect(messages.map(told)).toEqual([
    ["user", "What do I need?"],
    ["user", "And for the spine?"],
    ["assistant", "Thread and glue."],
    ["user", "thanks"],
  ]);
  expect(messages.map(({ id }) => id)).toEqual(["m1", "m2", "m3", "m4"]);
  expect(messages[3]?.metadata).toEqual({ createdAt: 1_700_000_030_000 });
  expect(notes).toEqual([]);
});

describe("codex", () => {
  const { messages, notes } = importOne(fixtures.codex);

  test("each thing comes once, and the instruction file, the environment and the summary are marked", () => {
    expect(messages.slice(2).map(told)).toEqual([
      ["user", "Make the label. Keep it grey."],
      [
        "assistant",
        "",
        'shell c1 output-available "label.svg\\n"',
        "step-start",
        'shell c2 output-available "no lint\\n(exit code 127)"',
        "step-start",
        "The label is grey.",
      ],
      ["user", "Done: the label. Always print twice."],
      ["user", "now the back"],
      ["assistant", 'shell c3 input-available {"command":["make"]}'],
    ]);
    expect(Object.values(marksOf(messages))).toEqual(["meta", "meta", "summary"]);
    expect(messages[3]?.parts[0]).toMatchObject({
      providerMetadata: { openai: { reasoningEncryptedContent: "SEALED" } },
    });
    expect(notes).toEqual([
      expect.stringMatching(/^entries without a message left out: 6 .*event user_message: 1.*compacted: 1/),
      "tool calls without a result: 1",
    ]);
  });

  test("a longer rollout of the same conversation has the same ids", () => {
    const all = fixtures.codex.split("\n");
    for (let length = 4; length < all.length; length++) {
      const part = importOne(all.slice(0, length).join("\n")).messages.map(({ id }) => id);
      expect(messages.map(({ id }) => id).slice(0, part.length)).toEqual(part);
    }
  });

  test("a file that has events alone is read from them", () => {
    const events = fixtures.codex.split("\n").filter((line) => !line.includes('"response_item"'));
    expect(importOne(events.join("\n")).messages.map(told)).toEqual([
      ["user", "Make the label. Keep it grey."],
      ["assistant", "A label"],
      ["assistant", "The label is grey."],
      ["user", "Done: the label. Always print twice."],
    ]);
  });

  test("the first versions wrote bare items behind a header", () => {
    const items = fixtures.codex
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; payload: unknown })
      .filter(({ type }) => type === "response_item")
      .map(({ payload }) => payload);
    const header = { id: "s", timestamp: "2026-01-02T03:04:05Z", instructions: null };
    const read = importOne(lines(header, { record_type: "state" }, ...items));
    expect(read.format).toBe("codex");
    expect(read.messages.map(told)).toContainEqual(["user", "now the back"]);
    expect(Object.values(marksOf(read.messages))).toEqual(["meta", "meta"]);
  });
});

test("gemini-cli: the pieces of an answer are one text, and a call has what came of it", () => {
  const { messages, notes } = importOne(fixtures.gemini);
  expect(messages.map(told)).toEqual([
    ["user", "Which book is due?"],
    ["assistant", "I open the diary.", 'read_file r1 output-error "no such file"', "step-start", "There is no diary."],
  ]);
  expect(notes).toEqual(["entries without a message left out: 2 (init: 1, result: 1)"]);
});

test("opencode: calls, reasoning and usage come over, and what the harness added is marked", () => {
  const { messages, notes } = importOne(fixtures.openCode);
  expect(messages.map(told)).toEqual([
    ["user", "Read the price list.", "file"],
    ["user", "linen 12. You must not round."],
    [
      "assistant",
      "step-start",
      "Look.",
      "I look.",
      'grep t1 output-available "12"',
      'read t2 output-error "no file"',
      "step-start",
      'bash t3 input-available {"command":"sum"}',
      "data-imported-block",
    ],
    ["assistant", "The price list was read."],
  ]);
  expect(marksOf(messages)).toEqual({ "msg_1-added": "meta", msg_4: "summary" });
  expect(messages[2]).toMatchObject({
    metadata: { createdAt: 2_000, model: "m", usage: { inputTokens: 100, outputTokens: 3 } },
  });
  expect(messages[2]?.parts[1]).toMatchObject({ providerMetadata: { anthropic: { signature: "sig" } } });
  expect(notes).toEqual([
    "entries without a message left out: 1 (bookkeeping: 1)",
    "blocks of a kind that no model will be sent, kept as data: 1 (made-up: 1)",
    "tool calls without a result: 1",
  ]);
});

describe("specstory", () => {
  const { conversations, notes } = importTranscript(fixtures.specStory);

  test("messages, thoughts and calls come over, and a heading in a code block begins nothing", () => {
    expect(conversations[0]?.messages.map(told)).toEqual([
      ["user", "Sew the spine. Never use glue there."],
      [
        "assistant",
        "Thread first.",
        "I count the sheets.",
        `Bash call output-available ${JSON.stringify("`ls sheets | wc -l`\n\n```text\n48\n```")}`,
      ],
      [
        "assistant",
        'Needle call_2 output-error "no needle"',
        "step-start",
        "So a heading looks:\n\n```md\n_**User**_\nnot said\n```",
      ],
      ["assistant", "I wait."],
      ["user", "<system-reminder>The list is empty.</system-reminder>"],
      ["assistant", 'read_file call_3 output-available "Read file: knots.md"', "step-start", "Sewn."],
    ]);
    expect(conversations[0]?.messages[1]?.metadata).toEqual({
      createdAt: Date.UTC(2026, 0, 2, 3, 4, 6),
      model: "opus-x",
    });
    expect(conversations[0]?.messages[5]?.metadata).toEqual({ model: "old-1" });
    expect(notes).toEqual([]);
  });

  test("a sub-agent is a conversation of its own, and its orders are not the user's", () => {
    expect(conversations.map(({ name, isSubAgent }) => [name, isSubAgent])).toEqual([
      ["specstory/5c7d5c23", false],
      ["specstory/5c7d5c23/1", true],
    ]);
    expect(conversations[1]?.messages.map(told)).toEqual([
      ["user", "Find a needle. You must not buy one."],
      [
        "assistant",
        `Read call output-available ${JSON.stringify("```text\n<tool-use>quoted</tool-use>\n```")}`,
        "step-start",
        "In the drawer.",
      ],
    ]);
    const marked = conversations.map(({ messages }) => Object.values(marksOf(messages)));
    expect(marked).toEqual([["meta"], ["meta"]]);
  });

  test("a code block that the user never closed does not swallow the answer", () => {
    const text = "_**User**_\n\nRun this:\n```sh\nsew\n\n---\n\n_**Agent**_\n\nSewn.\n";
    expect(importOne(text).messages.map(told)).toEqual([
      ["user", "Run this:\n```sh\nsew"],
      ["assistant", "Sewn."],
    ]);
  });

  test.each([
    ["without its first line", fixtures.specStory.split("\n").slice(6).join("\n"), "specstory"],
    ["with a mark at its beginning", `\uFEFF${fixtures.specStory}`, "specstory"],
  ])("a file %s is recognised", (_, text, format) => {
    expect(detectFormat(text)).toBe(format);
  });
});

describe("messages that look like chat completions", () => {
  test("blocks of an unknown kind are counted by kind, and a file with its text is sent", async () => {
    const { format, messages, notes } = importOne(
      JSON.stringify({
        version: 1,
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "Read it" },
              { type: "file", path: "glue.md", content: "Never ``` stir" },
            ],
          },
          { role: "assistant", content: [{ type: "sketch", body: 1 }, { type: "sketch", body: 2 }, { type: "poll" }] },
        ],
      }),
    );
    expect(format).toBe("openai");
    expect(JSON.stringify(await convertToModelMessages(messages))).toContain("Never ``` stir");
    expect(messages[0]?.parts[1]).toEqual({ type: "text", text: "glue.md:\n\n````\nNever ``` stir\n````" });
    expect(notes).toEqual(["blocks of a kind that no model will be sent, kept as data: 3 (sketch: 2, poll: 1)"]);
  });

  test("calls that a turn lists under `tools` are calls, and another field that says something is noted", () => {
    const { messages, notes } = importOne(
      JSON.stringify({
        turns: [
          { role: "user", time: "2026-01-02T03:04:05Z", content: "List the sheets", raw: "<x>List the sheets</x>" },
          {
            role: "assistant",
            content: "I look.",
            tools: [
              { name: "list", target: "sheets" },
              { name: "view", args: { page: 2 }, result: "blank" },
            ],
          },
          { role: "assistant", content: "Forty.", tools: "none", hidden: [1] },
        ],
      }),
    );
    expect(messages.map(told)).toEqual([
      ["user", "List the sheets"],
      ["assistant", "I look.", 'list call input-available {"target":"sheets"}', 'view call_2 output-available "blank"'],
      ["assistant", "Forty."],
    ]);
    expect(notes).toEqual([
      "fields of messages left out: 3 (raw: 1, tools: 1, hidden: 1)",
      "tool calls without a result: 1",
    ]);
  });

  test("calls of the first API, which had no ids, find their results by name", () => {
    const { messages } = importOne(
      JSON.stringify([
        { role: "user", content: "Count" },
        { role: "assistant", content: null, function_call: { name: "count", arguments: '{"of":"sheets"}' } },
        { role: "function", name: "count", content: "48" },
      ]),
    );
    expect(messages.map(told).at(-1)).toEqual(["assistant", 'count function-count output-available "48"']);
  });

  test.each([
    ["roles of another tool", lines({ role: "human", content: "Bind it" }, { role: "ai", content: "Bound." })],
    ["parts of another tool", JSON.stringify([{ role: "user", parts: [{ text: "Bind it" }] }])],
    ["events of another stream", lines({ event: "start" }, { event: "delta", text: "Bound." })],
    ["calls of another tool", lines({ type: "tool_call", name: "bind" }, { type: "text", text: "Bound." })],
  ])("%s are refused as an unknown format, not line by line", (_, text) => {
    expect(() => importTranscript(text)).toThrow(/The format is not known\. Known are .*specstory/);
  });

  test("messages of the AI SDK in a list of a document are read as they are", () => {
    const messages = fixtures.uiMessages.split("\n").map((line) => JSON.parse(line) as UIMessage);
    const read = importOne(JSON.stringify({ id: "chat", messages }));
    expect([read.format, read.messages]).toEqual(["uimessage-jsonl", messages]);
  });

  test("a file of backticks, and one of rules between messages, are read in a moment", () => {
    const file = { type: "file", path: "ticks.md", content: "` ".repeat(500_000) };
    expect(importOne(JSON.stringify([{ role: "user", content: [file] }])).messages).toHaveLength(1);
    const rules = `_**User**_\n\nhello\n${"---\n".repeat(300_000)}_**Agent**_\n\n${"---\n".repeat(300_000)}bye\n`;
    expect(importOne(rules).messages.map(told)).toEqual([
      ["user", "hello"],
      ["assistant", "bye"],
    ]);
  });

  test("a note names the commonest kinds of many", () => {
    const content = Array.from({ length: 30 }, (_, n) => ({ type: `kind-${n}` }));
    const { notes } = importOne(JSON.stringify([{ role: "assistant", content: [...content, { type: "kind-7" }] }]));
    expect(notes[0]).toMatch(/: 31 \(kind-7: 2, kind-0: 1, .*, and 18 more kinds\)$/);
  });
});
