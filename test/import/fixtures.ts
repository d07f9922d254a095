/** A small conversation per format, written for these tests. Each holds the difficult cases of its format. */

function lines(...values: readonly unknown[]): string {
  return values.map((value) => JSON.stringify(value)).join("\n");
}

/** Two parallel calls of which one failed, a call without a result, and a result without a call. */
export const openAi = JSON.stringify([
  { role: "system", content: "You keep a bakery's books." },
  { role: "user", content: [{ type: "text", text: "How much rye is left?" }] },
  {
    role: "assistant",
    content: null,
    tool_calls: [
      { id: "call_0", type: "function", function: { name: "stock", arguments: '{"grain":"rye"}' } },
      { id: "call_1", type: "function", function: { name: "stock", arguments: '{"grain":' } },
    ],
  },
  { role: "tool", tool_call_id: "call_1", name: "stock", content: "bad arguments" },
  { role: "tool", tool_call_id: "call_0", name: "stock", content: "40 kg" },
  {
    role: "assistant",
    content: "Forty kilos.",
    tool_calls: [{ id: "call_0", function: { name: "log", arguments: "" } }],
  },
  { role: "tool", tool_call_id: "call_9", content: "from another life" },
]);

export const anthropic = JSON.stringify({
  system: "You keep a bakery's books.",
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "What does this receipt say?" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
        { type: "document", source: { type: "text", media_type: "text/plain", data: "Rye: 12.40" } },
      ],
    },
    {
      id: "msg_1",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Look it up.", signature: "sig" },
        { type: "redacted_thinking", data: "xyz" },
        { type: "tool_use", id: "toolu_1", name: "receipt", input: { page: 1 } },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "rye" } },
        { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result" }] },
        { type: "made_up_later", payload: 7 },
      ],
      usage: { input_tokens: 10, cache_read_input_tokens: 90, output_tokens: 5 },
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", is_error: true, content: [{ type: "text", text: "no page 1" }] },
        { type: "text", text: "Try page 2." },
      ],
    },
  ],
});

export const pi = lines(
  { type: "session", version: 3, id: "s", timestamp: "2026-01-02T03:04:05.000Z", cwd: "/bakery" },
  { type: "model_change", id: "e0", parentId: null, modelId: "m" },
  {
    type: "message",
    id: "e1",
    parentId: "e0",
    timestamp: "2026-01-02T03:04:06.000Z",
    message: { role: "user", content: "Count the sacks" },
  },
  {
    type: "message",
    id: "e2",
    parentId: "e1",
    message: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Count.", thinkingSignature: "sig" },
        { type: "toolCall", id: "t1", name: "bash", arguments: { command: "ls sacks | wc -l" } },
      ],
      usage: { input: 3, output: 2, cacheRead: 100, cacheWrite: 7 },
    },
  },
  {
    type: "message",
    id: "e3",
    parentId: "e2",
    message: {
      role: "toolResult",
      toolCallId: "t1",
      toolName: "bash",
      content: [{ type: "text", text: "12" }],
      isError: false,
    },
  },
  {
    type: "message",
    id: "e4",
    parentId: "e3",
    message: { role: "assistant", content: [], stopReason: "error", errorMessage: "overloaded" },
  },
  { type: "compaction", id: "e5", parentId: "e4", summary: "counted", firstKeptEntryId: "e3" },
  {
    type: "message",
    id: "e6",
    parentId: "e5",
    message: { role: "bashExecution", command: "ls", output: "sacks", exitCode: 0 },
  },
  // A branch. The user goes back to the first reply and asks something else.
  {
    type: "message",
    id: "e7",
    parentId: "e3",
    message: { role: "user", content: [{ type: "text", text: "And the tins?" }] },
  },
  { type: "custom_message", id: "e8", parentId: "e7", customType: "note", content: "Tins are in the cellar." },
);

