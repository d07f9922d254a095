/** The benchmark's judge, with the facts that it asks of a view and those that it counts as reached. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { makeReturning } from "../../bench/drift/conversation.ts";
import { readConversation } from "../../bench/judge/conversation.ts";
import { follow } from "../../bench/judge/follow.ts";
import type { Contest } from "../../bench/judge/contest.ts";
import { behindOf, leadsOf } from "../../bench/judge/leads.ts";
import { tablesOf } from "../../bench/judge/present.ts";
import { checksOf } from "../../bench/judge/promises.ts";
import { joinByCustomer } from "../../bench/judge/service.ts";
import { count, findWorst, shareOf } from "../../bench/judge/tally.ts";
import { askFor, isName, judgeView, type Verdict } from "../../bench/judge/verdict.ts";
import type { Host } from "../../bench/policies/host.ts";
import { renderCell } from "../../bench/report.ts";
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
      // Facts that the wider view shows unchanged are not asked of it. Of the facts that both are asked for, it reaches no fewer.
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

test("a policy that is given no way back has no share with recall, and nobody leads over it there", async () => {
  const given = { depths: [1, 4], most: 5 };
  const follows = (policy: string, recall: Host["recall"]) =>
    follow({ ...hostInMemory(policy, ""), recall }, SESSION, given);
  const tracks = [
    await follows("ours", async (question) => question),
    await follows("without", null),
    await follows("lost", async () => ""),
  ];
  const contest: Contest = {
    conversation: "a session",
    summariser: "none",
    over: "seeds",
    draws: [{ name: "1", tracks }],
  };
  expect(tracks.map(({ recalls }) => recalls)).toEqual([true, false, true]);
  expect(await cellIn(contest, "of the names", ["without", "view or recall, after 4"])).toBe("–");
  expect(await cellIn(contest, "of the names", ["without", "view, after 4"])).toMatch(/^0\.00 of/);
  expect(await cellIn(contest, "of the names", ["ours", "view or recall, after 4"])).toBe(1);
  const counting = { ...NAMES, way: "view or recall" } as const;
  const leads = leadsOf(contest, "ours", { depths: given.depths, counting });
  expect(leads.map(({ rival, by }) => [rival, by])).toEqual([
    ["lost", 1],
    ["lost", 1],
  ]);
});

const DEPTHS = [1, 4];
const SESSION = readConversation(makeReturning(40, 3));
const ALL = SESSION.said.flatMap((texts) => texts.map(({ text: said }) => said)).join("\n");
const RULES = (SESSION.standing.at(-1)?.rules ?? []).map(({ value }) => value).join("\n");

/** Four policies, ours first, with the text that each keeps. */
async function drawOf(name: string, kept: Readonly<Record<string, string>>): Promise<Contest["draws"][number]> {
  const following = { depths: DEPTHS, most: 5 };
  const tracks = Object.entries({ ours: "", "ours with notes": "", forgetful: "", other: "", ...kept }).map(
    ([policy, keeps]) => follow(hostInMemory(policy, keeps), SESSION, following),
  );
  return { name, tracks: await Promise.all(tracks) };
}

async function contestOf(...kept: readonly Readonly<Record<string, string>>[]): Promise<Contest> {
  const draws = await Promise.all(kept.map((each, at) => drawOf(`seed ${at + 1}`, each)));
  return { conversation: "a session", summariser: "none", over: "seeds", draws };
}

async function measuredIn(contest: Contest, ends: string): Promise<number | undefined> {
  const ours = checksOf(contest, DEPTHS).filter(({ claim }) => !claim.includes("with notes"));
  return ours.find(({ claim }) => claim.endsWith(ends))?.measured;
}

async function cellIn(contest: Contest, caption: string, [row, column]: readonly [string, string]) {
  const table = tablesOf(contest, DEPTHS).find((each) => each.caption?.includes(caption));
  const found = table?.rows.find(([first = "", second = ""]) =>
    `${renderCell(first)} ${renderCell(second)}`.startsWith(row),
  );
  return found?.[table?.columns.indexOf(column) ?? -1];
}

test("ours is held to its least lead over any other policy, whoever that is and however deep", async () => {
  expect(await measuredIn(await contestOf({ ours: ALL }), ", names in view")).toBeGreaterThan(0.5);
  expect(await measuredIn(await contestOf({ other: ALL }), ", names in view")).toBe(-1);
  expect(await measuredIn(await contestOf({ ours: ALL, other: ALL }), ", names in view")).toBe(0);
});

test("ours is held to what no rule of its pinning finds as well: a rival that keeps words alone is ahead in them", async () => {
  const words = SESSION.said.flatMap((texts) =>
    texts.flatMap(({ names }) => names.filter(({ kind }) => kind === "word")),
  );
  const contest = await contestOf({ other: words.map(({ value }) => value).join(" ") });
  expect(await measuredIn(contest, "at any depth, rare words in view")).toBeLessThan(0);
  expect(await measuredIn(contest, "over all compactions, rare words in view")).toBeLessThan(0);
});

test("ours is held to the open tasks as to names, and to nothing where there were none", async () => {
  const tasks = SESSION.standing.flatMap((standing) => standing.tasks.map(({ value }) => value)).join("\n");
  expect(await measuredIn(await contestOf({ other: tasks }), "open tasks in view")).toBe(-1);
  expect(await measuredIn(await contestOf({ ours: tasks }), "open tasks in view")).toBeGreaterThanOrEqual(0);
  expect(await measuredIn(await contestOf({}), "failures that stand in view")).toBeUndefined();
});

