/**
 * The session that palimpsest-session.jsonl records, with what a user asked and what an agent said and did.
 * scripts/record-transcript.ts runs the agent's commands for real, in a clone of this repository. Their outputs are not written here.
 */

export type Call =
  | { readonly tool: "bash"; readonly command: string; readonly fails?: boolean; readonly interrupted?: boolean }
  | { readonly tool: "read"; readonly path: string; readonly fails?: boolean }
  | { readonly tool: "write"; readonly path: string; readonly content: string; readonly fails?: boolean }
  | {
      readonly tool: "edit";
      readonly path: string;
      readonly find: string;
      readonly replace: string;
      readonly fails?: boolean;
    };

/** One call of the model: what it thought, said, and called, in this order. */
export interface Step {
  readonly think?: string;
  readonly say?: string;
  readonly calls?: readonly Call[];
}

export interface Exchange {
  readonly user: string;
  readonly steps: readonly Step[];
}

const bash = (command: string): Call => ({ tool: "bash", command });
const failing = (command: string): Call => ({ tool: "bash", command, fails: true });
const interrupted = (command: string): Call => ({ tool: "bash", command, interrupted: true });
const read = (path: string): Call => ({ tool: "read", path });
const write = (path: string, content: string): Call => ({ tool: "write", path, content });
const edit = (path: string, find: string, replace: string): Call => ({ tool: "edit", path, find, replace });

const TEST = "vitest run --project pure test/import/function-role.test.ts";

const FIRST_TEST = `import { expect, test } from "vitest";
import { importTranscript } from "../../src/import/import.ts";

const called = { role: "assistant", content: null, function_call: { name: "stock", arguments: '{"grain":"rye"}' } };
const answered = { role: "function", name: "stock", content: "40 kg" };

test("a function's answer goes into the call that asked for it (V2)", () => {
  const { conversations } = importTranscript(JSON.stringify([called, answered]), { format: "openai" });
  expect(conversations[0]?.messages.flatMap((message) => message.parts)).toMatchObject([
    { type: "dynamic-tool", toolName: "stock", input: { grain: "rye" }, state: "output-available", output: "40 kg" },
  ]);
});
`;

const SECOND_TEST = `
test("two calls of one function each get their own answer, under ids of their own (V2)", () => {
  const again = { ...answered, content: "35 kg" };
  const chat = JSON.stringify([called, answered, called, again]);
  const { conversations } = importTranscript(chat, { format: "openai" });
  expect(conversations[0]?.messages.flatMap((message) => message.parts)).toMatchObject([
    { toolCallId: "function-stock", output: "40 kg" },
    { toolCallId: "function-stock~2", output: "35 kg" },
  ]);
});
`;

const MEASURE = `node --input-type=module -e '
import { importTranscript } from "./src/import/import.ts";
for (const n of [1000, 10000, 100000]) {
  const chat = Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: "message " + i }));
  const text = JSON.stringify(chat);
  const start = performance.now();
  const { conversations } = importTranscript(text);
  console.log(n, conversations[0].messages.length, (performance.now() - start).toFixed(1) + " ms");
}'`;

const DRAW = `node --input-type=module -e '
import { strata } from "./scripts/report/strata.ts";
const overlays = [
  { from: 3, to: 40, label: "8.2k → 700" },
  { from: 3, to: 90, label: "20.1k → 800" },
  { from: 91, to: 120, label: "9.9k → 600" },
];
console.log(strata({ messages: 150, overlays, width: 60 }).join("\\n"));'`;

