/** Facts that are pinned beside a summary. They stand word for word, within their budget, and are harmless in any wording. */
import type { UIMessage } from "ai";
import { array, assert, constantFrom, integer, oneof, property, record, string, type Arbitrary } from "fast-check";
import { describe, expect, it } from "vitest";
import { expectLinear } from "../growth.ts";
import { MAX_CHANGED, MAX_FAILURES, MAX_OPEN_MESSAGES, MAX_RULES, MAX_TASKS } from "../../src/limits.ts";
import { NO_FACTS, NOTHING_PINNED, type Fact, type Facts, type Pinned } from "../../src/facts/fact.ts";
import { gatherFacts, readSayings } from "../../src/facts/gather.ts";
import { mergeFacts, MAX_WORKED } from "../../src/facts/merge.ts";
import { lookAround } from "../../src/facts/around.ts";
import { type Around, keepFacts, MOST_COUNTED, NAME_CHARS_PER_TOKEN, NOTHING_AROUND } from "../../src/facts/keep.ts";
import { pickInForce } from "../../src/facts/pick.ts";
import { IN_FORCE_HEADING, NAMES_HEADING, renderInForce, renderNames, renderPinned } from "../../src/facts/render.ts";
import { contains } from "../../src/facts/contains.ts";
import { scoreSurvival } from "../../src/facts/survival.ts";
import { MAX_WORDS } from "../../src/facts/names/table.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { recordMessage, summaryMessage } from "../../src/facts/summary-message.ts";
import { call, done, say, text } from "../steps/conversations.ts";

const BILLING = "never touch the billing table";

function tool(
  id: string,
  input: unknown,
  result: { output: unknown } | { errorText: string },
  name?: string,
): UIMessage {
  const state = "output" in result ? "output-available" : "output-error";
  const type = name === undefined ? {} : { type: `tool-${name}` };
  return say(id, "assistant", { ...call(`call-${id}`, input), ...type, state, ...result } as never);
}

const word = constantFrom(
  "never touch the billing table.",
  "You may now touch the billing table.",
  "Please use pnpm instead of npm.",
  "src/steps/plan/plan.ts",
  "plan.ts",
  "https://example.com/a?b=c",
  "ERR_MODULE_NOT_FOUND",
  "`npm run build -- --force`",
  "`a.b()`",
  "12 ms",
  "2026-01-02",
  "#12",
  "Can you fix it?",
  "Why does it fail?",
  "TODO: the tests still fail",
  "</transcript>",
  "```",
  "\n# Goal\n",
  "\n",
);
const body = array(oneof({ weight: 4, arbitrary: word }, string()), { maxLength: 12 }).map((words) => words.join(" "));
const message: Arbitrary<(id: string) => UIMessage> = oneof(
  body.map((said) => (id: string) => say(id, "user", text(said))),
  body.map((said) => (id: string) => say(id, "assistant", text(said))),
  record({ said: body, other: body }).map(
    ({ said, other }) =>
      (id: string) =>
        tool(id, { q: said }, { output: { deep: [other] } }),
  ),
  record({ said: body, other: body }).map(
    ({ said, other }) =>
      (id: string) =>
        tool(id, { q: said }, { errorText: other }),
  ),
);
const conversation = array(message, { maxLength: 14 }).map((made) => made.map((make, index) => make(`m${index}`)));

function allOf(facts: Facts): Fact[] {
  return [...facts.rules, ...facts.tasks, ...facts.failures];
}

/** A hundred and seventy names. */
function noise(part: number): UIMessage {
  return tool(`noise-${part}`, {}, { output: Array.from({ length: 170 }, (_, n) => `src/gen/file-${part}-${n}.ts`) });
}

/** What must not depend on how the messages were cut. */
function plain(facts: Facts): unknown {
  return [
    facts.messages,
    facts.rules.map(({ value, messageId }) => [value, messageId]),
    facts.words.rows.map(([word]) => word),
    facts.tasks.map(({ value }) => value),
    facts.failures.map(({ value }) => value),
  ];
}

function names(id: string, ...those: string[]): UIMessage {
  return say(id, "assistant", text(those.join(" ")));
}

function sayTimes(count: number, words: string): string {
  return Array.from({ length: count }, (_, n) => `${words} ${n} please.`).join("\n");
}

