/**
 * The result of `palimpsest eval` as one page for a browser.
 *
 * It holds text of a conversation and of models, so every text is escaped where it enters the page. There is no script, nothing is loaded, and
 * a policy of the page forbids both.
 */
import { KIND_MEANS } from "./prompts.ts";
import type { CandidateResult, EvalResult, MeanResult, SessionResult } from "./run.ts";
import { kindsOf, money } from "./show.ts";

const STYLE = `
:root { color-scheme: light dark; --line: #8886; --bar: #4a7dcc; --good: #2e7d4f; --part: #a9780e; --none: #777; --bad: #c0392b; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: block; min-width: 7rem; height: .8rem; background: #8883; }
.bar i { display: block; height: 100%; background: var(--bar); }
details { border-bottom: 1px solid var(--line); padding: .4rem 0; } summary { cursor: pointer; }
blockquote { margin: .4rem 0 .4rem 1rem; padding-left: .6rem; border-left: 3px solid var(--line); }
.g { font-weight: 600; white-space: nowrap; } .g1 { color: var(--good); } .g05 { color: var(--part); } .g0 { color: var(--none); } .g-05 { color: var(--bad); }
.said { white-space: pre-wrap; overflow-wrap: anywhere; }
.dim { color: var(--none); }
`;

const GRADE_MEANS = new Map([
  [1, ["g1", "1 right"]],
  [0.5, ["g05", "½ partly"]],
  [0, ["g0", "0 does not say"]],
  [-0.5, ["g-05", "−½ wrong"]],
] as const);

/** A whole page. `date` is when it was made. */
export function renderEval(result: EvalResult, date: string): string {
  const { sessions, means, judge, notes, missing } = result;
  const several = sessions.length > 1 ? `<h2>Mean of the sessions</h2>${meansTable(means)}` : "";
  const dollars = judge.dollars === null ? "" : `, $${money(judge.dollars)}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>What a reader still knows</title>
<style>${STYLE}</style>
</head>
<body>
<h1>What a reader still knows</h1>
<p>Each candidate's view at the cut was read by somebody who saw nothing else and answered an exam on what was hidden. 1 is all of it. A wrong answer takes half of its weight away. ${escape(date)}; judge ${escape(judge.model)}, ${number(judge.calls)} calls, ${number(judge.inputTokens)} tokens in, ${number(judge.outputTokens)} out${dollars}.</p>
${several}
${sessions.map(sessionPart).join("\n")}
${list("Notes", notes)}
${list(
  "Not recorded",
  missing.map(({ key, model, purpose }) => `${key} (${model}, ${purpose})`),
)}
</body>
</html>
`;
}

function sessionPart(session: SessionResult): string {
  const { cut, messages, tokens, hidden, questions, candidates, dropped } = session;
  const kinds = kindsOf(candidates);
  const head = ["wrong", "view tokens", "compactions", "calls", "tokens in", "tokens out", "$"];
  const rows = candidates.map((each) => {
    const { wrong, view, compactions, summariser } = each;
    const { calls, inputTokens, outputTokens, dollars } = summariser;
    const cells = [wrong, view.tokens, compactions, calls, inputTokens, outputTokens].map((value) =>
      cell(number(value)),
    );
    return `<tr>${scoreCells(each, kinds)}${cells.join("")}${cell(dollars === null ? "" : money(dollars))}</tr>`;
  });
  return `<h2>${escape(session.session)}</h2>
<p>Cut after ${number(cut)} of ${number(messages)} messages (${number(tokens)} tokens). ${number(hidden)} messages are hidden by head and tail. ${number(questions.length)} questions.</p>
<div class="wide"><table><thead><tr>${scoreHead(kinds)}${head.map((title) => `<th class="n">${title}</th>`).join("")}</tr></thead><tbody>
${rows.join("\n")}
</tbody></table></div>
<h3>Questions</h3>
${questions.map((question) => questionPart(question, candidates)).join("\n")}
${list(
  "Dropped questions",
  dropped.map(({ n, question, why }) => `${n}. ${question}: ${why}`),
)}`;
}

function questionPart(question: SessionResult["questions"][number], candidates: readonly CandidateResult[]): string {
  const { n, kind, weight, evidence } = question;
  const rows = candidates.flatMap(({ candidate, answers }) =>
    answers
      .filter((answer) => answer.n === n)
      .map(({ answer, grade }) => {
        const [style, means] = GRADE_MEANS.get(grade as 1) ?? ["g0", String(grade)];
        return `<tr><td>${escape(candidate)}</td><td class="g ${style}">${means}</td><td class="said">${escape(answer)}</td></tr>`;
      }),
  );
  const quotes = evidence.map(
    ({ message, quote }) =>
      `<blockquote class="said">${escape(quote)} <span class="dim">${escape(message)}</span></blockquote>`,
  );
  return `<details><summary>${number(n)}. ${escape(question.question)} <span class="dim" title="${escape(KIND_MEANS[kind])}">${kind}, weight ${weight}</span></summary>
<p class="said"><b>Key:</b> ${escape(question.answer)}</p>
${quotes.join("\n")}
<table><tbody>${rows.join("")}</tbody></table></details>`;
}

function meansTable(means: readonly MeanResult[]): string {
  const kinds = kindsOf(means);
  const rows = means.map(
    (mean) => `<tr>${scoreCells(mean, kinds)}${cell(number(mean.wrong))}${cell(number(mean.sessions))}</tr>`,
  );
  const head = ["wrong", "sessions"].map((title) => `<th class="n">${title}</th>`).join("");
  return `<div class="wide"><table><thead><tr>${scoreHead(kinds)}${head}</tr></thead><tbody>
${rows.join("\n")}
</tbody></table></div>`;
}

function scoreHead(kinds: readonly string[]): string {
  const titles = kinds.map((kind) => `<th class="n">${kind}</th>`).join("");
  return `<th>candidate</th><th class="n">score</th><th></th>${titles}`;
}

function scoreCells(
  { candidate, score, byKind }: Pick<CandidateResult, "candidate" | "score" | "byKind">,
  kinds: ReturnType<typeof kindsOf>,
): string {
  const width = Math.round(Math.max(0, Math.min(1, score)) * 100);
  const bar = `<span class="bar"><i style="width:${width}%"></i></span>`;
  const own = kinds.map((kind) => cell(byKind[kind]?.toFixed(2) ?? "")).join("");
  return `<td>${escape(candidate)}</td>${cell(score.toFixed(2))}<td>${bar}</td>${own}`;
}

function list(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return `<h3>${title}</h3><ul>${lines.map((line) => `<li class="said">${escape(line)}</li>`).join("")}</ul>`;
}

function cell(text: string): string {
  return `<td class="n">${text}</td>`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? "");
}