const reply = { id: "msg_1", role: "assistant", model: "m", usage: { input_tokens: 50, output_tokens: 9 } };
const session = { sessionId: "s", cwd: "/bakery", isSidechain: false };
export const claudeCode = lines(
  { type: "summary", summary: "Counting sacks", leafUuid: "u7" },
  {
    ...session,
    type: "user",
    uuid: "u1",
    parentUuid: null,
    timestamp: "2026-01-02T03:04:05Z",
    message: { role: "user", content: "Count" },
  },
  {
    ...session,
    type: "assistant",
    uuid: "u2",
    parentUuid: "u1",
    message: { ...reply, content: [{ type: "thinking", thinking: "Two rooms.", signature: "s" }] },
  },
  {
    ...session,
    type: "assistant",
    uuid: "u3",
    parentUuid: "u2",
    message: { ...reply, content: [{ type: "tool_use", id: "a", name: "Bash", input: { command: "ls attic" } }] },
  },
  {
    ...session,
    type: "assistant",
    uuid: "u4",
    parentUuid: "u3",
    message: { ...reply, content: [{ type: "tool_use", id: "b", name: "Bash", input: { command: "ls cellar" } }] },
  },
  // Results of parallel calls hang off the line of their call, so the file is a tree though the conversation is not.
  {
    ...session,
    type: "user",
    uuid: "u5",
    parentUuid: "u3",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "3" }] },
  },
  {
    ...session,
    type: "user",
    uuid: "u6",
    parentUuid: "u4",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "b", content: "9" }] },
  },
  {
    type: "user",
    uuid: "x1",
    parentUuid: null,
    isSidechain: true,
    message: { role: "user", content: "Find the cellar" },
  },
  {
    type: "assistant",
    uuid: "x2",
    parentUuid: "x1",
    isSidechain: true,
    message: { role: "assistant", content: [{ type: "text", text: "Below." }] },
  },
  {
    ...session,
    type: "assistant",
    uuid: "u7",
    parentUuid: "u5",
    message: { id: "msg_2", role: "assistant", content: [{ type: "text", text: "Twelve." }] },
  },
  { ...session, type: "system", uuid: "u8", parentUuid: null, logicalParentUuid: "u7", subtype: "compact_boundary" },
  { ...session, type: "user", uuid: "u9", parentUuid: "u8", message: { role: "user", content: "Thanks" } },
);

export const uiMessages = lines(
  { id: "a", role: "user", parts: [{ type: "text", text: "Rye?" }] },
  {
    id: "b",
    role: "assistant",
    metadata: { mood: "calm" },
    parts: [
      { type: "step-start" },
      { type: "tool-stock", toolCallId: "t", state: "output-available", input: {}, output: { kg: 40 } },
      { type: "step-start" },
      { type: "text", text: "Forty kilos.", state: "done" },
    ],
  },
);

const input = (text: string) => [{ type: "input_text", text }];
const output = (text: string) => [{ type: "output_text", text, annotations: [] }];

