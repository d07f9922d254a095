/** One message, with its weight, its slices, and the messages that compaction makes. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorCode } from "../../../src/errors.ts";
import { IMAGE_TOKENS, MESSAGE_OVERHEAD_TOKENS, SUMMARY_FRAME_TOKENS } from "../../../src/limits.ts";
import {
  MAX_FILE_TOKENS,
  measureMessage,
  messageSteps,
  sliceMessage,
  stepCount,
  type Part,
} from "../../../src/steps/message/message.ts";
import { WHOLE_MESSAGE } from "../../../src/steps/plan/outline.ts";
import { overlayMessageId, parseSyntheticId, RESERVED_PREFIX, sliceMessageId } from "../../../src/steps/view/view.ts";
import { summaryMessage } from "../../../src/facts/render.ts";
import { bareResult, call, conversation, done, say, stepStart, text } from "../conversations.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const parts: fc.Arbitrary<Part[]> = fc.array(
  fc.oneof(
    fc.constant(stepStart),
    fc.string().map(text),
    fc.string({ minLength: 1 }).map((id) => done(id)),
    fc.string({ minLength: 1 }).map((id) => call(id)),
  ),
  { maxLength: 20 },
);

describe("steps", () => {
  test("V1: steps hold every part of a message exactly once, and a measure has one number for each", () => {
    fc.assert(
      fc.property(parts, fc.constantFrom<UIMessage["role"]>("user", "assistant"), (parts, role) => {
        const message = say("m", role, ...parts);
        const steps = messageSteps(message);
        expect(steps.flat()).toEqual(parts);
        const measure = measureMessage(message, estimateTokens);
        expect(measure.steps).toHaveLength(stepCount(message));
        expect(measure.steps.reduce((a, b) => a + b, 0)).toBe(measure.tokens);
        expect(measure.calls.length + measure.results.length).toBe(
          parts.filter((part) => part.type === "dynamic-tool").length,
        );
      }),
    );
  });

  test("V1: slices at any step put together are the message, and steps keep their numbers as it grows", () => {
    fc.assert(
      fc.property(parts, parts, fc.nat(10), (parts, more, at) => {
        const message = say("m", "assistant", ...parts);
        const last = stepCount(message) - 1;
        const cut = at % (last + 1);
        const before = cut === 0 ? [] : sliceMessage(message, 0, cut - 1).parts;
        expect([...before, ...sliceMessage(message, cut, WHOLE_MESSAGE).parts]).toEqual(parts);
        const grown = messageSteps(say("m", "assistant", ...parts, ...more));
        expect(grown.slice(0, last)).toEqual(messageSteps(message).slice(0, last));
        expect(grown[last]?.slice(0, messageSteps(message)[last]?.length)).toEqual(messageSteps(message)[last]);
      }),
    );
  });

  test("a leading step-start opens the first step, not an empty one", () => {
    expect(stepCount(say("m", "assistant", stepStart, text("a"), stepStart, text("b")))).toBe(2);
    expect(stepCount(say("m", "assistant"))).toBe(1);
  });

  test("the whole of a message is the very same object; a part of it has an id that says which", () => {
    const message = say("m", "assistant", stepStart, text("a"), stepStart, text("b"));
    expect(sliceMessage(message, 0, WHOLE_MESSAGE)).toBe(message);
    expect(sliceMessage(message, 0, 1)).toBe(message);
    const tail = sliceMessage(message, 1, 1);
    expect(parseSyntheticId(tail.id)).toEqual({ kind: "slice", messageId: "m", fromStep: 1, toStep: WHOLE_MESSAGE });
    expect(tail.parts).toEqual([stepStart, text("b")]);
    expect(sliceMessage(message, 7, 9).parts).toEqual([]);
  });

  test("a range that is none is refused with advice", () => {
    for (const [from, to] of [
      [-1, 0],
      [2, 1],
      [0.5, 1],
      [0, Number.NaN],
    ] as const) {
      expect(() => sliceMessage(say("m", "assistant"), from, to)).toThrow(/\[invalid_range\].*give integers/);
    }
  });
});

function file(mediaType: string, url: string): Part {
  return { type: "file", mediaType, url };
}

/** Tokens of the parts alone. */
function weigh(...parts: Part[]): number {
  return measureMessage(say("m", "assistant", ...parts), estimateTokens).tokens - MESSAGE_OVERHEAD_TOKENS;
}

