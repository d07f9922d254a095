/** V2 with the real conversion. From any view a model receives each call with exactly one result. */
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isStub, repairMessages } from "../../../src/steps/view/repair.ts";
import { isOpenCall, isSaid, type Part } from "../../../src/steps/message/message.ts";
import { bareResult, call, conversation, done, say, stepStart, text } from "../conversations.ts";
import { tries } from "../../tries.ts";

const NO_RESULT = "No result was recorded for this call.";

/** Ids of calls and results as they are sent, and whether each result comes right after its call's message. */
function sent(messages: readonly ModelMessage[]): { calls: string[]; results: string[] } {
  const found = { calls: [] as string[], results: [] as string[] };
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call") found.calls.push(part.toolCallId);
      if (part.type === "tool-result") found.results.push(part.toolCallId);
    }
  }
  return found;
}

/** All but the open calls of the newest message that says anything, which can still be answered. */
async function expectPaired(messages: UIMessage[]): Promise<ModelMessage[]> {
  // A user's message of data alone would take back, for the SDK, what was asked before it.
  const converted = await convertToModelMessages(messages.filter(({ parts }) => parts.some(isSaid)));
  const { calls, results } = sent(converted);
  const newest = messages.findLast(({ parts }) => parts.some(isSaid));
  const open = (newest?.parts ?? []).flatMap((part) =>
    isOpenCall(part) && "toolCallId" in part && part.state !== "input-streaming" ? [part.toolCallId] : [],
  );
  expect(new Set(calls).size).toBe(calls.length);
  expect([...results, ...open].toSorted()).toEqual(calls.toSorted());
  expect(messages.filter((each) => each !== newest).flatMap(({ parts }) => parts.filter(isOpenCall))).toEqual([]);
  return converted;
}

/** Every state a tool part can be in, well-formed or as a crash left it. */
const toolState = fc.constantFrom<(id: string) => Part>(
  (id) => call(id),
  (id) => done(id),
  (id) => bareResult(id),
  (id) => ({ type: "tool-look", toolCallId: id, state: "input-streaming", input: undefined }),
  (id) => ({ type: "tool-look", toolCallId: id, state: "output-error", input: { q: 1 }, errorText: "broke" }),
  (id) => ({ type: "tool-look", toolCallId: id, state: "output-error", input: undefined, errorText: "bad input" }),
  (id) => ({ type: "tool-look", toolCallId: id, state: "approval-requested", input: {}, approval: { id: `a-${id}` } }),
  (id) => ({
    type: "tool-look",
    toolCallId: id,
    state: "approval-responded",
    input: {},
    approval: { id: `a-${id}`, approved: true },
  }),
  (id) => ({
    type: "tool-look",
    toolCallId: id,
    state: "approval-responded",
    input: {},
    approval: { id: `a-${id}`, approved: false },
  }),
  (id) => ({
    type: "tool-look",
    toolCallId: id,
    state: "output-denied",
    input: {},
    approval: { id: `a-${id}`, approved: false },
  }),
  (id) => ({
    type: "tool-look",
    toolCallId: id,
    state: "output-denied",
    input: {},
    providerExecuted: true,
    approval: { id: `a-${id}`, approved: false },
  }),
  (id) => ({
    type: "tool-look",
    toolCallId: id,
    state: "output-available",
    input: {},
    output: 1,
    providerExecuted: true,
  }),
  (id) => ({ type: "tool-look", toolCallId: id, state: "input-available", input: {}, providerExecuted: true }),
);

const anyPart: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ make: toolState, id: fc.constantFrom("a", "b", "c", "d") }).map(({ make, id }) => make(id)),
  fc.constantFrom<Part>(
    text("words"),
    stepStart,
    { type: "reasoning", text: "hm" },
    { type: "file", mediaType: "image/png", url: "/relative.png" },
    { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
    { type: "data-chart", data: {} } as Part,
    { type: "tool-invocation", toolInvocation: { toolCallId: "x" } } as unknown as Part,
  ),
);

