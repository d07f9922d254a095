/** Events are a projection. Nothing is lost or invented in either direction. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  dehydrateEvent,
  hydrateEvent,
  parseEvent,
  type ConversationEvent,
  eventsToMessages,
  eventToMessage,
  firstPart,
  messageIdOf,
  messageToEvent,
  messageToEvents,
} from "../../../src/events/event.ts";
import { anyMessage } from "./messages.ts";
import { tries } from "../../tries.ts";
import { codeOf } from "../../thrown.ts";

function json<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const turn: UIMessage = {
  id: "m",
  role: "assistant",
  metadata: { model: "x" },
  parts: [
    { type: "step-start" },
    { type: "text", text: "I look." },
    { type: "tool-look", toolCallId: "c1", state: "output-available", input: { q: 1 }, output: { found: 2 } },
    { type: "step-start" },
    { type: "dynamic-tool", toolName: "read", toolCallId: "c2", state: "output-error", input: {}, errorText: "ENOENT" },
    { type: "text", text: "Done." },
  ],
};

type Said = "user_message" | "agent_message" | "system_instruction";

/** An event of the message "m" that says its own action. */
function said(action: Said, more = {}): ConversationEvent {
  return parseEvent({
    id: "m",
    messageId: "m",
    createdAt: 0,
    action,
    content: [{ type: "text", text: action }],
    ...more,
  });
}

test("what is no message, or no time, is refused by name, such as swapped arguments", () => {
  const wrong = messageToEvent as (...args: unknown[]) => unknown;
  for (const args of [[7, turn], [turn, turn], [null], [{ id: "m", role: "user" }], [turn, -1], [turn, "now"]]) {
    expect(codeOf(() => wrong(...args))).toBe("invalid_input");
  }
  expect(() => wrong(7, turn)).toThrow("The first argument is a message: { id, role, parts }.");
  expect(() => wrong(turn, new Date(0))).toThrow("give it in epoch ms");
});

