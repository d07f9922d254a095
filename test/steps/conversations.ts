/** Random conversations of every shape that compaction meets, as messages and as outlines of them. */
import type { ModelMessage, UIMessage } from "ai";
import * as fc from "fast-check";
import { measureMessage, type Part } from "../../src/steps/message/message.ts";
import type { Outline, OutlineRow } from "../../src/steps/plan/outline.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export const text = (value: string): Part => ({ type: "text", text: value });
export const stepStart: Part = { type: "step-start" };

export function call(id: string, input: unknown = { q: id }): Part {
  return { type: "dynamic-tool", toolName: "look", toolCallId: id, state: "input-available", input };
}

export function done(id: string, output: unknown = { found: id }): Part {
  return {
    type: "dynamic-tool",
    toolName: "look",
    toolCallId: id,
    state: "output-available",
    input: { q: id },
    output,
  };
}

/** A result as an import with separate messages stores it. The call's message holds the input. */
export function bareResult(id: string, output: unknown = { found: id }): Part {
  return {
    type: "dynamic-tool",
    toolName: "look",
    toolCallId: id,
    state: "output-available",
    input: undefined,
    output,
  };
}

export function say(id: string, role: UIMessage["role"], ...parts: Part[]): UIMessage {
  return { id, role, parts };
}

type Unit = (name: string) => UIMessage[];

const words = fc.integer({ min: 1, max: 400 }).map((count) => "palimpsest ".repeat(count));

const userTurn: fc.Arbitrary<Unit> = words.map((body) => (name) => [say(name, "user", text(body))]);

