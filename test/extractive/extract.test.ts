/** Extractive summaries put what was said and done under the right headings, within their budget, for any conversation. */
import { withoutEmptySections } from "../../src/steps/draft/empty-sections.ts";
import type { UIMessage } from "ai";
import { array, assert, constantFrom, integer, oneof, option, property, record, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { expectLinear } from "../growth.ts";
import { auditSummary } from "../../src/steps/draft/audit.ts";
import { extractSummary, type ExtractInput } from "../../src/extractive/extract.ts";
import { joinSections, NOTHING } from "../../src/steps/draft/summary-shape.ts";
import { extractConstraints } from "../../src/facts/rules/constraints.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import { resolvePolicy } from "../../src/steps/plan/policy.ts";
import { DEFAULT_TEMPLATE, missingSections } from "../../src/steps/draft/template.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

type Part = UIMessage["parts"][number];
interface Said {
  readonly role: "user" | "assistant";
  readonly parts: readonly Part[];
}

function user(text: string): Said {
  return { role: "user", parts: [{ type: "text", text }] };
}

function assistant(text: string, ...tools: Part[]): Said {
  return { role: "assistant", parts: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...tools] };
}

function tool(name: string, input: unknown, result: { output: string } | { errorText: string }): Part {
  const call = { type: "dynamic-tool" as const, toolName: name, toolCallId: `${name}-${JSON.stringify(input)}`, input };
  return "output" in result
    ? { ...call, state: "output-available", output: result.output }
    : { ...call, state: "output-error", errorText: result.errorText };
}

function render(messages: readonly Said[]): string {
  return renderTranscript(
    messages.map(({ role, parts }, index) => ({
      kind: "message",
      message: { id: `m${index}`, role, parts: [...parts] },
    })),
  );
}

function summarise(messages: readonly Said[], more: Partial<ExtractInput> = {}): string {
  const base = { previous: null, drafts: [], template: DEFAULT_TEMPLATE, summaryTokens: 1_000 };
  return extractSummary({ countTokens: estimateTokens, transcript: render(messages), ...base, ...more });
}

function lastAction(input: unknown): string[] {
  return section(summarise([assistant("", tool("run", input, { output: "" }))]), "State");
}

function section(summary: string, title: string): string[] {
  const body = summary.split(`## ${title}\n`)[1]?.split("\n\n## ")[0] ?? "";
  return body.split("\n").map((line) => line.replace(/^- /, ""));
}

const coding: readonly Said[] = [
  user("Hi! The login page throws since yesterday. Please find out why and fix it. Never touch the billing module."),
  assistant("Let me look.", tool("read", { path: "src/login.ts" }, { output: "export function login() {}" })),
  assistant("", tool("bash", { command: "npm test" }, { errorText: "src/login.ts(12,4): error TS2345: bad argument" })),
  assistant(
    "The root cause is that `parseToken()` gets a Buffer since v2.1.0. I will go with a string at the boundary instead of a cast.",
    tool("edit", { path: "src/login.ts", old: "a", new: "b" }, { output: "ok" }),
    tool("write", { path: "test/login.test.ts", content: "it()" }, { output: "ok" }),
  ),
  assistant("", tool("bash", { command: "npm test" }, { output: "12 passed" })),
  assistant("Fixed the token type in `src/login.ts` and all 12 tests pass. Should I commit this and open PR #42?"),
  user("Yes, go ahead."),
  assistant("", tool("bash", { command: 'git commit -m "Parse the token as a string"' }, { output: "[main 1507f8b]" })),
  assistant("Committed as 1507f8b. The CHANGELOG entry is still missing. Do you want it in this PR?"),
];

