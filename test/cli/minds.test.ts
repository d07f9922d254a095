/** The bundled conversation with recorded minds: what they still knew, without asking any of them. bench/minds/README.md says how to record. */
import { expect, test } from "vitest";
import { evalLine, readRecorded } from "../../bench/minds/recorded.ts";
import type { EvalResult } from "../../scripts/cli/eval/run.ts";
import { runProgram, type Terminal } from "../../scripts/cli/program.ts";

const recorded = readRecorded();

const screen = (write: (text: string) => void): Terminal["out"] => ({
  isTTY: false,
  columns: 80,
  write: (text: string | Uint8Array) => {
    write(String(text));
    return true;
  },
});

test.skipIf(recorded === null)(
  "recorded minds know what they knew, and what is not recorded is named by its key",
  async () => {
    if (recorded === null) return;
    let out = "";
    const streams = { out: screen((text) => (out += text)), err: screen(() => undefined) };
    const code = await runProgram([...evalLine(recorded), "--json"], { env: {}, ...streams });
    const { missing, requests, sessions } = JSON.parse(out) as EvalResult;
    expect(requests.made).toBe(0);
    if (missing.length > 0) {
      const lines = missing.map(({ key, model, purpose }) => `  ${key} ${model}, ${purpose}`);
      console.info(["Not recorded (see bench/minds/README.md):", ...lines].join("\n"));
      expect(code).toBe(1);
      return;
    }
    const candidates = sessions.flatMap((session) => session.candidates);
    expect(Object.fromEntries(candidates.map(({ candidate, score }) => [candidate, score]))).toEqual(recorded.scores);
  },
);
