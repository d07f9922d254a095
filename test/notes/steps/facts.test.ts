/** Facts of a transcript with summaries, in the order in which they were said. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { factsOfElements } from "../../../src/notes/steps/facts.ts";
import { gatherFacts } from "../../../src/facts/gather.ts";
import { say, text } from "../../steps/conversations.ts";

const RULE = "Never touch the orders table.";
const user = (id: string, words: string): UIMessage => say(id, "user", text(words));

test("a rule that was taken back at the start, and given again under a summary, stands", () => {
  const head = [user("u0", RULE), user("u1", "You may now touch the orders table again.")];
  const under = gatherFacts([user("u2", `On second thought. ${RULE}`)]);
  const elements = [
    ...head.map((message) => ({ kind: "message" as const, message })),
    { kind: "overlay" as const, summary: "what was said" },
    { kind: "message" as const, message: user("u3", "Go on.") },
  ];
  const facts = factsOfElements(elements, [under]);
  expect(facts.rules.map(({ value }) => value)).toContain(RULE);
  expect(facts.messages).toBe(4);
  // Said in the other order, it is gone.
  const before = factsOfElements([elements[2]!, ...elements.slice(1, 2)], [under]);
  expect(before.rules.filter(({ revises }) => revises !== true).map(({ value }) => value)).not.toContain(RULE);
});