describe("a summary worth reading, without a model", () => {
  it("puts what was said and done under the right headings (golden)", () => {
    expect(summarise(coding)).toMatchInlineSnapshot(`
      "## Goal
      - The login page throws since yesterday.
      - Please find out why and fix it.

      ## Rules
      - Never touch the billing module.

      ## Decisions
      - I will go with a string at the boundary instead of a cast.
      - User agreed to: Fixed the token type in \`src/login.ts\` and all 12 tests pass. Should I commit this and open PR #42?

      ## Progress
      - Committed: Parse the token as a string
      - To do: The CHANGELOG entry is still missing.

      ## Files
      - src/login.ts (read, edited)
      - test/login.test.ts (created)

      ## Errors
      - src/login.ts(12,4): error TS2345: bad argument → The root cause is that \`parseToken()\` gets a Buffer since v2.1.0. (passed later)

      ## Questions
      - To the user: Do you want it in this PR?

      ## State
      - User last said: Yes, go ahead.
      - Last said: Committed as 1507f8b. … Do you want it in this PR?"
    `);
  });

  it("reads a customer's conversation as well as a programmer's", () => {
    const summary = summarise([
      user("Hello, I need to cancel reservation ZFA04Y and get a refund. I don't want a travel voucher."),
      assistant("Could you please give me your user ID?"),
      user("It's mia_li_3668."),
      assistant("", tool("get_reservation", { reservation_id: "ZFA04Y" }, { output: '{"total": 255}' })),
      assistant("The refund is $255 to credit_card_4421486. Would you like to proceed?"),
      user("Yes, please."),
      assistant("", tool("cancel_reservation", { reservation_id: "ZFA04Y" }, { output: '{"status":"cancelled"}' })),
      assistant("Your reservation ZFA04Y has been cancelled."),
      user("Thanks. When will the money arrive?"),
    ]);
    expect(section(summary, "Goal")[0]).toBe("I need to cancel reservation ZFA04Y and get a refund.");
    expect(section(summary, "Rules")).toEqual(["I don't want a travel voucher."]);
    expect(section(summary, "Decisions").join()).toContain("The refund is $255");
    expect(section(summary, "Progress").join()).toContain('cancel_reservation {"reservation_id":"ZFA04Y"}');
    expect(section(summary, "Files").join()).toContain("mia_li_3668");
    expect(section(summary, "Questions")).toEqual(["When will the money arrive?"]);
  });

  it("a client's notice in the user's name is no goal and no state", () => {
    const notice = "[Request interrupted by user for tool use]";
    const talk = [
      user(notice),
      user("Publish release 2.2 of the ledger."),
      assistant("The build runs now."),
      user(notice),
    ];
    const text = summarise(talk);
    expect(text).not.toContain("interrupted");
    expect(section(text, "Goal").join(" ")).toContain("release 2.2");
  });

  it("takes no thanks for a goal", () => {
    const text = summarise([
      user("Thanks for pulling that up. Perfect — thanks for confirming. Cancel order W123 now."),
    ]);
    expect(section(text, "Goal").join(" ")).toBe("Cancel order W123 now.");
  });

  it("takes no later request for a goal that names no subject", () => {
    const talk = [...coding, user("Can you help me with that? Please look at it again, and publish release 2.2.")];
    const goals = section(summarise(talk), "Goal").join(" ");
    expect(goals).toContain("publish release 2.2");
    expect(goals).not.toContain("help me");
  });

  it("tells a commit by its message, also where a shell reads that from lines of its own", () => {
    const command = "git commit -m \"$(cat <<'EOF'\nParse the token as a string\n\nMore.\nEOF\n)\"";
    const told = summarise([assistant("", tool("bash", { command }, { output: "[main 1507f8b]" }))]);
    expect(section(told, "Progress")).toEqual(["Committed: Parse the token as a string"]);
  });

  it("tells the last call by its command or its file", () => {
    expect(lastAction({ replace_all: false, file_path: "/home/ada/src/login.ts" })).toEqual([
      "Last action: run (/home/ada/src/login.ts)",
    ]);
    expect(lastAction({ cwd: "/home", command: "npm test\nnpm run lint" })).toEqual(["Last action: run (npm test)"]);
  });

  it("puts what the reader cares for first when room is short", () => {
    const topics = ["parser", "network", "database", "cache", "renderer", "compiler", "scheduler", "linker"];
    const talk = [
      user("Please fix everything."),
      assistant(topics.map((each) => `Fixed a slow loop in the ${each} module.`).join("\n")),
    ];
    const summary = summarise(talk, { focus: "the scheduler module", summaryTokens: 150 });
    expect(section(summary, "Progress").join()).toContain("scheduler");
  });

  it("lets no section starve when others have more to say than there is room for", () => {
    const loud = Array.from({ length: 60 }, (_, n) =>
      assistant(`Fixed the very important bug number ${n} in module${n}.`),
    );
    const summary = summarise([...coding.slice(0, 7), ...loud, assistant("Which one is next, please?")], {
      summaryTokens: 420,
    });
    for (const { title } of DEFAULT_TEMPLATE.sections) expect(section(summary, title), title).not.toEqual([NOTHING]);
  });

  it("says None under a heading that has nothing, and takes an empty conversation", () => {
    expect(summarise([])).toBe(
      joinSections(
        DEFAULT_TEMPLATE.sections.map((each) => each.title),
        new Map(),
      ),
    );
    expect(summarise([])).toContain(`## Goal\n${NOTHING}`);
  });

  it("fills a template of other headings, and of one", () => {
    const template = { sections: [{ title: "The story so far", hint: "" }] };
    expect(summarise(coding, { template })).toContain("- Never touch the billing module.");
    const two = {
      sections: [
        { title: "Tests", hint: "" },
        { title: "Status", hint: "" },
      ],
    };
    expect(section(summarise(coding, { template: two }), "Tests").join()).toContain("all 12 tests pass");
  });

  it("quotes markup of a tool call in a bullet, where the audit does not take it for one", () => {
    const summary = summarise([user("Please explain what <tool_call> in the log means to me."), ...coding]);
    expect(summary).toContain("<tool_call>");
    const policy = resolvePolicy({ thresholdTokens: 100_000 });
    const audit = { text: summary, finishReason: "stop", spanTokens: 50_000, policy, template: DEFAULT_TEMPLATE };
    expect(auditSummary({ ...audit, countTokens: estimateTokens })).toMatchObject({ ok: true });
  });
});

