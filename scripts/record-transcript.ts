/**
 * Records examples/transcripts/palimpsest-session.jsonl: `node scripts/record-transcript.ts`.
 *
 * Plays the scenario in a fresh clone of this repository and records what its commands really answered. Texts and commands belong to the
 * scenario. Safe because the clone is temporary, every command must succeed or fail as the scenario says, and a transcript that names this
 * machine is not written.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, hostname, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { UIMessage } from "ai";
import { scenario, type Call, type Exchange } from "../examples/transcripts/scenario.ts";
import { exportJsonl } from "../src/import/import.ts";

type Part = UIMessage["parts"][number];
type Answer = { readonly failed: boolean; readonly text: string };

const REPOSITORY = resolve(import.meta.dirname, "..");
const TRANSCRIPT = join(REPOSITORY, "examples/transcripts/palimpsest-session.jsonl");
/** Shown to the reader in place of the clone's folder. */
const HOME = "~/palimpsest";
/** Longest output of a command in characters, because an agent's tools also truncate long outputs. */
const LONGEST_OUTPUT = 12_000;
const COMMAND_MS = 120_000;

function record(): UIMessage[] {
  const folder = mkdtempSync(join(tmpdir(), "palimpsest-"));
  try {
    must(spawnSync("git", ["clone", "--quiet", REPOSITORY, folder]).status === 0, "The repository could not be cloned");
    writeFileSync(join(folder, ".git/info/exclude"), "node_modules\n");
    symlinkSync(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    return scenario.flatMap((exchange, index) => play(exchange, index, folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function play({ user, steps }: Exchange, index: number, folder: string): UIMessage[] {
  const number = String(index + 1).padStart(2, "0");
  const parts: Part[] = [];
  for (const [at, step] of steps.entries()) {
    parts.push({ type: "step-start" });
    if (step.think !== undefined) parts.push({ type: "reasoning", text: step.think });
    if (step.say !== undefined) parts.push({ type: "text", text: step.say });
    for (const [nth, call] of (step.calls ?? []).entries())
      parts.push(run(call, `call-${number}-${at + 1}-${nth + 1}`, folder));
  }
  return [
    { id: `user-${number}`, role: "user", parts: [{ type: "text", text: user }] },
    { id: `assistant-${number}`, role: "assistant", parts },
  ];
}

/** Carries out the call in the clone and returns it with its answer as a tool part. */
function run(call: Call, toolCallId: string, folder: string): Part {
  const { tool, fails = false, ...input } = call;
  const base = { type: `tool-${tool}` as const, toolCallId, input };
  if (tool === "bash" && call.interrupted === true) {
    return { ...base, input: { command: call.command }, state: "input-available" };
  }
  const answer = answerOf(call, folder);
  must(answer.failed === fails, `${JSON.stringify(input)} was to ${fails ? "fail" : "succeed"}: ${answer.text}`);
  const text = shorten(scrub(answer.text, folder));
  return answer.failed
    ? { ...base, state: "output-error", errorText: text }
    : { ...base, state: "output-available", output: text };
}

function answerOf(call: Call, folder: string): Answer {
  if (call.tool === "bash") return bash(call.command, folder);
  const path = join(folder, call.path);
  if (call.tool === "write") {
    writeFileSync(path, call.content);
    return { failed: false, text: `Wrote ${call.content.split("\n").length - 1} lines to ${call.path}` };
  }
  const text = readFileSync(path, "utf8");
  if (call.tool === "read") return { failed: false, text };
  const found = text.split(call.find).length - 1;
  if (found !== 1) return { failed: true, text: `The text to replace was found ${found} times in ${call.path}` };
  writeFileSync(
    path,
    text.replace(call.find, () => call.replace),
  );
  return { failed: false, text: `Replaced 1 place in ${call.path}` };
}

function bash(command: string, folder: string): Answer {
  const { status, stdout, stderr } = spawnSync("bash", ["-c", command], {
    cwd: folder,
    encoding: "utf8",
    timeout: COMMAND_MS,
    env: {
      PATH: `${join(REPOSITORY, "node_modules/.bin")}:${process.env["PATH"]}`,
      HOME: join(folder, ".git"),
      NO_COLOR: "1",
      CI: "1",
      GIT_AUTHOR_NAME: "Maintainer",
      GIT_AUTHOR_EMAIL: "maintainer@example.org",
      GIT_COMMITTER_NAME: "Maintainer",
      GIT_COMMITTER_EMAIL: "maintainer@example.org",
    },
  });
  const output = `${stdout}${stderr}`.trimEnd();
  return { failed: status !== 0, text: status === 0 ? output : `${output}\n(exit code ${status})` };
}

function scrub(text: string, folder: string): string {
  return stripVTControlCharacters(text).replaceAll(folder, HOME).replaceAll(REPOSITORY, HOME);
}

function shorten(text: string): string {
  if (text.length <= LONGEST_OUTPUT) return text;
  return `${text.slice(0, LONGEST_OUTPUT)}\n[${text.length - LONGEST_OUTPUT} more characters]`;
}

function must(condition: boolean, why: string): void {
  if (!condition) throw new Error(why);
}

const text = [...exportJsonl(record())].join("");
const traces = [
  `${resolve(REPOSITORY, "..")}/`,
  `${homedir()}/`,
  join(tmpdir(), "palimpsest-"),
  `@${hostname()}`,
  "://registry.",
];
for (const trace of traces) must(!text.includes(trace), `The transcript names this machine: ${trace}`);
writeFileSync(TRANSCRIPT, text);
console.log(`${TRANSCRIPT}: ${text.split("\n").length - 1} messages, ${Math.round(text.length / 1000)} KB`);
