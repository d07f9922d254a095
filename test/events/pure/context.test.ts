/** A working context. It is pure and paired, and keeps a turn's own messages apart. */
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { anthropicAdapter } from "../../../src/events/formats.ts";
import { openAiAdapter } from "../../../src/events/formats.ts";
import { buildWorkingContext } from "../../../src/events/context.ts";
import { messageToEvents } from "../../../src/events/event.ts";
import { done, say, text } from "../../steps/conversations.ts";
import { codeOf } from "../../thrown.ts";

function ids(): () => string {
  let n = 0;
  return () => `new${n++}`;
}

const question = messageToEvents(say("u1", "user", text("Which port?")));

describe("a working context", () => {
  test("V2: pairs a model's calls with the results that come after, in the model's own format", async () => {
    const context = buildWorkingContext(question, { system: "Be brief." });
    const newId = ids();
    const call = { id: "c1", type: "function" as const, function: { name: "read", arguments: '{"path":"a"}' } };
    const reply = { role: "assistant" as const, content: null, tool_calls: [call] };
    const result = { role: "tool" as const, tool_call_id: "c1", content: "port 80" };
    for (const message of openAiAdapter.fromModel([reply, result], newId)) context.addMessage(message);
    expect(context.getNewMessages()[1]?.parts[0]).toMatchObject({ toolName: "read", output: "port 80" });
    expect(await openAiAdapter.toModel(context.getMessages())).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "Which port?" },
      reply,
      result,
    ]);
    const { system, messages } = await anthropicAdapter.toModel(context.getMessages());
    expect([system, messages.map((message) => message.role)]).toEqual(["Be brief.", ["user", "assistant", "user"]]);
  });

  test("has the system text and the messages apart, and together for a model", () => {
    const context = buildWorkingContext(question, { system: "Be brief." });
    expect(context.systemInstructions).toBe("Be brief.");
    expect(context.messages.map(({ id }) => id)).toEqual(["u1"]);
    expect(context.getMessages().map(({ role }) => role)).toEqual(["system", "user"]);
    expect(buildWorkingContext(question).systemInstructions).toBeNull();
  });

  test("takes a message of a role and a content, and gives it an id", () => {
    const context = buildWorkingContext(question);
    context
      .addMessage({ role: "assistant", content: "80" })
      .addMessage({ id: "u2", role: "user", content: [text("Sure?")] });
    const [answer, doubt] = context.getNewMessages();
    expect(answer).toEqual({ id: expect.stringMatching(/.{8}/) as string, role: "assistant", parts: [text("80")] });
    expect(doubt).toEqual({ id: "u2", role: "user", parts: [text("Sure?")] });
    for (const bad of [{ role: "tool", content: "80" }, { role: "user", content: 80 }, { content: "80" }, null]) {
      expect(codeOf(() => context.addMessage(bad as never))).toBe("invalid_message");
    }
    expect(context.getNewMessages()).toHaveLength(2);
  });

  test("V2: is read by the caller's own function, event by event, and still pairs every call", () => {
    const events = [...question, ...messageToEvents(say("a1", "assistant", done("c1", "80")))];
    const context = buildWorkingContext(events, {
      eventToMessage: (event) =>
        event.action === "tool_call_request"
          ? null
          : { role: "user", content: `${event.action} at ${event.createdAt}` },
    });
    expect(context.messages.map(({ parts }) => parts)).toContainEqual([text("user_message at 0")]);
    expect(JSON.stringify(context.messages)).not.toContain("tool_call_request");
    expect(codeOf(() => buildWorkingContext(events, { eventToMessage: () => 7 as never }))).toBe("invalid_message");
    expect(codeOf(() => buildWorkingContext(events, { eventToMessage: 7 as never }))).toBe("invalid_options");
  });

  test("keeps what was added apart from what was loaded, and what was loaded as it was", () => {
    const events = structuredClone(question);
    const context = buildWorkingContext(events);
    const answer = say("a1", "assistant", text("80"));
    context.addMessage(answer);
    context.getNewMessages().pop();
    expect(context.leafId).toBe("u1");
    expect(context.getNewMessages()).toEqual([answer]);
    expect(context.getMessages().map((message) => message.id)).toEqual(["u1", "a1"]);
    expect(events).toEqual(question);
    expect(buildWorkingContext([]).leafId).toBe(null);
  });

  test("refuses what is no message, an id it has already, and options that cannot be", () => {
    const context = buildWorkingContext(question);
    context.addMessage(say("a1", "assistant", text("80")));
    expect(codeOf(() => context.addMessage({ id: "x" } as UIMessage))).toBe("invalid_message");
    for (const id of ["u1", "a1"]) expect(codeOf(() => context.addMessage(say(id, "user")))).toBe("invalid_input");
    expect(context.getNewMessages().length).toBe(1);
    expect(codeOf(() => buildWorkingContext([], { tail: 1 } as object))).toBe("invalid_options");
  });
});
