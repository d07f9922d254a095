/**
 * Records what minds say of the bundled conversation: `node bench/minds/record.ts --judge MODEL --judge-url URL [flags of palimpsest eval]`.
 *
 * The conversation and its exam are the project's own, so the answers may stand here whole. Answers that the last recording does not use are
 * removed. test/cli/minds.test.ts replays what is kept.
 */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EvalResult } from "../../scripts/cli/eval/run.ts";
import { runProgram } from "../../scripts/cli/program.ts";
import { ANSWERS, evalLine, SETTINGS, type Recorded } from "./recorded.ts";

const given = process.argv.slice(2);
const valueOf = (flag: string): string | undefined => given[given.indexOf(flag) + 1];
const judge = given.includes("--judge") ? valueOf("--judge") : undefined;
if (judge === undefined) {
  process.stderr.write(
    "Name the judge, and where it answers: --judge MODEL --judge-url URL. The summariser is --model, or the judge.\n",
  );
  process.exit(2);
}
const model = (given.includes("--model") ? valueOf("--model") : undefined) ?? judge;
let out = "";
const collect = { isTTY: false, columns: 80, write: (text: string | Uint8Array) => ((out += String(text)), true) };
const code = await runProgram([...evalLine({}), ...given, "--json"], {
  env: process.env,
  out: collect,
  err: process.stderr,
});
if (code === 0) {
  const { keys, sessions } = JSON.parse(out) as EvalResult;
  const used = new Set(keys.map((key) => `${key}.json`));
  for (const file of readdirSync(ANSWERS)) if (!used.has(file)) rmSync(join(ANSWERS, file));
  const candidates = sessions.flatMap((session) => session.candidates);
  const scores = Object.fromEntries(candidates.map(({ candidate, score }) => [candidate, score]));
  const date = new Date().toISOString().slice(0, 10);
  const settings: Recorded = { date, judge: nameOf(judge), model: nameOf(model), scores };
  writeFileSync(SETTINGS, `${JSON.stringify(settings, null, 2)}\n`);
  for (const [candidate, score] of Object.entries(scores)) process.stdout.write(`${score.toFixed(3)}  ${candidate}\n`);
}
process.exit(code);

/** A model without the endpoint that it may be named with, by which it is replayed. */
function nameOf(named: string): string {
  return named.replace(/@https?:\/\/.+$/, "");
}
