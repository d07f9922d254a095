/**
 * `npx palimpsest <command>` shows and steers sessions and runs of a local or remote agent, from a terminal or a script.
 * scripts/cli/program.ts is the program.
 */
import { runProgram } from "./cli/program.ts";

const { argv, env, stdout, stderr } = process;
const outputs = [stdout, stderr] as const;
// A reader that went away, as in `| head`, wants no more.
for (const output of outputs) output.on("error", () => process.exit(0));
const code = await runProgram(argv.slice(2), { env, out: stdout, err: stderr });
// A pipe holds some 64 kB. What it has not taken yet would be lost with the process.
await Promise.all(outputs.map((output) => new Promise((written) => output.write("", written))));
process.exit(code);
