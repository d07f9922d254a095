/** The flags of `palimpsest eval` as commander reads them. options.ts checks what they mean, and is loaded only then. */
import { InvalidArgumentError, Option, type Command } from "commander";
import type { Format } from "../../../src/import/import.ts";
import { CANDIDATES, type CandidateKind } from "./candidate.ts";
import { FORMATS } from "../in-package.ts";

export interface EvalFlags {
  readonly judge?: string;
  readonly judgeUrl?: string;
  readonly judgeWindow: number;
  readonly model?: readonly string[];
  readonly modelUrl?: string;
  readonly modelWindow: number;
  readonly threshold: readonly number[];
  readonly template?: readonly string[];
  readonly candidates: readonly CandidateKind[];
  readonly until?: number;
  readonly questions: number;
  readonly exam?: string;
  readonly prices?: string;
  readonly keep: string;
  readonly report?: string;
  readonly format?: Format;
  readonly index?: number;
}

const DEFAULT_THRESHOLD = 30_000;
const DEFAULT_WINDOW = 128_000;
const DEFAULT_QUESTIONS = 20;
/** Chooses the product's own template beside one of the user's. */
export const OWN_TEMPLATE = "default";

export function addEvalFlags(command: Command): Command {
  return command
    .option("--judge <model>", "writes the exam, answers it from each view, and grades; name or name@url")
    .option("--judge-url <url>", "its endpoint, of OpenAI's chat-completions form; key in PALIMPSEST_JUDGE_KEY")
    .addOption(whole("--judge-window <tokens>", "its context window", DEFAULT_WINDOW))
    .addOption(several("--model <model>", "a summariser to compare, name or name@url; repeat it (default: the judge)"))
    .option("--model-url <url>", "their endpoint (default: the judge's); key in PALIMPSEST_MODEL_KEY")
    .addOption(whole("--model-window <tokens>", "their context window", DEFAULT_WINDOW))
    .addOption(
      new Option("--threshold <tokens,...>", "compact beyond so many")
        .argParser(thresholds)
        .default([DEFAULT_THRESHOLD], String(DEFAULT_THRESHOLD)),
    )
    .addOption(
      several("--template <file>", `sections of a summary, as JSON; repeat it; "${OWN_TEMPLATE}" is the product's own`),
    )
    .addOption(
      new Option("--candidates <kinds>", `any of ${CANDIDATES.join(",")}`)
        .argParser(kinds)
        .default(CANDIDATES, CANDIDATES.join(",")),
    )
    .addOption(whole("--until <n>", "cut after the first n messages (default: 80 % of them)"))
    .addOption(whole("--questions <n>", "how many the judge writes", DEFAULT_QUESTIONS))
    .option("--exam <file>", "an exam of your own, as JSON, in place of the judge's")
    .option("--prices <file>", "dollars of a million tokens by model, as JSON, as PALIMPSEST_PRICES has them")
    .option("--keep <dir>", "where answers are kept, so that nothing is asked twice", ".palimpsest-eval")
    .option("--report <file>", "write a page for a browser as well")
    .addOption(
      new Option("--format <format>", "what the sessions are, where their content does not tell").choices(FORMATS),
    )
    .addOption(
      new Option("--index <n>", "which of several conversations in a file, from 0").argParser((value) =>
        natural(value),
      ),
    );
}

function whole(flags: string, description: string, value?: number): Option {
  const option = new Option(flags, description).argParser((given) => natural(given, 1));
  return value === undefined ? option : option.default(value);
}

function several(flags: string, description: string): Option {
  return new Option(flags, description).argParser((given, before: string[] | undefined) => [...(before ?? []), given]);
}

function natural(value: string, least = 0): number {
  if (/^\d+$/.test(value) && Number(value) >= least) return Number(value);
  throw new InvalidArgumentError(least === 0 ? "Give a whole number." : `Give a whole number, ${least} or more.`);
}

function thresholds(value: string): number[] {
  return [...new Set(value.split(",").map((each) => natural(each.trim().replaceAll("_", ""), 1)))];
}

function kinds(value: string): CandidateKind[] {
  const named = value.split(",").map((each) => each.trim());
  const known = CANDIDATES.filter((kind) => named.includes(kind));
  if (known.length === new Set(named).size) return known;
  throw new InvalidArgumentError(`Give some of ${CANDIDATES.join(", ")}, with commas between them.`);
}
