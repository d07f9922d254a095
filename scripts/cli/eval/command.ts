/** `palimpsest eval` as a command: its answer, its lines and its page. Loaded when it is asked for, because it reads more than the others. */
import type { Context, Done } from "../commands.ts";
import { EXIT } from "../failure.ts";
import type { EvalFlags } from "./flags.ts";
import { readEvalOptions } from "./options.ts";
import { renderEval } from "./report.ts";
import { evaluate, writeReport } from "./run.ts";
import { showEval } from "./show.ts";

export async function evalSessions(
  { live, paint }: Context,
  {
    files,
    flags,
    env,
  }: { files: readonly string[]; flags: EvalFlags; env: Readonly<Record<string, string | undefined>> },
): Promise<Done> {
  const options = await readEvalOptions(flags, env);
  const answer = await evaluate(files, options, live);
  const lines = showEval(answer, paint);
  if (options.report !== null) {
    await writeReport(options.report, renderEval(answer, new Date().toISOString().slice(0, 10)));
    lines.push(`The page is ${options.report}.`);
  }
  return { answer, lines, exitCode: answer.missing.length > 0 ? EXIT.no : 0 };
}
