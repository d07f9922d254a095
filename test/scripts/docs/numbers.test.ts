/**
 * Every number in the pages is a constant of the code, a measurement, or free, and this file says which.
 *
 * A sentence must match letter by letter, with each number in it rendered from its own constant. So "12,000" is no "2,000", and a changed
 * constant fails its sentence. A number in a page that no sentence here covers fails the page.
 */
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { LIMITS as STRICT } from "../../strict.ts";
import { ASKED_ROWS, BEGINNING_ROWS, READ_CHARS, TOKENS_OF_A_TURN, TOPIC_ROWS } from "../../../src/recall/recall.ts";
import { ASSUMED_WINDOW_TOKENS, RENT_TAIL_TOKENS } from "../../../src/agent/settings.ts";
import * as limits from "../../../src/limits.ts";
import * as ofNotes from "../../../src/notes/limits.ts";
import { MAX_DIMENSIONS, PAUSE_MS } from "../../../src/embeddings/provider.ts";
import { DEFAULT_EMBEDDING_TOKENS } from "../../../src/embeddings/provider.ts";
import { EMBEDDED_TOGETHER, ENTRY_BYTES } from "../../../src/embeddings/pages.ts";
import {
  BATCH_TEXTS,
  CALLS_AFTER,
  COMPARED_BYTES,
  MAX_PIECES,
  PIECE_CHARS,
  SEARCHED_PAGES,
} from "../../../src/embeddings/search.ts";
import { PASSAGES_PIECE_CHARS } from "../../../src/recall/passages.ts";
import {
  ANSWER_CHARS_PER_TOKEN,
  MOST_FRAMING_TOKENS,
  MOST_TIMES_ESTIMATE,
  MOST_WRITTEN_TOKENS,
} from "../../../src/model/summarize.ts";
import { MAX_REDIRECTS, MAX_RESPONSE_BYTES } from "../../../src/providers/openai-compatible.ts";
import { DEFAULT_NOTES_SECTIONS } from "../../../src/notes/steps/document.ts";
import { DEFAULT_TEMPLATE } from "../../../src/steps/draft/prompt.ts";
import { MAX_HOOK_ATTEMPTS } from "../../../src/agent/runs/end-run.ts";
import { MAX_SPENT_TICKETS, MIN_SECRET_CHARS } from "../../../src/doors/caller.ts";
import { MAX_IMPORT_ENTRIES, MAX_IMPORT_VALUE_CHARS, MAX_BAD_ENTRIES } from "../../../src/import/items.ts";
import { PART_CHARS } from "../../../src/import/parts.ts";
import { DEFAULT_FUNCTION_LIMIT_MS, MAX_FUNCTION_LIMIT_MS } from "../../../src/own-function/room.ts";
import { SUMMARY_OF_WINDOW } from "../../../src/steps/plan/plan.ts";
import { SYSTEM_CHARS } from "../../../src/facts/said.ts";
import { STRIDE_SHARE } from "../../../src/fit/fit-steps.ts";
import { RECALL_TOKENS } from "../../../src/recall/recall.ts";
import { MAX_PHRASE_WORDS, SEARCH_MAX_BYTES } from "../../../src/recall/index-text.ts";
import {
  FIRST_MESSAGE_SHARE_OF_THRESHOLD,
  OPENING_TOKENS,
  OPENING_SHARE_OF_THRESHOLD,
  DEFAULT_TAIL_TOKENS,
  TAIL_SHARE_OF_THRESHOLD,
  DEFAULT_MIN_TAIL_MESSAGES,
  PINNED_SHARE_OF_THRESHOLD,
  MIN_PINNED_TOKENS,
  MOST_PINNED_OF_THRESHOLD,
  LOADED_SHARE_OF_THRESHOLD,
  MIN_LOADED_TOKENS,
  MOST_LOADED_OF_THRESHOLD,
  MOST_OF_A_SOURCE,
  SPAN_SHARE_OF_THRESHOLD,
  MIN_SPAN_TOKENS,
  DEFAULT_CHUNK_TOKENS,
  LEAST_CHUNK_TOKENS,
} from "../../../src/steps/plan/policy.ts";
import {
  TRUNCATE_KEEP_RECENT,
  TRUNCATE_OUTPUT_CHARS,
  TRUNCATE_TEXT_CHARS,
  TRUNCATE_STEP,
} from "../../../src/fit/truncate.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const PAGES = [
  "README.md",
  "SECURITY.md",
  "ARCHITECTURE.md",
  ...readdirSync(resolve(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
].toSorted();

/** Pages whose numbers are all measured or generated from the code. Other tests compare these pages with their source. */
const MEASURED = new Set(["docs/costs.md", "docs/api.md"]);

/** A sentence in which each number is a constant. */
interface Held {
  readonly text: string;
  /** Where each number stands in it. */
  readonly numbers: readonly { readonly from: number; readonly to: number }[];
}

const SHARES = new Map([
  [1 / 2, "half"],
  [1 / 4, "a quarter"],
  [1 / 5, "a fifth"],
  [1 / 6, "a sixth"],
  [1 / 8, "an eighth"],
  [1 / 12, "a twelfth"],
  [1 / 10, "a tenth"],
  [1 / 20, "a twentieth"],
  [1 / 15, "a fifteenth"],
  [1 / 30, "a thirtieth"],
  [1 / 40, "a fortieth"],
  [1 / 3, "a third"],
]);
const WORDS = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/** "a tenth" of 10, for constants that divide. */
const share = (divisor: number): string => SHARES.get(1 / divisor) ?? `no word for 1/${divisor}`;
const word = (count: number): string => (count === 20 ? "twenty" : (WORDS[count] ?? `no word for ${count}`));
const minutes = (ms: number): number => ms / 60_000;

function says(literals: TemplateStringsArray, ...values: readonly (number | string)[]): Held {
  let text = literals[0] ?? "";
  const numbers = values.map((value, at) => {
    const from = text.length;
    text += typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : value;
    const to = text.length;
    text += literals[at + 1] ?? "";
    return { from, to };
  });
  if (/\d/.test(literals.join(""))) throw new Error(`A number stands in a sentence as it is: ${literals.join("…")}`);
  return { text, numbers };
}

const [AFTER_1, AFTER_2, AFTER_3, AFTER_4] = limits.COOLDOWNS_MS.map(minutes) as [number, number, number, number];
const { input, output, cacheRead, cacheWrite } = limits.DEFAULT_PRICES;

const HELD: Readonly<Record<string, readonly Held[]>> = {
  "docs/compaction.md": [
    says`the next may start after ${AFTER_1}, ${AFTER_2}, ${AFTER_3}, ${AFTER_4} minutes, and`,
    says`one run asks again after ${AFTER_1}, ${AFTER_2}, ${AFTER_3}, ${AFTER_4} minutes |`,
    says`After ${AFTER_1}, ${AFTER_2}, ${AFTER_3}, ${AFTER_4} minutes one run asks the model again.`,
  ],
  "docs/own-function.md": [
    says`within \`timeoutMs\`: ${minutes(DEFAULT_FUNCTION_LIMIT_MS)} minutes unless told otherwise, ${minutes(MAX_FUNCTION_LIMIT_MS)} minutes at most |`,
    says`it is called anew up to ${limits.MAX_INSTANCE_RESTARTS} times |`,
  ],
  "docs/options.md": [
    says`| \`head\` | ${limits.DEFAULT_PROTECT_HEAD} |`,
    says`Without one it assumes ${ASSUMED_WINDOW_TOKENS} tokens`,
    says`most messages of a view, at most ${limits.MAX_OUTLINE_ROWS};`,
    says`| \`tail\` | ${DEFAULT_TAIL_TOKENS}, at most ${share(TAIL_SHARE_OF_THRESHOLD)} of the threshold |`,
    says`\`{ tokens, messages }\`: ${DEFAULT_MIN_TAIL_MESSAGES} messages are kept at any size |`,
    says`| \`share\` | ${share(limits.STACK_SHARE_OF_THRESHOLD)} |`,
    says`| tokens of the head | ${share(limits.HEAD_SHARE_OF_THRESHOLD)} of the threshold;`,
    says`kept in any case up to ${share(FIRST_MESSAGE_SHARE_OF_THRESHOLD)} of the threshold,`,
    says`is quoted: ${OPENING_TOKENS} tokens, at most ${share(OPENING_SHARE_OF_THRESHOLD)} of the threshold |`,
    says`${share(limits.SUMMARIES_IN_A_STACK)} of that, which is ${share(limits.SUMMARIES_IN_A_STACK * limits.STACK_SHARE_OF_THRESHOLD)} of the threshold; at least ${limits.MIN_SUMMARY_TOKENS} where`,
    says`is not stated; at most ${limits.MAX_SUMMARY_TOKENS}, and at most ${share(1 / SUMMARY_OF_WINDOW)} of the summariser's window. An answer is taken up to twice as long, and up to ${limits.TOLERATED_SUMMARY_TOKENS} tokens in any case. It is at most ${MOST_OF_A_SOURCE} of its source |`,
    says`| ${share(PINNED_SHARE_OF_THRESHOLD)} of the threshold, at least ${MIN_PINNED_TOKENS}, at most ${share(MOST_PINNED_OF_THRESHOLD)} of it: standing`,
    says`| ${share(LOADED_SHARE_OF_THRESHOLD)} of the threshold, at least ${MIN_LOADED_TOKENS}, at most ${share(MOST_LOADED_OF_THRESHOLD)} of it: instruction`,
    says`| ${share(SPAN_SHARE_OF_THRESHOLD)} of the threshold, at least ${MIN_SPAN_TOKENS}. It is also`,
    says`| two and a half thresholds, at least ${LEAST_CHUNK_TOKENS}, at most ${DEFAULT_CHUNK_TOKENS};`,
    says`| One message | ${limits.MESSAGE_MAX_BYTES / 1_024 / 1_024} MiB of JSON;`,
    says`| Message id, session id | ${limits.MAX_ID_CHARS} and ${limits.MAX_SESSION_ID_CHARS} characters |`,
    says`| What one plan reads | ${limits.MAX_OUTLINE_ROWS} elements of a view and ${limits.MAX_OUTLINE_BYTES / 1_000} kB;`,
    says`| A model's time | ${minutes(limits.MODEL_CALL_MS)} minutes a call, ${minutes(limits.MODEL_STEP_MS)} minutes a step`,
    says`or past ${limits.HARD_LINE} thresholds where it is not given`,
    says`\`tail\` is ${RENT_TAIL_TOKENS} by default`,
    says`| cache read ${cacheRead}, cache write ${cacheWrite}, input ${input}, output ${output} |`,
    says`| \`template\` | ${word(DEFAULT_TEMPLATE.sections.length)} sections |`,
    says`without it \`auto\` with a ceiling (${limits.WORKER_THRESHOLD_TOKENS}) |`,
    says`between two looks at live runs (${limits.WATCHDOG_SECONDS}) |`,
    says`in the long run (${limits.CALLS_PER_SECOND}); a caller has ${word(limits.CALLER_SHARE)} times as many`,
  ],
  "docs/models.md": [says`has ${limits.THINKING_TOKENS} tokens for it, beside the answer`],
  "docs/sessions.md": [
    says`the first ${limits.MAX_QUERY_TERMS} different ones, and of a phrase the first ${MAX_PHRASE_WORDS} words.`,
  ],
  "docs/transcripts.md": [
    says`It counts how many more there are, up to ${MAX_BAD_ENTRIES}. - One import takes ${MAX_IMPORT_ENTRIES} entries and ${limits.MAX_IMPORTING_CHARS} characters.`,
    says`takes one frame, which is at most ${limits.MAX_REQUEST_BYTES} characters.`,
    says`The command line sends parts of ${PART_CHARS} characters with`,
    says`A line, or a file that is one JSON document, takes ${MAX_IMPORT_VALUE_CHARS} characters`,
  ],
  "docs/ai-chat.md": [says`once for each ${Math.floor(STRIDE_SHARE * 10) * 10}% of the limit`],
  "docs/views.md": [
    says`shortened to ${SYSTEM_CHARS} characters`,
    says`for the whole prompt, ${limits.MIN_VIEW_TOKENS} at least.`,
    says`\`keepRecent\` (${TRUNCATE_KEEP_RECENT}), \`maxToolOutputChars\` (${TRUNCATE_OUTPUT_CHARS}), \`maxTextChars\` (${TRUNCATE_TEXT_CHARS}) and \`step\` (${TRUNCATE_STEP}),`,
  ],
  "docs/notes.md": [
    says`the ${word(DEFAULT_NOTES_SECTIONS.length)} above, each`,
    says`${"`maxTokens`"}, ${"`sectionTokens`"} | ${ofNotes.NOTES_TOKENS} for all (at most ${share(ofNotes.NOTES_SHARE_OF_THRESHOLD)} of the threshold), ${ofNotes.NOTES_SECTION_TOKENS} for one (at most ${share(ofNotes.NOTES_SECTION_SHARE)} of all) |`,
    says`an update after ${ofNotes.NOTES_GROWTH_TOKENS} new tokens (at most ${share(ofNotes.NOTES_GROWTH_SHARE)} of the threshold, but ${ofNotes.LEAST_NOTES_GROWTH_TOKENS} or ${share(ofNotes.LEAST_NOTES_GROWTH_SHARE)} of it at least) and ${ofNotes.NOTES_TOOL_CALLS} tool calls,`,
    says`at least ${ofNotes.DEFAULT_NOTES_MIN_TOKENS} tokens and ${ofNotes.DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES} messages with text, at most ${ofNotes.DEFAULT_NOTES_MAX_TOKENS}. Each is at most a quarter of the threshold`,
    says`which is at work waits ${ofNotes.NOTES_WAIT_MS / 1_000} s for it |`,
    says`is kept whole, up to ${ofNotes.MAX_NOTES_BYTES / 1_000} kB, at any budget`,
    says`// the last ${word(ofNotes.NOTES_VERSIONS)}, newest first`,
    says`is kept beyond the last ${word(ofNotes.NOTES_VERSIONS)}, up to ${word(ofNotes.MAX_POINTED_NOTES)} of them.`,
    says`the watchdog calls it again, ${word(MAX_HOOK_ATTEMPTS)} times in all.`,
    says`with at most ${limits.CARRIED_TOKENS} tokens of one block.`,
    says`after the summary too, at most ${limits.HOOK_TOKENS} tokens of it.`,
  ],
  "docs/recall.md": [
    says`word for word, within ${RECALL_TOKENS} tokens.`,
    says`at most ${READ_CHARS} characters of messages, in pieces of ${PASSAGES_PIECE_CHARS} or one message, and others get their turn after each.`,
    says`a message for each ${TOKENS_OF_A_TURN} tokens of the answer at most, and ${ASKED_ROWS + TOPIC_ROWS + BEGINNING_ROWS} rows of the index.`,
    says`a vector of at most ${MAX_DIMENSIONS} numbers for each text.`,
    says`agent and UTC day, by estimate. Default ${DEFAULT_EMBEDDING_TOKENS} |`,
    says`A batch is ${BATCH_TEXTS} texts, and at most ${CALLS_AFTER} batches follow one recall or compaction.`,
    says`left alone for ${PAUSE_MS / 1_000} seconds, and for longer`,
    says`up to ${MAX_PIECES} pieces of some ${PIECE_CHARS} characters of each message.`,
    says`a byte for each dimension and ${ENTRY_BYTES} more for each piece, in pages of ${EMBEDDED_TOGETHER} messages.`,
    says`for each page of the newest ${SEARCHED_PAGES}, so it searches ${SEARCHED_PAGES * EMBEDDED_TOGETHER} messages by meaning`,
    says`in pieces of ${COMPARED_BYTES / 1_000_000} MB.`,
    says`**A message is searched up to ${SEARCH_MAX_BYTES / 1_000_000} MB.**`,
  ],
  "docs/chat.md": [says`so one turn's reply, holds ${limits.MESSAGE_MAX_BYTES / 1_024 / 1_024} MiB.`],
  "docs/operations.md": [
    says`It lets one run ask again after ${AFTER_1}, ${AFTER_2}, ${AFTER_3}, ${AFTER_4} minutes.`,
    says`once the answer is ${ANSWER_CHARS_PER_TOKEN} times as many characters`,
    says`One call takes ${minutes(limits.MODEL_CALL_MS)} minutes at most. All tries of one step together take ${minutes(limits.MODEL_STEP_MS)} minutes at most,`,
    says`at most ${MOST_TIMES_ESTIMATE} times what we estimate for a prompt and ${MOST_FRAMING_TOKENS} more, and at most ${MOST_WRITTEN_TOKENS} for an answer.`,
    says`may redirect a call ${MAX_REDIRECTS} times: to its own origin`,
    says`At most ${MAX_RESPONSE_BYTES / 1_000_000} MB are read of one response.`,
  ],
  "docs/limits.md": [
    says`| ${STRICT.valueBytes} bytes |`,
    says`parameters of a statement | ${STRICT.parameters} |`,
    says`the text of a statement | ${STRICT.statementBytes} bytes |`,
    says`an instance's params | ${STRICT.resultBytes} bytes |`,
    says`a step's name | ${STRICT.stepNameChars} characters |`,
    says`an instance's id | ${STRICT.instanceIdChars} characters |`,
    says`connections of an instance at once | ${STRICT.connections} |`,
    says`on the free plan | ${STRICT.steps} |`,
    says`passes or returns | ${STRICT.rpcBytes} bytes |`,
    says`calls of an instance to others | ${STRICT.subrequests} |`,
    says`as time without a pause | ${STRICT.callMs} ms |`,
    says`as bytes read without a pause | ${STRICT.memoryBytes} bytes |`,
  ],
  "docs/deploy.md": [says`The outline is held under ${limits.MAX_OUTLINE_BYTES / 1_000} kB |`],
  "SECURITY.md": [
    says`, ${MIN_SECRET_CHARS} characters or more, no spaces`,
    says`(one row, at most ${MAX_SPENT_TICKETS} ids;`,
    says`A frame is at most ${Math.round(limits.MAX_REQUEST_BYTES / 100_000) / 10} M characters`,
    says`A **connection** makes ${limits.CALLS_PER_SECOND} calls a second (\`PALIMPSEST_CALLS_PER_SECOND\`) and ${limits.CALLS_IN_A_ROW} in a row. A **caller** makes ${word(limits.CALLER_SHARE)} times as many`,
    says`Reading stops after ${MAX_BAD_ENTRIES} bad lines or ${MAX_IMPORT_ENTRIES} entries`,
    says`${word(1)} of the largest files is read at a time`,
  ],
};

/** Numbers that are no constant of the code. They are set by others, were measured once, or are counted by the sentence itself. */
const FREE: Readonly<Record<string, readonly string[]>> = {
  "SECURITY.md": [
    "gets 403 and",
    "beyond that 429 for",
    "of IPv6 its 64-bit",
    "connection gets 429.",
    "10,000 hostile frames",
  ],
  "docs/sessions.md": ["sums begin at 0"],
  // Rules of providers (test/turn/pictures.test.ts, test/turn/steps/taken-files.test.ts).
  "docs/views.md": [
    "An id of a call has 1 to 64 letters",
    "100 pictures",
    "20 where one has a side of more than 2,000 px",
    "None with a side of more than 8,000 px or of more than 10 MB in base64",
    "20 pictures and documents together, 5 documents",
    "50 and 900 pictures",
    "500, 8 and 5 pictures",
    "an item's id of more than 64 characters",
  ],
  "docs/options.md": ["| `overheadTokens` | 0 |"],
  "docs/notes.md": ["(0 where there were none)"],
  "docs/page.md": ["from 375 pixels on"],
  "docs/operations.md": [
    "Exit codes: 0 done, 1 the answer",
    "2 asked for wrongly, 3 not reached",
    "at 80 % of the budget",
  ],
  "docs/deploy.md": [
    "The bundle is 4.6 MB, 980 kB compressed",
    "takes 3 MB",
    "| 10 ms | 30 s |",
    "| 1,024 | 10,000 |",
    "a run takes 2 with",
    "one a chunk and 2 beside",
    "| 1 MiB | 1 MiB |",
    "| 50 | 10,000 |",
    "15 chunks on the free plan",
    "| 10 GB | 10 GB |",
  ],
  "docs/recall.md": ["a recall reads at most 4 rows for each page"],
  "docs/redaction.md": [
    "less than 110 kB, compressed 30 kB",
    "has it after 22 characters",
    "found 22 more of the secrets of gitleaks and 7 more",
  ],
};

/** The prose on one line, without code blocks, measured blocks, addresses of links and list marks. */
function prose(name: string): string {
  return readFileSync(resolve(ROOT, name), "utf8")
    .replaceAll(/^<!-- (?:measured)\b[^]*?^<!-- (?:end of measured|measured: end)\b.*$/gm, "")
    .replaceAll(/\]\([^)]*\)/g, "]")
    .replaceAll(/^ *\d+\. /gm, "")
    .replaceAll(/\s+/g, " ");
}

