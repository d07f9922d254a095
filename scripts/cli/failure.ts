/** How a command ends that did not do what it was asked for: in one line for a person, and a code for a script. */
import { CommanderError } from "commander";
import { errorCode } from "../../src/errors.ts";

/** 0: done. */
export const EXIT = {
  /** It was done, and the answer is no: a run failed, a text was refused, health is down. */
  no: 1,
  /** It was asked for wrongly. */
  usage: 2,
  /** The Worker could not be reached, or did not let us in. */
  unreachable: 3,
} as const;

export class CommandFailure extends Error {
  readonly exitCode: number;
  readonly code: string;

  constructor(exitCode: number, message: string, code = "failed") {
    super(message);
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** What any error comes to. One of Palimpsest's own says what to change, so it is the caller's to mend. */
export function explainError(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  if (error instanceof CommanderError) return explainUsage(error);
  const message = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  if (code === undefined) return new CommandFailure(EXIT.unreachable, message);
  return new CommandFailure(EXIT.usage, message.replace(/^.*?\[\w+\] /, ""), code);
}

/** Of a command line that cannot be read; exit code 0 where it asked for help. */
function explainUsage({ code, exitCode, message }: CommanderError): CommandFailure {
  const advice = code === "commander.help" ? "Name a command; --help lists them." : message.replace(/^error: /, "");
  return new CommandFailure(exitCode === 0 ? 0 : EXIT.usage, advice, "invalid_options");
}
