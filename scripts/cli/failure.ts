/** Turns a failed command into one line for a person and an exit code for a script. */
import { CommanderError } from "commander";
import { errorCode } from "./in-package.ts";

/** 0 means done. */
export const EXIT = {
  /** The command was done and the answer is no, such as a failed run, a refused text or a health that is down. */
  no: 1,
  /** The command line was wrong. */
  usage: 2,
  /** The Worker could not be reached, or refused the credentials. */
  unreachable: 3,
} as const;

export class CommandFailure extends Error {
  readonly exitCode: number;
  readonly code: string;

  constructor(exitCode: number, message: string, code = "unreachable") {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** Maps any error to a failure. An error of Palimpsest's own counts as wrong usage, because its message says what to change. */
export function explainError(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError) return explainUsage(error);
  const message = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  if (code === undefined) return new CommandFailure(EXIT.unreachable, message);
  return new CommandFailure(EXIT.usage, message.replace(/^.*?\[\w+\] /, ""), code);
}

/** Maps a command line that cannot be read. A request for help that commander answers itself has exit code 0. */
function explainUsage({ code, exitCode, message }: CommanderError): CommandFailure {
  const advice = code === "commander.help" ? "Name a command; --help lists them." : message.replace(/^error: /, "");
  return new CommandFailure(exitCode === 0 ? 0 : EXIT.usage, advice, "invalid_options");
}