/** Code is removed, because numbers there belong to examples. The sentences are searched before that. */
const CODE = /```.*?```|`[^`]*`/g;
const NUMBER = /(?<![\w@#.,-])\d(?:[\d,.]*\d)?/g;

/** Versions of the dependencies, which `scripts/consumers.ts` tries. */
const VERSIONS = /\b(?:AI SDK|TypeScript|agents|[Uu]ntil|Node(?:\.js)?)(?:,? (?:or|to|and)? ?\d+(?:\.\d+)?)+/g;

/** Where a sentence stands, with no digit beside it that would make another number of its first or last. */
function places(text: string, sentence: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(sentence); at !== -1; at = text.indexOf(sentence, at + 1)) {
    const around = text.slice(Math.max(0, at - 2), at + sentence.length + 2);
    const begins = /^\d/.test(sentence) && /[\d][,.]?$|\d$/.test(text.slice(Math.max(0, at - 2), at));
    const ends = /\d$/.test(sentence) && /^[,.]?\d/.test(text.slice(at + sentence.length));
    if (around !== "" && !begins && !ends) found.push(at);
  }
  return found;
}

describe.each(PAGES.filter((name) => !MEASURED.has(name)))("%s", (name) => {
  const text = prose(name);
  const held = HELD[name] ?? [];

  test.each(held.map((sentence) => [sentence.text, sentence] as const))("says: %s", (_, sentence) => {
    expect(places(text, sentence.text).length, sentence.text).toBeGreaterThan(0);
  });

  test("says no number that nothing holds", () => {
    const known = new Set<number>();
    const know = (from: number, to: number): void => {
      for (let at = from; at < to; at++) known.add(at);
    };
    for (const sentence of held) {
      for (const at of places(text, sentence.text))
        for (const { from, to } of sentence.numbers) know(at + from, at + to);
    }
    for (const free of FREE[name] ?? []) {
      const found = places(text, free);
      expect(found.length, `"${free}" stands nowhere any more`).toBeGreaterThan(0);
      for (const at of found) know(at, at + free.length);
    }
    for (const code of text.matchAll(CODE)) know(code.index, code.index + code[0].length);
    for (const decision of text.matchAll(/\bdecisions? \d+/g))
      know(decision.index, decision.index + decision[0].length);
    for (const version of text.matchAll(VERSIONS)) know(version.index, version.index + version[0].length);
    const unheld = [...text.matchAll(NUMBER)]
      .filter(({ index }) => !known.has(index))
      .map(({ index }) => text.slice(Math.max(0, index - 50), index + 40));
    expect(unheld).toEqual([]);
  });
});

test("a sentence with another number is not taken for what is held", () => {
  const { text } = says`at most ${2_000} for one`;
  expect(places("at most 12,000 for one", text)).toEqual([]);
  expect(places("of 12,000", "2,000")).toEqual([]);
  expect(places("2,000.5 of it", "2,000")).toEqual([]);
  expect(() => says`at most 2 for one`).toThrow("as it is");
});

test("the headings of docs/notes.md are those of the code", () => {
  const headings = /with fixed headings: \*([^*]+)\*/.exec(prose("docs/notes.md"))?.[1];
  expect(headings).toBe(DEFAULT_NOTES_SECTIONS.map(({ title }) => title).join(", "));
});