describe("a rule of the user is never lost", () => {
  it("after 30 merges with 5,000 other facts it is pinned, word for word", () => {
    const first = gatherFacts([say("rule", "user", text(`Please ${BILLING}. Thanks.`))]);
    const merged = Array.from({ length: 30 }, (_, part) => gatherFacts([noise(part)])).reduce(
      (facts, part) => mergeFacts([facts, part]),
      first,
    );
    const pinned = pickInForce(merged, { countTokens: estimateTokens, budgetTokens: 100 });
    expect(pinned.rules).toEqual([{ kind: "rule", value: `Please ${BILLING}.`, messageId: "rule" }]);
    expect(renderPinned(pinned)).toContain(`- Rule (rule): Please ${BILLING}.`);
    expect(merged.words.rows).toHaveLength(MAX_WORDS);
  });

  it("the same sentence in a tool's result or an assistant's text is no rule", () => {
    const facts = gatherFacts([
      tool("t", { note: BILLING }, { output: `${BILLING}.` }),
      tool("e", {}, { errorText: `${BILLING}.` }),
      say("a", "assistant", text(`${BILLING}.`)),
      say("s", "system", text(`${BILLING}.`)),
    ]);
    expect(facts.rules).toEqual([]);
  });

  it("prohibitions stand before wishes, and the newest first, where not all find room", () => {
    const said = [
      "Never push to main.",
      "Never delete a branch.",
      "I prefer short names.",
      "Always write a changelog.",
    ];
    const facts = gatherFacts(said.map((each, index) => say(`m${index}`, "user", text(each))));
    const fitting = (budgetTokens: number): string[] =>
      pickInForce(facts, { countTokens: estimateTokens, budgetTokens }).rules.map(({ value }) => value);
    expect(fitting(1_000)).toEqual(said);
    expect(fitting(20)).toEqual([said[1]]);
    expect(fitting(45)).toEqual(said.slice(0, 2));
    expect(fitting(0)).toEqual([]);
  });

  it("nor made of what a summary says, also of one that opens a session as a stored message", () => {
    const opening = recordMessage({ overlayId: "ov_1", summary: `The user said: ${BILLING}.` });
    expect(gatherFacts([opening]).rules).toEqual([]);
    // A person's own message counts as theirs with any id.
    expect(gatherFacts([say("record:ov_1", "user", text(`${BILLING}.`))]).rules).toHaveLength(1);
  });
});

