/** The command line as a person or a script uses it, as a child process against the real Worker on this machine. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Remote } from "../../scripts/cli/client.ts";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { everything } from "../tries.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SECRET = "a-secret-for-the-command-line";
const TRANSCRIPT = join(ROOT, "examples/transcripts/palimpsest-session.jsonl");

/** A busy machine takes its time to start wrangler (ms). */
const START_MS = 120_000;

let worker: LocalWorker;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "palimpsest-cli-"));
  const vars = { PALIMPSEST_SECRET: SECRET, PALIMPSEST_THRESHOLD: "12000", PALIMPSEST_APPROVAL: "discard" };
  worker = new LocalWorker({ stateDir: join(folder, "state"), port: await freePort(null), vars });
  await worker.start();
}, START_MS);

afterAll(async () => {
  await worker.close();
  await rm(folder, { recursive: true, force: true });
});

function linesOf(text: string): unknown[] {
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [join(ROOT, "scripts/palimpsest.ts"), ...args], {
    env: {
      ...process.env,
      FORCE_COLOR: "0",
      PALIMPSEST_URL: worker.url,
      PALIMPSEST_SECRET: SECRET,
      ...env,
    },
  });
}

function palimpsest(args: readonly string[], env: Record<string, string> = {}, input = ""): Promise<Ran> {
  const child = start(args, env);
  let [out, err] = ["", ""];
  child.stdout.on("data", (data: Buffer) => void (out += data.toString()));
  child.stderr.on("data", (data: Buffer) => void (err += data.toString()));
  child.stdin.end(input);
  return new Promise((done) => child.on("close", (code) => done({ code, out, err })));
}

async function ask<T>(args: readonly string[]): Promise<T> {
  const { out, err, code } = await palimpsest([...args, "--json"]);
  expect(err.includes('"error"'), `${code} ${err}`).toBe(false);
  return JSON.parse(out) as T;
}

/** Imports the bundled transcript into a session of its own, and waits until a run's summary waits for a person. */
async function proposedRun(session: string): Promise<RunRecord> {
  await ask(["--session", session, "import", TRANSCRIPT]);
  // Each process of the command line takes half a second of the processor, so the wait needs none.
  const target = { url: new URL(worker.url), agent: "palimpsest-agent", name: "demo", secret: SECRET };
  const remote = await Remote.connect(target);
  try {
    for (;;) {
      const [run] = await remote.call("runs", { sessionId: session });
      if (run?.state === "proposed") return run;
      expect(run?.outcome ?? null).toBeNull();
    }
  } finally {
    remote.close();
  }
}

test("a transcript goes in and comes out as it was, and its session is listed (M1)", async () => {
  const imported = await palimpsest(["--session", "whole", "import", TRANSCRIPT]);
  expect(imported).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^\d+ messages of uimessage-jsonl, \d+ of them new\.\n/),
  });
  const file = join(folder, "out.jsonl");
  expect((await palimpsest(["--session", "whole", "export", "--out", file])).code).toBe(0);
  expect(linesOf(await readFile(file, "utf8"))).toEqual(linesOf(await readFile(TRANSCRIPT, "utf8")));
  expect((await palimpsest(["sessions"])).out).toMatch(/^session .*\n[^]*^whole /m);
  expect(await ask<{ id: string }[]>(["sessions"])).toEqual(
    expect.arrayContaining([expect.objectContaining({ id: "whole" })]),
  );
});

/** A line of a Claude Code session. */
const claudeLine = (n: number) => ({
  type: n % 2 === 0 ? "user" : "assistant",
  uuid: `u${n}`,
  parentUuid: n === 0 ? null : `u${n - 1}`,
  isMeta: n === 2,
  message: { role: n % 2 === 0 ? "user" : "assistant", content: "x".repeat(10_000) },
});

test("a file that no single call could carry goes in and comes out in parts, and its harness's words are marked (M1)", async () => {
  const large = join(folder, "large.jsonl");
  await writeFile(large, Array.from({ length: 2_100 }, (_, n) => JSON.stringify(claudeLine(n))).join("\n"));
  expect(await palimpsest(["--session", "large", "import", large])).toMatchObject({
    code: 0,
    out: "2,100 messages of claude-code, 2,100 of them new.\n",
  });
  const file = join(folder, "large-out.jsonl");
  expect((await palimpsest(["--session", "large", "export", "--out", file])).code).toBe(0);
  const lines = linesOf(await readFile(file, "utf8")) as { id: string; metadata?: object }[];
  expect([lines.length, lines[0]?.id, lines.at(-1)?.id]).toEqual([2_100, "u0", "u2099"]);
  expect(lines.filter(({ metadata }) => metadata !== undefined)).toMatchObject([{ id: "u2" }]);
  const part = await palimpsest(["--session", "large", "export", "--leaf", "u4"]);
  expect(linesOf(part.out)).toHaveLength(5);
  const unknown = join(folder, "unknown.jsonl");
  await writeFile(unknown, '{"role":"human","content":"hello"}');
  expect(await palimpsest(["--session", "large", "import", unknown])).toMatchObject({
    code: 2,
    err: expect.stringContaining("The format is not known. Known are uimessage-jsonl, openai"),
  });
});

