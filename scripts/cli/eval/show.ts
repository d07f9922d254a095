/** The result of `palimpsest eval` as lines for a terminal. */
import type { Paint } from "../../report/paint.ts";
import { progressBar, table, type Column } from "../../report/table.ts";
import { count, inert, plural } from "../../report/text.ts";
import { KINDS, type Kind } from "./exam.ts";
import type { CandidateResult, EvalResult, MeanResult, SessionResult } from "./run.ts";

const BAR = 12;

export function showEval(result: EvalResult, paint: Paint): string[] {
  const { sessions, means, judge, requests, missing, notes } = result;
  const several = sessions.length > 1 ? ["", paint("Mean of the sessions", "bold"), ...showMeans(means, paint)] : [];
  return [
    ...sessions.flatMap((session, at) => [...(at === 0 ? [] : [""]), ...showSession(session, paint)]),
    ...several,
    "",
    `judge ${inert(judge.model)}: ${plural(judge.calls, "call")}, ${count(judge.inputTokens)} tokens in, ${count(judge.outputTokens)} out${judge.dollars === null ? "" : `, $${money(judge.dollars)}`}`,
    `${plural(requests.made, "call")} asked, ${requests.found} found in the folder`,
    ...notes.map((note) => `note: ${inert(note)}`),
    ...missing.map(({ key, model, purpose }) => `not recorded: ${key} (${inert(model)}, ${inert(purpose)})`),
    ...(missing.length === 0 ? [] : ["Give --judge-url and --model-url, and what is not recorded is asked for."]),
  ];
}

function showSession(
  { session, cut, messages, tokens, hidden, questions, candidates }: SessionResult,
  paint: Paint,
): string[] {
  const head = `${paint(inert(session), "bold")}, cut after ${cut} of ${plural(messages, "message")} (${count(tokens)} tokens), ${hidden} hidden, ${plural(questions.length, "question")}`;
  const kinds = kindsOf(candidates);
  const columns: Column[] = [
    ...scoreColumns(kinds),
    ...["wrong", "view", "compactions", "calls", "in", "out", "$"].map((title): Column => ({ title, align: "right" })),
  ];
  const rows = candidates.map(({ candidate, view, compactions, summariser, ...score }) => [
    ...scoreCells(candidate, score, kinds),
    String(score.wrong),
    count(view.tokens),
    String(compactions),
    String(summariser.calls),
    count(summariser.inputTokens),
    count(summariser.outputTokens),
    summariser.dollars === null ? "" : money(summariser.dollars),
  ]);
  return [head, ...table(columns, rows, paint)];
}

function showMeans(means: readonly MeanResult[], paint: Paint): string[] {
  const kinds = kindsOf(means);
  const rows = means.map((mean) => [
    ...scoreCells(mean.candidate, mean, kinds),
    String(mean.wrong),
    String(mean.sessions),
  ]);
  const columns: Column[] = [
    ...scoreColumns(kinds),
    ...["wrong", "sessions"].map((title): Column => ({ title, align: "right" })),
  ];
  return table(columns, rows, paint);
}

export function kindsOf(scores: readonly Pick<CandidateResult, "byKind">[]): Kind[] {
  return KINDS.filter((kind) => scores.some(({ byKind }) => byKind[kind] !== undefined));
}

function scoreColumns(kinds: readonly Kind[]): Column[] {
  return [
    { title: "candidate" },
    { title: "score", align: "right" },
    { title: "" },
    ...kinds.map((title): Column => ({ title, align: "right" })),
  ];
}

function scoreCells(
  candidate: string,
  { score, byKind }: Pick<CandidateResult, "score" | "byKind">,
  kinds: readonly Kind[],
): string[] {
  return [
    inert(candidate),
    score.toFixed(2),
    progressBar(Math.max(0, score), 1, BAR),
    ...kinds.map((kind) => byKind[kind]?.toFixed(2) ?? ""),
  ];
}

export function money(dollars: number): string {
  return dollars.toFixed(dollars < 1 ? 4 : 2);
}