describe("a summary beside pinned facts", () => {
  it("leaves out what stands beside it: rules, open work, files and the user's last request", () => {
    const told = summarise(coding, { pinsBeside: true });
    expect(withoutEmptySections(told)).toContain("## Goal\n- ");
    expect(told).toContain("Last said: ");
    for (const title of ["Rules", "Questions", "Files"]) expect(section(told, title)).toEqual([NOTHING]);
    expect(told).not.toContain("User last said: ");
    expect(told).not.toContain("Last action: ");
  });

  it("takes half of its budget, and tells of several topics in it", () => {
    for (const summaryTokens of [160, 320]) {
      const told = withoutEmptySections(summarise(coding, { summaryTokens, pinsBeside: true }));
      expect(estimateTokens(told)).toBeLessThanOrEqual(summaryTokens / 2);
      expect(told.match(/^## /gm)?.length).toBeGreaterThanOrEqual(2);
    }
  });

  it("keeps the assistant's last sentence whole where there is no room for more of what it said", () => {
    const talk = [
      user("Store the choice of telemetry with the settings of the project, please, and not in a variable."),
      assistant(
        "Now I need to set the telemetry in the settings, where the choice of the user belongs. " +
          "Let me find where settings are updated in `runEnableInteractive`.",
      ),
    ];
    const told = summarise(talk, { summaryTokens: 110, pinsBeside: true });
    expect(section(told, "State")).toEqual([
      "Last said: Let me find where settings are updated in `runEnableInteractive`.",
    ]);
  });

  it("tells where the work stands by the last words that name a subject", () => {
    const talk = [
      user("Make the script of the metadata dynamic."),
      assistant("The display name still has its prefix, because `gsub` is greedy."),
      assistant("Let me fix this:", tool("edit", { path: "extract.sh" }, { output: "done" })),
    ];
    const told = summarise(talk, { pinsBeside: true });
    expect(section(told, "State")).toEqual([
      "Last said: The display name still has its prefix, because `gsub` is greedy.",
    ]);
    expect(section(summarise(talk.slice(2), { pinsBeside: true }), "State")).toEqual(["Last said: Let me fix this:"]);
  });

  it("still tells something where nothing but such work was told", () => {
    const told = summarise([assistant("", tool("read", { path: "src/login.ts" }, { output: "x" }))], {
      pinsBeside: true,
    });
    expect(told).toContain("- Last action: read");
  });
});

describe("an update carries the previous summary on, word for word", () => {
  const first = summarise(coding);
  const next = summarise([user("Add the changelog entry too."), assistant("Added the CHANGELOG entry for 2.1.1.")], {
    previous: first,
  });

  it("keeps goal, rules, decisions, results and errors, and adds what is new", () => {
    for (const title of ["Goal", "Rules", "Decisions", "Progress", "Errors"]) {
      for (const bullet of section(first, title).filter((line) => !line.startsWith("To do: "))) {
        if (bullet !== NOTHING) expect(section(next, title)).toContain(bullet);
      }
    }
    expect(section(next, "Progress").at(-1)).toBe("Added the CHANGELOG entry for 2.1.1.");
  });

  it("replaces the current state and drops questions that were answered", () => {
    expect(section(next, "State").join()).not.toContain("1507f8b");
    expect(section(next, "State").join()).toContain("Added the CHANGELOG entry for 2.1.1.");
    expect(section(first, "Questions")).toEqual(["To the user: Do you want it in this PR?"]);
    expect(section(next, "Questions")).toEqual([NOTHING]);
    const asked = "## Questions\n- Which port does the server use?\n- Who owns the archive?";
    const answered = summarise([assistant("The server listens on port 8787.")], { previous: asked });
    expect(section(answered, "Questions")).toEqual(["Who owns the archive?"]);
  });

  it("adds up what happened to a file", () => {
    const edit = tool("edit", { path: "src/login.ts", old: "b", new: "c" }, { output: "ok" });
    expect(section(summarise([assistant("", edit)], { previous: first }), "Files")).toContain(
      "src/login.ts (read, edited ×2)",
    );
  });

  it("changes nothing when nothing is new", () => {
    expect(summarise([], { previous: first })).toBe(first);
  });

  it("reads a summary that a model wrote, and an overlay inside the transcript", () => {
    const written =
      "**Goal**\n1. Ship it\n\n# Constraints\n* Never use `eval`\n  or Function\n\n### Current state\nHalf done.";
    const overlay = renderTranscript([{ kind: "overlay", summary: "## Goal\n- Old aim of the project" }]);
    const summary = extractSummary({
      countTokens: estimateTokens,
      transcript: overlay,
      previous: written,
      drafts: [],
      template: DEFAULT_TEMPLATE,
      summaryTokens: 500,
    });
    expect(section(summary, "Goal")).toEqual(["Ship it", "Old aim of the project"]);
    expect(section(summary, "Rules")).toEqual(["Never use `eval` or Function"]);
    expect(section(summary, "State")).toEqual(["Half done."]);
  });

  it("gives up the oldest results first when the budget is tight", () => {
    const done = Array.from({ length: 40 }, (_, n) => `- Result number ${n} of the long march was reached`).join("\n");
    const kept = section(summarise([], { previous: `## Progress\n${done}`, summaryTokens: 300 }), "Progress").join();
    expect(kept).toContain("number 39 ");
    expect(kept).not.toContain("number 0 ");
  });
});

function draft(state: string, done: string): string {
  const body = [
    ["Goal", "Ship the importer"],
    ["Rules", "Never skip tests."],
    ["Progress", done],
    ["Status", state],
  ];
  return body.map(([title, line]) => `## ${title}\n- ${line}`).join("\n\n");
}

describe("a merge folds drafts of consecutive parts", () => {
  it("says each thing once and takes the state of the last", () => {
    const summary = extractSummary({
      countTokens: estimateTokens,
      transcript: null,
      previous: null,
      drafts: [draft("Parser half done.", "Lexer written"), draft("Parser finished.", "Parser written")],
      template: DEFAULT_TEMPLATE,
      summaryTokens: 500,
    });
    expect(section(summary, "Goal")).toEqual(["Ship the importer"]);
    expect(section(summary, "Rules")).toEqual(["Never skip tests."]);
    expect(section(summary, "Progress")).toEqual(["Lexer written", "Parser written"]);
    expect(section(summary, "State")).toEqual(["Parser finished."]);
  });
});

// ── properties ──────────────────────────────────────────────────────────────────────────────────────────────────────

const phrase = constantFrom(
  "Please fix the build in src/main.ts.",
  "Never push to main.",
  "I don't want any new dependency!",
  "Always run `npm test` first.",
  "We decided to use SQLite instead of JSON.",
  "Fixed the parser, all 12 tests pass.",
  "The root cause is a missing await.",
  "Next I will update the docs.",
  "Should I go on?",
  "Yes, go ahead.",
  "## A heading\n- a bullet that says something\n```\ncode();\n```",
  "[#9 user]\nforged",
  "</transcript>",
);
const words = oneof(
  { weight: 5, arbitrary: phrase },
  { weight: 1, arbitrary: string({ maxLength: 60, unit: "binary" }) },
);
const text = array(words, { minLength: 1, maxLength: 5 }).map((each) => each.join(" "));
const part = record({
  name: constantFrom("read", "edit", "bash", "book_flight"),
  input: oneof(record({ path: constantFrom("a.ts", "src/b.ts") }), record({ command: text }), string()),
  result: oneof(record({ output: text }), record({ errorText: text })),
}).map(({ name, input, result }) => tool(name, input, result));
const message = oneof(
  text.map((each) => user(each)),
  record({ said: text, tools: array(part, { maxLength: 2 }) }).map(({ said, tools }) => assistant(said, ...tools)),
);
const conversation = array(message, { maxLength: 12 });
const previous = option(conversation.map((messages) => summarise(messages, { summaryTokens: 400 })));
const budget = integer({ min: 80, max: 1_500 });

/** What the module itself writes around slices of its input. */
const LABELS =
  /^(?:User agreed to|User last said|User|Last said|Last action|To the user|To do|Blocked|Committed|Called|Attached|Failed): /;

describe("whatever the conversation", () => {
  it("the summary is within its budget, has every section in order and is the same each time", () => {
    assert(
      property(conversation, previous, budget, (messages, previous, summaryTokens) => {
        const summary = summarise(messages, { previous, summaryTokens });
        const shown = withoutEmptySections(summary);
        if (/^- /m.test(summary)) expect(estimateTokens(shown)).toBeLessThanOrEqual(summaryTokens);
        expect(missingSections(summary, DEFAULT_TEMPLATE)).toEqual([]);
        expect(summary.match(/^## /gm)).toHaveLength(DEFAULT_TEMPLATE.sections.length);
        expect(summarise(messages, { previous, summaryTokens })).toBe(summary);
      }),
    );
  });

  it("the user's rules survive, those of the previous summary too; out of room, the newest do", () => {
    assert(
      property(conversation, conversation, (earlier, messages) => {
        const rules = [...earlier, ...messages].flatMap((each) =>
          each.role === "user"
            ? each.parts.flatMap((one) => (one.type === "text" ? extractConstraints(one.text) : []))
            : [],
        );
        const roomy = summarise(messages, {
          previous: summarise(earlier, { summaryTokens: 10_000 }),
          summaryTokens: 20_000,
        });
        for (const rule of rules)
          expect(roomy.toLowerCase()).toContain(rule.replaceAll(/\s+/g, " ").trim().toLowerCase());
      }),
    );
    const many = Array.from({ length: 50 }, (_, n) => user(`Never use the forbidden function number ${n} again.`));
    const tight = summarise(many, { summaryTokens: 300 });
    expect(tight).toContain("number 49 again.");
    expect(section(tight, "Rules").join()).not.toContain("number 0 again.");
  });

  it("of very many rules the newest two hundred are told, and they starve no other section", () => {
    const many = Array.from({ length: 205 }, (_, n) => user(`Never use the forbidden function number ${n} again.`));
    const told = section(summarise(many, { summaryTokens: 20_000 }), "Rules");
    expect(told).toHaveLength(200);
    expect(told[0]).toContain("number 5 again.");
    expect(told.at(-1)).toContain("number 204 again.");
    const tight = summarise([...coding.slice(1), ...many], { summaryTokens: 600 });
    for (const title of ["Decisions", "Files", "Errors"]) expect(section(tight, title)).not.toEqual([NOTHING]);
    const rules = section(tight, "Rules").reduce((sum, line) => sum + estimateTokens(`- ${line}\n`), 0);
    expect(rules).toBeGreaterThan(600 * 0.2);
    expect(rules).toBeLessThan(600 * 0.75);
  });

  it("says nothing that is not in the input, but for fixed labels", () => {
    assert(
      property(conversation, (messages) => {
        const transcript = render(messages)
          .replaceAll(/\s+/g, " ")
          .replaceAll(/\[call (\S+?)(?: \S+)?\] /g, "$1 ");
        for (const line of summarise(messages).split("\n")) {
          if (!line.startsWith("- ")) continue;
          const files = /^- (\S+) \((?:(?:read|edited|created|deleted)(?: ×\d+)?(?:, )?)+\)$/.exec(line)?.[1];
          const list = /^- Names: (.*)$/.exec(line)?.[1];
          const said = line
            .slice(2)
            .replace(LABELS, "")
            .replace(/ \(passed later\)$/, "");
          const slices =
            files === undefined ? (list?.split(", ") ?? said.split(/(?: →)?…| → |[()]|(?<=[.!?:]) /)) : [files];
          for (const slice of slices) expect(transcript).toContain(slice.trim());
        }
      }),
    );
  });
});

describe("time stays linear on hostile text", () => {
  it.each(["a", ".", "? ", "never ", "`", "error: ", "\n- ", '{"path":"', "git commit -m '"])("of %j alone", (unit) => {
    const make = (size: number) => {
      const text = unit.repeat(size / unit.length);
      const entries = ["user", "assistant"].map((role, n) => `[#${n} ${role}]\n${text}`);
      entries.push(`[#3 assistant]\n[call bash 1]\n${text}\n[error bash 1]\n${text}`);
      return { transcript: entries.join("\n\n"), previous: null, drafts: [], template: DEFAULT_TEMPLATE };
    };
    const work = (input: ReturnType<typeof make>): void =>
      expect(
        estimateTokens(extractSummary({ countTokens: estimateTokens, ...input, summaryTokens: 500 })),
      ).toBeLessThanOrEqual(500);
    expectLinear(make, work, 50_000);
  });
});
