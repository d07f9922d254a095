/**
 * The model that summarises follows from bindings and variables alone. The extractive one speaks the AI SDK's interface, and a delay holds
 * answers back.
 */
import { generateText, streamText } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { errorCode } from "../../src/errors.ts";
import { chooseModel, type ModelEnv } from "../../src/providers/choose.ts";
import { checkModel } from "../../src/model/chosen.ts";
import { extractiveModel } from "../../src/model/extractive.ts";
import { buildPrompt, DEFAULT_TEMPLATE } from "../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

const binding = { run: () => Promise.reject(new Error("not called")) } as unknown as Ai;

describe("the model follows from the environment", () => {
  it("is the extractive one with nothing set, and with empty variables", () => {
    expect(checkModel(chooseModel({})).name).toBe("palimpsest:palimpsest-extractive-2");
    expect(checkModel(chooseModel({ PALIMPSEST_MODEL_URL: "", PALIMPSEST_MODEL: " " })).name).toMatch("extractive");
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

  it("is the one that a session chose, of the same provider", () => {
    const endpoint = { PALIMPSEST_MODEL_URL: "http://localhost:1/v1", PALIMPSEST_MODEL: "m" };
    expect(chooseModel(endpoint, "n").name).toBe("localhost:1:n");
    expect(chooseModel({ AI: binding }, "@cf/x/y").name).toBe("workers-ai:@cf/x/y");
    expect(checkModel(chooseModel({}, "n")).name).toMatch("extractive");
  });

  it("brings a fallback model of the same provider, where one is named", () => {
    const endpoint = { PALIMPSEST_MODEL_URL: "http://localhost:1/v1", PALIMPSEST_MODEL: "m" };
    const env = { ...endpoint, PALIMPSEST_FALLBACK_MODEL: "n", PALIMPSEST_MODEL_WINDOW: "64000" };
    expect(chooseModel(env).fallback).toMatchObject({ name: "localhost:1:n", windowTokens: 64_000 });
    expect(chooseModel({ AI: binding, PALIMPSEST_FALLBACK_MODEL: "@cf/x/y" }).fallback?.name).toBe(
      "workers-ai:@cf/x/y",
    );
    expect(chooseModel(endpoint).fallback).toBeUndefined();
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
    transcript:
      "[#1 user]\nPlease rename the parser to reader.\n\n[#2 assistant]\nRenamed the parser in src/reader.ts.",
    previous: "## Rules\n- Never push to main.",
    template: DEFAULT_TEMPLATE,
    summaryTokens: 500,
    boundary: "b0undary",
  });

  it("answers generateText from the prompt's blocks, within its budget, with a usage", async () => {
    const { text, finishReason, usage } = await generateText({ model: extractiveModel(), system, prompt });
    expect(finishReason).toBe("stop");
    expect(text).toContain("- Please rename the parser to reader. [#1]");
    expect(text).toContain("- Last reply: Renamed the parser in src/reader.ts.");
    expect(text.startsWith("## Rules\n- Never push to main.")).toBe(true);
    expect(text).not.toContain("b0undary");
    expect(usage).toMatchObject({ inputTokens: estimateTokens(prompt), outputTokens: estimateTokens(text) });
  });

  it("streams the same text", async () => {
    const { text } = await generateText({ model: extractiveModel(), system, prompt });
    expect(await streamText({ model: extractiveModel(), system, prompt }).text).toBe(text);
  });

  it("keeps to the caller's limit, and carries a refused draft on as it is", async () => {
    const refused = { kind: "repair" as const, drafts: ["**Goal**\nShip it"], problems: ["It is too long."] };
    const repair = buildPrompt({ ...refused, template: DEFAULT_TEMPLATE, summaryTokens: 500, boundary: "x" });
    const { text } = await generateText({ model: extractiveModel(), prompt: repair.prompt });
    expect(text).toBe("**Goal**\nShip it");
    const short = await generateText({ model: extractiveModel(), prompt, maxOutputTokens: 30 });
    expect(estimateTokens(short.text)).toBeLessThanOrEqual(30);
  });

  it("summarises any other text as something that a user said", async () => {
    const { text } = await generateText({ model: extractiveModel(), prompt: "Please fix the build of the parser." });
    expect(text).toBe("## What the user said\n- Please fix the build of the parser.");
  });
});

describe("a delay", () => {
  afterEach(() => vi.useRealTimers());

  it("holds the answer back by that long", async () => {
    vi.useFakeTimers();
    const { model } = chooseModel({ PALIMPSEST_MODEL_DELAY_MS: "60000" });
    let answered = false;
    const waiting = generateText({ model, prompt: "x", maxRetries: 0 }).then(() => (answered = true));
    await vi.advanceTimersByTimeAsync(59_999);
    expect(answered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    expect(answered).toBe(true);
  });

  it("ends at once when the call is aborted", async () => {
    vi.useFakeTimers();
    const { model } = chooseModel({ PALIMPSEST_MODEL_DELAY_MS: "60000" });
    const stop = new AbortController();
    const waiting = generateText({ model, prompt: "x", maxRetries: 0, abortSignal: stop.signal });
    stop.abort(new DOMException("stop", "AbortError"));
    await expect(waiting).rejects.toThrow("stop");
    expect(vi.getTimerCount()).toBe(0);
  });
});
