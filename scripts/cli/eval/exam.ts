/** An exam on what a compaction hides: its questions, and the check that the evidence of each stands where it says. */
import * as z from "zod";
import type { EvalSession } from "./session.ts";
import { quotable, squeeze } from "./say.ts";

/** What a question asks for. `KIND_MEANS` in prompts.ts tells the judge. */
export const KINDS = ["rule", "decision", "state", "failure", "fact", "id"] as const;
export type Kind = (typeof KINDS)[number];

/** Fewest characters of a quotation. A shorter one stands almost anywhere. */
const MIN_QUOTE_CHARS = 3;

const questionSchema = z.object({
  n: z.number().int().positive(),
  kind: z.enum(KINDS),
  question: z.string().trim().min(1),
  answer: z.string().trim().min(1),
  /** Exact quotations, each with the id of its message. */
  evidence: z.array(z.object({ message: z.string(), quote: z.string().trim().min(MIN_QUOTE_CHARS) })).min(1),
  weight: z.union([z.literal(1), z.literal(2), z.literal(3)]),
});
export type Question = z.infer<typeof questionSchema>;

/** A question that does not count, with the reason. */
export interface Dropped {
  readonly n: number;
  readonly question: string;
  readonly why: string;
}

export interface Exam {
  readonly questions: readonly Question[];
  readonly dropped: readonly Dropped[];
}

/** Reads each entry by itself, so that one bad question costs no other. Throws where `value` is no list of questions at all. */
export function readQuestions(value: unknown): Exam {
  const list = Array.isArray(value) ? value : (value as { questions?: unknown } | null)?.questions;
  if (!Array.isArray(list)) throw new Error("it is no JSON list of questions");
  const questions: Question[] = [];
  const dropped: Dropped[] = [];
  for (const [index, entry] of list.entries()) {
    const parsed = questionSchema.safeParse(entry);
    const n = index + 1;
    if (parsed.success) questions.push({ ...parsed.data, n });
    else dropped.push({ n, question: titleOf(entry), why: `not readable: ${problemOf(parsed.error)}` });
  }
  if (questions.length === 0) throw new Error(`it holds no whole question (${dropped[0]?.why ?? "the list is empty"})`);
  return { questions, dropped };
}

/**
 * Keeps the questions whose every quotation stands word for word in its message, and whose messages are all hidden. A quotation that also
 * stands in a message of the head or the tail would be read there, so its question is dropped as well.
 */
export function verifyExam({ questions, dropped }: Exam, session: EvalSession): Exam {
  const checked = questions.map((question) => ({ question, why: problemWith(question, session) }));
  return {
    questions: checked.flatMap(({ question, why }) => (why === null ? [question] : [])),
    dropped: [
      ...dropped,
      ...checked.flatMap(({ question: { n, question }, why }) => (why === null ? [] : [{ n, question, why }])),
    ],
  };
}

function problemWith({ evidence }: Question, { messages, hidden }: EvalSession): string | null {
  for (const { message: id, quote } of evidence) {
    const at = messages.findIndex((message) => message.id === id);
    const message = messages[at];
    if (message === undefined) return `there is no message ${id} before the cut`;
    if (!quotable(message).includes(squeeze(quote))) return `its quotation does not stand in message ${id}`;
    if (at < hidden.from || at >= hidden.to) return `message ${id} is not hidden`;
    const shown = [...messages.slice(0, hidden.from), ...messages.slice(hidden.to)];
    const elsewhere = shown.find((other) => quotable(other).includes(squeeze(quote)));
    if (elsewhere !== undefined) return `its quotation also stands in message ${elsewhere.id}, which is not hidden`;
  }
  return null;
}

function titleOf(entry: unknown): string {
  const question = (entry as { question?: unknown } | null)?.question;
  return typeof question === "string" ? question : "";
}

function problemOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return issue === undefined ? "" : `${issue.path.join(".")} ${issue.message}`.trim();
}