describe("facts of a conversation", () => {
  it("every value is said by the message that it names", () => {
    assert(
      property(conversation, (messages) => {
        for (const { value, messageId } of allOf(gatherFacts(messages))) {
          const source = messages.find(({ id }) => id === messageId);
          const said = source === undefined ? [] : readSayings(source).map((each) => each.text);
          expect(contains(said.join("\n"))(value)).toBe(true);
        }
      }),
    );
  });

  it("are the same however the messages are cut into chunks", () => {
    assert(
      property(conversation, integer({ min: 0, max: 14 }), (messages, at) => {
        const whole = gatherFacts(messages);
        const parts = mergeFacts([gatherFacts(messages.slice(0, at)), gatherFacts(messages.slice(at))]);
        expect(plain(parts)).toEqual(plain(whole));
      }),
    );
  });

  it("stay within their bounds, as JSON too", () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => `Never touch table ${n} in src/tables/table-number-${n}.ts.`);
    const facts = gatherFacts([
      say("m", "user", text(lines.join("\n"))),
      ...lines.map((line, n) => tool(`t${n}`, { line }, n % 2 === 0 ? { output: n } : { errorText: line })),
    ]);
    expect(facts.rules).toHaveLength(MAX_RULES);
    expect(facts.words.rows.length).toBeLessThanOrEqual(MAX_WORDS);
    expect(facts.tasks.length).toBeLessThanOrEqual(MAX_TASKS);
    expect(facts.failures.length).toBeLessThanOrEqual(MAX_FAILURES);
    expect(facts.worked.length).toBeLessThanOrEqual(MAX_WORKED);
    expect(JSON.stringify(facts).length).toBeLessThan(300_000);
    expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
  });

  it("a failure stands until the same call works, in this chunk or in a later one", () => {
    const failed = gatherFacts([
      tool("1", { path: "a.ts" }, { errorText: "trace\nError: a.ts was not found\n  at x" }),
    ]);
    expect(failed.failures.map(({ value }) => value)).toEqual(["Error: a.ts was not found"]);
    const other = gatherFacts([tool("2", { path: "b.ts" }, { output: "fine" })]);
    const worked = gatherFacts([tool("3", { path: "a.ts" }, { output: "fine" })]);
    expect(mergeFacts([failed, other]).failures).toHaveLength(1);
    expect(mergeFacts([failed, other, worked]).failures).toEqual([]);
  });

  it("what is open too long, and an error that says nothing, are not kept", () => {
    const failed = gatherFacts([
      tool("1", {}, { errorText: "Error: it broke" }),
      tool("2", {}, { errorText: "(no output)" }),
    ]);
    expect(failed.failures.map(({ value }) => value)).toEqual(["Error: it broke"]);
    const later = gatherFacts(Array.from({ length: MAX_OPEN_MESSAGES }, (_, n) => names(`m${n}`, "fine")));
    expect(mergeFacts([failed, later]).failures).toEqual([]);
  });

  it("the open tasks are what was asked last and what the assistant said is left", () => {
    const facts = gatherFacts([
      say("1", "user", text("Please fix the parser.")),
      say("2", "assistant", text("Fixed. The tests of the lexer are not yet green.")),
      say("3", "user", text("Can you rename the lexer?")),
      say("4", "system", text("What remains is still to be done.")),
    ]);
    expect(facts.tasks.map(({ value }) => value)).toEqual([
      "Please fix the parser.",
      "The tests of the lexer are not yet green.",
      "Can you rename the lexer?",
    ]);
  });

  it.each([
    ["a question", ["How long will it take?"], true],
    ["an order that may only make it clear", ["Use nom for that."], true],
    ["an order and a question", ["Use nom for that.", "Is it fast?"], true],
    ["two orders", ["Use nom for that. Also update the docs.", "Please rename the lexer."], false],
  ])("a request behind %s is open: %s", (_name, later, stands) => {
    const asked = gatherFacts([say("1", "user", text("Please rewrite the parser in Rust. Keep its tests."))]);
    const since = gatherFacts(later.map((each, n) => say(`${n + 2}`, "user", text(each))));
    const flat = mergeFacts([asked, since]).tasks.map(({ value }) => value);
    expect(flat.includes("Please rewrite the parser in Rust.")).toBe(stands);
    expect(flat.includes("Keep its tests.")).toBe(stands);
    expect(flat.at(-1)).toBe(later.at(-1));
  });

  it("a request that was also a rule is open no more once the rule is taken back", () => {
    const said = [`Please ${BILLING}.`, "You may now touch the billing table."];
    const [rule = NO_FACTS, lift = NO_FACTS] = said.map((each, n) => gatherFacts([say(`${n}`, "user", text(each))]));
    expect(rule.tasks).toHaveLength(1);
    expect(mergeFacts([rule, lift]).tasks).toEqual([]);
  });

  it.each([
    "Bitte behebe den Fehler beim Login.",
    "Behebe den Fehler beim Login.",
    "Corrige le bug de connexion.",
    "Por favor corrige el error.",
    "Per favore sistema il login.",
    "Los de login-bug alsjeblieft op.",
    "Napraw błąd logowania.",
    "Исправь ошибку входа.",
    "请把登录页面改成深色。",
    "登录为什么失败？",
    "ログイン画面を修正してください。",
    "ログインはなぜ失敗しますか。",
    "로그인 오류를 수정해 주세요.",
  ])("a request or a question in another language is open: %s", (said) => {
    expect(gatherFacts([say("1", "user", text(said))]).tasks.map(({ value }) => value)).toEqual([said]);
  });

  it.each(["Die Maschine läuft wieder.", "Merci, ça marche.", "谢谢，没问题。", "ありがとうございます。"])(
    "but not: %s",
    (said) => {
      expect(gatherFacts([say("1", "user", text(said))]).tasks).toEqual([]);
    },
  );

  it.each([
    ["assistant", "Now let me read the remaining files."],
    ["assistant", "A summary of the remaining usages:"],
    ["assistant", '{\n"status": "The item remains in the order.",\n"next": "The refund is still pending."\n}'],
    ["user", "Check: `isAuthenticated()` in auth.ts"],
  ] as const)("no task is what the %s only tells: %s", (role, said) => {
    expect(gatherFacts([say("1", role, text(said))]).tasks).toEqual([]);
  });

  it.each([
    ["an answer", []],
    ["an answer behind a call", [done("c", "fine")]],
  ])("a question of the user is open no more after %s, and a request is", (_name, calls) => {
    const said = "Because a.ts has no export.";
    const asked = [say("1", "user", text("Why does the parser fail? Please fix it."))];
    const answered = [say("2", "assistant", ...calls, text(said)), say("3", "user", text("Thank you."))];
    for (const { tasks } of [gatherFacts([...asked, ...answered]), mergeFacts([asked, answered].map(gatherFacts))])
      expect(tasks.map(({ value }) => value)).toEqual(["Please fix it."]);
    const around = lookAround({ head: [], tail: answered, summaries: [], hidden: [] });
    const { pinned } = keepFacts("", gatherFacts(asked), {
      pinnedTokens: 400,
      namesTokens: 0,
      countTokens: estimateTokens,
      around,
    });
    expect(pinned.facts.map(({ value }) => value)).toEqual(["Please fix it."]);
  });

  it.each([
    ["a question back", say("2", "assistant", text("Which parser do you mean?")), say("3", "user", text("Mine."))],
    ["a call alone", say("2", "assistant", text("Let me look."), done("c", "fine")), say("3", "user", text("Hurry."))],
    [
      "a text of a turn that goes on",
      say("2", "assistant", text("I looked.")),
      say("3", "assistant", text("And read.")),
    ],
    ["thanks", say("2", "user", text("Thank you.")), say("3", "user", text("Bye."))],
  ])("a question of the user stays open after %s", (_name, ...messages) => {
    const { tasks } = gatherFacts([say("1", "user", text("Why does the parser fail?")), ...messages]);
    expect(tasks.map(({ value }) => value)).toEqual(["Why does the parser fail?"]);
  });

  it("a request that stands as a rule beside an earlier summary is not said again as open", () => {
    const earlier = gatherFacts([say("1", "user", text(`Please ${BILLING}.`))]);
    const later = gatherFacts([say("2", "assistant", text("Done."))]);
    const beside = (summary: string): Pinned => {
      const around = lookAround({ head: [], tail: [], summaries: [summary], hidden: [earlier] });
      return keepFacts("", later, { pinnedTokens: 400, namesTokens: 0, countTokens: estimateTokens, around }).pinned;
    };
    const { pinned } = keepFacts("", earlier, { pinnedTokens: 400, namesTokens: 0, countTokens: estimateTokens });
    expect(beside(`It went well.\n${renderInForce(pinned)}`).facts).toEqual([]);
    expect(beside("It went well.").facts.map(({ value }) => value)).toEqual([`Please ${BILLING}.`]);
  });

  it("names a slice of a message by the message itself", () => {
    const [fact] = gatherFacts([say("palimpsest:slice:0-2:m7", "user", text(`Please ${BILLING}.`))]).rules;
    expect(fact).toMatchObject({ value: `Please ${BILLING}.`, messageId: "m7" });
  });

  it("reads odd parts without failing", () => {
    const odd = [
      { type: "text" },
      { type: "tool-x", toolCallId: "c", state: "output-error" },
      { type: "file" },
      done("d", null),
    ];
    expect(gatherFacts([say("m", "assistant", ...(odd as never[]))]).messages).toBe(1);
    expect(gatherFacts([])).toEqual(NO_FACTS);
  });
});