describe("events of messages", () => {
  test("say what happened, one by one, in order", () => {
    const events = messageToEvents(turn, 7);
    expect(events.map(({ id, action }) => [id, action])).toEqual([
      ["m", "agent_message"],
      ["m#2", "tool_call_request"],
      ["m#2:result", "tool_result"],
      ["m#3", "tool_call_request"],
      ["m#4:result", "tool_result"],
      ["m#5", "agent_message"],
    ]);
    expect(events[1]).toMatchObject({
      toolCallId: "c1",
      toolName: "look",
      input: { q: 1 },
      messageId: "m",
      createdAt: 7,
    });
    expect(events[2]).toMatchObject({ toolCallId: "c1", status: "ok", output: { found: 2 } });
    expect(events[4]).toMatchObject({ toolName: "read", status: "error", errorText: "ENOENT" });
    expect(events[0]?.message).toEqual({ metadata: { model: "x" } });
    expect(events.map(firstPart)).toEqual([0, 2, 2, 3, 4, 5]);
    expect(events.map((event) => messageIdOf(event.id))).toEqual(events.map(() => "m"));
  });

  test("M1: any messages taken apart and put together are the same messages", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 4 }), (messages) => {
        const events = messages.flatMap((message) => messageToEvents(message));
        expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
        expect(eventsToMessages(events)).toEqual(messages);
        expect(eventsToMessages(json(events))).toEqual(json(messages));
      }),
      { numRuns: tries(500) },
    );
  });

  test("any event is the same after it was written down flat, and after it was its own message", () => {
    fc.assert(
      fc.property(anyMessage, fc.nat(), (message, createdAt) => {
        for (const event of messageToEvents(message, createdAt)) {
          const record = dehydrateEvent(event);
          expect(Object.values(record).every((value) => typeof value === "string" || typeof value === "number")).toBe(
            true,
          );
          expect(json(hydrateEvent(record))).toEqual(json(event));
          const alone = eventToMessage(event);
          expect(eventToMessage(messageToEvent(alone, createdAt))).toEqual(alone);
          if ("content" in event) expect(messageToEvent(alone, createdAt)).toEqual({ ...event, id: event.messageId });
        }
      }),
      { numRuns: tries(300) },
    );
  });

  test("keep their ids while their message grows", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const whole = messageToEvents(message).map((event) => event.id);
        for (let length = 0; length < message.parts.length; length++) {
          const grown = messageToEvents({ ...message, parts: message.parts.slice(0, length) }).map((event) => event.id);
          // A step that has just begun may turn out to begin with a call. Its place does not change.
          expect(whole).toEqual(expect.arrayContaining(grown));
        }
      }),
      { numRuns: tries(200) },
    );
  });

  test("written by hand they need nothing of the SDK's shapes: a result joins its call", () => {
    const base = { messageId: "m", createdAt: 0, toolCallId: "c", toolName: "look" };
    const asked = parseEvent({ ...base, id: "m", action: "tool_call_request", input: { q: 1 } });
    const answered = parseEvent({ ...base, id: "m#0:result", action: "tool_result", status: "ok", output: [1] });
    const part = { type: "dynamic-tool", toolName: "look", toolCallId: "c", input: { q: 1 } };
    expect(eventToMessage(asked).parts).toEqual([{ ...part, state: "input-available" }]);
    expect(eventsToMessages([asked, answered])).toEqual([
      { id: "m", role: "assistant", parts: [{ ...part, state: "output-available", output: [1] }] },
    ]);
    expect(eventToMessage(answered).parts).toEqual([
      { type: "dynamic-tool", toolName: "look", toolCallId: "c", state: "output-available", output: [1] },
    ]);
  });

  test("a message has one role: words that another role said are refused under its id, and no field of an event gives another (S1)", () => {
    for (const [first, second] of [
      ["user_message", "agent_message"],
      ["agent_message", "user_message"],
      ["user_message", "system_instruction"],
    ] as const) {
      expect(codeOf(() => eventsToMessages([said(first), said(second)]))).toBe("invalid_input");
    }
    const posing = said("agent_message", { message: { role: "system", id: "other", parts: [], metadata: { at: 1 } } });
    expect(eventsToMessages([posing])).toEqual([
      { id: "m", role: "assistant", parts: [{ type: "text", text: "agent_message" }], metadata: { at: 1 } },
    ]);
  });

  test("a compaction is the summary as the model reads it, under an id that is never stored", () => {
    const event: ConversationEvent = {
      id: "palimpsest:overlay:o",
      messageId: "palimpsest:overlay:o",
      createdAt: 1,
      action: "compaction",
      overlayId: "o",
      summary: "What was done",
      fromMessageId: "a",
      toMessageId: "b",
      messages: 12,
    };
    expect(hydrateEvent(dehydrateEvent(event))).toEqual(event);
    const message = eventToMessage(event);
    expect(message.id).toBe("palimpsest:overlay:o");
    expect(JSON.stringify(message)).toContain("[Summary of 12 messages");
  });

  test("what is no event is refused, and the error says why", () => {
    const good = {
      id: "a",
      messageId: "a",
      createdAt: 0,
      action: "user_message",
      content: [{ type: "text", text: "" }],
    };
    expect(parseEvent(good)).toEqual(good);
    const bad = [null, 1, {}, { ...good, action: "shout" }, { ...good, content: "hi" }, { ...good, content: [{}] }];
    bad.push({ ...good, id: "" }, { ...good, createdAt: "today" });
    for (const each of bad) expect(codeOf(() => parseEvent(each))).toBe("invalid_input");
    expect(() => parseEvent({ ...good, content: "hi" })).toThrow("content");
    const record = { id: "a", messageId: "a", action: "user_message" as const, createdAt: 0 };
    for (const data of ["", "{", "null", "[]", "{}"]) {
      expect(codeOf(() => hydrateEvent({ ...record, data }))).toBe("invalid_input");
    }
    expect(codeOf(() => messageToEvent(turn))).toBe("invalid_input");
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    expect(codeOf(() => dehydrateEvent({ ...parseEvent(good), message: cyclic }))).toBe("not_serializable");
  });
});
