/** Renders an agent's answers as lines for a terminal. Text of a conversation is stripped of control characters first. */
import type { HealthReport } from "../../src/inspect/health.ts";
import type { Proposal } from "../../src/approval/room.ts";
import type { PlanReport } from "../../src/inspect/plan.ts";
import type { Outcome, RunRecord, StepRecord } from "../../src/memory/runs/runs.ts";
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";
import type { UIMessage } from "ai";
import type { Costs } from "../../src/costs/sums.ts";
import type { Paint, Style } from "../report/paint.ts";
import { table, type Column } from "../report/table.ts";
import { clip, count, duration, inert, plural } from "../report/text.ts";
import { isSummary, jsonText, showInvisible, toolName, toolPart } from "./in-package.ts";

const WIDTH_OF_NAMES = 40;
const WIDTH_OF_REASONS = 80;

const COLOUR: Readonly<Record<string, Style>> = {
  applied: "green",
  split: "green",
  nothing: "yellow",
  proposed: "yellow",
  degraded: "yellow",
  stale: "red",
  failed: "red",
  cancelled: "red",
  open: "red",
  down: "red",
};

const RUN_COLUMNS: readonly Column[] = [
  { title: "n", align: "right" },
  { title: "run" },
  { title: "asked by" },
  { title: "state" },
  { title: "view", align: "right" },
  { title: "calls", align: "right" },
  { title: "tokens", align: "right" },
  { title: "took", align: "right" },
  { title: "when" },
  { title: "why" },
];

const STEP_COLUMNS: readonly Column[] = [
  { title: "step" },
  { title: "tries", align: "right" },
  { title: "took", align: "right" },
  { title: "tokens", align: "right" },
  { title: "" },
];

export function showSessions(sessions: readonly SessionInfo[], paint: Paint): string[] {
  if (sessions.length === 0) return ["No sessions yet."];
  const rows = sessions.map(
    ({ id, name, createdAt, lastMessageAt, inputTokens, outputTokens, parentSessionId, endedAt }) => [
      id === "" ? '""' : inert(id),
      clip(inert(name ?? ""), WIDTH_OF_NAMES),
      moment(createdAt),
      lastMessageAt === null ? "" : moment(lastMessageAt),
      count(inputTokens + outputTokens),
      [parentSessionId === null ? "" : `from ${inert(parentSessionId)}`, endedAt === null ? "" : "ended"]
        .filter(Boolean)
        .join(", "),
    ],
  );
  const head = ["session", "name", "created", "last message"].map((title) => ({ title }));
  return table([...head, { title: "tokens used", align: "right" }, { title: "" }], rows, paint);
}

/** Characters shown of one part of a message that is no summary, unless all is asked for. */
const PART_CHARS = 300;

/** A view as it is sent: its summaries in full, and the beginning of each message. */
export function showMessages(
  { messages, tokens }: { readonly messages: readonly UIMessage[]; readonly tokens: number },
  { paint, whole }: { readonly paint: Paint; readonly whole: boolean },
): string[] {
  if (messages.length === 0)
    return [
      "Nothing was said here yet. Where something was, look at --agent and --session: an unknown name is a new one.",
    ];
  const summaries = messages.filter(isSummary).length;
  const told = `${plural(messages.length, "message")} of some ${count(tokens)} tokens, ${summaries === 1 ? "1 summary" : `${summaries} summaries`} among them`;
  const lines = messages.flatMap((message) => {
    const isWhole = whole || isSummary(message);
    const title = isSummary(message)
      ? paint(`── summary (${message.role})`, "bold", "green")
      : paint(`── ${message.role}`, "bold");
    const parts = message.parts.flatMap((part) => {
      const text = tellPart(part);
      return text === "" ? [] : (isWhole ? inertLines(text) : clip(inert(text), PART_CHARS)).split("\n");
    });
    return ["", title, ...parts];
  });
  return [told, ...lines];
}

function tellPart(part: UIMessage["parts"][number]): string {
  const tool = toolPart(part);
  if (tool === null) return part.type === "text" || part.type === "reasoning" ? part.text : "";
  const result = tool.errorText ?? jsonText(tool.output);
  return `[${toolName(tool)}] ${jsonText(tool.input)}${result === "" ? "" : ` → ${result}`}`;
}

/** Every line without control characters. */
function inertLines(text: string): string {
  return text.split("\n").map(inert).join("\n");
}

/** The outcome, and whether no model made the summary. */
function tellState({ outcome, state }: RunRecord): string {
  if (outcome === null) return state;
  return "degraded" in outcome && outcome.degraded ? "degraded" : outcome.kind;
}

/** Why a run changed nothing, or has a summary without a model. */
function tellWhy(run: RunRecord): string {
  const { outcome, steps } = run;
  if (outcome?.kind === "failed") return outcome.reason;
  if (outcome?.kind === "stale" || outcome?.kind === "nothing") return outcome.reason;
  if (outcome?.kind !== "applied" || !outcome.degraded) return "";
  const last = steps.findLast(({ failure, refused }) => failure !== undefined || refused !== undefined);
  return last?.failure !== undefined
    ? `${last.failure.code}: ${last.failure.reason}`
    : `refused: ${last?.refused?.problems.join(", ") ?? "no answer"}`;
}

export function showRuns(runs: readonly RunRecord[], paint: Paint): string[] {
  if (runs.length === 0) return ["No runs yet."];
  const rows = runs.map((run) => [
    String(run.n),
    run.id,
    run.trigger,
    painted(tellState(run), paint),
    sizes(run),
    String(run.modelCalls),
    count(run.inputTokens + run.outputTokens),
    run.endedAt === null ? "" : duration(run.endedAt - run.createdAt),
    moment(run.createdAt),
    clip(inert(tellWhy(run)), WIDTH_OF_REASONS),
  ]);
  return table(RUN_COLUMNS, rows, paint);
}