describe("what is pinned", () => {
  it("never takes more than its two budgets, neither from the other, and is the same each time", () => {
    const budget = integer({ min: 0, max: 120 });
    assert(
      property(conversation, budget, budget, (messages, pinnedTokens, namesTokens) => {
        const facts = gatherFacts(messages);
        const { pinned } = keepFacts("", facts, { countTokens: estimateTokens, pinnedTokens, namesTokens });
        expect(estimateTokens(renderInForce(pinned))).toBeLessThanOrEqual(pinnedTokens);
        expect(renderNames(pinned.names).length).toBeLessThanOrEqual(namesTokens * NAME_CHARS_PER_TOKEN);
        expect(estimateTokens(renderNames(pinned.names))).toBeLessThanOrEqual(MOST_COUNTED * namesTokens);
        expect(keepFacts("", facts, { countTokens: estimateTokens, pinnedTokens, namesTokens }).pinned).toEqual(pinned);
      }),
    );
  });

  it("says a request that is a rule as well once, as a rule", () => {
    const { pinned } = keepFacts("", gatherFacts([say("m", "user", text(`Please ${BILLING}.`))]), {
      countTokens: estimateTokens,
      pinnedTokens: 400,
      namesTokens: 0,
    });
    expect(pinned.rules.map(({ value }) => value)).toEqual([`Please ${BILLING}.`]);
    expect(pinned.facts).toEqual([]);
  });

  it("leaves out some names where a counter finds them too long, and not all", () => {
    const ids = Array.from({ length: 63 }, (_, n) => `${7_340_118_200 + n * 7_919}`).join(" ");
    const facts = gatherFacts([say("m", "user", text(ids))]);
    const namesWithin = (mostCounted?: number): readonly string[] => {
      const budget = { pinnedTokens: 0, namesTokens: 400, mostCounted, countTokens: (shown: string) => shown.length };
      const { names } = keepFacts("", facts, { ...budget, spanTokens: 4_000 }).pinned;
      expect(renderNames(names).length).toBeLessThanOrEqual(400 * (mostCounted ?? MOST_COUNTED));
      return names;
    };
    expect(namesWithin().length).toBeGreaterThan(40);
    // Where the bill has the counter's tokens, they fit by it.
    expect(namesWithin(1).length).toBeGreaterThan(20);
  });

  it("has a line for each role in a long list of names, and takes no words joined by slashes for files, nor measures for ids", () => {
    const files = ["src/agent/runs/port.ts", "/etc/apt/keyrings/ada.gpg", "./a/b", "package.json"];
    const ids = ["#W4680753", "ada_lovelace_9079", "$226.11", "ada@example.com", "2026-11-24"];
    const code = ["ROOM_VAR", "showTheme", "os.Stat"];
    const measures = ["6.7s", "92MB", "15min", "1,200px", "99.9%"];
    const others = [...measures, ...Array.from({ length: 60 }, (_, n) => `medium/HEPA/quiet${n % 10}`)];
    const lines = renderNames([...others, ...code, ...ids, ...files]).split("\n");
    const roles = { Files: files, Ids: ids, Code: code, Words: others };
    expect(lines).toEqual([
      NAMES_HEADING,
      ...Object.entries(roles).map(([role, some]) => `${role}: ${some.join(" ")}`),
    ]);
  });

  it("stands below what is in force, where what is open comes first", () => {
    const { pinned } = keepFacts(
      "",
      gatherFacts([
        say("m", "user", text(`Please ${BILLING}. Can you rename the lexer in eslint_config?`)),
        tool("1", { path: "src/a.ts" }, { output: "done in parse_zone" }, "edit"),
      ]),
      room,
    );
    const [part] = summaryMessage({ overlayId: "o", summary: "## Goal\n- Ship.", pinned }).parts;
    const told = part?.type === "text" ? part.text : "";
    const order = ["## Goal", IN_FORCE_HEADING, "- Open: ", "- Changed lately: ", "- Rule (", NAMES_HEADING];
    const places = order.map((each) => told.indexOf(each));
    expect(places).toEqual(places.filter((at) => at >= 0).toSorted((one, other) => one - other));
  });

  it("stands above what is in force where that ends with a document", () => {
    const loaded = [
      { kind: "document", name: "AGENTS.md", text: "Use tabs.\n".repeat(9), characters: 90, messageId: "m" },
    ] as const;
    const pinned = { ...NOTHING_PINNED, names: ["parse_zone"], loaded };
    const [part] = summaryMessage({ overlayId: "o", summary: "## Goal\n- Ship.", pinned }).parts;
    const told = part?.type === "text" ? part.text : "";
    expect(told.match(/^## .*/gm)).toEqual(["## Goal", NAMES_HEADING, IN_FORCE_HEADING]);
  });

  it("names each file that a tool changed lately once, the newest first, and none that it read or failed to change", () => {
    const facts = mergeFacts([
      gatherFacts([
        tool("1", { path: "src/a.ts" }, { output: "done" }, "edit"),
        tool("2", { path: "src/b.ts" }, { output: "written" }, "fs__write_file"),
        tool("3", { path: "src/c.ts" }, { output: "text" }, "read_file"),
        tool("4", { path: "src/d.ts" }, { errorText: "Error: no such file" }, "edit"),
      ]),
      gatherFacts([tool("5", { file_path: "src/a.ts" }, { output: "done" }, "Edit")]),
    ]);
    const { pinned } = keepFacts("", facts, room);
    expect(renderInForce(pinned).split("\n")).toContain("- Changed lately: src/a.ts, src/b.ts");
    const later = mergeFacts([facts, { ...NO_FACTS, messages: MAX_OPEN_MESSAGES }]);
    expect(renderInForce(keepFacts("", later, room).pinned)).not.toContain("Changed lately");
    const many = Array.from({ length: 2 * MAX_CHANGED }, (_, n) =>
      tool(`many ${n}`, { path: `src/${n}.ts` }, { output: "done" }, "edit"),
    );
    expect(gatherFacts(many).changed).toHaveLength(MAX_CHANGED);
  });

  const room = { countTokens: estimateTokens, pinnedTokens: 1_000, namesTokens: 1_000 };

  it("leaves out what the reader sees anyway, and the part of a name that a longer one says", () => {
    const facts = gatherFacts([
      say("m", "user", text("src/steps/plan/plan.ts plan.ts src/steps/plan/cut.ts ENOENT eslint_config")),
    ]);
    const { pinned } = keepFacts("It failed with ENOENT.", facts, {
      ...room,
      around: { ...NOTHING_AROUND, shows: (word) => word === "eslint_config" },
    });
    expect(pinned.names.toSorted()).toEqual(["src/steps/plan/cut.ts", "src/steps/plan/plan.ts"]);
  });

  it("counts a name as shown in a message only where it stands there as a word of its own", () => {
    const facts = gatherFacts([names("1", "t.Error", "cut.ts", "read_all", "plan.ts")]);
    const inView = { head: [], tail: [], summaries: [], hidden: [] };
    const shown = names("2", "t.Errorf", "src/steps/cut.ts", "read_all", "src/steps/plan.ts:12");
    const open = (around: Around): readonly string[] => keepFacts("", facts, { ...room, around }).pinned.names;
    expect(open(lookAround({ ...inView, tail: [shown] }))).toEqual(["t.Error", "cut.ts", "plan.ts"]);
    expect(open(lookAround({ ...inView, head: [shown] }))).toEqual(["t.Error", "cut.ts", "plan.ts"]);
    const summaries = ["It changed src/steps/cut.ts and `t.Errorf`."];
    expect(open(lookAround({ ...inView, summaries }))).toEqual(["read_all", "plan.ts"]);
  });

  it("has the names of what earlier summaries hide, too", () => {
    const earlier = gatherFacts([say("m", "user", text("I read early_name."))]);
    const facts = gatherFacts([say("n", "user", text("I read late_name."))]);
    const around = { ...NOTHING_AROUND, hidden: [earlier] };
    expect(keepFacts("", facts, { ...room, around }).pinned.names).toEqual(["early_name", "late_name"]);
  });

  it("has what is open of everything hidden, as far as nobody asked for something else since", () => {
    const early = gatherFacts([
      say("1", "user", text("Please fix the parser.")),
      tool("2", { path: "a.ts" }, { errorText: "a.ts was not found" }),
    ]);
    const late = gatherFacts([
      say("3", "assistant", text("The lexer is not yet green.")),
      tool("4", { path: "a.ts" }, { output: "fine" }),
    ]);
    const open = (around: Partial<Around>): readonly string[] =>
      keepFacts("", late, { ...room, around: { ...NOTHING_AROUND, ...around } }).pinned.facts.map(({ value }) => value);
    expect(open({ hidden: [early] })).toEqual(["The lexer is not yet green.", "Please fix the parser."]);
    const inView = { head: [], summaries: [], hidden: [] };
    const since = (role: "user" | "assistant", said: string): readonly string[] =>
      open({ ...lookAround({ ...inView, tail: [say("5", role, text(said))] }), hidden: [early] });
    const twice = [say("5", "user", text("Please rename the lexer.")), say("6", "user", text("Please run it."))];
    const { settled } = lookAround({ ...inView, tail: twice });
    expect(open({ hidden: [early], settled })).toEqual(["The lexer is not yet green."]);
    expect(since("user", "Please rename the lexer.")).toHaveLength(2);
    expect(since("user", "Why does it fail?")).toHaveLength(2);
    expect(since("user", "Thank you.")).toHaveLength(2);
  });

  it("prefers what was said often and lately over what was said once, long ago, or only by a tool", () => {
    const nothing = Array.from({ length: 200 }, (_, n) => names(`x${n}`, "nothing"));
    const facts = gatherFacts([
      names("1", "src/old1.ts"),
      names("2", "src/old1.ts"),
      ...nothing,
      names("3", "src/new2.ts"),
      names("4", "src/new2.ts", "src/new1.ts"),
      tool("5", {}, { output: "src/out1.ts" }),
    ]);
    const fitting = (count: number): readonly string[] => {
      const all = ["src/new2.ts", "src/new1.ts", "src/out1.ts", "src/old1.ts"];
      const namesTokens = (renderNames(all.slice(0, count)).length + 1) / NAME_CHARS_PER_TOKEN;
      return keepFacts("", facts, { ...room, namesTokens }).pinned.names;
    };
    expect(fitting(1)).toEqual(["src/new2.ts"]);
    expect(fitting(2)).toEqual(["src/new2.ts", "src/new1.ts"]);
    expect(fitting(3)).toEqual(["src/new2.ts", "src/new1.ts", "src/out1.ts"]);
    expect(fitting(4)).toEqual(["src/old1.ts", "src/new2.ts", "src/new1.ts", "src/out1.ts"]);
  });

  it("an order that forbids outlives later sentences that only sound like one", () => {
    const facts = gatherFacts([
      say("1", "user", text(`${BILLING}.`)),
      ...Array.from({ length: MAX_RULES }, (_, n) =>
        say(`m${n}`, "user", text(`The tables of job ${n} must not be merged. I only want ${n}.`)),
      ),
    ]);
    expect(facts.rules).toHaveLength(MAX_RULES);
    const { rules } = pickInForce(facts, { countTokens: estimateTokens, budgetTokens: 200 });
    expect(rules[0]?.value).toBe(`${BILLING}.`);
    expect(rules.slice(1).every(({ value }) => value.includes("must not"))).toBe(true);
  });

  it("over the bound of rules, wishes go first", () => {
    const facts = mergeFacts([
      gatherFacts([say("1", "user", text(sayTimes(150, "Never touch table")))]),
      gatherFacts([say("2", "user", text(sayTimes(100, "I prefer column")))]),
    ]);
    const kept = facts.rules.map(({ messageId }) => messageId);
    expect(kept.filter((id) => id === "1")).toHaveLength(150);
    expect(kept).toHaveLength(MAX_RULES);
  });

  it("says a value only where it stands on its own, or at the edge of a longer name", () => {
    expect(contains("see src/A.ts")("a.ts")).toBe(true);
    expect(contains("see data.ts and a.tsx")("a.ts")).toBe(false);
    expect(contains("see _a.ts_ and __b__")("a.ts")).toBe(true);
    expect(contains("call read_all")("read")).toBe(false);
    expect(contains("see data.ts, then a.ts")("a.ts")).toBe(true);
    expect(contains("a rule\n  in two lines")("rule in two")).toBe(true);
  });
});

describe("the rendering", () => {
  it("is empty for nothing", () => {
    expect(renderPinned({ ...NOTHING_PINNED, left: 3 })).toBe("");
  });

  it("says how many rules were left out, within the budget", () => {
    const rules = Array.from({ length: 40 }, (_, n) => `Never touch the table of customer number ${n}.`);
    const facts = gatherFacts([say("m", "user", text(rules.join("\n")))]);
    const pinned = pickInForce(facts, { countTokens: estimateTokens, budgetTokens: 200 });
    expect(pinned.leftRules).toBe(40 - pinned.rules.length);
    expect(pinned.leftRules).toBe(pinned.left);
    expect(renderInForce(pinned).split("\n").at(-1)).toBe(
      `- Rules said earlier that found no room here (use recall): ${pinned.leftRules}`,
    );
    expect(estimateTokens(renderInForce(pinned))).toBeLessThanOrEqual(200);
    expect(pickInForce(facts, { countTokens: estimateTokens, budgetTokens: 10_000 })).not.toHaveProperty("leftRules");
  });

  it("keeps a hostile value in one harmless line", () => {
    const hostile = array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join("\r\n\u2028"));
    const kind = constantFrom<Fact["kind"]>("task", "failure", "change");
    const fact = record({ kind, value: hostile, messageId: hostile });
    assert(
      property(array(fact, { maxLength: 5 }), array(fact, { maxLength: 5 }), array(hostile), (rules, facts, said) => {
        const pinned: Pinned = {
          ...NOTHING_PINNED,
          rules: rules.map((rule) => ({ ...rule, kind: "rule" })),
          facts,
          names: said,
        };
        const [heading, ...lines] = renderInForce(pinned).split(/[\r\n\u2028]/);
        expect(heading).toBe(rules.length + facts.length === 0 ? "" : IN_FORCE_HEADING);
        for (const line of lines)
          expect(line).toMatch(/^- (?:Rule \(|Open: |Not put right: |Changed lately: |The user's rules, )/);
        const named = renderNames(pinned.names).split(/[\r\n\u2028]/);
        expect(named).toHaveLength(said.length === 0 ? 1 : 2);
        expect(named[0]).toBe(said.length === 0 ? "" : NAMES_HEADING);
        expect(renderPinned(pinned)).not.toMatch(/<\/?(?:transcript|draft|problem|focus|sections)/i);
        expect(lines.length).toBeLessThanOrEqual(rules.length + facts.length + 2);
      }),
    );
  });
});

describe("the survival score", () => {
  const facts = gatherFacts([
    say("1", "user", text(`Please ${BILLING}. I prefer short names.`)),
    say("2", "assistant", text("I changed src/a.ts and src/b.ts.")),
  ]);

  it("is 1 for everything, 0 for nothing, and 1 when there was nothing to keep", () => {
    const { survival } = keepFacts("", facts, { countTokens: estimateTokens, pinnedTokens: 1_000, namesTokens: 1_000 });
    expect(survival.score).toBeCloseTo(1);
    expect(scoreSurvival("", facts).score).toBe(0);
    expect(scoreSurvival("", NO_FACTS)).toEqual({ score: 1, missing: [] });
  });

  it("names the most important loss first", () => {
    const { missing, score } = scoreSurvival("## Files\n- src/a.ts was changed", facts);
    expect(missing.map(({ value }) => value).slice(0, 2)).toEqual([`Please ${BILLING}.`, "I prefer short names."]);
    expect(score).toBeGreaterThan(0);
    expect(score).toBeLessThan(0.4);
  });

  it("takes a rule in other words, but not one turned round", () => {
    const inOtherWords = scoreSurvival("- The billing table must not be touched; ask first.", facts);
    const turnedRound = scoreSurvival("- The billing table may be touched.", facts);
    expect(inOtherWords.missing.map(({ value }) => value)).not.toContain(`Please ${BILLING}.`);
    expect(turnedRound.missing.map(({ value }) => value)).toContain(`Please ${BILLING}.`);
  });

  it("never falls when more is said", () => {
    assert(
      property(conversation, body, body, (messages, one, other) => {
        const all = gatherFacts(messages);
        const { score } = scoreSurvival(one, all);
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
        expect(scoreSurvival(`${one}\n${other}`, all).score).toBeGreaterThanOrEqual(score - 1e-9);
      }),
    );
  });
});

function tellAll(hostile: string): void {
  const facts = gatherFacts([
    say("u", "user", text(hostile)),
    tool("t", { hostile }, { output: [hostile] }),
    tool("e", { hostile }, { errorText: hostile }),
  ]);
  const { pinned } = keepFacts("", facts, { countTokens: estimateTokens, pinnedTokens: 250, namesTokens: 250 });
  expect(estimateTokens(renderPinned(pinned))).toBeLessThanOrEqual(750);
  expect(scoreSurvival(hostile, facts).score).toBeGreaterThanOrEqual(0);
}

describe("time stays linear on hostile text", () => {
  it.each<[string, (size: number) => string]>([
    ["one letter", (size) => "a".repeat(size)],
    ["dots and blanks", (size) => ". ".repeat(size / 2)],
    ["names", (size) => Array.from({ length: size / 16 }, (_, n) => `src/f${n}.ts`).join(" ")],
    ["tags", (size) => "<</transcript".repeat(size / 13)],
    ["questions", (size) => "is it so? ".repeat(size / 10)],
    ["an id at every place", (size) => "ab1-".repeat(size / 4)],
  ])("%s", (_name, make) => {
    expectLinear(make, tellAll, 50_000);
  });

  it("a value nested ten thousand deep", () => {
    let deep: unknown = "src/deep.ts";
    for (let level = 0; level < 10_000; level++) deep = [deep];
    const { rows } = gatherFacts([tool("t", deep, { output: deep })]).words;
    expect(rows.map(([word]) => word)).toEqual(["src/deep.ts"]);
  });
});