test("of several draws the worst one counts: for the lead, the rules and the size of the view", async () => {
  const contest = await contestOf({ ours: ALL }, { ours: "", other: ALL });
  expect(await measuredIn(contest, ", names in view")).toBe(-1);
  expect(await measuredIn(contest, "rules in view, ours, the least")).toBe(0);
  expect(await measuredIn(contest, "over the smallest of any policy")).toBeGreaterThan(2);
  expect(checksOf(contest, DEPTHS)[0]?.claim).toContain("the worst of 2 seeds");
  expect(checksOf(await contestOf({ ours: ALL }), DEPTHS)[0]?.claim).not.toContain("worst of");
});

test("a table shows the median of all draws with the least and the most, and of how many; of one draw its figure alone", async () => {
  const three = await contestOf({ ours: ALL }, { ours: ALL }, {});
  const [of = 0] = judgedAt(three, 4);
  expect(await cellIn(three, "of the names", ["ours", "view, after 4"])).toBe(`1.00 (0.00–1.00) of ${of}`);
  expect(await cellIn(three, "of the names", ["forgetful", "view, after 4"])).toBe(`0.00 of ${of}`);
  expect(await cellIn(three, "over all compactions", ["ours", "written"])).toEqual({ median: 1, least: 0, most: 1 });
  const one = await contestOf({ ours: ALL });
  expect(await cellIn(one, "of the names", ["ours", "view, after 4"])).toBe(`1.00 of ${of}`);
  expect(await cellIn(one, "over all compactions", ["ours", "written"])).toBe(1);
});

function judgedAt({ draws }: Contest, depth: number): number[] {
  return draws.flatMap(({ tracks }) => {
    const verdict = tracks[0]?.verdicts[depth - 1];
    return verdict === undefined ? [] : [count(verdict, NAMES).of];
  });
}

test("rules, open tasks and rare words stand at each depth, of how many; what was never wanted has no line", async () => {
  const contest = await contestOf({ ours: RULES });
  const rules = SESSION.standing[39]?.rules.length ?? 0;
  expect(rules).toBeGreaterThan(1);
  expect(await cellIn(contest, "what else matters", ["rules ours", "after 4"])).toBe(`1.00 of ${rules}`);
  expect(await cellIn(contest, "what else matters", ["rules other", "after 4"])).toBe(`0.00 of ${rules}`);
  expect(await cellIn(contest, "what else matters", ["open tasks ours", "after 4"])).toMatch(/ of \d+$/);
  expect(await cellIn(contest, "what else matters", ["rare words ours", "after 4"])).toMatch(/ of \d+$/);
  expect(await cellIn(contest, "what else matters", ["failures", "after 4"])).toBeUndefined();
});

test("a share over all compactions says how many were wanted at one of them, the fewest and the most", async () => {
  const contest = await contestOf({ ours: RULES });
  const standing = [9, 19, 29, 39].map((at) => SESSION.standing[at]?.rules.length ?? 0).filter((of) => of > 0);
  const [least, most] = [Math.min(...standing), Math.max(...standing)];
  const of = least === most ? String(least) : `${least}–${most}`;
  expect(await cellIn(contest, "over all compactions", ["ours", "rules"])).toBe(`1.00 of ${of}`);
  expect(await cellIn(contest, "over all compactions", ["other", "rules"])).toBe(`0.00 of ${of}`);
  expect(await cellIn(contest, "over all compactions", ["other", "rare words"])).toMatch(/^0\.\d\d of \d+–\d+$/);
});

test("the worst case is that of the worst draw, and says which", async () => {
  const contest = await contestOf({ ours: ALL }, {}, { ours: ALL });
  expect(await cellIn(contest, "over all compactions", ["ours", "least, after"])).toBe("0.00, 1, seed 2");
  expect(await cellIn(contest, "what was not in view", ["ours", "missing"])).toMatch(/^rule .* more$/);
  const kept = await contestOf({ ours: ALL }, { ours: ALL });
  expect(await cellIn(kept, "what was not in view", ["ours", "missing"])).toBe("nothing");
});

test("wherever a rival shows more, it is listed: in how many draws, and who is furthest ahead in which", async () => {
  const some = ALL.slice(0, ALL.length / 4);
  const kept = { "ours with notes": ALL };
  const contest = await contestOf({ ...kept, ours: ALL }, { ...kept, other: ALL, forgetful: some });
  const { columns, rows } = behindOf([contest], DEPTHS);
  const names = rows.filter((row) => row[columns.indexOf("what")] === "names in view");
  expect(names.at(-1)?.slice(3, 5)).toEqual(["ours", "4"]);
  expect(names.at(-1)?.slice(5, 7)).toEqual(["1 of 2 seeds", "seed 2"]);
  expect(names.at(-1)?.[columns.indexOf("rival")]).toBe("other");
  expect(behindOf([await contestOf({ ours: ALL, "ours with notes": ALL })], DEPTHS).rows).toEqual([]);
});

function visit(id: string, body: string): UIMessage[] {
  return [
    say("s", "system", text("Be kind to mia_li_3668.")),
    say("u", "user", text(`I am ${id}.`)),
    say("a", "assistant", text(body), done("call-1", "found")),
  ];
}

test("a customer's conversations are told one after the other, without instructions and with no id twice", () => {
  const long = "word ".repeat(100);
  const joined = joinByCustomer(
    [
      visit("ada_king_1815", "one"),
      visit("max_weber_1864", long),
      visit("ada_king_1815", `two ${long}`),
      visit("nobody", long),
    ],
    2,
  );
  expect(joined.map(({ id }) => id)).toEqual(["ada_king_1815", "max_weber_1864"]);
  const messages = joined[0]?.messages ?? [];
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(4);
  const calls = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : [])),
  );
  expect(new Set(calls).size).toBe(2);
  expect(joinByCustomer([visit("ada_king_1815", "one")], 0)).toEqual([]);
});
