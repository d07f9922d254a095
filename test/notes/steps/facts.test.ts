/** Facts of a transcript with summaries, in the order in which they were said. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { NO_FACTS, type Facts } from "../../../src/facts/fact.ts";
import { gatherFacts } from "../../../src/facts/gather.ts";
import { factsOfElements } from "../../../src/notes/steps/facts.ts";
import type { TranscriptElement } from "../../../src/steps/draft/render.ts";
import { say, text } from "../../steps/conversations.ts";

const user = (id: string, words: string): UIMessage => say(id, "user", text(words));
const said = (id: string, words: string): TranscriptElement => ({ kind: "message", message: user(id, words) });
const SUMMARY: TranscriptElement = { kind: "overlay", summary: "what was said" };
const RULE = { quote: "Never touch the orders table.", messageId: "u1" };

test("what a summary knows stands between what was said before it and behind it", () => {
  const under = gatherFacts([user("u2", "Please count the orders of May.")]);
  const facts = factsOfElements([said("u1", RULE.quote), SUMMARY, said("u3", "And those of June, please.")], [under]);
  expect(facts.said.map(({ messageId }) => messageId)).toEqual(["u1", "u2", "u3"]);
});

test("an instruction that one summary knows ends with a later one that knows its end, and with no earlier one", () => {
  const elements = [SUMMARY, said("u9", "Go on with it."), SUMMARY];
  const by = { messageId: "u2", quote: "You may now touch the orders table." };
  const given: Facts = { ...NO_FACTS, instructions: [RULE] };
  const ended: Facts = { ...NO_FACTS, ended: [{ ...RULE, by }] };
  const facts = (...known: Facts[]): Facts => factsOfElements(elements, known);
  expect(facts(given, ended).instructions).toEqual([]);
  expect(facts(given, NO_FACTS).instructions).toEqual([RULE]);
  expect(facts(ended, given).instructions).toEqual([RULE]);
});