/** Two calls at once whose outputs come in the other order, a search of the provider's own, and a call that broke off. */
export const responses = JSON.stringify([
  { role: "developer", content: input("You help a bookbinder.") },
  {
    role: "user",
    content: [
      ...input("How much linen is left? Never cut the red roll."),
      { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
      { type: "input_file", file_id: "file_7" },
    ],
  },
  {
    type: "reasoning",
    id: "rs_a",
    summary: [{ type: "summary_text", text: "Two rolls." }],
    encrypted_content: "SEALED",
  },
  { type: "function_call", id: "fc_a", call_id: "call_a", name: "measure", arguments: '{"roll":"red"}' },
  { type: "function_call", id: "fc_b", call_id: "call_b", name: "measure", arguments: '{"roll":"grey"}' },
  { type: "function_call_output", call_id: "call_b", output: "3 m" },
  { type: "function_call_output", call_id: "call_a", output: [...input("7 m"), ...input("one tear")] },
  { type: "message", role: "assistant", id: "msg_a", content: output("Ten metres.") },
  { type: "web_search_call", id: "ws_a", status: "completed", action: { type: "search", query: "linen" } },
  { type: "message", role: "assistant", id: "msg_b", content: [{ type: "refusal", refusal: "I name no price." }] },
  { role: "user", content: "order five" },
  { type: "custom_tool_call", call_id: "call_c", name: "order", input: "linen 5" },
  { type: "item_reference", id: "msg_z" },
]);

/** As it is listed: the newest first, two of them in one second. */
export const thread = JSON.stringify({
  object: "list",
  data: [
    { role: "user", id: "m4", text: "thanks", at: 30 },
    { role: "assistant", id: "m3", text: "Thread and glue.", at: 20 },
    { role: "user", id: "m2", text: "And for the spine?", at: 10 },
    { role: "user", id: "m1", text: "What do I need?", at: 10 },
  ].map(({ role, id, text, at }) => ({
    id,
    object: "thread.message",
    created_at: 1_700_000_000 + at,
    role,
    content: [{ type: "text", text: { value: text, annotations: [] } }],
  })),
});

const at = (second: number) => `2026-01-02T03:04:${String(second).padStart(2, "0")}.000Z`;
const item = (second: number, payload: object) => ({ timestamp: at(second), type: "response_item", payload });
const event = (second: number, payload: object) => ({ timestamp: at(second), type: "event_msg", payload });

/** Events that repeat items, a summary of Codex's own, and a turn that was broken off. */
export const codex = lines(
  { timestamp: at(0), type: "session_meta", payload: { id: "s", cwd: "bindery", cli_version: "0.63.0" } },
  item(1, {
    type: "message",
    role: "user",
    content: input("# AGENTS.md instructions for bindery\n\n<INSTRUCTIONS>\nGlue MUST dry.\n</INSTRUCTIONS>"),
  }),
  item(2, {
    type: "message",
    role: "user",
    content: input("<environment_context>\n<cwd>bindery</cwd>\n</environment_context>"),
  }),
  item(3, { type: "message", role: "user", content: input("Make the label. Keep it grey.") }),
  event(3, { type: "user_message", message: "Make the label. Keep it grey." }),
  event(4, { type: "agent_reasoning", text: "A label" }),
  item(4, { type: "reasoning", summary: [], content: null, encrypted_content: "SEALED" }),
  item(5, { type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" }),
  item(6, {
    type: "function_call_output",
    call_id: "c1",
    output: '{"output":"label.svg\\n","metadata":{"exit_code":0}}',
  }),
  item(7, { type: "function_call", name: "shell", arguments: '{"command":["lint"]}', call_id: "c2" }),
  item(8, { type: "function_call_output", call_id: "c2", output: '{"output":"no lint","metadata":{"exit_code":127}}' }),
  item(9, { type: "message", role: "assistant", content: output("The label is grey.") }),
  event(9, { type: "agent_message", message: "The label is grey." }),
  { timestamp: at(10), type: "compacted", payload: { message: "Done: the label. Always print twice." } },
  { timestamp: at(11), type: "compacted", payload: { message: "", replacement_history: [] } },
  item(12, { type: "message", role: "user", content: input("now the back") }),
  item(13, { type: "function_call", name: "shell", arguments: '{"command":["make"]}', call_id: "c3" }),
  event(14, { type: "turn_aborted", reason: "interrupted" }),
);

/** An answer in pieces, and a call that failed. */
export const gemini = lines(
  { type: "init", timestamp: at(0), session_id: "g", model: "gemini-3-pro" },
  { type: "message", timestamp: at(1), role: "user", content: "Which book is due?" },
  { type: "message", timestamp: at(2), role: "assistant", content: "I open ", delta: true },
  { type: "message", timestamp: at(2), role: "assistant", content: "the diary.", delta: true },
  { type: "tool_use", timestamp: at(3), tool_name: "read_file", tool_id: "r1", parameters: { path: "diary.md" } },
  { type: "tool_result", timestamp: at(4), tool_id: "r1", status: "error", error: { message: "no such file" } },
  { type: "message", timestamp: at(5), role: "assistant", content: "There is no diary.", delta: true },
  { type: "result", timestamp: at(6), status: "success" },
);

/** What the harness added to a question, a failed call, an open one, and the harness's own summary. */
export const openCode = JSON.stringify({
  info: { id: "ses_1", title: "Bindery" },
  messages: [
    {
      info: { id: "msg_1", role: "user", time: { created: 1_000 }, summary: { diffs: [] } },
      parts: [
        { id: "p1", type: "text", text: "Read the price list." },
        { id: "p2", type: "file", mime: "text/plain", filename: "prices.txt", url: "file:///prices.txt" },
        { id: "p3", type: "text", synthetic: true, text: "linen 12. You must not round." },
      ],
    },
    {
      info: {
        id: "msg_2",
        role: "assistant",
        time: { created: 2_000 },
        modelID: "m",
        tokens: { input: 5, output: 2, reasoning: 1, cache: { read: 90, write: 5 } },
      },
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "Look.", metadata: { anthropic: { signature: "sig" } } },
        { type: "text", text: "I look." },
        {
          type: "tool",
          callID: "t1",
          tool: "grep",
          state: { status: "completed", input: { pattern: "linen" }, output: "12", title: "", metadata: {} },
        },
        { type: "tool", callID: "t2", tool: "read", state: { status: "error", input: {}, error: "no file" } },
        { type: "step-finish", tokens: {} },
        { type: "step-start" },
        { type: "tool", callID: "t3", tool: "bash", state: { status: "running", input: { command: "sum" } } },
        { type: "made-up", x: 1 },
      ],
    },
    { info: { id: "msg_3", role: "user", time: { created: 3_000 } }, parts: [{ type: "compaction", auto: true }] },
    {
      info: { id: "msg_4", role: "assistant", time: { created: 4_000 }, summary: true },
      parts: [{ type: "text", text: "The price list was read." }],
    },
  ],
});

/** Thoughts, calls of both ages of the format, a heading that a code block quotes, and a sub-agent. */
export const specStory = `<!-- Generated by SpecStory, Markdown v2.1.0 -->

# 2026-01-02 03:04:05Z

<!-- Claude Code Session 5c7d5c23 (2026-01-02 03:04:05Z) -->

_**User (2026-01-02 03:04:05Z)**_

Sew the spine. Never use glue there.

---

_**Agent (opus-x 2026-01-02 03:04:06Z)**_

<think><details><summary>Thought Process</summary>
Thread first.
</details></think>

I count the sheets.

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash** • Count</summary>

\`ls sheets | wc -l\`

\`\`\`text
48
\`\`\`
</details></tool-use>

_**Agent (opus-x 2026-01-02 03:04:09Z)**_

<tool-use data-tool-type="generic" data-tool-name="Needle"><details>
<summary>Tool use: **Needle**</summary>

**Input:**

- size: \`3\`

**Error:**

\`\`\`
no needle
\`\`\`
</details></tool-use>

So a heading looks:

\`\`\`md
_**User**_
not said
\`\`\`

---

_**Agent - sidechain (2026-01-02 03:04:10Z)**_

Find a needle. You must not buy one.

_**Agent (opus-x 2026-01-02 03:04:10Z)**_

I wait.

_**Agent - sidechain (haiku-x 2026-01-02 03:04:11Z)**_

<tool-use data-tool-type="read" data-tool-name="Read"><details>
<summary>Tool use: **Read**</summary>

\`\`\`text
<tool-use>quoted</tool-use>
\`\`\`
</details></tool-use>

In the drawer.

---

_**User**_

<system-reminder>The list is empty.</system-reminder>

---

_**Assistant (model old-1, mode Agent)**_

Tool use: **read_file**

Read file: knots.md

---

Sewn.

---
`;
