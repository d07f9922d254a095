/** The demo's checks fail on results that break a promise, and what it cannot replay is refused before anything starts. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { killSurvived, runsEnded, viewsBounded } from "../../scripts/demo/checks.ts";
import { freePort } from "../../scripts/demo/local-worker.ts";
import { parseOptions } from "../../scripts/demo/options.ts";
import type { Replay } from "../../scripts/demo/replay.ts";
import { readConversations } from "../../scripts/demo/transcript.ts";
import { addToStep, markStep, type Outcome, type RunRecord, type StepRecord } from "../../src/memory/runs/runs.ts";

const APPLIED: Outcome = {
  kind: "applied",
  overlayId: "o",
  tokensBefore: 9,
  tokensAfter: 3,
  degraded: false,
};

function step(name: string, facts: Partial<StepRecord> = {}): StepRecord {
  const [fresh] = markStep([], { name, attempt: 1, at: 0 });
  return { ...(fresh as StepRecord), ...facts };
}

function run(steps: readonly StepRecord[], outcome: Outcome | null = APPLIED): RunRecord {
  // As much of a record as the checks look at.
  return { id: "run-1", steps, outcome, modelCalls: steps.reduce((sum, each) => sum + each.calls, 0) } as RunRecord;
}

describe("the demo's checks fail when they should", () => {
  test("R3 a step that is closed twice has paid twice, and the ledger says so", () => {
    const spent = { calls: 1, inputTokens: 100, cachedTokens: 60, writtenTokens: 30, outputTokens: 10, endedAt: 5 };
    const once = addToStep([step("summarize")], "summarize", spent);
    const twice = addToStep(once, "summarize", { ...spent, endedAt: 9 });
    expect(twice[0]).toMatchObject({ calls: 2, inputTokens: 200, outputTokens: 20, endedAt: 9 });
    expect(twice[0]).toMatchObject({ cachedTokens: 120, writtenTokens: 60 });
    expect(addToStep(once, "summarize", { reused: true, endedAt: 9 })[0]).toMatchObject({
      calls: 1,
      reused: true,
    });
    expect(runsEnded([run(once)])).toMatchObject({ ok: true, detail: expect.stringContaining("no answer paid twice") });
    const failed = runsEnded([run(twice)]);
    expect(failed.ok).toBe(false);
    expect(failed.detail).toContain("paid twice: summarize");
    expect(failed.detail).not.toContain("no answer");
  });

  test("R1 a run without an outcome fails its check", () => {
    expect(runsEnded([run([], null)]).ok).toBe(false);
  });

  test("R3 a kill is survived when what was finished is not paid again, whatever else runs again", () => {
    const done = step("summarize 1 of 2", { calls: 1, endedAt: 5 });
    const open = step("summarize 2 of 2");
    const killed = { during: open.name, before: run([done, open], null) };
    const rest = { ...open, attempts: 2, calls: 1, endedAt: 9 };
    const good = killSurvived(killed, [run([done, rest])]);
    expect(good).toMatchObject({ ok: true });
    expect(good.detail).toContain("of 1 finished draft none was made again");
    // The engine had not kept the result, so the step ran again and found its draft.
    expect(killSurvived(killed, [run([{ ...done, attempts: 2, reused: true }, rest])]).ok).toBe(true);

    expect(killSurvived(killed, [run([{ ...done, calls: 2 }, rest])]).ok).toBe(false);
    expect(killSurvived(killed, [run([{ ...done, attempts: 2 }, rest])]).ok).toBe(false);
    expect(killSurvived(killed, [run([rest])]).ok).toBe(false);
    expect(killSurvived(killed, [run([done, rest], null)]).ok).toBe(false);
    expect(killSurvived(killed, []).ok).toBe(false);
    expect(killSurvived(null, [run([done])]).ok).toBe(false);
  });

  test("a view may pass the threshold by one turn, and the check names that allowance", () => {
    const replay = { peakBetweenTurns: 1_400, largestTurn: 400 } as Replay;
    const check = viewsBounded([replay], 1_000);
    expect(check).toMatchObject({ ok: true, detail: expect.stringContaining("allowed are 1400") });
    expect(viewsBounded([{ ...replay, peakBetweenTurns: 1_401 }], 1_000).ok).toBe(false);
  });
});

describe("what cannot be replayed is refused in one line, before anything is started", () => {
  test.each([
    [["--threshold", "0"], "--threshold takes a whole number of 1000 or more"],
    [["--port", "0"], "from 1 to 65535"],
    [["--port", "99999"], "from 1 to 65535"],
    [["--kill", "--model-delay", "0"], "leave --model-delay out"],
    [["--index", "-1"], "--index"],
    [["--bogus"], "--help"],
    [["one", "two"], "One FILE"],
  ])("%j", (argv, advice) => {
    expect(() => parseOptions(argv)).toThrow(advice);
    expect(() => parseOptions(argv)).not.toThrow("\n");
  });

  test("a file, a directory, text, and an index that there is not", async () => {
    const directory = await mkdtemp(join(tmpdir(), "palimpsest-test-"));
    const file = join(directory, "notes.txt");
    await writeFile(file, "no transcript\n");
    await expect(readConversations({ file: join(directory, "gone"), index: null })).rejects.toThrow("There is no file");
    await expect(readConversations({ file: directory, index: null })).rejects.toThrow("is a directory");
    await expect(readConversations({ file, index: null })).rejects.toThrow(
      `[import_failed] ${file} cannot be replayed: line 1`,
    );
    await expect(readConversations({ file: null, index: 100 })).rejects.toThrow("There is no conversation 100");
    await rm(directory, { recursive: true });
  });

  test("a port that is taken", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;
    await expect(freePort(port)).rejects.toThrow("leave --port out");
    server.close();
    await once(server, "close");
    await expect(freePort(port)).resolves.toBe(port);
  });
});
