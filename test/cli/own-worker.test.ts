/** The README's Worker, `hello.ts` and command line, as their reader runs them: the SDK's routing alone, no door, no room. */
import { spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { configOf } from "../examples/config.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const ADA = ["--agent-class", "ChatAgent", "--agent", "ada"];

let worker: LocalWorker;

beforeAll(async () => {
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-own-"));
  worker = new LocalWorker({ stateDir, port: await freePort(null), vars: {}, configPath: configOf("minimal") });
  await worker.start();
});

afterAll(() => worker.close());

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function node(script: string, args: readonly string[]): Promise<Ran> {
  const env = { ...process.env, FORCE_COLOR: "0", PALIMPSEST_URL: worker.url, PALIMPSEST_SECRET: "" };
  const child = spawn(process.execPath, [join(ROOT, script), ...args], { env });
  let [out, err] = ["", ""];
  child.stdout.on("data", (data: Buffer) => void (out += data.toString()));
  child.stderr.on("data", (data: Buffer) => void (err += data.toString()));
  return new Promise((done) => child.on("close", (code) => done({ code, out, err })));
}

const palimpsest = (...args: string[]): Promise<Ran> => node("scripts/palimpsest.ts", [...ADA, ...args]);

test("hello.ts ends with a compaction, and the command line shows its run and asks for another", async () => {
  const hello = await node("examples/minimal/hello.ts", [new URL(worker.url).host]);
  expect(hello).toMatchObject({ code: 0, out: expect.stringContaining("compacted: applied") });
  const runs = JSON.parse((await palimpsest("--json", "runs")).out) as RunRecord[];
  expect(runs[0]?.outcome?.kind).toBe("applied");
  expect(await palimpsest("run", runs[0]?.id ?? "")).toMatchObject({
    code: 0,
    out: expect.stringContaining("applied"),
  });
  const { code, out } = await palimpsest("compact");
  expect([code, out]).toEqual([0, expect.stringMatching(/ (?:applied|nothing)/)]);
});

test("on this machine the sessions and what the model reads are shown, although the Worker opens neither to clients", async () => {
  expect(await palimpsest("sessions")).toMatchObject({ code: 0, out: expect.stringContaining("We agreed to keep") });
  const shown = await palimpsest("show");
  expect(shown).toMatchObject({ code: 0, out: expect.stringContaining("── summary (user)") });
  expect(shown.out).toContain("We agreed to keep the ledger in one table");
});

test.for<[string, number, string[]]>([
  ["rooms: [inspect()]", 2, ["health"]],
  ['has no agent "ada" of the class "no-such-agent"', 3, ["--agent-class", "NoSuchAgent", "runs"]],
])("what this Worker lacks is said: %s", async ([message, code, args]) => {
  expect(await palimpsest(...args)).toMatchObject({ code, out: "", err: expect.stringContaining(message) });
});
