/** The benchmark's judge: what it asks of a view, and what it counts as reached. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { makeReturning } from "../../bench/drift/conversation.ts";
import { readConversation } from "../../bench/judge/conversation.ts";
import { follow } from "../../bench/judge/follow.ts";
import { checksOf } from "../../bench/judge/present.ts";
import { count, findWorst, shareOf } from "../../bench/judge/tally.ts";
import { askFor, isName, judgeView, type Verdict } from "../../bench/judge/verdict.ts";
import type { Host } from "../../bench/policies/host.ts";
import { done, say, text } from "./conversations.ts";

const NAMES = { matter: "names", use: "written", way: "view" } as const;

const talk: UIMessage[] = [
  say("u1", "user", text("Never touch src/billing.ts. Look at src/ledger.ts, src/outline.ts and src/fence.ts.")),
  say("a2", "assistant", done("c2", { found: "src/output.ts and ORD-1234, a zanzibarian matter" })),
  say("u3", "user", text("Thanks.")),
  say("a4", "assistant", text("I go back to src/ledger.ts and to the zanzibarian matter.")),
  say("a5", "assistant", done("c5", "src/outline.ts has 3 lines, ORD-1234 none")),
];
const conversation = readConversation(talk);

function valuesOf({ facts }: Verdict, wanted: (fact: Verdict["facts"][number]) => boolean): string[] {
  return facts.filter((fact) => wanted(fact)).map(({ value }) => value);
}

function summary(said: string): UIMessage[] {
  return [say("s", "user", text(said))];
}

function inView(said: string): string[] {
  return valuesOf(judgeView(conversation, 3, summary(said)), ({ inView }) => inView);
}

function rules(messages: readonly UIMessage[]): string[] {
  return valuesOf(judgeView(readConversation(messages), messages.length, []), ({ kind }) => kind === "rule");
}

test("a name is wanted when it was replaced and is said again: written by somebody, or in an output", () => {
  const verdict = judgeView(conversation, 3, talk.slice(2, 3));
  expect(valuesOf(verdict, (fact) => isName(fact) && fact.again.written)).toEqual(["src/ledger.ts"]);
  expect(valuesOf(verdict, (fact) => isName(fact) && fact.again.anywhere)).toEqual([
    "src/ledger.ts",
    "src/outline.ts",
    "ORD-1234",
  ]);
  expect(valuesOf(verdict, ({ kind }) => kind === "word")).toEqual(["ledger", "zanzibarian", "matter"]);
  expect(valuesOf(verdict, ({ inView }) => inView)).toEqual([]);
});

test("a text that the view shows under any id is not replaced; an output that was pruned is", () => {
  const renamed = talk.slice(0, 3).map((message) => ({ ...message, id: `other ${message.id}` }));
  expect(valuesOf(judgeView(conversation, 3, renamed), (fact) => isName(fact))).toEqual([]);
  const pruned = [talk[0], say("a2", "assistant", done("c2", "(pruned)")), talk[2]] as UIMessage[];
  expect(valuesOf(judgeView(conversation, 3, pruned), (fact) => isName(fact))).toEqual(["ORD-1234"]);
});

test("a fact is reached by its characters, whoever says them, and not inside a longer name", () => {
  expect(inView("It went on in `SRC/ledger.ts`.")).toEqual(["src/ledger.ts", "ledger"]);
  expect(inView("It went on in src/ledger.tsx.")).toEqual(["ledger"]);
  expect(inView("never touch  src/billing.ts.")).toEqual(["Never touch src/billing.ts."]);
});

test("a rule is wanted for as long as nobody took it back", () => {
  expect(rules(talk)).toEqual(["Never touch src/billing.ts."]);
  const lifted = say("u6", "user", text("You may now touch src/billing.ts again."));
  expect(rules([...talk, lifted])).toEqual(["You may now touch src/billing.ts again."]);
});

test("whatever is cut, a view that shows all misses nothing, and one that shows more never reaches less", () => {
  const messages = makeReturning(20, 1);
  const session = readConversation(messages);
  const reached = (stored: number, from: number): Set<string> =>
    new Set(valuesOf(judgeView(session, stored, messages.slice(from, stored)), ({ inView }) => inView));
  fc.assert(
    fc.property(fc.nat(39), fc.nat(39), fc.nat(39), (...ends) => {
      const [wide = 0, narrow = 0, stored = 0] = ends.toSorted((one, other) => one - other);
      expect(valuesOf(judgeView(session, stored, messages.slice(0, stored)), (fact) => isName(fact))).toEqual([]);
      // What the wider view shows as it was said is not asked for there; of what both are asked for, it reaches no less.
      const asked = new Set(valuesOf(judgeView(session, stored, messages.slice(wide, stored)), () => true));
      const fewer = [...reached(stored, narrow)].filter((value) => asked.has(value));
      expect(fewer.filter((value) => !reached(stored, wide).has(value))).toEqual([]);
    }),
  );
});

test("recall is asked for names that are not in view, evenly chosen and no more than was said", async () => {
  const session = readConversation(makeReturning(60, 2));
  const verdict = judgeView(session, 60, []);
  const missing = valuesOf(verdict, (fact) => isName(fact));
  expect(missing.length).toBeGreaterThan(10);
  for (const most of [1, 4, missing.length, 1_000]) {
    const questions: string[] = [];
    const answered = await askFor(verdict, most, async (question) => {
      questions.push(question);
      return questions.length % 2 === 0 ? `It was ${question}.` : "nothing";
    });
    expect(questions.length).toBe(Math.min(most, missing.length));
    expect(questions.filter((question) => !missing.includes(question))).toEqual([]);
    expect(answered.facts.filter(({ recalled }) => recalled === true).length).toBe(Math.floor(questions.length / 2));
  }
});

test("shares count what is in view, and of the rest what recall found, one asked for standing for those that were not", async () => {
  const verdict = judgeView(conversation, 3, summary("ORD-1234"));
  expect(count(verdict, NAMES)).toEqual({ reached: 0, of: 1 });
  expect(count(verdict, { ...NAMES, use: "anywhere" })).toEqual({ reached: 1, of: 3 });
  const asked = await askFor(verdict, 1, async (question) => question);
  expect(count(asked, { ...NAMES, use: "anywhere", way: "view or recall" })).toEqual({ reached: 3, of: 3 });
  expect(count(asked, { ...NAMES, matter: "rule", way: "view or recall" })).toEqual({ reached: 0, of: 1 });
  expect(
    shareOf([
      { reached: 1, of: 3 },
      { reached: 3, of: 3 },
    ]),
  ).toBeCloseTo(2 / 3);
  expect(shareOf([])).toBe(1);
});

test("the worst verdict is named with what was missing, what is ruled and open first", () => {
  const good = judgeView(conversation, 3, summary("src/ledger.ts"));
  const worst = judgeView(conversation, 3, []);
  expect(findWorst([good, worst, worst], "written")).toMatchObject({ share: 0, at: 2 });
  expect(findWorst([good, worst], "written")?.missing.map(({ value }) => value)).toEqual([
    "Never touch src/billing.ts.",
    "Look at src/ledger.ts, src/outline.ts and src/fence.ts.",
    "src/ledger.ts",
  ]);
  expect(findWorst([], "written")).toBeNull();
});

/** Shows the last of every ten messages that it was given, and behind a summary that says `kept`, nothing of the others. */
function hostInMemory(name: string, kept: string): Host & { readonly asked: string[]; closed: boolean } {
  const stored: UIMessage[] = [];
  const asked: string[] = [];
  let hidden = 0;
  return {
    name,
    asked,
    closed: false,
    append: async (message) => {
      stored.push(message);
      const compacted = stored.length % 10 === 0;
      if (compacted) hidden = stored.length - 1;
      return { compacted, tokens: 0 };
    },
    view: async () => [...summary(kept), ...stored.slice(hidden)],
    recall: async (question) => {
      asked.push(question);
      return question;
    },
    spent: async () => ({ calls: 0, inputTokens: 0, outputTokens: 0 }),
    async close() {
      this.closed = true;
    },
  };
}

