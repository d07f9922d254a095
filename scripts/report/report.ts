/**
 * Renders the findings of a demo run as a page for the terminal.
 *
 * A pure function from one value to one string. Safe for any transcript, because its text is stripped of terminal control sequences.
 */
import { lineChart } from "./chart.ts";
import { createPaint, type Paint, type Style } from "./paint.ts";
import { strata } from "./strata.ts";
import { progressBar, table } from "./table.ts";
import { clip, columns, count, duration, inert, pad, plural, wrap } from "./text.ts";

export interface StepReport {
  readonly name: string;
  readonly attempts: number;
  readonly ms: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

export interface RunReport {
  readonly id: string;
  readonly trigger: string;
  /** The kind of the run's one outcome, such as `applied`, `stale` or `failed`. */
  readonly outcome: string;
  readonly steps: readonly StepReport[];
  readonly spanTokens: number;
  readonly summaryTokens: number;
  readonly modelCalls: number;
  readonly ms: number;
}

export interface OverlayReport {
  readonly id: string;
  /** First and last message that it replaces, counted from 0 along the path. */
  readonly from: number;
  readonly to: number;
  readonly spanTokens: number;
  readonly summaryTokens: number;
  readonly active: boolean;
}

export interface DemoReport {
  readonly transcript: string;
  readonly conversations: number;
  /** Messages, stored tokens and tokens in view at the end, of all conversations together. */
  readonly messages: number;
  readonly storedTokens: number;
  readonly visibleTokens: number;
  /** Messages of the longest conversation, the only one that is charted and drawn. */
  readonly chartedMessages: number;
  /** One per appended message of that conversation, and one after the last run has landed. */
  readonly samples: readonly { readonly storedTokens: number; readonly visibleTokens: number }[];
  readonly thresholdTokens: number;
  readonly runs: readonly RunReport[];
  readonly overlays: readonly OverlayReport[];
  /** Markdown. */
  readonly lastSummary: string;
  /** Facts that the overlay keeps word for word. They are the user's rules, one by one, and names. */
  readonly pinned: { readonly rules: readonly string[]; readonly names: readonly string[] };
  readonly slowestAppendMs: number;
  readonly medianAppendMs: number;
  /** Addresses of the running Worker. Empty when it has stopped. */
  readonly links: readonly string[];
  /** The command that does the same again and leaves the Worker running. */
  readonly keepCommand: string;
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
}

export interface PageOptions {
  /** Columns, clamped to 60 to 120. */
  readonly width?: number;
  readonly paint?: Paint;
}

interface Page {
  readonly width: number;
  readonly paint: Paint;
}

const MARGIN = "  ";
const SUMMARY_LINES = 24;
const CHART_ROWS = 10;
/** Most layers and runs that are drawn. The newest ones are kept. */
const MOST_LAYERS = 12;
const MOST_RUNS = 20;

/** The whole page with a newline at its end. */
export function renderReport(report: DemoReport, options: PageOptions = {}): string {
  const width = Math.min(120, Math.max(60, options.width ?? 80)) - MARGIN.length;
  const page: Page = { width, paint: options.paint ?? createPaint(false) };
  const blocks = [
    headline(report, page),
    section("Tokens, message by message", tokens(report, page), page),
    section("The page and what was written over it", overlays(report, page), page),
    section("Runs", runs(report, page), page),
    section("Steps of the last run", steps(report, page), page),
    section("The newest summary", summary(report, page), page),
    section("Kept beside it, word for word", pinned(report, page), page),
    section("Checks", checks(report, page), page),
    section("Look around", lookAround(report, page), page),
  ];
  const shown = blocks.filter((block) => block.length > 0);
  const indented = shown.map((block) => block.map((line) => (line === "" ? "" : MARGIN + line)).join("\n"));
  return `\n${indented.join("\n\n")}\n\n`;
}

function section(title: string, body: readonly string[], { width, paint }: Page): string[] {
  if (body.length === 0) return [];
  return [`${paint(title, "bold")} ${paint("─".repeat(width - columns(title) - 1), "dim")}`, ...body];
}

function headline(report: DemoReport, { width, paint }: Page): string[] {
  const { storedTokens, visibleTokens, conversations } = report;
  const saved = storedTokens === 0 ? 0 : 1 - visibleTokens / storedTokens;
  const name = clip(inert(report.transcript), width - 14);
  const view = `${count(visibleTokens)} of ${count(storedTokens)} tokens`;
  const bar = width - columns(view) - 14;
  const applied = report.runs.filter((run) => run.outcome.startsWith("applied")).length;
  const messages = plural(report.messages, "message");
  const kept =
    conversations === 1
      ? `${messages} kept`
      : `${messages} kept in ${plural(conversations, "conversation")}; the longest is drawn`;
  const appends = `appends ${duration(report.medianAppendMs)} median, ${duration(report.slowestAppendMs)} slowest`;
  return [
    `${paint("Palimpsest", "bold", "cyan")}  ${paint(name, "bold")}`,
    "",
    `In view  ${paint(progressBar(visibleTokens, storedTokens, bar), "green")}  ${view}`,
    ...wrap(`${Math.round(saved * 100)}% less to send, ${kept}.`, width),
    ...wrap(`${plural(report.runs.length, "run")}, ${applied} applied; ${appends}.`, width).map((line) =>
      paint(line, "dim"),
    ),
  ];
}

function tokens(report: DemoReport, { width, paint }: Page): string[] {
  if (report.samples.length === 0) return [];
  return lineChart({
    series: [
      { name: "stored", values: report.samples.map((sample) => sample.storedTokens), style: "yellow" },
      { name: "in view", values: report.samples.map((sample) => sample.visibleTokens), style: "green" },
    ],
    width,
    height: CHART_ROWS,
    threshold: report.thresholdTokens,
    end: plural(report.chartedMessages, "message"),
    paint,
  });
}

function overlays(report: DemoReport, { width, paint }: Page): string[] {
  if (report.overlays.length === 0) return [];
  const bands = report.overlays.slice(-MOST_LAYERS).map(({ id, from, to, active, ...overlay }) => {
    const label = `${count(overlay.spanTokens)} → ${count(overlay.summaryTokens)}`;
    return { id, from, to, active, label };
  });
  const drawing = strata({ messages: report.chartedMessages, overlays: bands, width, paint });
  const deeper = report.overlays.length - bands.length;
  const legend = `${paint("█", "green")} sent as it is  ${paint("░", "dim")} sent as a summary, kept below it`;
  return [...drawing, deeper > 0 ? `${legend}; ${plural(deeper, "older layer")} not drawn` : legend];
}

const OUTCOMES: ReadonlyMap<string, Style> = new Map([
  ["applied", "green"],
  ["failed", "red"],
]);

function runs(report: DemoReport, { width, paint }: Page): string[] {
  if (report.runs.length === 0) return wrap(whyNoRuns(report), width);
  const roomy = width >= 76;
  const wide = width >= 90;
  const right = "right" as const;
  const head = [
    { title: "run" },
    ...(roomy ? [{ title: "trigger" }] : []),
    { title: "outcome" },
    { title: "span → summary", align: right },
    ...(wide ? [{ title: "ratio", align: right }] : []),
    { title: "calls", align: right },
    { title: "time", align: right },
  ];
  const hidden = Math.max(0, report.runs.length - MOST_RUNS);
  const rows = report.runs.slice(hidden).map((run) => {
    const { spanTokens, summaryTokens } = run;
    const ratio = spanTokens > 0 ? `${Math.round((100 * summaryTokens) / spanTokens)}%` : "–";
    return [
      clip(inert(run.id), width >= 100 ? 24 : 11),
      ...(roomy ? [clip(inert(run.trigger), 9)] : []),
      paint(clip(inert(run.outcome), 10), OUTCOMES.get(run.outcome) ?? "yellow"),
      spanTokens > 0 ? `${count(spanTokens)} → ${count(summaryTokens)}` : "–",
      ...(wide ? [ratio] : []),
      String(run.modelCalls),
      duration(run.ms),
    ];
  });
  const older = hidden > 0 ? [paint(`${plural(hidden, "earlier run")}; --json has all of them`, "dim")] : [];
  return [...table(head, rows, paint), ...older];
}

/** Thresholds below this leave no room for a summary beside the newest messages. */
const LEAST_WORTH_TRYING = 1_000;

function whyNoRuns({ samples, thresholdTokens }: DemoReport): string {
  const largest = Math.max(0, ...samples.map((sample) => sample.visibleTokens));
  const why = `No view passed the threshold of ${thresholdTokens.toLocaleString("en")} tokens; the largest drawn had ${largest.toLocaleString("en")}.`;
  const lower = Math.floor(largest / 2_000) * 1_000;
  return lower < LEAST_WORTH_TRYING || lower >= thresholdTokens
    ? `${why} There is nothing to compact.`
    : `${why} Try --threshold ${lower}.`;
}

function lookAround({ links, keepCommand }: DemoReport, { width }: Page): string[] {
  // Neither is wrapped, because both are there to be copied.
  if (links.length > 0) return links.map(inert);
  return [...wrap("The Worker has stopped. Run again with --keep to look around in it:", width), inert(keepCommand)];
}

/** A waterfall in which each bar starts where the one before ended. Steps that ran side by side are drawn one after another. */
function steps(report: DemoReport, { width, paint }: Page): string[] {
  const list = report.runs.at(-1)?.steps ?? [];
  if (list.length === 0) return [];
  const total = list.reduce((sum, step) => sum + step.ms, 0);
  const names = Math.min(34, Math.max(...list.map((step) => columns(inert(step.name)))));
  const facts = list.map((step) => {
    const tokens =
      step.inputTokens === undefined ? "" : `${count(step.inputTokens)}→${count(step.outputTokens ?? 0)} tok`;
    const tries = step.attempts > 1 ? `×${step.attempts}` : "";
    return [tokens, tries].filter((each) => each !== "").join(" ");
  });
  const room = Math.max(8, width - names - Math.max(...facts.map(columns)) - 10 - 6);
  let before = 0;
  return list.map((step, at) => {
    const start = total === 0 ? 0 : Math.min(room - 1, Math.floor((before / total) * room));
    before += step.ms;
    const end = total === 0 ? 1 : Math.min(room, Math.max(start + 1, Math.round((before / total) * room)));
    const bar = pad(" ".repeat(start) + "━".repeat(end - start), room);
    const name = pad(clip(inert(step.name), names), names);
    const style = step.attempts > 1 ? "yellow" : "cyan";
    return `${name}  ${paint(bar, style)}  ${pad(duration(step.ms), 10, "right")}  ${paint(facts[at] ?? "", "dim")}`.trimEnd();
  });
}

function summary(report: DemoReport, { width, paint }: Page): string[] {
  const lines: string[] = [];
  for (const line of inert(report.lastSummary).split("\n")) {
    const [, mark = "", heading] = /^(#{1,6}) +(.*)$/.exec(line) ?? [];
    if (mark !== "" && heading !== undefined) {
      lines.push(paint(clip(heading, width - 2), "bold"));
      continue;
    }
    if (line.trim() === "" && lines.length > 0 && lines.at(-1) !== "") lines.push("");
    const indent = /^\s*(?:[-*]|\d+\.)?\s*/.exec(line)?.[0] ?? "";
    const hang = " ".repeat(columns(indent));
    const wrapped = wrap(line.slice(indent.length), width - 2 - columns(indent));
    for (const [at, each] of wrapped.entries()) lines.push((at === 0 ? indent : hang) + each);
  }
  const shown = lines.slice(0, SUMMARY_LINES).map((line) => `${paint("│", "dim")} ${line}`.trimEnd());
  const more = lines.length - SUMMARY_LINES;
  return more > 0 ? [...shown, paint(`╰ ${plural(more, "line")} more`, "dim")] : shown;
}

/** Most rules and rows of names that are shown. The overlay holds the rest. */
const MOST_RULES = 6;
const NAME_ROWS = 4;

function pinned({ pinned: { rules, names } }: DemoReport, { width, paint }: Page): string[] {
  const bar = paint("│", "dim");
  const shown = rules.slice(-MOST_RULES).flatMap((rule) => {
    const [first = "", ...rest] = wrap(inert(rule), width - 4);
    return [`${bar} ${paint("“", "dim")} ${first}`, ...rest.map((line) => `${bar}   ${line}`)];
  });
  const listed = wrap(names.map(inert).join("  "), width - 2).slice(0, NAME_ROWS);
  const more =
    rules.length > MOST_RULES ? [paint(`╵ ${plural(rules.length - MOST_RULES, "earlier rule")} as well`, "dim")] : [];
  return [...shown, ...listed.map((line) => `${bar} ${paint(line, "cyan")}`), ...more];
}

function checks(report: DemoReport, { width, paint }: Page): string[] {
  return report.checks.flatMap((check) => {
    const mark = check.ok ? paint("✓", "green") : paint("✗", "red", "bold");
    const [first = "", ...rest] = wrap(`${inert(check.name)}: ${inert(check.detail)}`, width - 2);
    return [`${mark} ${first}`, ...rest.map((line) => `  ${line}`)];
  });
}
