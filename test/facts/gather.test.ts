/** What stands beside a summary is the same however messages are cut, within its budget, and harmless in any wording. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  besideEarlier,
  NO_FACTS,
  NOTHING_PINNED,
  withoutDocuments,
  type Facts,
  type Pinned,
} from "../../src/facts/fact.ts";
import { keepFacts } from "../../src/facts/beside.ts";
import { gatherFacts, mergeFacts } from "../../src/facts/gather.ts";
import { IN_FORCE_HEADING, renderPinned, renderSaid, SAID_HEADING, summaryMessage } from "../../src/facts/render.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { expectLinear } from "../growth.ts";
import { conversation, done, say, text } from "../steps/conversations.ts";

const countTokens = estimateTokens;
const held = { quote: "Never touch the ledger.", messageId: "m0" };

function sayings(count: number): UIMessage[] {
  return Array.from({ length: count }, (_, n) => say(`m${n}`, "user", text(`Count the boats of quay ${n}, please.`)));
}

describe("the facts of a conversation", () => {
  test("are the same however the messages are cut into chunks", () => {
    fc.assert(
      fc.property(conversation, fc.nat(14), fc.nat(14), (messages, one, other) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const parts = [messages.slice(0, from), messages.slice(from, to), messages.slice(to)].map(gatherFacts);
        expect(mergeFacts(parts).said).toEqual(mergeFacts([gatherFacts(messages)]).said);
      }),
    );
  });

  test("stay within their bounds, as JSON too, and keep the newest", () => {
    const facts = gatherFacts(sayings(3_000));
    expect(facts.said).toHaveLength(80);
    expect(facts.said.at(-1)?.messageId).toBe("m2999");
    const long = Array.from({ length: 300 }, (_, n) => say(`m${n}`, "user", text(`${n} ${"word ".repeat(9_000)}`)));
    expect(JSON.stringify(gatherFacts(long)).length).toBeLessThan(300_000);
    expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
  });

  test("have nothing of a summary, and are none of no messages", () => {
    const summary = summaryMessage({ overlayId: "o", summary: "Never touch the ledger again, please." });
    expect(gatherFacts([summary])).toEqual(NO_FACTS);
    expect(gatherFacts([])).toEqual(NO_FACTS);
    expect(mergeFacts([])).toEqual(NO_FACTS);
  });

  test("are read from odd parts without failing", () => {
    const odd = [
      { type: "text" },
      { type: "text", text: 3 },
      { type: "steering-message", parts: [null, { type: "text" }] },
      { type: "tool-x", input: null },
      { type: "dynamic-tool" },
    ];
    for (const role of ["user", "assistant", "system"] as const)
      expect(gatherFacts([{ id: "m", role, parts: odd as never, metadata: 3 }])).toEqual({
        ...NO_FACTS,
        said: role === "user" ? [{ messageId: "m", text: "3", left: 0 }] : [],
      });
  });
});

describe("what is chosen of them", () => {
  test("is every instruction, then the user's words, the newest first, in their order and within the budget", () => {
    const facts: Facts = { ...gatherFacts(sayings(40)), instructions: [held] };
    const whole = keepFacts(facts, { pinnedTokens: 5_000, countTokens });
    expect(whole.said).toHaveLength(40);
    const some = keepFacts(facts, { pinnedTokens: 300, countTokens });
    expect(some.instructions).toEqual([held]);
    expect(some.said).toEqual(facts.said.slice(-some.said.length));
    expect(some.said.length).toBeGreaterThan(5);
    // A blank line stands between the parts.
    expect(countTokens(renderPinned(some))).toBeLessThanOrEqual(300 + 2);
    const none = keepFacts(facts, { pinnedTokens: 0, countTokens });
    expect([none.instructions, none.said]).toEqual([[held], []]);
  });

  test("is the newest message without its middle, where it alone is over the budget", () => {
    const facts = gatherFacts([
      ...sayings(20),
      { id: "long", role: "user", parts: [{ type: "text", text: "長い依頼。".repeat(180) }] },
    ]);
    const { said } = keepFacts(facts, { pinnedTokens: 400, countTokens });
    expect(said.at(-1)).toMatchObject({
      messageId: "long",
      text: expect.stringMatching(/^長い.* \[…\] .*。$/) as unknown,
    });
    expect(said.at(-1)?.left).toBeGreaterThan(400);
  });

  test("never takes the room that the summary's own text leaves (V3), whatever is asked for", () => {
    fc.assert(
      fc.property(
        fc.nat(60),
        fc.nat(3_000),
        fc.nat(3_000),
        fc.nat(3_000),
        (count, pinnedTokens, loadedTokens, mostTokens) => {
          const read = {
            ...done("c", "A rule of the house.\n".repeat(30)),
            type: "tool-read",
            input: { path: "AGENTS.md" },
          } as never;
          const facts = gatherFacts([...sayings(count), say("a", "assistant", read)]);
          const pinned = keepFacts(facts, { pinnedTokens, loadedTokens, mostTokens, countTokens });
          expect(countTokens(renderSaid(pinned.said))).toBeLessThanOrEqual(pinnedTokens);
          expect(countTokens(renderPinned(pinned))).toBeLessThanOrEqual(mostTokens + 2);
        },
      ),
    );
  });

  test("has the words of its own span, and the instructions and loaded texts of all that is hidden", () => {
    const read = {
      ...done("c", "A rule of the house.\n".repeat(9)),
      type: "tool-read",
      input: { path: "AGENTS.md" },
    } as never;
    const earlier = {
      ...gatherFacts([say("e", "user", text("Look at the old harbour.")), say("a", "assistant", read)]),
      instructions: [held],
    };
    const own = gatherFacts([say("m", "user", text("Look at the new harbour."))]);
    const pinned = keepFacts(own, { pinnedTokens: 900, loadedTokens: 900, countTokens }, [earlier]);
    expect(pinned.said.map(({ messageId }) => messageId)).toEqual(["m"]);
    expect(pinned.instructions).toEqual([held]);
    expect(pinned.loaded.map(({ name }) => name)).toEqual(["AGENTS.md"]);
  });

  test("is left out of an earlier summary where a later one has it, and no entry of a block stands twice", () => {
    const loaded = ["document", "context"].map((kind) => ({
      kind: kind as "document",
      name: kind,
      text: "x",
      characters: 1,
      messageId: "m",
    }));
    const pinned: Pinned = {
      ...NOTHING_PINNED,
      instructions: [held],
      said: [{ messageId: "m", text: "Count.", left: 0 }],
      loaded,
    };
    expect(besideEarlier(pinned)).toMatchObject({ instructions: [], loaded: [], said: pinned.said });
    expect(besideEarlier(pinned, true)).toMatchObject({ instructions: [held], loaded: [] });
    expect(withoutDocuments(pinned, () => new Set(["document", "context"])).loaded.map(({ name }) => name)).toEqual([
      "document",
    ]);
    expect(withoutDocuments(pinned).loaded).toHaveLength(2);
  });
});

describe("the rendering", () => {
  test("is empty for nothing", () => {
    expect(renderPinned(NOTHING_PINNED)).toBe("");
  });

  test("has what the user said with references and what is left out, and the instructions below", () => {
    const said = [
      { messageId: "m1", text: "Count\nthe boats.", left: 0 },
      { messageId: "m2", text: "a […] b", left: 4_100 },
    ];
    const lines = renderPinned({ ...NOTHING_PINNED, instructions: [held], said }).split("\n");
    expect(lines).toEqual([
      SAID_HEADING,
      expect.stringMatching(/^- \[@[0-9a-z]{7}\] Count the boats\.$/),
      expect.stringMatching(/^- \[@[0-9a-z]{7}, 4100 characters left out\] a \[…\] b$/),
      "",
      IN_FORCE_HEADING,
      expect.any(String),
      expect.stringMatching(/^- "Never touch the ledger\." \[@[0-9a-z]{7}\]$/),
    ]);
  });

  test("keeps hostile words in one harmless line each", () => {
    const piece = fc.constantFrom(
      "## Still in force",
      "\n",
      "\r\n",
      "\u2028",
      "</transcript>",
      "<draft x>",
      "- ",
      "```",
      "\u202e",
      "word",
    );
    const hostile = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(fc.array(hostile), fc.array(hostile), (quoted, saidWords) => {
        const pinned: Pinned = {
          ...NOTHING_PINNED,
          instructions: quoted.map((quote, n) => ({ quote, messageId: `m${n}` })),
          said: saidWords.map((words, n) => ({ messageId: `m${n}`, text: words, left: n })),
        };
        const rendered = renderPinned(pinned);
        const lines = rendered.split(/[\r\n\u2028]/);
        expect(lines.filter((line) => line.startsWith("- "))).toHaveLength(quoted.length + saidWords.length);
        expect(lines.filter((line) => line.startsWith("#")).length).toBe(
          Math.min(1, quoted.length) + Math.min(1, saidWords.length),
        );
        expect(rendered).not.toMatch(/<\/?(?:transcript|draft)\b|\u202e/i);
      }),
    );
  });
});

const parted = (size: number): Facts[] =>
  Array.from({ length: size }, (_, n) => gatherFacts([say(`m${n}`, "user", text(`Count the boats of quay ${n}.`))]));

test("time grows with the number of messages alone", () => {
  expectLinear(sayings, (messages) => keepFacts(gatherFacts(messages), { pinnedTokens: 300, countTokens }), 3_000);
  expectLinear(parted, (parts) => mergeFacts(parts), 2_000);
});
