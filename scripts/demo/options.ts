/** The demo's command line. */
import { parseArgs } from "node:util";
import { PalimpsestError } from "../../src/errors.ts";

export interface DemoOptions {
  readonly file: string | null;
  readonly thresholdTokens: number;
  readonly modelDelayMs: number;
  readonly kill: boolean;
  /** Index (from 0) of one conversation in a file that holds several. Null replays all of them, each as a session. */
  readonly index: number | null;
  readonly port: number | null;
  readonly json: boolean;
  /** Leaves the Worker running at the end. */
  readonly keep: boolean;
}

export const USAGE = `npm run demo -- [FILE] [options]

  FILE                  a transcript to replay: UIMessage JSONL, OpenAI chat JSON, Anthropic messages,
                        pi or Claude Code session JSONL (default: one that comes with the project)
  --threshold TOKENS    compact a view above this size, 1000 or more (default 12000; 60000 with FILE)
  --index N             of a file with several conversations, replay only number N, from 0
  --model-delay MS      make the summariser this slow, and report the slowest append meanwhile
  --kill                kill the Worker with SIGKILL in the middle of a summarise step, and start it again
  --keep                leave the Worker running at the end
  --port N              listen on this port
  --json                print the report as JSON
`;

const DEFAULT_THRESHOLD = 12_000;
const DEFAULT_THRESHOLD_OF_FILES = 60_000;
/** Below this a summary and a tail hardly fit beside each other, so there is nothing to see. */
const LEAST_THRESHOLD = 1_000;
const MOST_PORT = 65_535;
/** The default is long enough for a kill in the middle of a call. The least is the shortest that a kill can hit. */
const KILL_DELAY_MS = 2_500;
const LEAST_KILL_DELAY_MS = 500;

/** Throws `invalid_options` with one line of advice. */
export function parseOptions(argv: readonly string[]): DemoOptions | "help" {
  const { values, positionals } = parse(argv);
  if (values.help === true) return "help";
  if (positionals.length > 1)
    throw invalid(`One FILE at most, not ${positionals.length}: quote a name that holds spaces.`);
  const file = positionals[0] ?? null;
  const kill = values.kill === true;
  const modelDelayMs = number("model-delay", values["model-delay"]) ?? (kill ? KILL_DELAY_MS : 0);
  if (kill && modelDelayMs < LEAST_KILL_DELAY_MS) {
    throw invalid(
      `--kill needs a summariser slow enough to be killed at work: leave --model-delay out, or give ${LEAST_KILL_DELAY_MS} or more.`,
    );
  }
  return {
    file,
    thresholdTokens:
      number("threshold", values.threshold, { least: LEAST_THRESHOLD }) ??
      (file === null ? DEFAULT_THRESHOLD : DEFAULT_THRESHOLD_OF_FILES),
    modelDelayMs,
    kill,
    index: number("index", values.index),
    port: number("port", values.port, { least: 1, most: MOST_PORT }),
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
    const [reason = ""] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    throw invalid(`${reason.replace(/\.$/, "")}. npm run demo -- --help lists what there is.`, { cause: error });
  }
}

function number(
  name: string,
  value: string | undefined,
  bounds: { least?: number; most?: number } = {},
): number | null {
  if (value === undefined) return null;
  const { least = 0, most = Number.MAX_SAFE_INTEGER } = bounds;
  const parsed = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (parsed >= least && parsed <= most) return parsed;
  const range = bounds.most === undefined ? `of ${least} or more` : `from ${least} to ${most}`;
  throw invalid(`--${name} takes a whole number ${range}, not "${value}".`);
}

function invalid(message: string, options?: ErrorOptions): PalimpsestError {
  return new PalimpsestError("invalid_options", message, options);
}