export function showRun(run: RunRecord, paint: Paint): string[] {
  const state = run.outcome === null ? painted(run.state, paint) : tellOutcome(run.outcome, paint);
  const plan =
    run.plan === null
      ? []
      : [`${run.plan.spanTokens} tokens in ${plural(run.plan.chunks.length, "chunk")}, level ${run.plan.level}`];
  const head = [
    `${paint(`Run ${run.n}`, "bold")} ${run.id}, asked for by ${run.trigger}${run.focus === null ? "" : `: ${inert(run.focus)}`}`,
    `  ${state}`,
    ...plan.map((line) => `  ${line}`),
    `  ${plural(run.modelCalls, "model call")}, ${count(run.inputTokens)} tokens in, ${count(run.outputTokens)} out`,
    "",
  ];
  return [...head, ...table(STEP_COLUMNS, run.steps.map(stepRow), paint)];
}

export function showPlan({ lines }: PlanReport): string[] {
  return lines.map(inert);
}

export function showProposal({ summary, tokens, spanTokens, expiresAt, onTimeout }: Proposal, paint: Paint): string[] {
  const then = onTimeout === "apply" ? "then it is applied" : "then it is discarded";
  return [
    paint(`${tokens} tokens in place of ${spanTokens}; waits until ${moment(expiresAt)}, ${then}.`, "bold"),
    "",
    // Shows invisible characters too, because a person approves the text exactly as it stands.
    ...showInvisible(summary).split("\n"),
  ];
}

export function showHealth(health: HealthReport, paint: Paint): string[] {
  const { state, breakers, spend, budget, usage, failures, runs, savedTokens, spentTokens } = health;
  const day = `${count(spend.dayTokens)}${of(budget?.dayTokens)} today`;
  return [
    `${painted(state, paint)}: ${plural(runs.length, "run")} looked at, ${count(spentTokens)} tokens spent, each later call ${count(savedTokens)} shorter`,
    `spent ${count(spend.sessionTokens)}${of(budget?.sessionTokens)} tokens in this session, ${day}`,
    ...breakers.map(({ model, state, failures, until, advice }) => {
      const rest = until === null ? "" : ` until ${moment(until)}: ${advice ?? ""}`;
      return `summariser ${inert(model)}: ${painted(state, paint)}${failures > 0 ? `, ${plural(failures, "failure")} in a row` : ""}${rest}`;
    }),
    ...usage.map(({ model, ratio, calls }) => {
      const name = inert(model) || "the model";
      return `${name} counts ${ratio.toFixed(2)} tokens for an estimated one (${plural(calls, "call")})`;
    }),
    ...failures.map(({ reason, count }) => `${count} × ${inert(reason)}`),
  ];
}

/** Costs in the currency of the prices, and the models whose costs are in no sum. */
export function showCosts({ agent, summarisers, total, withoutCompaction, unpriced }: Costs): string[] {
  const priced = [
    ...agent.map((each) => ({ ...each, name: inert(each.model) || "the model" })),
    ...summarisers.map((each) => ({ ...each, name: `${inert(each.model)}, for summaries,` })),
  ];
  const names = unpriced.map((model) => inert(model) || "calls without a model").join(", ");
  const without = withoutCompaction.total;
  return [
    ...priced.flatMap(({ name, cost, calls }) =>
      cost === null ? [] : [`${name} cost ${money(cost)} (${plural(calls, "call")})`],
    ),
    ...(total === null || without === null || priced.length === 0
      ? []
      : [`${money(total)} in all; without compaction some ${money(without)}`]),
    ...(unpriced.length === 0 ? [] : [`no price is set for ${names}: their costs are not known, nor is the total`]),
  ];
}

function money(value: number): string {
  return value.toFixed(value < 1 ? 4 : 2);
}

export function tellOutcome(outcome: Outcome, paint: Paint): string {
  const kind = painted(outcome.kind, paint);
  if (outcome.kind === "applied") {
    return `${kind}: ${outcome.tokensBefore} → ${outcome.tokensAfter} tokens${outcome.degraded ? paint(", degraded", "yellow") : ""}${outcome.rebased === true ? ", rebased" : ""}`;
  }
  if (outcome.kind === "split") return `${kind}: goes on in session ${inert(outcome.childId)}`;
  const detail = "detail" in outcome ? `: ${inert(outcome.detail)}` : "";
  return "reason" in outcome ? `${kind} (${inert(outcome.reason)})${detail}` : kind;
}

function stepRow({
  name,
  attempts,
  startedAt,
  endedAt,
  inputTokens,
  outputTokens,
  reused,
  failure,
}: StepRecord): string[] {
  const note = reused ? "found again" : failure === undefined ? "" : inert(`${failure.code}: ${failure.reason}`);
  const tokens = inputTokens + outputTokens;
  return [
    name,
    String(attempts),
    endedAt === null ? "…" : duration(endedAt - startedAt),
    tokens === 0 ? "" : count(tokens),
    note,
  ];
}

function of(limit: number | null | undefined): string {
  return limit == null ? "" : ` of ${count(limit)}`;
}

function sizes({ tokensBefore, outcome }: RunRecord): string {
  const after = outcome !== null && "tokensAfter" in outcome ? ` → ${count(outcome.tokensAfter)}` : "";
  return count(tokensBefore) + after;
}

function painted(word: string, paint: Paint): string {
  const style = COLOUR[word];
  return style === undefined ? word : paint(word, style);
}

/** To the second in UTC, as logs and the dashboard show times. */
function moment(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}
