/** `palimpsest eval` without a Worker: what it refuses, what it makes of a judge's answers, and what it tells. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readQuestions, verifyExam, type Question } from "../../scripts/cli/eval/exam.ts";
import { isUnknown, lettered } from "../../scripts/cli/eval/judge.ts";
import { keyOf } from "../../scripts/cli/eval/keep.ts";
import { renderEval } from "../../scripts/cli/eval/report.ts";
import type { EvalResult } from "../../scripts/cli/eval/run.ts";
import { meanScore, scoreOf } from "../../scripts/cli/eval/score.ts";
import { readSession } from "../../scripts/cli/eval/session.ts";
import { runProgram, type Terminal } from "../../scripts/cli/program.ts";
import { BAKERY_JSONL, mind, PlayedEndpoint, WRITTEN, type Mind } from "../cli/bakery.ts";

let folder = "";
let session = "";
let endpoint: PlayedEndpoint | null = null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "palimpsest-eval-"));
  session = file("bakery.jsonl", BAKERY_JSONL);
});

afterEach(() => {
  endpoint?.close();
  endpoint = null;
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function evaluate(args: readonly string[], env: Terminal["env"] = {}) {
  const told = { out: "", err: "" };
  const screen = (which: "out" | "err"): Terminal["out"] => ({
    isTTY: false,
    columns: 80,
    write: (text: string | Uint8Array) => {
      told[which] += String(text);
      return true;
    },
  });
  const line = ["eval", session, "--keep", join(folder, "kept"), ...args];
  const code = await runProgram(line, { env, out: screen("out"), err: screen("err") });
  return { code, ...told };
}

/** Head and tail, and the whole, by a judge that is played. Neither needs a Worker. */
async function judged(play: Mind, ...more: readonly string[]): Promise<EvalResult> {
  endpoint = await PlayedEndpoint.open(play);
  const judge = ["--judge", "wise", "--judge-url", endpoint.url];
  const { out, err } = await evaluate([
    ...judge,
    "--threshold",
    "3000",
    "--candidates",
    "headtail,whole",
    "--json",
    ...more,
  ]);
  return out === "" ? expect.unreachable(err) : (JSON.parse(out) as EvalResult);
}

test.each([
  ["", 2, "No judge is given. Name a strong model with --judge"],
  ["--judge wise --judge-url ftp://here", 2, "An endpoint is an address such as https://"],
  ["--judge wise --judge-url https://me:secret@here/v1", 2, "holds no user name or password"],
  ["--judge wise --candidates ours,theirs", 2, "Give some of ours, headtail, whole"],
  ["--judge wise --threshold many", 2, "Give a whole number"],
  ["--judge wise --threshold 100", 2, "--threshold takes 1000 or more"],
  ["--judge wise --judge-window 10", 2, "--judge-window takes"],
  ["--judge wise --threshold 60000", 2, "hides nothing. Give --threshold"],
  ["--judge wise --until 500", 2, "has 50 messages"],
  ["--judge wise --template absent.json", 2, "absent.json cannot be read"],
  ["--judge wise --model small@http://a/v1 --model small@http://b/v1", 2, "small is named with two endpoints"],
  ["--judge wise --judge-url http://127.0.0.1:9/v1 --threshold 3000", 3, "cannot be reached (ECONNREFUSED)"],
])("%s is refused, and what to do is said", async (line, code, said) => {
  const told = await evaluate(line.split(" ").filter((each) => each !== ""));
  expect(told).toMatchObject({ code, out: "", err: expect.stringContaining(said) });
});