const anyMessages: fc.Arbitrary<UIMessage[]> = fc
  .array(
    fc.record({
      role: fc.constantFrom<UIMessage["role"]>("user", "assistant", "assistant", "assistant", "system"),
      parts: fc.array(anyPart, { maxLength: 6 }),
    }),
    {
      maxLength: 10,
    },
  )
  .map((messages) => messages.map(({ role, parts }, n) => say(`m${n}`, role, ...parts)));

test("V2: any list of messages converts with every call paired once, call ids unique", async () => {
  await fc.assert(
    fc.asyncProperty(anyMessages, async (messages) => {
      await expectPaired(repairMessages(messages));
    }),
    { numRuns: tries(1_000) },
  );
});

test("V2: conversations of both shapes, cut anywhere, convert with every call paired once", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, fc.nat(), fc.nat(), async (messages, from, length) => {
      const start = messages.length === 0 ? 0 : from % messages.length;
      await expectPaired(repairMessages(messages.slice(start, start + length)));
    }),
    { numRuns: tries(300) },
  );
});

test("repairing twice is repairing once, and nothing changes what needs no repair: same array, same objects", () => {
  fc.assert(
    fc.property(anyMessages, (messages) => {
      const before = structuredClone(messages);
      const once = repairMessages(messages);
      expect(messages).toEqual(before);
      expect(repairMessages(once)).toBe(once);
    }),
    { numRuns: tries(1_000) },
  );
});

test("nothing is lost: every text, output and error is still there after a repair", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      const after = JSON.stringify(repairMessages(messages));
      for (const { parts } of messages) {
        for (const part of parts) {
          if ("output" in part && part.output !== undefined)
            expect(after).toContain((part.output as { found: string }).found);
          if (part.type === "text") expect(after).toContain(part.text);
        }
      }
    }),
  );
});

const inState = (part: object): Part => ({ type: "tool-look", toolCallId: "a", input: {}, ...part }) as unknown as Part;

/** The form of a part after the conversation went on. */
function passed(part: Part): Part | undefined {
  return repairMessages([say("1", "assistant", part), say("2", "user", text("go on"))])[0]?.parts[0];
}

