/** The demo's model endpoint: a recorded answer for each known prompt, and quotations of the conversation for any other. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";
import { expect, onTestFinished, test, vi } from "vitest";
import { keyOf, RecordedModel } from "../../scripts/demo/recorded-model.ts";
import { buildPrompt, DEFAULT_TEMPLATE } from "../../src/steps/draft/prompt.ts";

const ANSWER = "## Goal\n- Sort the ledger by date, as Ada asked.";

function promptOf(asked: string, boundary: string): { system: string; prompt: string } {
  const transcript = `[#1 user]\n${asked}\n\n[#2 assistant]\nIt is sorted.`;
  return buildPrompt({ kind: "chunk", transcript, template: DEFAULT_TEMPLATE, summaryTokens: 400, boundary });
}

const known = promptOf("Please sort the ledger by date.", "aaaaaaaaaaaa");
const RECORDED = { [keyOf(known.system, known.prompt)]: ANSWER };

/** The endpoint, and a client of it as a Worker has one. */
async function start() {
  const endpoint = await RecordedModel.start(0, RECORDED);
  onTestFinished(() => endpoint.close());
  const { PALIMPSEST_MODEL_URL: baseURL = "", PALIMPSEST_MODEL: name = "" } = endpoint.vars;
  return { endpoint, model: createOpenAICompatible({ name, baseURL, includeUsage: true })(name) };
}

test("a known prompt has its recorded answer, whatever boundary was drawn for it, in one piece and as a stream", async () => {
  const { endpoint, model } = await start();
  const { system, prompt } = promptOf("Please sort the ledger by date.", "bbbbbbbbbbbb");
  const whole = await generateText({ model, system, prompt });
  expect(whole).toMatchObject({ text: ANSWER, finishReason: "stop" });
  const streamed = streamText({ model, system, prompt });
  expect([await streamed.text, await streamed.finishReason]).toEqual([ANSWER, "stop"]);
  for (const usage of [whole.usage, await streamed.usage]) {
    expect(usage.inputTokens).toBe(Math.round((system.length + prompt.length) / 4));
    expect(usage.outputTokens).toBe(Math.round(ANSWER.length / 4));
  }
  expect([endpoint.known, endpoint.unknown]).toEqual([2, 0]);
});

test("any other prompt is answered with quotations, without a network and without another prompt's answer", async () => {
  const { endpoint, model } = await start();
  const { system, prompt } = promptOf("Please sort the ledger by amount.", "bbbbbbbbbbbb");
  const { text } = await generateText({ model, system, prompt });
  expect(text).toContain("Please sort the ledger by amount.");
  expect(text).toContain("It is sorted.");
  const streamed = streamText({ model, system, prompt });
  expect(await streamed.text).toBe(text);
  expect([endpoint.known, endpoint.unknown]).toEqual([0, 2]);
});

test("where somebody records, an unknown prompt is written down and has the answer that is put beside it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palimpsest-recording-"));
  vi.stubEnv("PALIMPSEST_RECORD", folder);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });
  const { endpoint, model } = await start();
  const { system, prompt } = promptOf("Please sort the ledger by name.", "cccccccccccc");
  const key = keyOf(system, prompt);
  await writeFile(join(folder, `${key}.answer.md`), `${ANSWER}\n`);
  expect((await generateText({ model, system, prompt })).text).toBe(ANSWER);
  expect(await readFile(join(folder, `${key}.prompt.md`), "utf8")).toBe(`${system}\n\n${prompt}`);
  expect([endpoint.known, endpoint.unknown]).toEqual([1, 0]);
});