test("a host is judged after each compaction, asked at the depths alone, and closed after the deepest", async () => {
  const host = hostInMemory("ours", "");
  const session = readConversation(makeReturning(40, 3));
  const track = await follow(host, session, { depths: [2, 4], most: 3 });
  expect(track.verdicts.map(({ stored }) => stored)).toEqual([10, 20, 30, 40]);
  expect(track.viewTokens).toHaveLength(4);
  expect(track.verdicts.map(({ facts }) => facts.some(({ recalled }) => recalled !== null))).toEqual([
    false,
    true,
    false,
    true,
  ]);
  expect([host.asked.length, host.closed]).toEqual([6, true]);
});

function leadIn(checks: ReturnType<typeof checksOf>): number | undefined {
  return checks.find(({ claim }) => claim.endsWith(", view"))?.measured;
}

test("ours is held to its least lead over any other policy, whoever that is and however deep", async () => {
  const session = readConversation(makeReturning(40, 3));
  const all = session.said.flatMap((texts) => texts.map(({ text }) => text)).join("\n");
  const trackOf = (name: string, kept: string) =>
    follow(hostInMemory(name, kept), session, { depths: [1, 4], most: 5 });
  const contest = async (ours: string, other: string) => ({
    conversation: "a session",
    summariser: "none",
    tracks: [
      await trackOf("forgetful", ""),
      await trackOf("other", other),
      await trackOf("ours", ours),
      await trackOf("ours with notes", ""),
    ],
  });
  expect(leadIn(checksOf(await contest(all, ""), [1, 4]))).toBeGreaterThan(0.5);
  expect(leadIn(checksOf(await contest("", all), [1, 4]))).toBe(-1);
  expect(leadIn(checksOf(await contest(all, all), [1, 4]))).toBe(0);
});
