/**
 * `npx palimpsest <command>` shows and steers sessions and runs of a local or remote agent, from a terminal or a script.
 * scripts/cli/program.ts is the program.
 */
import { runProgram } from "./cli/program.ts";

const { argv, env, stdout, stderr } = process;
process.exit(await runProgram(argv.slice(2), { env, out: stdout, err: stderr }));
