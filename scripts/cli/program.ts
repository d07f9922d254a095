/**
 * The command line as a program: what it reads, what it prints and the exit code it returns. scripts/palimpsest.ts starts it.
 *
 * Answers go to `out` as a table, or as JSON with `--json`. Progress and errors go to `err`, and with `--json` every error is JSON as well.
 * failure.ts lists the exit codes.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { RunEvent } from "../../src/agent/events.ts";
import type { ImportTranscriptOptions } from "../../src/import/room.ts";
import { Live, type Screen } from "../demo/live.ts";
import { createPaint, wantsColor } from "../report/paint.ts";
import { inert } from "../report/text.ts";
import { classPath } from "./class-path.ts";
import { Remote, type Target } from "./client.ts";
import * as commands from "./commands.ts";
import { addEvalFlags, type EvalFlags } from "./eval/flags.ts";
import { examineProject } from "./project/doctor.ts";
import { initProject } from "./project/init.ts";
import type { CompactFlags, Context, Done } from "./commands.ts";
import { CommandFailure, EXIT, explainError } from "./failure.ts";
import { FORMATS, MAX_AGENT_NAME_CHARS, isAgentName } from "./in-package.ts";

/** What the program reads from and prints to. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Screen;
  readonly err: Screen;
}

interface Options {
  readonly url: string;
  readonly agent: string;
  readonly agentClass: string;
  readonly session: string;
}

type Work = (context: Context) => Promise<Done>;

/** Runs one command. Resolves with its exit code, and never rejects. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  // Read before parsing, so that errors of parsing are JSON too.
  const wantsJson = args.includes("--json");
  const { err } = terminal;
  let code = 0;
  const program: Command = describeProgram(terminal, wantsJson, async (work) => {
    code = await runWork(work, { options: program.opts<Options>(), terminal, wantsJson });
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    const failure = explainError(error);
    if (wantsJson && failure.exitCode !== 0) {
      err.write(`${JSON.stringify({ error: { code: failure.code, message: failure.message } })}\n`);
    }
    // Commander has already printed its own errors, with help.
    else if (!(error instanceof CommanderError)) err.write(`${inert(failure.message)}\n`);
    return failure.exitCode;
  }
}

function describeProgram(terminal: Terminal, wantsJson: boolean, run: (work: Work) => Promise<void>): Command {
  const program = new Command("palimpsest")
    .description(
      "Sets up, shows and steers agents with Palimpsest. The Worker's secret is read from PALIMPSEST_SECRET.",
    )
    .version(readVersion(), "--version", "print the version of the package")
    .option(
      "--url <url>",
      "where the Worker is; read from PALIMPSEST_URL unless given",
      terminal.env["PALIMPSEST_URL"] ?? "http://localhost:8787",
    )
    .option("--agent <name>", "the agent's name", "demo")
    .option("--agent-class <class>", "its class, as your code or its addresses name it", "palimpsest-agent")
    .option("--session <id>", "the session", "")
    .option("--json", "print the answer as JSON")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("Try --help.")
    .configureOutput({
      writeOut: (text) => void terminal.out.write(text),
      writeErr: (text) => void (wantsJson || terminal.err.write(text)),
    })
    .exitOverride();
  const command = (usage: string, description: string): Command =>
    program.command(usage).description(description).exitOverride();
  // Its default is the deployable Worker's class, which no project has.
  const named = () =>
    program.getOptionValueSource("agentClass") === "cli" ? program.opts<Options>().agentClass : undefined;
  addProject(command, run, named);
  addReads(command, run);
  addSteering(command, run);
  addEvalFlags(
    command("eval <session...>", "examine what a reader still knows after compactions, by your own models"),
  ).action((files: string[], flags: EvalFlags) =>
    run(async (context) => {
      const { evalSessions } = await import("./eval/command.ts");
      return evalSessions(context, { files, flags, env: terminal.env });
    }),
  );
  return program;
}

/** The bundled command line in `dist/bin` stands as deep in the package as this file in the project. */
function readVersion(): string {
  const manifest = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return (JSON.parse(manifest) as { readonly version: string }).version;
}

type Add = (usage: string, description: string) => Command;
type Run = (work: Work) => Promise<void>;

const limit = (): Option => new Option("--limit <n>", "how many, newest first").argParser(positive).default(20);
const noWait = (): Option => new Option("--no-wait", "do not wait for the end");

function addProject(command: Add, run: Run, named: () => string | undefined): void {
  command(
    "init",
    "add what an agent needs to the Worker in this folder, and show the change first; --agent-class chooses",
  )
    .option("--yes", "write it", false)
    .action(({ yes }: { yes: boolean }) =>
      run(async ({ paint }) => initProject(process.cwd(), { yes, paint, agentClass: named() })),
    );
  command(
    "doctor",
    "look at the bindings, versions, model and limits of the Worker in this folder; exit code 1 when one is wrong",
  ).action(() => run(async ({ paint }) => examineProject(process.cwd(), paint)));
}

