/** `palimpsest eval` from end to end: a session through the real Worker, with a summariser and a judge that are played on this machine. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { EvalResult } from "../../scripts/cli/eval/run.ts";
import { runProgram, type Terminal } from "../../scripts/cli/program.ts";
import { BAKERY_JSONL, PlayedEndpoint } from "./bakery.ts";

const folder = mkdtempSync(join(tmpdir(), "palimpsest-eval-test-"));
const session = join(folder, "bakery.jsonl");
const keep = join(folder, "kept");
const report = join(folder, "report.html");
const prices = join(folder, "prices.json");
let endpoint: PlayedEndpoint;

beforeAll(async () => {
  endpoint = await PlayedEndpoint.open();
  writeFileSync(session, BAKERY_JSONL);
  writeFileSync(prices, JSON.stringify({ small: { input: 1, output: 2 } }));
});

afterAll(() => {
  endpoint.close();
  rmSync(folder, { recursive: true, force: true });
});

async function palimpsest(...args: readonly string[]) {
  const told = { out: "", err: "" };
  const screen = (which: "out" | "err"): Terminal["out"] => ({
    isTTY: false,
    columns: 80,
    write: (text: string | Uint8Array) => {
      told[which] += String(text);
      return true;
    },
  });
  const env = { PALIMPSEST_JUDGE_KEY: "judge-secret", PALIMPSEST_MODEL_KEY: "model-secret" };
  const code = await runProgram(args, { env, out: screen("out"), err: screen("err") });
  return { code, ...told };
}

const evaluate = (...more: readonly string[]) =>
  palimpsest("eval", session, "--judge", "wise", "--threshold", "3000", "--keep", keep, ...more);

test("a session is examined, played, read and graded; a second run asks nothing, and one without an endpoint replays it", async () => {
  const models = ["--model", "small"];
  const urls = [...models, "--judge-url", endpoint.url, "--model-url", `${endpoint.url}/`];
  const first = await evaluate(...urls, "--prices", prices, "--report", report, "--json");
  expect(first).toMatchObject({ code: 0 });
  const result = JSON.parse(first.out) as EvalResult;
  const [only] = result.sessions;
  expect(only).toMatchObject({ session: "bakery", cut: 40, messages: 50 });
  expect(only?.questions.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
  expect(only?.questions[0]?.evidence[0]?.message).toBe("b8");
  expect(only?.dropped.map(({ n, why }) => [n, why])).toEqual([
    [6, "its quotation does not stand in message b9"],
    [7, "message b40 is not hidden"],
    [8, "there is no message m400 before the cut"],
  ]);
  const [ours, headtail, whole] = only?.candidates ?? [];
  expect([ours?.candidate, headtail?.candidate, whole?.candidate]).toEqual([
    "small at 3,000",
    "head and tail at 3,000",
    "whole",
  ]);
  expect(whole).toMatchObject({ score: 1, wrong: 0, compactions: 0, byKind: { rule: 1, fact: 1 } });
  expect(headtail).toMatchObject({ score: 0, unknown: 5, summariser: { calls: 0, dollars: 0 } });
  expect(ours?.answers.find(({ n }) => n === 2)).toMatchObject({ answer: "It is electric.", grade: 1 });
  expect(ours?.compactions).toBeGreaterThan(0);
  const { calls = 0, inputTokens, dollars } = ours?.summariser ?? {};
  expect(calls).toBeGreaterThan(0);
  expect(inputTokens).toBe(1_000 * calls);
  expect(dollars).toBeCloseTo((1_000 * calls + 20 * calls) / 1_000_000, 12);
  expect(result.means.map(({ candidate }) => candidate)).toHaveLength(3);
  expect(result.requests.made).toBe(endpoint.asked.length);
  expect(
    endpoint.asked.every(
      ({ model, key }) => key === (model === "wise" ? "Bearer judge-secret" : "Bearer model-secret"),
    ),
  ).toBe(true);
  const told =
    first.out +
    first.err +
    readdirSync(keep)
      .map((file) => readFileSync(join(keep, file), "utf8"))
      .join("");
  expect(told).not.toContain("-secret");

  const before = endpoint.asked.length;
  const second = await evaluate(...urls, "--prices", prices, "--json");
  expect(endpoint.asked).toHaveLength(before);
  const again = JSON.parse(second.out) as EvalResult;
  expect(again.requests).toEqual({ made: 0, found: before });
  expect(again.sessions).toEqual(result.sessions);

  const replayed = await evaluate(...models);
  expect(replayed).toMatchObject({ code: 0, out: expect.stringMatching(/^small at 3,000 +\d\.\d\d /m) });
  expect(replayed.out).toContain(`0 calls asked, ${before} found`);
});

test("a summariser is asked for the sections of a template", async () => {
  const template = join(folder, "crumbs.json");
  writeFileSync(template, JSON.stringify({ sections: [{ title: "Crumbs", hint: "What is left over." }] }));
  const urls = ["--judge-url", endpoint.url, "--model-url", endpoint.url];
  const line = ["--model", "small", "--template", template, "--candidates", "ours", "--json"];
  const { out } = await evaluate(...line, ...urls);
  const result = JSON.parse(out) as EvalResult;
  expect(result.means.map(({ candidate }) => candidate)).toEqual(["small at 3,000 with crumbs"]);
  expect(endpoint.asked.some(({ text, model }) => model === "small" && text.includes("Crumbs"))).toBe(true);
});

test("what is not recorded is listed by key, and the rest is shown", async () => {
  const { code, out } = await evaluate("--model", "other");
  expect(code).toBe(1);
  expect(out).toMatch(/^not recorded: [0-9a-f]{16} \(other, summary of bakery\)$/m);
  expect(out).toMatch(/^whole +1\.00 /m);
  expect(out).not.toMatch(/^other at/m);
});

test("the page shows each answer, and text of a session becomes no script", () => {
  const page = readFileSync(report, "utf8");
  expect(page).toContain("What a reader still knows");
  expect(page).toContain("It is electric.");
  expect(page).toContain("&lt;script&gt;alert(&#39;crumbs&#39;)&lt;/script&gt;");
  expect(page).not.toMatch(/<script|<img|<link|https?:\/\//i);
});