test("a refused key is told by the name of its variable, and an endpoint that repeats the key does not get it printed", async () => {
  endpoint = await PlayedEndpoint.open(() => ({ status: 401, body: "bad key sk-hidden" }));
  const line = ["--judge", "wise", "--judge-url", endpoint.url, "--threshold", "3000"];
  const without = await evaluate(line);
  expect(without).toMatchObject({ code: 3, err: expect.stringContaining("Set PALIMPSEST_JUDGE_KEY to its key.") });
  const { code, err } = await evaluate(line, { PALIMPSEST_JUDGE_KEY: "sk-hidden" });
  expect([code, err]).toEqual([3, expect.stringContaining("Check the key in PALIMPSEST_JUDGE_KEY.")]);
  expect(err).not.toContain("sk-hidden");
  const own = await evaluate([...line.slice(0, 1), `wise@${endpoint.url}`, "--threshold", "3000"], {
    PALIMPSEST_JUDGE_KEY: "sk-hidden",
  });
  expect(own.err).toContain("Set PALIMPSEST_KEY_127_0_0_1 to its key.");
  expect(endpoint.asked.map(({ key }) => key)).toEqual([undefined, "Bearer sk-hidden", undefined]);
});

test("evidence that is invented, in sight or elsewhere drops its question", async () => {
  const { hidden, ...rest } = await readSession(session, { thresholds: [3_000] });
  const named = WRITTEN.map((each) => ({
    ...each,
    evidence: each.evidence.map(({ message, quote }) => ({ message: message.replace("m", "b"), quote })),
  }));
  const also = { ...named[0], n: 9, evidence: [{ message: "b8", quote: "minutes there." }] };
  const exam = verifyExam(readQuestions([...named, also, { n: 10, question: "No kind" }]), { hidden, ...rest });
  expect(exam.questions.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
  expect(exam.dropped.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual([6, 7, 8, 9, 10]);
  expect(exam.dropped.find(({ n }) => n === 9)?.why).toContain("also stands in message b1,");
});

/** The answers to a question in the order of their letters. */
function ordered(n: number, answers: readonly string[]): string[] {
  return [...lettered({ ...(WRITTEN[0] as Question), n }, answers).values()];
}

/** A request as the product makes one, with the random boundary of its prompt. */
const request = (boundary: string, model = "small") => ({
  model,
  messages: [{ role: "user", content: `Task. Boundary: ${boundary}\n<data ${boundary}>` }],
});

test("a grader sees answers by letter, each once, in an order that tells nothing of the candidates", async () => {
  await judged(mind);
  const grading = endpoint?.asked.filter(({ text }) => text.includes("You grade")) ?? [];
  expect(grading).toHaveLength(1);
  expect(grading[0]?.text).toContain("Answer A: It is six.");
  expect(grading[0]?.text).not.toMatch(/head and tail|whole|small|3,000|Answer A: unknown/);
  expect(ordered(1, ["yes", "no", "yes", "unknown"])).toEqual(ordered(1, ["no", "yes"]));
  const orders = Array.from({ length: 12 }, (_, at) => ordered(at + 1, ["yes", "no"])[0]);
  expect(new Set(orders)).toEqual(new Set(["yes", "no"]));
  expect(["unknown", "`Unknown`.", "**unknown**", "It is unknown to whom."].map(isUnknown)).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

test("an answer that cannot be read is asked for once more, with the reason, and then costs only its question", async () => {
  const result = await judged((text, model) => {
    if (!text.includes("You go on with")) return mind(text, model);
    const answer = mind(text, model) as string;
    return answer.replaceAll(/^3\. .*$/gm, "I cannot say this one.");
  });
  const [only] = result.sessions;
  expect(only?.questions.map(({ n }) => n)).toEqual([1, 2, 4, 5]);
  expect(only?.dropped.at(-1)).toMatchObject({ n: 3, why: "the answer of head and tail at 3,000 could not be read" });
  expect(result.notes.join("\n")).toContain("question 3 dropped");
  const again = endpoint?.asked.filter(({ text }) => text.includes("That could not be read")) ?? [];
  expect(again).toHaveLength(2);
  expect(again[0]?.text).toContain("for 3: give only those");
});

test("an exam that is no exam is asked for once more, and then the run ends with what to try", async () => {
  endpoint = await PlayedEndpoint.open(() => "I would rather not.");
  const { code, err } = await evaluate(["--judge", "wise", "--judge-url", endpoint.url, "--threshold", "3000"]);
  expect([code, err]).toEqual([1, expect.stringContaining("in two tries. Try another judge.")]);
  expect(endpoint.asked).toHaveLength(2);
});

test("an endpoint that is busy is asked again", async () => {
  let tries = 0;
  const result = await judged((text, model) => (tries++ === 0 ? { status: 503, body: "busy" } : mind(text, model)));
  expect(result.sessions[0]?.questions).toHaveLength(5);
});

test("an endpoint that does not know how to count its stream is asked without that, and an error inside an answer is told", async () => {
  let tries = 0;
  const result = await judged((text, model) =>
    tries++ === 0 ? { status: 400, body: "unknown field stream_options" } : mind(text, model),
  );
  expect(result.sessions[0]?.questions).toHaveLength(5);
  endpoint?.close();
  endpoint = await PlayedEndpoint.open(() => ({
    status: 200,
    body: JSON.stringify({ error: { message: "overloaded" } }),
  }));
  const line = ["--judge", "other", "--judge-url", endpoint.url, "--threshold", "3000"];
  expect(await evaluate(line)).toMatchObject({ code: 3, err: expect.stringContaining("overloaded") });
});

test("an exam of one's own is checked as the judge's is", async () => {
  const own = WRITTEN.slice(0, 2).map((each) => ({
    ...each,
    evidence: [{ message: "b8", quote: each.evidence[0]?.quote }],
  }));
  const result = await judged(mind, "--exam", file("exam.json", JSON.stringify(own)));
  expect(result.sessions[0]?.questions.map(({ n }) => n)).toEqual([1]);
  expect(endpoint?.asked.some(({ text }) => text.includes("You are an examiner"))).toBe(false);
});

test("a call's key does not depend on the boundary of its prompt, and on its model it does", () => {
  expect(keyOf(request("a1"))).toBe(keyOf(request("b2")));
  expect(keyOf(request("a1"))).not.toBe(keyOf(request("a1", "large")));
});

test("scores are shares of the weights, and a wrong answer takes half of its weight away", () => {
  const graded = ([1, -0.5, 0] as const).map((grade, at) => ({
    question: { ...(WRITTEN[at] as Question) },
    answer: "",
    grade,
  }));
  expect(scoreOf(graded)).toEqual({
    score: 2.5 / 5,
    byKind: { rule: 1, decision: -0.5, failure: 0 },
    wrong: 1,
    unknown: 1,
  });
  const other = { score: 1, byKind: { rule: 0 }, wrong: 0, unknown: 0 };
  expect(meanScore([scoreOf(graded), other])).toMatchObject({ score: 0.75, byKind: { rule: 0.5 }, wrong: 1 });
});

test("nothing that a session or a model says becomes markup of the page", async () => {
  const evil = `<img src=x onerror="alert(1)">'&`;
  const result = await judged(mind);
  const [only] = result.sessions;
  if (only === undefined) throw new Error("no session");
  const page = renderEval(
    {
      ...result,
      judge: { ...result.judge, model: evil },
      missing: [{ key: evil, model: evil, purpose: evil }],
      notes: [evil],
      sessions: [
        {
          ...only,
          session: evil,
          dropped: [{ n: 1, question: evil, why: evil }],
          questions: only.questions.map((each) => ({
            ...each,
            question: evil,
            answer: evil,
            evidence: [{ message: evil, quote: evil }],
          })),
          candidates: only.candidates.map((each) => ({
            ...each,
            candidate: evil,
            answers: each.answers.map((one) => ({ ...one, answer: evil })),
          })),
        },
      ],
    },
    evil,
  );
  expect(page).not.toContain("<img");
  expect(page.split("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;&amp;").length).toBeGreaterThan(20);
  expect(page).toContain("default-src 'none'");
});