export const scenario: readonly Exchange[] = [
  {
    user: "Hi. Get to know this repository first: what is it, how is it laid out, what happened lately? Don't change anything yet.",
    steps: [
      { say: "I'll look at the history, the layout and the manifest together.", calls: [bash("git log --oneline -15"), bash("git ls-files | grep -v package-lock | head -120"), read("package.json")] },
      { say: "The error codes and the schema tell most about a storage project, so I read those next.", calls: [read("src/errors.ts"), read("src/memory/schema.ts")] },
      { say: "Palimpsest compacts agent conversations without destroying them. Messages form a tree in SQLite; summaries are overlays laid over a path and hang on its last message. Planning is pure code in src/steps, storage is in src/memory, and importers of other tools' transcripts are in src/import. Errors are a closed list of codes in src/errors.ts, and the schema only ever moves forward through the list of migrations in src/memory/schema.ts." },
    ],
  },
  {
    user: "Good. Ground rules for everything that follows: never touch the schema version by hand, it rises only through a new entry in MIGRATIONS. No new dependencies. Small commits with a reason in the message. And answer me in plain sentences, no bullet lists.",
    steps: [
      { say: "Understood. The schema version rises only through a new migration, there will be no new dependencies, commits stay small and say why, and I answer in plain sentences. Let me check which tools guard these rules already.", calls: [read(".oxlintrc.json"), read("tsconfig.json"), read("vitest.config.ts")] },
      { say: "The linter caps files at 400 lines, functions at 70 and parameters at 3, bans clocks and randomness in src/steps, and refuses `any`. The compiler runs with exactOptionalPropertyTypes and noUncheckedIndexedAccess. Pure tests run in plain Node, everything durable in workerd." },
    ],
  },
  {
    user: "Here is the task. Old OpenAI logs use `function_call` on the assistant message and a message of role `function` for the answer, without any call id. Our importer refuses them. Please support them. Start by reading how the importer works.",
    steps: [
      { say: "I'll read the importer from its entry to the part where results meet their calls.", calls: [read("src/import/import.ts"), read("src/import/turns.ts"), read("src/import/openai.ts")] },
      { say: "Parsing and assembling are separate: every format becomes turns, and turns.ts folds results into calls. That is convenient here, because a function answer only has to become a `result` piece with a call id that matches. The rest of the reading helps to see how errors are reported.", calls: [read("src/import/items.ts"), read("src/import/chats.ts"), read("src/import/blocks.ts")] },
      { say: "Two places change, both in src/import/openai.ts: the assistant schema learns `function_call`, and the map of roles gets `function`. Nothing in turns.ts has to move, because it already makes repeated call ids unique and answers the newest open call." },
    ],
  },
  {
    user: "Agreed. Test first, please, in its own file, and show me that it fails.",
    steps: [
      { say: "A new test file with one call and its answer.", calls: [write("test/import/function-role.test.ts", FIRST_TEST)] },
      { say: "Now I run only this file.", calls: [failing(TEST)] },
      { say: "It fails for the right reason: the importer says that the role is unknown and lists the ones that it knows. Nothing was imported, as promised." },
    ],
  },
  {
    user: "Go ahead and make it pass.",
    steps: [
      {
        say: "The function role becomes a result whose call id is the function's name, and the assistant's `function_call` becomes a call with the same id.",
        calls: [
          edit(
            "src/import/openai.ts",
            "function said(",
            `/** Before calls had ids, a function's name was all that joined an answer to its call. */
const functionAnswer = z.object({ name: z.string(), content: toolOutput }).transform((value): Turn => {
  const result: Piece = { kind: "result", callId: value.name, output: value.content, failed: false };
  return { role: "user", pieces: [result], id: null, metadata: {} };
});

function said(`,
          ),
          edit("src/import/openai.ts", `  ["tool", tool],\n`, `  ["tool", tool],\n  ["function", functionAnswer],\n`),
        ],
      },
      { calls: [failing("tsc | grep -E '^src/import' ; exit ${PIPESTATUS[0]}"), failing(TEST)] },
      { think: "The result piece lacks toolName, which the type requires. And the assistant schema does not know function_call yet, so the answer finds no call.", say: "The compiler is right: a result must name its tool, or say null. And the test now shows a stray result, because the assistant's side is still missing. I'll do both." },
    ],
  },
  {
    user: "One correction before you go on: a bare function name as call id is confusing next to real ids. Make it `function-<name>`.",
    steps: [
      {
        say: "Good point, a reader should see at once that such an id was made by us. I change the answer's side and add the call's side with the same prefix.",
        calls: [
          edit("src/import/openai.ts", `{ kind: "result", callId: value.name, output: value.content, failed: false };`, `{
    kind: "result",
    callId: \`function-\${value.name}\`,
    toolName: value.name,
    output: value.content,
    failed: false,
  };`),
          edit(
            "src/import/openai.ts",
            "const message = z.object({",
            `/** The call's side of {@link functionAnswer}. */
const functionCall = z
  .object({ name: z.string(), arguments: z.string().nullish() })
  .transform(({ name, arguments: input }): Piece => {
    return { kind: "call", callId: \`function-\${name}\`, toolName: name, input: parseArguments(input ?? "") };
  });

const message = z.object({`,
          ),
          edit("src/import/openai.ts", `    tool_calls: z.array(call).nullish(),\n`, `    tool_calls: z.array(call).nullish(),\n    function_call: functionCall.nullish(),\n`),
          edit("src/import/openai.ts", `      ...(value.tool_calls ?? []),\n`, `      ...(value.tool_calls ?? []),\n      ...(value.function_call ? [value.function_call] : []),\n`),
        ],
      },
      { calls: [bash(TEST), bash("tsc | grep -E '^(src|test)/import' | head; true")] },
      { say: "The test passes and the compiler has nothing to say about the importer. The call id is now `function-stock`." },
    ],
  },
  {
    user: "Run the whole test suite to be sure.",
    steps: [{ say: "Starting everything, the workerd projects included.", calls: [interrupted("vitest run")] }],
  },
  {
    user: "Stop, I interrupted that: the machine has two cores and others are working on it. Run only test/import from now on, never the whole suite.",
    steps: [
      { say: "Sorry about that. From now on I run only test/import.", calls: [bash("vitest run --project pure test/import")] },
      { say: "All tests of the importer pass, the new one included. I'll keep to test/import from here on." },
    ],
  },
  {
    user: "What about two calls of the same function in one conversation? Old logs are full of that.",
    steps: [
      { say: "turns.ts should already handle it, by giving the second call the id `function-stock~2`. I'd rather show that than believe it, so here is a second test.", calls: [bash(`cat >> test/import/function-role.test.ts <<'END'\n${SECOND_TEST}END\n${TEST}`)] },
      { say: "It holds: the second call became `function-stock~2`, and each answer is in its own call. To be certain that the test can fail, I break the part that makes ids unique, watch, and put it back.", calls: [failing(`sed -i 's/id = \`\${base}~\${copy}\`/break/' src/import/turns.ts && ${TEST}`), bash("git checkout src/import/turns.ts && git status --short")] },
      { say: "With the suffix broken the second test fails, so it guards what it claims. turns.ts is back as it was; only openai.ts and the new test differ from the last commit." },
    ],
  },
  {
    user: "Lint and format, then commit.",
    steps: [
      { calls: [bash("oxlint src/import test/import"), bash("oxfmt --check src/import test/import"), bash("git diff --stat")] },
      { calls: [bash(`git add src/import test/import && git commit -qm "Read function calls from before calls had ids: old logs were refused whole" && git log --oneline -1`)] },
      { say: "Committed. The message says why: old logs were refused as a whole for one role that nobody writes any more." },
    ],
  },
  {
    user: "Show me the final diff once more, I want to review it.",
    steps: [
      { calls: [bash("git diff HEAD~1 --unified=2")] },
      { say: "Two schemas, one line in the map of roles and one in the list of pieces. The decision that matters is the id: `function-<name>`, made unique by turns.ts where a function is called again." },
    ],
  },
  {
    user: "Looks right. Next: is the importer linear? Someone will throw a hundred thousand messages at it. Report times in milliseconds with one decimal, also later on.",
    steps: [
      { say: "I measure three sizes, a factor of ten apart; linear code grows by about ten each time.", calls: [bash(MEASURE)] },
      { say: "Ten times the messages never cost more than about ten times the time, and the smallest run mostly pays for warming up. So it is linear in the number of messages. I'll keep reporting in milliseconds with one decimal." },
    ],
  },
  {
    user: "And can such an imported conversation be compacted safely? I worry about a cut between a call and its result. Read the planner and explain.",
    steps: [
      { say: "The planner never sees content, only an outline. I start with its words and then follow the cut.", calls: [read("src/steps/plan/outline.ts"), read("src/steps/plan/plan.ts")] },
      { say: "Now the boundaries themselves.", calls: [read("src/steps/plan/align.ts"), read("src/steps/plan/cut.ts"), read("src/steps/plan/chunk.ts")] },
      { say: "An outline row lists the calls whose result is elsewhere and the results whose call is elsewhere. In an imported conversation the importer has folded every result into the part of its call. So such a pair cannot be parted at all: the cut falls between messages or between the steps of one message, and a part lies in exactly one step." },
    ],
  },
  {
    user: "Where do those outline rows come from, then? Something must look into the parts.",
    steps: [
      { calls: [bash("grep -rn 'OutlineRow\\|MessageFacts' src --include=*.ts | head -30"), read("src/steps/message/measure.ts")] },
      { say: "measure.ts does, once, when a message is stored. It counts tokens per step and notes dangling calls, stray results and the provider's message id, and that is kept beside the message. Planning later reads those facts and never the content.", calls: [read("src/steps/message/slice.ts"), read("src/steps/view/repair.ts")] },
      { say: "repair.ts is the other half of the promise: when a view is built, a call without a result gets a synthetic one, so a provider never rejects the request. A dangling call, like the one that you interrupted, therefore neither blocks a cut nor is lost." },
    ],
  },
  {
    user: "How does it decide what is worth pinning beside a summary? I heard that identifiers survive word for word.",
    steps: [
      { say: "That is facts.ts, the longest of the pure files.", calls: [read("src/steps/facts/facts.ts"), bash("wc -l src/steps/*.ts | sort -n | tail -8")] },
      { say: "It finds two things: identifiers by kind (paths, ids, dates, quantities, versions, errors, symbols, commands), each with how often it was said, and the rules that the user laid down, word for word. Text is cut at white space first and every pattern runs on one short word, so hostile input costs linear time." },
      { say: "Rules are whole sentences, so I look at how sentences are cut apart and at the words that tell a rule from a remark.", calls: [read("src/steps/text/sentences.ts"), bash("grep -n 'import' src/steps/facts/facts.ts"), bash("grep -n 'never\\|always\\|must' src/steps/*.ts | cut -c1-170 | head -30")] },
      { say: "A sentence such as “never touch the schema version by hand” is a rule by its word “never”, so it is found as a user constraint and can be kept beside a summary as you said it." },
    ],
  },
  {
    user: "Nice. Are there property tests for the planner? Show me what they promise.",
    steps: [
      { calls: [bash("ls test/steps"), bash("grep -n \"test(\\|it(\" test/steps/*.ts | cut -c1-160"), read("test/steps/plan.property.test.ts")] },
      { say: "They promise that head, span and tail cover the view exactly once, that no boundary comes between a call and its result, that messages of one provider reply stay together, and that a dangling call blocks nothing. The conversations are generated, dangling calls and stray results included.", calls: [bash("sed -n '1,120p' test/steps/conversations.ts")] },
      { say: "So the case that worried you is generated thousands of times, with shapes that are worse than ours." },
    ],
  },
  {
    user: "Another thing. Branches: an imported pi session may be a tree. Should we store the source's parent ids in a column of their own?",
    steps: [
      { think: "A column means a migration. The user said the version may only rise via MIGRATIONS. But first: is a column needed? importTranscript returns branches; the tree is stored by parent_seq.", say: "A column would need a new entry in MIGRATIONS, so first I check whether it would hold anything new.", calls: [bash("grep -n 'parent_seq\\|branch' src/memory/schema.ts"), bash("grep -n 'branches' -r src/import"), read("src/import/pi.ts")] },
      { say: "It would not. The importer hands back `branches`, a map of the messages that do not follow the one before them, and the message table already has `parent_seq`. Appending in order with `branches.get(message.id)` as the parent builds the same tree. So there is no column, no migration, and the schema version stays where it is." },
    ],
  },
  {
    user: "Decided: no column. Write that down in the header of src/import/turns.ts in one sentence, so that nobody asks again.",
    steps: [
      { calls: [edit("src/import/turns.ts", " * Safe because it cannot fail:", " * The source's parents need no column: `branches` and the message table's `parent_seq` say the same.\n * Safe because it cannot fail:")] },
      { calls: [bash("oxfmt src/import && sed -n '1,14p' src/import/turns.ts"), bash("vitest run --project pure test/import"), bash(`git commit -qam "Say why imported parents need no column" && git log --oneline -2`)] },
      { say: "The header now says that the source's parents need no column because `branches` and `parent_seq` already say the same. Tests of the importer pass, and it is a commit of its own." },
    ],
  },
  {
    user: "How do the Claude Code files differ from pi's? I got a session whose parallel calls looked like branches in another tool.",
    steps: [
      { calls: [read("src/import/claude-code.ts"), bash("sed -n '/export const claudeCode/,/^);/p' test/import/fixtures.ts")] },
      { say: "In those files each result hangs off the line of its call, so two calls at once make a fork on paper. The importer asks a better question: does the next message follow the same provider reply? If it does, it is no branch. The fixture holds exactly that shape, and the test is called “parallel results and a harness's own cut do not look like branches”." },
    ],
  },
  {
    user: "Good. Now the terminal report. I find the drawing of the overlays hard to read when bands touch. Show me one.",
    steps: [
      { calls: [bash(DRAW), read("scripts/report/strata.ts")] },
      { say: "The bands at 3–90 and 91–120 touch, and their round corners meet without a gap, because a band ends in the column before its neighbour starts. Square ends would make the border clearer than round ones." },
    ],
  },
  {
    user: "Try square ends, but keep the functions pure and don't widen anything: a line must never exceed the terminal.",
    steps: [
      { calls: [edit("scripts/report/strata.ts", "`╭${", "`┌${"), edit("scripts/report/strata.ts", "}╮`", "}┐`"), bash(DRAW)] },
      { say: "The corners are square now and no line became longer. The test that compares a whole drawing has to follow.", calls: [failing("vitest run --project pure test/scripts 2>&1 | sed -n '1,60p'; exit ${PIPESTATUS[0]}")] },
      { calls: [bash("sed -i 's/╭/┌/g; s/╮/┐/g' test/scripts/report.test.ts && vitest run --project pure test/scripts")] },
      { say: "All green again, the property that no line is wider than the terminal included. I ran test/scripts here because the change is in scripts; test/import is not affected." },
    ],
  },
  {
    user: "Hmm. Seeing it, I prefer the round ones after all. Revert that, please.",
    steps: [
      { calls: [bash("git checkout scripts test/scripts && git status --short && git log --oneline -3")] },
      { say: "Reverted: the round corners are back, the tree is clean, and nothing of the experiment was committed." },
    ],
  },
  {
    user: "What does the report module look like as a whole? I want to know whether it could draw from the ledger directly.",
    steps: [
      { calls: [read("scripts/report/report.ts"), read("scripts/report/text.ts")] },
      { say: "It draws from one plain value, DemoReport, and reads nothing itself. To draw from the ledger one would map ledger rows to RunReport: id, trigger, outcome, steps with attempts and times, tokens of the span and of the summary. I would keep that mapping outside, so that the page stays a function of data." },
      { calls: [read("scripts/report/chart.ts")] },
      { say: "The chart is independent of the report as well: series, width, height, and a threshold. Text from a transcript passes `inert`, which removes whatever a terminal would obey." },
    ],
  },
  {
    user: "Is there a chance that an error message of the importer leaks a customer's text? We log errors.",
    steps: [
      { say: "JSON.parse quotes its input in some messages, so this deserves a look at the real behaviour and not only at the code.", calls: [bash(`node --input-type=module -e '
import { importTranscript } from "./src/import/import.ts";
for (const text of ["secret words", "{\\"role\\":\\"user\\",\\"content\\":\\"secret\\"", "[{\\"role\\":\\"user\\",\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":7,\\"x\\":\\"secret\\"}]}]", "[{\\"role\\":\\"secret\\"}]"]) {
  try { importTranscript(text); } catch (error) { console.log(error.message); }
}'`), failing("node -e 'JSON.parse(\"secret words\")' 2>&1 | grep SyntaxError; exit 1")] },
      { say: "The engine's own message would quote the text; ours keeps only the part before the quotation. HiddenMessages, field names and reasons are named, content is not. The last case shows the roles that are known, not the one that was given." },
    ],
  },
  {
    user: "Good. Are there TODOs or skipped tests anywhere that I should know about?",
    steps: [
      { calls: [bash("grep -rniE 'todo|fixme|hack' src test scripts --include=*.ts | grep -v scenario | head; echo \"(end of search)\""), bash("grep -rn 'skip' test --include=*.ts | head")] },
      { say: "No open TODO. The only skipped tests are those of the real transcripts of other tools, which are not part of the repository; they say so when they skip, and PALIMPSEST_TRANSCRIPTS names the folder that holds them." },
    ],
  },
  {
    user: "Last question for today: which files are closest to the limit of 400 lines, and which tests take longest?",
    steps: [
      { calls: [bash("git ls-files 'src/*.ts' 'scripts/*.ts' 'test/*.ts' | xargs wc -l | sort -rn | sed -n '2,9p'"), bash("vitest run --project pure test/import --reporter=verbose | grep -E 'ms$' | awk '{print $NF, $0}' | sort -rn | cut -d' ' -f2- | head -5")] },
      { say: "The first two of that list are the ones to watch: the next feature there should begin with a split. Of the importer's tests the fuzzing one takes longest, as it should: it corrupts the fixtures two thousand times." },
    ],
  },
  {
    user: "Wrap up: what changed today, what did we decide, what is open?",
    steps: [
      { calls: [bash("git log --oneline -4"), bash("git diff HEAD~2 --stat"), bash("git status --short; git diff --quiet && echo clean")] },
      { say: "Two commits. The first lets the OpenAI importer read `function_call` and the role `function`; ids are `function-<name>`, with `~2` and so on where a function is called again, and test/import/function-role.test.ts guards it. The second writes down why imported parents need no column: `branches` and `parent_seq` say the same, so the schema version was not touched. We tried square corners in the overlay drawing and went back to round ones. Open is the mapping from ledger rows to the report, which should live outside scripts/report. From the rules that you set, I keep: the schema version rises only through MIGRATIONS, no new dependencies, small commits with reasons, plain sentences, only test/import and never the whole suite, and times in milliseconds with one decimal." },
    ],
  },
];