describe("weights", () => {
  test("an image has one price, a file its bytes, up to a limit; a data URL is never counted as text", () => {
    expect(weigh(file("image/png", `data:image/png;base64,${"A".repeat(4_000_000)}`))).toBe(IMAGE_TOKENS);
    expect(weigh(file("application/pdf", `data:application/pdf;base64,${"A".repeat(4_000)}`))).toBe(750);
    expect(weigh(file("application/pdf", `data:application/pdf;base64,${"A".repeat(4_000_000)}`))).toBe(
      MAX_FILE_TOKENS,
    );
  });

  test("what no model is sent costs nothing", () => {
    expect(
      weigh(
        stepStart,
        { type: "source-url", sourceId: "s", url: "https://example.com" },
        {
          type: "data-chart",
          data: { big: "x".repeat(999) },
        },
      ),
    ).toBe(0);
  });

  test("structured output counts as the JSON that is sent, an error as its text", () => {
    expect(weigh(done("a", { rows: "x ".repeat(500) }))).toBeGreaterThan(500);
    expect(
      weigh({
        type: "tool-look",
        toolCallId: "a",
        state: "output-error",
        input: {},
        errorText: "no such file ".repeat(100),
      }),
    ).toBeGreaterThan(300);
  });

  test("a text weighs what the counter says, and what surrounds a message on top", () => {
    expect(measureMessage(say("m", "user", text("some words")), () => 7).tokens).toBe(7 + MESSAGE_OVERHEAD_TOKENS);
  });
});

describe("ties to other messages", () => {
  test("calls wait for a result, results have one, each with its step", () => {
    const measure = measureMessage(
      say("m", "assistant", stepStart, call("a"), done("b"), stepStart, bareResult("c"), call("d")),
      estimateTokens,
    );
    expect(measure.calls).toEqual([
      ["a", 0],
      ["d", 1],
    ]);
    expect(measure.results).toEqual([
      ["b", 0],
      ["c", 1],
    ]);
  });

  test("the provider's id of a reply is found in metadata and in parts", () => {
    const inPart: Part = { type: "text", text: "x", providerMetadata: { openai: { itemId: "msg_1" } } };
    expect(measureMessage(say("m", "assistant", inPart), estimateTokens).group).toBe("msg_1");
    expect(
      measureMessage({ ...say("m", "assistant", inPart), metadata: { providerMessageId: "p" } }, estimateTokens).group,
    ).toBe("p");
    expect(measureMessage(say("m", "user", inPart), estimateTokens).group).toBeNull();
  });
});

function opening(source: { spanMessages?: number }): string {
  return JSON.stringify(summaryMessage({ overlayId: "o1", summary: "s", ...source }).parts).slice(0, 100);
}

describe("synthetic messages", () => {
  test("every reserved id is read back, and no id of a caller's own is taken for one", () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.nat(), (id, from, more) => {
        expect(parseSyntheticId(overlayMessageId(id))).toEqual({ kind: "overlay", overlayId: id });
        const slice = { messageId: id, fromStep: from, toStep: from + more };
        expect(parseSyntheticId(sliceMessageId(id, from, from + more))).toEqual({ kind: "slice", ...slice });
        expect(parseSyntheticId(sliceMessageId(id, from, WHOLE_MESSAGE))).toEqual({
          kind: "slice",
          ...slice,
          toStep: WHOLE_MESSAGE,
        });
        if (!id.startsWith(RESERVED_PREFIX)) expect(parseSyntheticId(id)).toBeNull();
      }),
    );
  });

  test("a summary whose sections all say nothing shows the first of them alone", () => {
    const summary = "## Goal\nNone.\n\n## Rules\n- None.\n\n## State\nN/A";
    const [part] = summaryMessage({ overlayId: "o1", summary }).parts;
    expect(part?.type === "text" && part.text).toMatch(
      /^\[Summary of earlier messages, [^\n]*\]\n\n## Goal\nNone\.\n\n\[End of the record\.[^\n]*\]$/,
    );
  });

  test("a summary is a user message framed as a record, marked as synthetic, and says when no model wrote it", () => {
    const message = summaryMessage({ overlayId: "o1", summary: "## Goal\nShip.", spanMessages: 12, degraded: true });
    expect(message).toMatchObject({
      id: overlayMessageId("o1"),
      role: "user",
      metadata: { palimpsest: { kind: "overlay", overlayId: "o1" } },
    });
    const [part] = message.parts;
    expect(part?.type === "text" && part.text).toMatch(
      /^\[Summary of 12 messages, [^\n]*not a request: [^\n]* Made without a model\.[^\n]*\]\n\n## Goal\nShip\.\n\n\[End of the record\.[^\n]*\]$/,
    );
    expect(part?.type === "text" && part.text, "what holds, what may not, and how to get originals").toMatch(
      /goal and open points may be settled since, what it lists as in force or loaded holds\.[^\n]*"recall", if you have it, reads \[@0a1b2c3\]/,
    );
    for (const spanMessages of [1, 99_999]) {
      const framed = summaryMessage({ overlayId: "o1", summary: "", spanMessages, degraded: true });
      expect(measureMessage(framed, estimateTokens).tokens).toBeLessThanOrEqual(SUMMARY_FRAME_TOKENS);
    }
    expect(opening({ spanMessages: 1 })).toContain("[Summary of 1 message or some of its steps");
    expect(opening({})).toContain("[Summary of earlier messages");
  });
});

test("errors keep their code", () => {
  try {
    sliceMessage(say("m", "user"), -1, 0);
  } catch (error) {
    expect(errorCode(error)).toBe("invalid_range");
  }
  expect.assertions(1);
});

test("measures of whole conversations are finite, whatever the shape", () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      for (const message of messages) expect(measureMessage(message, estimateTokens).tokens).toBeGreaterThan(0);
    }),
  );
});
