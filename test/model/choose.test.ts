import { generateText } from "ai";
import { describe, expect, it, vi } from "vitest";
import { errorCode } from "../../src/errors.ts";
import { chooseModel, type ModelEnv } from "../../src/model/choose.ts";
import { DEFAULT_TEMPLATE } from "../../src/steps/template.ts";
import { buildPrompt } from "../../src/steps/prompt.ts";

const binding = { run: () => Promise.reject(new Error("not called")) } as unknown as Ai;

describe("the model follows from the environment", () => {
  it("is the extractive one with nothing set, and with empty variables", () => {
    expect(chooseModel({}).name).toBe("palimpsest:palimpsest-extractive-1");
    expect(chooseModel({ PALIMPSEST_MODEL_URL: "", PALIMPSEST_MODEL: " " }).name).toMatch("extractive");
  });

  it("is Workers AI with the binding, with a default model and its window", () => {
    const chosen = chooseModel({ AI: binding });
    expect(chosen).toMatchObject({ name: "workers-ai:@cf/zai-org/glm-4.7-flash", windowTokens: 131_072 });
    expect(chooseModel({ AI: binding, PALIMPSEST_MODEL: "@cf/x/y" })).toMatchObject({
      name: "workers-ai:@cf/x/y",
      windowTokens: 32_000,
    });
  });

  it("is the endpoint when a URL is set, binding or not", () => {
    const env = {
      AI: binding,
      PALIMPSEST_MODEL_URL: "http://localhost:1/v1",
      PALIMPSEST_MODEL: "m",
      PALIMPSEST_MODEL_WINDOW: "64000",
    };
    expect(chooseModel(env)).toMatchObject({ name: "localhost:1:m", windowTokens: 64_000 });
  });

  it.each<ModelEnv>([
    { PALIMPSEST_MODEL_URL: "not a url", PALIMPSEST_MODEL: "m" },
    { PALIMPSEST_MODEL_URL: "ftp://host/v1", PALIMPSEST_MODEL: "m" },
    { PALIMPSEST_MODEL_URL: "https://user:pass@host/v1", PALIMPSEST_MODEL: "m" },
    { PALIMPSEST_MODEL_URL: "https://host/v1" },
    { PALIMPSEST_MODEL_WINDOW: "lots" },
    { PALIMPSEST_MODEL_WINDOW: "12" },
    { PALIMPSEST_MODEL_DELAY_MS: "-1" },
  ])("refuses %j with advice, and repeats no credentials", (env) => {
    let thrown: unknown;
    try {
      chooseModel(env);
    } catch (error) {
      thrown = error;
    }
    expect(errorCode(thrown)).toBe("invalid_options");
    expect(String(thrown)).not.toContain("pass@");
  });
});

describe("the extractive model speaks the AI SDK's interface", () => {
  const { system, prompt } = buildPrompt({
    kind: "chunk",
    transcript: "",
    previous: null,
    template: DEFAULT_TEMPLATE,
    summaryTokens: 500,
    boundary: "b",
  });

  it("answers generateText with all sections and a usage", async () => {
    const { text, finishReason, usage } = await generateText({ model: chooseModel({}).model, system, prompt });
    expect(finishReason).toBe("stop");
    expect(usage.inputTokens).toBeGreaterThan(0);
    for (const { title } of DEFAULT_TEMPLATE.sections) expect(text).toContain(`## ${title}`);
  });
});

describe("a delay", () => {
  it("holds the answer back by that long, and an abort ends the wait", async () => {
    vi.useFakeTimers();
    try {
      const { model } = chooseModel({ PALIMPSEST_MODEL_DELAY_MS: "60000" });
      const stop = new AbortController();
      const waiting = generateText({ model, prompt: "x", maxRetries: 0, abortSignal: stop.signal });
      stop.abort(new DOMException("stop", "AbortError"));
      await expect(waiting).rejects.toThrow("stop");
    } finally {
      vi.useRealTimers();
    }
  });
});
