/** The demo's command line. */
import { parseArgs } from "node:util";
import { PalimpsestError } from "../../src/errors.ts";

export interface DemoOptions {
  readonly file: string | null;
  readonly thresholdTokens: number;
  readonly modelDelayMs: number;
  readonly kill: boolean;
  /** Which conversation of a file that holds several, from 0; null is all of them, each a session. */
  readonly index: number | null;
  readonly port: number | null;
  readonly json: boolean;
  /** Leave the Worker running at the end, to look around. */
  readonly keep: boolean;
}

export const USAGE = `npm run demo -- [FILE] [options]

  FILE                  a transcript to replay: UIMessage JSONL, OpenAI chat JSON, Anthropic messages,
                        pi or Claude Code session JSONL (default: one that comes with the project)
  --threshold TOKENS    compact a view above this size (default 12000; 60000 with FILE)
  --index N             of a file with several conversations, replay only number N, from 0
  --model-delay MS      make the summariser this slow, and report the slowest append meanwhile
  --kill                kill the Worker with SIGKILL in the middle of a summarise step, and start it again
  --keep                leave the Worker running at the end
  --port N              listen on this port
  --json                print the report as JSON
`;

const DEFAULT_THRESHOLD = 12_000;
const DEFAULT_THRESHOLD_OF_FILES = 60_000;
/** Long enough to be killed in the middle of. */
const KILL_DELAY_MS = 2_500;

/** Throws `invalid_options`. */
export function parseOptions(argv: readonly string[]): DemoOptions | "help" {
  const { values, positionals } = parse(argv);
  if (values.help === true) return "help";
  if (positionals.length > 1)
    throw new PalimpsestError("invalid_options", `One FILE at most, not ${positionals.length}.`);
  const file = positionals[0] ?? null;
  const kill = values.kill === true;
  return {
    file,
    thresholdTokens:
      number("threshold", values.threshold) ?? (file === null ? DEFAULT_THRESHOLD : DEFAULT_THRESHOLD_OF_FILES),
    modelDelayMs: number("model-delay", values["model-delay"]) ?? (kill ? KILL_DELAY_MS : 0),
    kill,
    index: number("index", values.index),
    port: number("port", values.port),
    json: values.json === true,
    keep: values.keep === true,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        threshold: { type: "string" },
        index: { type: "string" },
        "model-delay": { type: "string" },
        port: { type: "string" },
        kill: { type: "boolean" },
        json: { type: "boolean" },
        keep: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new PalimpsestError("invalid_options", error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}

function number(name: string, value: string | undefined): number | null {
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Number(value);
  throw new PalimpsestError("invalid_options", `--${name} takes a whole number, not "${value}".`);
}