test("a run is planned, watched, looked at, edited, approved; its wait outlives a kill -9 of the Worker (R1)", async () => {
  const run = await proposedRun("steered");
  const session = ["--session", "steered"];
  const looked = await palimpsest(["run", run.id]);
  expect(looked).toMatchObject({ code: 0 });
  expect(looked.out).toMatch(
    /\n {2}proposed\n[^]*step +tries +took[^]*add compaction[^]*then it is discarded\.\n\n## /,
  );
  expect((await palimpsest([...session, "plan"])).out).toContain("approval-pending");
  // It has done its work, so there is nothing to stop or to do again.
  for (const steering of [["pause"], ["resume"], ["retry", "--from", "plan the cut"]]) {
    const refused = await palimpsest([...steering, run.id]);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("Approve or reject its summary") });
  }
  const watched = await palimpsest(["watch", run.id]);
  expect(watched).toMatchObject({ code: 0, out: `${run.id} proposed\n` });

  await worker.kill();
  await worker.start();

  const bad = join(folder, "bad.md");
  await writeFile(bad, "I'm sorry, I cannot help with that.");
  expect(await palimpsest(["approve", run.id, "--summary", bad])).toMatchObject({
    code: 1,
    out: expect.stringContaining("declines instead of summarising"),
  });
  const { proposal } = await ask<{ proposal: { summary: string } }>(["run", run.id]);
  const edited = proposal.summary.replace(/^- .*$/m, "- Edited by a person on the command line.");
  const approved = await palimpsest(["approve", run.id, "--summary", "-"], {}, edited);
  expect(approved).toMatchObject({ code: 0, out: `${run.id} approved\n` });
  expect(await palimpsest(["watch", run.id])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/applied: \d+ → \d+ tokens/),
  });
  expect(await palimpsest(["approve", run.id])).toMatchObject({ code: 1, out: expect.stringContaining("Too late") });
  expect((await ask<{ outcome: string }[]>([...session, "runs"])).length).toBeGreaterThan(0);

  // What a model is sent now, as lines and as the whole answer.
  const shown = await palimpsest([...session, "show"]);
  expect(shown).toMatchObject({
    code: 0,
    out: expect.stringMatching(/, 1 summary among them\n[^]*── summary \(user\)\n/),
  });
  expect(shown.out).toContain("Edited by a person on the command line.");
  const view = await ask<{ messages: { parts: { text?: string }[] }[]; tokens: number }>([...session, "show"]);
  expect(JSON.stringify(view.messages)).toContain("Edited by a person on the command line.");
  expect(view.tokens).toBeGreaterThan(0);

  const health = await ask<{ state: string; runs: object[]; savedTokens: number }>([...session, "health"]);
  expect(health).toMatchObject({ state: "ok", runs: [{ outcome: "applied" }] });
  expect(health.savedTokens).toBeGreaterThan(0);
});

test("a run is rejected, retried, cancelled; what came to nothing says so in its exit code", async () => {
  const run = await proposedRun("refused");
  expect(await palimpsest(["reject", run.id, "Too", "short"])).toMatchObject({ code: 2 });
  expect(await palimpsest(["reject", run.id, "Too short"])).toMatchObject({ code: 0, out: `${run.id} rejected\n` });
  expect((await palimpsest(["run", run.id])).out).toContain("nothing (declined): Too short");
  const again = await ask<RunRecord>(["retry", run.id]);
  expect(again).toMatchObject({ state: "proposed", retryOf: run.id });
  expect((await palimpsest(["cancel", again.id])).code).toBe(0);
  expect((await palimpsest(["watch", again.id])).code).toBe(1);
  expect((await palimpsest(["--session", "refused", "health"])).out).toContain("1 × nothing: declined");
});

test("an agent is reached whatever signs its name has", async () => {
  const ran = await palimpsest(["--agent", "a+b@c.com: 100%", "--json", "sessions"]);
  expect(ran).toMatchObject({ code: 0, out: "[]\n", err: "" });
});

test("an export is whole where it goes through a pipe, and a reader that leaves gets no error (M1)", async () => {
  await ask(["--session", "piped", "import", TRANSCRIPT]);
  const { code, out } = await palimpsest(["--session", "piped", "export"]);
  expect([code, linesOf(out)]).toEqual([0, linesOf(await readFile(TRANSCRIPT, "utf8"))]);

  const left = start(["--session", "piped", "export"]);
  let err = "";
  left.stderr.on("data", (data: Buffer) => void (err += data.toString()));
  left.stdout.once("data", () => left.stdout.destroy());
  await once(left, "close");
  expect(err).toBe("");
});

