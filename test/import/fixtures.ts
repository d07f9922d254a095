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
