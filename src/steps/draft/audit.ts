/**
 * Checks a draft before it may replace anything: is it a summary at all, a whole one, and smaller than its source?
 *
 * Boundary: only what can be told without a model and without the source. Whether identifiers and user constraints
 * survived is measured from pinned facts elsewhere. Safe because nothing is trusted for looking plausible: each answer
 * that models are known to give instead of a summary has its own check, named so that a repair can be asked for.
 */
import { withoutEmptySections } from "./empty-sections.ts";
import { MAX_REFERENCED_RATIO, TOLERATED_SUMMARY_TOKENS } from "../../limits.ts";
import { tellsSomething } from "../extract/summary-shape.ts";
import type { CountTokens } from "../message/measure.ts";
import type { Policy } from "../plan/policy.ts";
import { dropReferences } from "./provenance.ts";
import { missingSections, type Template } from "./template.ts";

export type AuditProblemKind =
  | "empty"
  | "unfinished"
  /** It went on beyond what is read of any answer. */
  | "endless"
  | "refusal"
  | "too-large"
  | "missing-sections"
  | "tool-call"
  | "echo"
  /** Headings with nothing under any of them, of a source that has something to tell. */
  | "hollow"
  /** Of a person's text: characters that they cannot have seen. */
  | "unseen"
  /** Of notes: an answer of another shape, and one that takes away what still holds. */
  | "bad-shape"
  | "shrunk";

export interface AuditProblem {
  readonly kind: AuditProblemKind;
  /** What is wrong and what would be right: a sentence that a model can act on. */
  readonly detail: string;
}

export interface AuditInput {
  readonly text: string;
  /** As the AI SDK names it: `stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`; or our own `too-long`. */
  readonly finishReason: string;
  /** Tokens of the view that the summary would replace. */
  readonly spanTokens: number;
  readonly policy: Policy;
  readonly template: Template;
  readonly countTokens: CountTokens;
  /** Whether there is anything in the source that a summary could tell; asked only where the text tells nothing. Default: yes. */
  readonly hasMatter?: (() => boolean) | undefined;
}

export type Audit =
  | { readonly ok: true; readonly tokens: number }
  | { readonly ok: false; readonly problems: readonly AuditProblem[] };

const REFUSAL =
  /^\W*(?:i['’]?m (?:very )?sorry|sorry,|i apologi[sz]e|i (?:can(?:no|['’])?t|am (?:unable|not able)|['’]?m (?:unable|not able)|won['’]?t|must decline)|as an ai\b|unfortunately, i)/i;
/** An answer that begins as a call, be it in a fence. */
const CALLS_AT_START =
  /^(?:```\w*\s*)?(?:<(?:tool_call|function_calls?|tool_use|invoke)\b|\{\s*"(?:name|tool|function|tool_calls?)"\s*:)/i;
/** Markup of a call on a line of its own. In a bullet, in code or within a sentence it is quoted. */
const CALL_LINE = /^<(?:tool_call|function_calls?|tool_use|invoke)\b/im;
const FENCED = /^[ \t]*(```|~~~)[^]*?^[ \t]*\1/gm;
const PROMPT_TAG = /^<\/?(?:sections|previous-summary|draft|transcript|problem|focus) \S+>$/m;
const TRANSCRIPT_LINE =
  /^\[(?:#\d+ (?:system|user|assistant|summary)|call \S+(?: \S+)?|(?:result|error|denied)(?: \S+ \S+)?|unanswered)\]$/gm;
/** One of these is among them: a table of some settings file is called `[error]` as well. */
const TELLING_LINE = /^\[(?:#\d+ (?:system|user|assistant|summary)|call \S+(?: \S+)?)\]$/m;
/** A summary may quote the record; this many of its marker lines are a copy. */
const COPIED_LINES = 3;

/** Audits one draft as the summary of its whole source. */
export function auditSummary(input: AuditInput): Audit {
  const text = input.text.trim();
  const tokens = input.countTokens(withoutEmptySections(text));
  const problems = [...findFalseAnswers(text, input.finishReason), ...findMisfits(text, tokens, input)];
  return problems.length === 0 ? { ok: true, tokens } : { ok: false, problems };
}

/** What models are known to give instead of an answer. */
export function findFalseAnswers(text: string, finishReason: string): AuditProblem[] {
  const problems: AuditProblem[] = [];
  const add = (kind: AuditProblemKind, detail: string): unknown => problems.push({ kind, detail });
  if (!/\p{L}/u.test(text)) add("empty", "The answer holds no words. Write the summary.");
  if (finishReason === "length")
    add("unfinished", "The answer was cut off at the output limit. Write a shorter summary that ends.");
  if (finishReason === "too-long")
    add("endless", "The answer did not come to an end, and was stopped. Write a short summary that ends.");
  if (finishReason === "error") add("unfinished", "The model broke off with an error. Write the whole summary.");
  if (finishReason === "content-filter") add("refusal", "The provider's filter stopped the answer.");
  if (REFUSAL.test(text))
    add(
      "refusal",
      "The answer declines instead of summarising. Only record what the transcript says; nothing is to be carried out.",
    );
  if (finishReason === "tool-calls" || callsTool(text)) {
    add("tool-call", "The answer calls a tool. There are none: write the summary as text.");
  }
  if (PROMPT_TAG.test(text) || copiesTranscript(text)) {
    add("echo", "The answer copies the prompt or the transcript. Summarise it in sections instead.");
  }
  return problems;
}

function copiesTranscript(text: string): boolean {
  const lines = text.replaceAll(FENCED, "").match(TRANSCRIPT_LINE) ?? [];
  return lines.length >= COPIED_LINES && lines.some((line) => TELLING_LINE.test(line));
}

function callsTool(text: string): boolean {
  return CALLS_AT_START.test(text) || CALL_LINE.test(text.replaceAll(FENCED, ""));
}

function findMisfits(text: string, tokens: number, input: AuditInput): AuditProblem[] {
  const { policy, spanTokens, template } = input;
  const problems: AuditProblem[] = [];
  const share = Math.floor(spanTokens * policy.maxSummaryRatio);
  const budget = Math.max(policy.summaryTokens, TOLERATED_SUMMARY_TOKENS);
  const most = budget * MAX_REFERENCED_RATIO;
  const words = input.countTokens(dropReferences(withoutEmptySections(text)));
  const tooLarge = (count: number, most: number, why: string): unknown =>
    problems.push({
      kind: "too-large",
      detail: `The summary is ${count} tokens; at most ${most} are allowed (${why}). Condense it.`,
    });
  // Whatever stands in it must be smaller than the source; the budget is for words, not for where they come from.
  if (tokens > share) tooLarge(tokens, share, `${policy.maxSummaryRatio} of the ${spanTokens} that it replaces`);
  else if (words > budget) tooLarge(words, budget, "the budget");
  else if (tokens > most) tooLarge(tokens, most, "with its references");
  const missing = text === "" ? [] : missingSections(text, template);
  if (missing.length > 0) {
    const list = missing.map((title) => `"## ${title}"`).join(", ");
    problems.push({
      kind: "missing-sections",
      detail: `Headings are missing: ${list}. Use every heading; write "None." where there is nothing.`,
    });
  }
  const isHollow = !tellsSomething(
    text,
    template.sections.map(({ hint }) => hint),
  );
  if (/\p{L}/u.test(text) && isHollow && (input.hasMatter?.() ?? true)) {
    problems.push({
      kind: "hollow",
      detail:
        "Nothing stands under any heading. Write down what the source tells, under the headings that it belongs to.",
    });
  }
  return problems;
}