function addReads(command: Add, run: Run): void {
  command("sessions", "list the agent's sessions")
    .addOption(limit())
    .action((options: { limit: number }) => run((context) => commands.listSessions(context, options.limit)));
  command("runs", "list the session's runs")
    .addOption(limit())
    .action((options: { limit: number }) => run((context) => commands.listRuns(context, options.limit)));
  command("run <id>", "look at one run: its steps, what it came to, what it proposes").action((id: string) =>
    run((context) => commands.lookAtRun(context, id)),
  );
  command("show", "print what a model would be sent now: the summaries and what stands beside them, and the messages")
    .option("--whole", "with every message in full", false)
    .action(({ whole }: { whole: boolean }) => run((context) => commands.showView(context, whole)));
  command("plan", "say what a run would do now, and why, without doing it")
    .option("--manual", "as if it were asked for by hand", false)
    .action(({ manual }: { manual: boolean }) => run((context) => commands.planRun(context, manual)));
  command("export", "write the session's originals, a message a line")
    .option("--out <file>", "to a file of its own")
    .option("--leaf <id>", "the branch that ends in this message, in place of the active one")
    .option("--redact", "without what looks like a secret", false)
    .action((options: { out?: string; redact: boolean; leaf?: string }) =>
      run((context) => commands.exportFile(context, options)),
    );
  command("watch [id]", "follow one run to its end, or all of them").action((id: string | undefined) =>
    run((context) => commands.watch(context, id)),
  );
  command("health", "breakers, spend, failures; exit code 1 when it is down")
    .addOption(limit())
    .action((options: { limit: number }) => run((context) => commands.health(context, options.limit)));
}

function addSteering(command: Add, run: Run): void {
  command("compact", "compact the session now, and wait for the end")
    .option("--focus <words>", "what the summary should attend to")
    .option("--fresh", "ask the model anew")
    .option("--rebuild", "make the summaries again from their first drafts")
    .option("--ignore-budget", "although the summariser is down or the budget is spent")
    .addOption(noWait())
    .action((flags: CompactFlags) => run((context) => commands.compact(context, flags)));
  command("split", "compact the session, and go on in a new one")
    .option("--name <name>", "of the new session")
    .option("--focus <words>", "what the summary should attend to")
    .option("--ignore-budget", "although the summariser is down or the budget is spent")
    .addOption(noWait())
    .action((flags: CompactFlags & { name?: string }) => run((context) => commands.split(context, flags)));
  command("import <file>", "store a transcript in the session, all of it or nothing; - is standard input")
    .addOption(new Option("--format <format>", "what it is, where its content does not tell").choices(FORMATS))
    .option("--index <n>", "which of several conversations, from 0", natural)
    .action((file: string, options: ImportTranscriptOptions) =>
      run((context) => commands.importFile(context, file, options)),
    );
  command("approve <id>", "approve the summary that a run proposes")
    .option("--summary <file>", "a text of your own in its place; - is standard input")
    .action((id: string, { summary }: { summary?: string }) =>
      run((context) => commands.approve(context, id, summary)),
    );
  command("reject <id> [reason]", "reject it: the view stays as it is").action(
    (id: string, reason: string | undefined) => run((context) => commands.reject(context, id, reason)),
  );
  for (const verb of ["cancel", "pause", "resume"] as const) {
    command(`${verb} <id>`, `${verb} a run`).action((id: string) =>
      run((context) => commands.control(context, `${verb}Run`, id)),
    );
  }
  command("retry <id>", "start another run in place of one that ended; what it paid for is used again")
    .option("--from <step>", "of a live run: do this step again, and all after it")
    .addOption(noWait())
    .action((id: string, options: { from?: string; wait: boolean }) =>
      run((context) => commands.retry(context, id, options)),
    );
}

interface Given {
  readonly options: Options;
  readonly terminal: Terminal;
  readonly wantsJson: boolean;
}

async function runWork(work: Work, { options, terminal, wantsJson }: Given): Promise<number> {
  const { env, out, err } = terminal;
  const target = readTarget(options, env);
  const remotes: Remote[] = [];
  const live = new Live(err, createPaint(wantsColor(env, err.isTTY)));
  const context: Context = {
    sessionId: options.session,
    paint: createPaint(wantsColor(env, out.isTTY)),
    live,
    tell: (event) => {
      if (wantsJson) out.write(`${JSON.stringify(event)}\n`);
      else live.run(event);
    },
    connect: async (onRun?: (event: RunEvent) => void) => {
      const remote = await Remote.connect(target, onRun);
      remotes.push(remote);
      return remote;
    },
  };
  try {
    const { answer, lines, exitCode = 0 } = await work(context);
    live.done();
    out.write(wantsJson ? `${JSON.stringify(answer, null, 2)}\n` : lines.map((line) => `${line}\n`).join(""));
    return exitCode;
  } finally {
    for (const remote of remotes) remote.close();
  }
}

function readTarget({ url, agent, agentClass }: Options, env: Terminal["env"]): Target {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new CommandFailure(
      EXIT.usage,
      `--url takes an address such as http://localhost:8787, not ${JSON.stringify(url)}.`,
      "invalid_options",
    );
  }
  if (!isAgentName(agent)) {
    throw new CommandFailure(
      EXIT.usage,
      `${JSON.stringify(agent)} is no agent's name: give --agent a name without /, ?, #, \\ and control characters, of at most ${MAX_AGENT_NAME_CHARS} characters in an address.`,
      "invalid_options",
    );
  }
  return {
    url: new URL(url),
    agent: classPath(agentClass),
    name: agent,
    secret: env["PALIMPSEST_SECRET"] || null,
  };
}

function natural(value: string): number {
  if (/^\d+$/.test(value)) return Number(value);
  throw new InvalidArgumentError("Give a whole number.");
}

function positive(value: string): number {
  const number = natural(value);
  if (number > 0) return number;
  throw new InvalidArgumentError("Give 1 or more.");
}
