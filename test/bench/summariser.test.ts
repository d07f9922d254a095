/** The bench's one summariser reads the prompt of every policy, and loses just the share that it should. */
import type { UIMessage } from "ai";
import { createCompactFunction as createOfToday } from "agents/sessions";
import { describe, expect, it } from "vitest";
import { readAsked, type Asked } from "../../bench/policies/asked.ts";
import { forget, keepNothing } from "../../bench/policies/lossy.ts";
import { summarise } from "../../bench/policies/summariser.ts";
import { auditSummary } from "../../src/steps/draft/audit.ts";
import { buildPrompt } from "../../src/steps/draft/prompt.ts";
import { resolvePolicy } from "../../src/steps/plan/policy.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import { DEFAULT_TEMPLATE } from "../../src/steps/draft/template.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

const NAMES = Array.from({ length: 200 }, (_, n) => `src/room/file-${n}.ts`);

function conversation(): UIMessage[] {
  return NAMES.map((name, n) => ({
    id: `m${n}`,
    role: n % 2 === 0 ? "user" : "assistant",
    parts: [
      { type: "text", text: `Then ${name} was mended.${n === 0 ? " Never push to main." : ""}\n\n---\n\nand more` },
    ],
  }));
}

function asked(summaryTokens: number): Asked {
  const transcript = renderTranscript(conversation().map((message) => ({ kind: "message", message })));
  return readAsked(
    buildPrompt({ kind: "chunk", transcript, template: DEFAULT_TEMPLATE, summaryTokens, boundary: "b" }).prompt,
  );
}

function told(text: string): number {
  return NAMES.filter((name) => text.includes(`\`${name}\``)).length;
}

describe("a prompt of the SDK's own compaction", () => {
  const prompts: string[] = [];
  const compact = createOfToday({
    keepRecentTokens: 50,
    summarize: async (prompt) => {
      prompts.push(prompt);
      return "## Topic\n- `src/kept.ts` stays";
    },
  });

  it("is read whole: messages, headings and size", async () => {
    await compact(conversation());
    const { transcript, sections, tokens, earlier } = readAsked(prompts[0] ?? "");
    expect(sections.map(({ title }) => title)).toEqual(["Topic", "Key Points", "Current State", "Open Items"]);
    expect(NAMES.filter((name) => transcript.includes(`${name} `)).length).toBeGreaterThan(180);
    expect(transcript).toMatch(/^\[#1 assistant\]\n/);
    expect(tokens).toBeGreaterThan(100);
    expect(earlier).toEqual([]);
  });

  it("tells its earlier summary apart from what is new", async () => {
    const [first, second, third, ...rest] = conversation();
    const summary = { id: "compaction_1", role: "assistant", parts: [{ type: "text", text: "## Topic\n- so far" }] };
    await compact([first, second, third, summary, ...rest] as Parameters<typeof compact>[0]);
    const { transcript, earlier } = readAsked(prompts.at(-1) ?? "");
    expect(earlier).toEqual(["## Topic\n- so far"]);
    expect(transcript).not.toContain("so far");
  });

  it("is answered by our offline model under the headings that it asks for", async () => {
    const { text, inputTokens } = await summarise({ summariser: "extractive", seed: 1 }, prompts[0] ?? "");
    expect(text).toContain("## Open Items");
    expect(text).toContain("src/room/");
    expect(inputTokens).toBe(estimateTokens(prompts[0] ?? ""));
  });
});

describe("a summariser that forgets", () => {
  const wide = asked(20_000);

  it("loses its share of what it reads, and the same again for the same seed", () => {
    const text = forget(wide, { loss: 0.5, seed: 1 });
    expect(told(text)).toBeGreaterThan(70);
    expect(told(text)).toBeLessThan(130);
    expect(forget(wide, { loss: 0.5, seed: 1 })).toBe(text);
    expect(forget(wide, { loss: 0.5, seed: 2 })).not.toBe(text);
    expect(told(forget(wide, { loss: 0, seed: 1 }))).toBe(NAMES.length);
  });

  it("loses as much again of an earlier summary", () => {
    const first = forget(wide, { loss: 0.1, seed: 1 });
    const again = forget({ ...wide, transcript: "", earlier: [first] }, { loss: 0.1, seed: 1 });
    expect(told(again) / told(first)).toBeGreaterThan(0.8);
    expect(told(again) / told(first)).toBeLessThan(0.97);
  });

  it("keeps within the size it was asked for, and passes an audit", () => {
    const narrow = asked(600);
    const text = forget(narrow, { loss: 0.1, seed: 1 });
    expect(estimateTokens(text)).toBeLessThanOrEqual(600);
    expect(told(text)).toBeGreaterThan(20);
    const policy = resolvePolicy({ thresholdTokens: 12_000, summaryTokens: 600 });
    const audited = { text, finishReason: "stop", spanTokens: 10_000, policy, template: DEFAULT_TEMPLATE };
    expect(auditSummary({ ...audited, countTokens: estimateTokens })).toMatchObject({ ok: true });
  });

  it("says rules of the user word for word, and none when it keeps nothing", () => {
    expect(forget(wide, { loss: 0, seed: 1 })).toContain("## Rules\n- Never push to main.");
    expect(keepNothing(wide)).not.toContain("Never push");
  });
});