test("an export of nothing is nothing", async () => {
  expect(await palimpsest(["--session", "empty", "export"])).toEqual({ code: 0, out: "", err: "" });
  expect(await ask(["--session", "empty", "export"])).toBe("");
});

test("an export leaves secrets out on this machine, whether or not the agent has rules for it", async () => {
  const secret = `lin_api_${"aB3dE5fG7h".repeat(4)}`;
  const file = join(folder, "secrets.jsonl");
  const message = { id: "s0", role: "user", parts: [{ type: "text", text: `Use ${secret}, and keep it.` }] };
  await writeFile(file, `${JSON.stringify(message)}\n`);
  await ask(["--session", "secrets", "import", file]);
  expect((await palimpsest(["--session", "secrets", "export"])).out).toContain(secret);
  const clean = (await palimpsest(["--session", "secrets", "export", "--redact"])).out;
  expect(clean).toContain("Use [redacted: token], and keep it.");
  expect(clean).not.toContain(secret);
});

test("everything that moves is watched as JSON, an event a line, for as long as anybody looks", async () => {
  const watching = start(["watch", "--json"]);
  let out = "";
  watching.stdout.on("data", (data: Buffer) => void (out += data.toString()));
  // Only what begins after it listens is told.
  await once(watching.stderr, "data");
  const run = await proposedRun("watched");
  while (!out.includes('"state":"proposed"')) await once(watching.stdout, "data");
  watching.kill();
  const events = linesOf(out.slice(0, out.lastIndexOf("\n")));
  expect(events.length).toBeGreaterThan(1);
  for (const event of events) expect(event).toMatchObject({ runId: run.id, sessionId: "watched" });
});

/** What is asked for, with the exit code and the words of the answer. */
type Wrong = readonly [message: string, code: number, args: string[], env: Record<string, string>];

/** One of each kind: no Worker, its door, the agent's answer, the arguments, and this machine. */
const WRONG: readonly Wrong[] = [
  ["No Worker answers", 3, ["runs"], { PALIMPSEST_URL: "http://127.0.0.1:1" }],
  ["did not take the secret", 3, ["runs"], { PALIMPSEST_SECRET: "another-secret-of-some-length" }],
  ['There is no run "nobody"', 2, ["run", "nobody"], {}],
  ["unknown option", 2, ["compact", "--force"], {}],
  ["cannot be written", 2, ["export", "--out", "/no/such/folder/out.jsonl"], {}],
];

const MORE_WRONG: readonly Wrong[] = [
  ["asks for its secret", 3, ["runs"], { PALIMPSEST_SECRET: "" }],
  ["There is nothing here", 3, ["--agent-class", "no-such", "runs"], {}],
  ["has no messages", 2, ["--session", "empty", "compact", "--ignore-budget"], {}],
  ["has no messages", 2, ["--session", "empty", "plan", "--manual"], {}],
  ["cannot be read", 2, ["import", "/no/such/file"], {}],
  ["--url takes an address", 2, ["--url", "localhost", "runs"], {}],
  ["is no agent's name", 2, ["--agent", "a#b", "runs"], {}],
  ["is no agent's name", 2, ["--agent", "", "runs"], {}],
  ["unknown command", 2, ["compakt"], {}],
  ["Give 1 or more", 2, ["runs", "--limit", "0"], {}],
  ["missing required argument", 2, ["run"], {}],
  ["Allowed choices", 2, ["import", TRANSCRIPT, "--format", "morse"], {}],
];

describe("what goes wrong says what to do, in one line, with a code for scripts", () => {
  test.for(everything ? [...WRONG, ...MORE_WRONG] : WRONG)("%s: exit code %i", async ([message, code, args, env]) => {
    const ran = await palimpsest(args, env);
    expect(ran).toMatchObject({ code, out: "", err: expect.stringContaining(message) });
    expect(ran.err).not.toMatch(/\n {4}at /);
    const json = await palimpsest(["--json", ...args], env);
    expect([json.code, json.out, JSON.parse(json.err)]).toEqual([
      code,
      "",
      { error: { code: expect.stringMatching(/^\w+$/), message: expect.stringContaining(message) } },
    ]);
  });

  test("no command at all is an error with --json, and help without", async () => {
    expect((await palimpsest([])).err).toContain("Usage:");
    const { code, err } = await palimpsest(["--json"]);
    expect([code, JSON.parse(err)]).toMatchObject([2, { error: { code: "invalid_options" } }]);
  });
});
