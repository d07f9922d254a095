/** The models that a Workflow returns are named and checked before a run uses them. */
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import { checkModel, withoutModel } from "../../src/model/chosen.ts";

const model = new MockLanguageModelV4({ provider: "acme", modelId: "one" });

describe("a model that a Workflow is given", () => {
  it("is named after its provider and id, or as it says", () => {
    expect(checkModel({ model, windowTokens: 32_000 }).name).toBe("acme:one");
    expect(checkModel({ model: "acme/one", windowTokens: 32_000 }).name).toBe("acme/one");
    expect(checkModel({ model, windowTokens: 32_000, name: "mine" }).name).toBe("mine");
  });

  it("brings its fallback and its model for parts, checked as well", () => {
    const given = { model, windowTokens: 32_000, fallback: withoutModel(), chunks: { model, windowTokens: 8_000 } };
    expect(checkModel(given)).toMatchObject({
      fallback: { name: "palimpsest:palimpsest-extractive-2" },
      chunks: { name: "acme:one", windowTokens: 8_000 },
    });
    expect(() => checkModel({ ...given, chunks: { model, windowTokens: 0 } })).toThrow("windowTokens");
  });

  it.each([Number.NaN, 0, 1_999, 2_000.5, undefined as unknown as number])(
    "has a window that is a number: not %s",
    (windowTokens) => {
      expect(() => checkModel({ model, windowTokens })).toThrow("windowTokens of a summariser");
    },
  );
});