const reply: fc.Arbitrary<Unit> = fc
  .array(fc.record({ body: words, tools: fc.integer({ min: 0, max: 3 }), answered: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((steps) => (name) => [
    say(
      name,
      "assistant",
      ...steps.flatMap(({ body, tools, answered }, step) => [
        stepStart,
        text(body),
        ...Array.from({ length: tools }, (_, n) =>
          answered ? done(`${name}-${step}-${n}`) : call(`${name}-${step}-${n}`),
        ),
      ]),
    ),
  ]);

const enormous: fc.Arbitrary<Unit> = fc
  .array(fc.integer({ min: 200, max: 2_000 }), { minLength: 1, maxLength: 12 })
  .map((steps) => (name) => [
    say(name, "assistant", ...steps.flatMap((size) => [stepStart, text("palimpsest ".repeat(size))])),
  ]);

/** Parallel calls with results in separate messages, in any order, some without a result, and sometimes a result without a call. */
const separate: fc.Arbitrary<Unit> = fc
  .record({
    calls: fc.integer({ min: 1, max: 4 }),
    order: fc.array(fc.nat(1_000), { minLength: 4, maxLength: 4 }),
    lost: fc.nat(9),
    orphan: fc.nat(9),
    chatter: fc.boolean(),
  })
  .map(({ calls, order, lost, orphan, chatter }) => (name) => {
    const ids = Array.from({ length: calls }, (_, n) => `${name}-${n}`);
    const keys = new Map(ids.map((id, n) => [id, order[n]]));
    const answered = ids.filter((_, n) => n !== lost).toSorted((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0));
    const messages = [say(`${name}-ask`, "assistant", text("looking"), ...ids.map((id) => call(id)))];
    answered.forEach((id, n) => {
      if (chatter && n === 1) messages.push(say(`${name}-chat`, "user", text("are you there")));
      messages.push(say(`${name}-answer-${n}`, "assistant", bareResult(id)));
    });
    if (orphan === 0) messages.push(say(`${name}-orphan`, "assistant", bareResult(`${name}-nobody`)));
    return messages;
  });

const grouped: fc.Arbitrary<Unit> = fc.integer({ min: 2, max: 4 }).map(
  (count) => (name) =>
    Array.from({ length: count }, (_, n) => ({
      ...say(`${name}-${n}`, "assistant", text("thinking ".repeat(30)), done(`${name}-${n}`)),
      metadata: { providerMessageId: name },
    })),
);

/** A conversation of at most so many turns and replies, with unique ids. */
export function conversationOf(length: { minLength?: number; maxLength: number }): fc.Arbitrary<UIMessage[]> {
  const unit = fc.oneof(
    { weight: 4, arbitrary: userTurn },
    { weight: 4, arbitrary: reply },
    { weight: 1, arbitrary: enormous },
    { weight: 3, arbitrary: separate },
    { weight: 2, arbitrary: grouped },
  );
  return fc.array(unit, length).map((units) => units.flatMap((unit, index) => unit(`m${index}`)));
}

/** A conversation of up to about a hundred messages. */
export const conversation: fc.Arbitrary<UIMessage[]> = conversationOf({ maxLength: 24 });

function inOrder(a: string, b: string): number {
  return a.localeCompare(b);
}

/** The ids of a prompt's tool calls, and those of its results, both sorted. */
export function callsAndResults(messages: readonly ModelMessage[]): [calls: string[], results: string[]] {
  const calls: string[] = [];
  const results: string[] = [];
  for (const { content } of messages) {
    for (const part of typeof content === "string" ? [] : content) {
      if (part.type === "tool-call") calls.push(part.toolCallId);
      if (part.type === "tool-result") results.push(part.toolCallId);
    }
  }
  return [calls.toSorted(inOrder), results.toSorted(inOrder)];
}

export function messageRow(message: UIMessage): OutlineRow {
  const { tokens, steps, calls, results, texts, group } = measureMessage(message, estimateTokens);
  return {
    kind: "message",
    id: message.id,
    role: message.role,
    tokens,
    firstStep: 0,
    steps,
    complete: true,
    calls,
    results,
    texts,
    group,
  };
}

export function overlayRow(id: string, tokens: number): OutlineRow {
  return {
    kind: "overlay",
    id,
    role: "user",
    tokens,
    firstStep: 0,
    steps: [tokens],
    complete: true,
    calls: [],
    results: [],
    texts: [],
    group: null,
  };
}

export function outlineOf(rows: readonly OutlineRow[], more: Partial<Outline> = {}): Outline {
  const overheadTokens = more.overheadTokens ?? 0;
  const tokens = overheadTokens + rows.reduce((sum, row) => sum + row.tokens, 0);
  return { sessionId: "s", leafId: rows.at(-1)?.id ?? "none", overheadTokens, tokens, rows, truncated: false, ...more };
}

/** An outline with its messages. Overlays replace runs of rows, and one of them may begin inside a message. */
export interface Scene {
  readonly messages: readonly UIMessage[];
  readonly outline: Outline;
}

export const scene: fc.Arbitrary<Scene> = fc
  .record({
    messages: conversation,
    overlays: fc.array(
      fc.record({ at: fc.nat(100), length: fc.integer({ min: 1, max: 10 }), tokens: fc.integer({ min: 1, max: 900 }) }),
      { maxLength: 3 },
    ),
    truncated: fc.nat(9),
  })
  .map(({ messages, overlays, truncated }) => {
    const rows: OutlineRow[] = messages.map(messageRow);
    overlays.forEach(({ at, length, tokens }, index) => {
      const start = rows.length === 0 ? 0 : at % rows.length;
      const last = rows[start + length - 1];
      rows.splice(start, length, overlayRow(`overlay${index}`, tokens), ...(last === undefined ? [] : rest(last)));
    });
    return { messages, outline: outlineOf(rows, { truncated: truncated === 0 }) };
  });

/** The rest of a message of several steps when an overlay ends after its first. */
function rest(row: OutlineRow): OutlineRow[] {
  const [first, ...steps] = row.steps;
  if (first === undefined || steps.length === 0 || row.kind === "overlay") return [];
  const later = ([, step]: readonly [string, number]): boolean => step > row.firstStep;
  return [
    {
      ...row,
      firstStep: row.firstStep + 1,
      steps,
      tokens: row.tokens - first,
      calls: row.calls.filter(later),
      results: row.results.filter(later),
    },
  ];
}