describe("what becomes of each kind of damage", () => {
  test("V2: results in later messages are folded into their parallel calls, whatever their order", async () => {
    const repaired = repairMessages([
      say("1", "assistant", call("a"), call("b")),
      say("2", "assistant", bareResult("b", "B")),
      say("3", "assistant", bareResult("a", "A")),
    ]);
    expect(repaired).toEqual([say("1", "assistant", { ...done("a", "A") }, { ...done("b", "B") })]);
    await expectPaired(repaired);
  });

  test("V2: a call that was never answered is closed with an error that says so", () => {
    const [message] = repairMessages([say("1", "assistant", call("a")), say("2", "user", text("go on"))]);
    expect(message?.parts[0]).toMatchObject({
      state: "output-error",
      toolCallId: "a",
      input: { q: "a" },
      errorText: NO_RESULT,
    });
  });

  test("the open calls of the newest message stay open, and only they", () => {
    const messages = [say("1", "assistant", call("a")), say("2", "assistant", call("b"), call("c"))];
    const [first, last] = repairMessages(messages);
    expect(first?.parts[0]).toMatchObject({ state: "output-error" });
    expect(last).toBe(messages[1]);
    const asked = repairMessages(messages, { canBeAnswered: ({ toolCallId }) => toolCallId === "c" });
    expect(asked[1]?.parts).toMatchObject([
      { state: "output-error", errorText: NO_RESULT },
      { state: "input-available" },
    ]);
  });

  test("a message that only answers calls, or holds nothing yet, is not the newest: what it leaves open stays open", () => {
    const asking = say("1", "assistant", call("a"), call("b"));
    const [first, ...rest] = repairMessages([asking, say("2", "assistant", bareResult("a")), say("3", "assistant")]);
    expect(first?.parts).toMatchObject([{ state: "output-available" }, { state: "input-available" }]);
    expect(rest).toEqual([]);
  });

  test("a call that nobody answered in time says why it has no result: not answered, not approved, approved and not run", () => {
    const approval = { id: "x" };
    const asked = passed(inState({ state: "approval-requested", approval }));
    expect(asked).toMatchObject({ errorText: expect.stringMatching(/approval.*never answered/) as string });
    const given = passed(inState({ state: "approval-responded", approval: { ...approval, approved: true } }));
    expect(given).toMatchObject({ errorText: expect.stringMatching(/was approved/) as string });
    expect(passed(inState({ state: "input-available" }))).toMatchObject({ errorText: NO_RESULT });
    for (const part of [asked, given]) expect(part !== undefined && isStub(part)).toBe(true);
    // A tool that says the same is not taken for a stub.
    const failed = inState({ state: "output-error", errorText: NO_RESULT });
    expect([passed(failed), isStub(failed)]).toEqual([failed, false]);
  });

  test("a result whose call is gone is kept as text", () => {
    const [message] = repairMessages([say("1", "assistant", bareResult("a", { found: 42 }))]);
    expect(message?.parts).toEqual([text('[Result of tool look] {"found":42}')]);
  });

  test("call ids that a model used again are told apart, in order", () => {
    const repaired = repairMessages([
      say("1", "assistant", done("call_0", 1)),
      say("2", "assistant", done("call_0", 2)),
    ]);
    const ids = repaired.flatMap(({ parts }) => parts.map((part) => ("toolCallId" in part ? part.toolCallId : "")));
    expect(ids).toEqual(["call_0", "call_0__again2"]);
  });

  test("a dangling call is not answered by a later call that only reuses its id", () => {
    const later: Part = { ...done("call_0", 2), input: { q: "something else" } } as Part;
    const repaired = repairMessages([say("1", "assistant", call("call_0")), say("2", "assistant", later)]);
    expect(repaired[0]?.parts[0]).toMatchObject({ state: "output-error", errorText: NO_RESULT });
    expect(repaired[1]?.parts[0]).toMatchObject({ state: "output-available", toolCallId: "call_0__again2", output: 2 });
  });

  test("a call that waits for an approval is answered by no later call of the same id and input: nobody allowed it", () => {
    const waits = { ...call("call_0"), state: "approval-requested", approval: { id: "a" } } as Part;
    const repaired = repairMessages([say("1", "assistant", waits), say("2", "assistant", done("call_0", 2))]);
    expect(repaired[0]?.parts[0]).toMatchObject({ state: "output-error", toolCallId: "call_0" });
    expect(isStub(repaired[0]?.parts[0] as Part)).toBe(true);
    expect(repaired[1]?.parts[0]).toMatchObject({ state: "output-available", toolCallId: "call_0__again2", output: 2 });
    // In one message, the first of them is still open.
    const [message] = repairMessages([say("1", "assistant", waits, done("call_0", 2))]);
    expect(message?.parts).toMatchObject([{ state: "approval-requested" }, { state: "output-available", output: 2 }]);
  });

  test("an error result keeps its words when it is folded", () => {
    const failed: Part = {
      type: "dynamic-tool",
      toolName: "look",
      toolCallId: "a",
      state: "output-error",
      input: undefined,
      errorText: "no such file",
    };
    const [message] = repairMessages([say("1", "assistant", call("a")), say("2", "assistant", failed)]);
    expect(message?.parts[0]).toMatchObject({ state: "output-error", errorText: "no such file", input: { q: "a" } });
  });

  test("a refusal in a later message keeps its reason", () => {
    const denied: Part = {
      type: "dynamic-tool",
      toolName: "look",
      toolCallId: "a",
      state: "output-denied",
      input: { q: "a" },
      approval: { id: "x", approved: false, reason: "too risky" },
    };
    const [message] = repairMessages([say("1", "assistant", call("a")), say("2", "assistant", denied)]);
    expect(message?.parts[0]).toMatchObject({ state: "output-error", errorText: "too risky" });
  });

  test("messages that nothing is left of are dropped", () => {
    expect(repairMessages([say("1", "assistant", stepStart), say("2", "user")])).toEqual([]);
  });
});
