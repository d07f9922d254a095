import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { inLargerPieces, summarize } from "../../src/model/summarize.ts";

type Part = LanguageModelV4StreamPart;
type Delta = Part & { readonly type: "text-delta" | "reasoning-delta" };

const USAGE = {
  inputTokens: { total: 12, noCache: 12, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const END: Part = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE };

function pieces(type: Delta["type"], id: string, texts: readonly string[]): Delta[] {
  return texts.map((delta) => ({ type, id, delta }));
}

function streaming(stream: ReadableStream<Part>): LanguageModelV4 {
  return inLargerPieces(new MockLanguageModelV4({ doStream: async () => ({ stream }) })) as LanguageModelV4;
}

async function partsOf(parts: readonly Part[]): Promise<Part[]> {
  const { stream } = await streaming(convertArrayToReadableStream([...parts])).doStream({ prompt: [] });
  return Array.fromAsync(stream);
}

test("the pieces of a text become larger ones, with every character in order", async () => {
  const words = Array.from({ length: 1_000 }, (_, n) => `word ${n} `);
  const found = await partsOf([...pieces("text-delta", "0", words), END]);
  expect(found.length).toBeLessThan(15);
  expect(found.at(-1)).toEqual(END);
  expect(found.map((part) => ("delta" in part ? part.delta : "")).join("")).toBe(words.join(""));
});

test("two texts, thoughts, and pieces with metadata stay apart", async () => {
  const marked: Delta = { type: "text-delta", id: "1", delta: "c", providerMetadata: { any: { n: 1 } } };
  const parts = [
    ...pieces("reasoning-delta", "0", ["a"]),
    ...pieces("text-delta", "0", ["a"]),
    ...pieces("text-delta", "1", ["b"]),
    marked,
    ...pieces("text-delta", "1", ["d"]),
    END,
  ];
  expect(await partsOf(parts)).toEqual(parts);
});

test("an error comes behind what was written before it", async () => {
  const texts = pieces("text-delta", "0", ["a", "b"]);
  const model = streaming(
    new ReadableStream({
      pull(controller) {
        const next = texts.shift();
        if (next === undefined) controller.error(new Error("broken off"));
        else controller.enqueue(next);
      },
    }),
  );
  const reader = (await model.doStream({ prompt: [] })).stream.getReader();
  expect((await reader.read()).value).toEqual({ type: "text-delta", id: "0", delta: "ab" });
  await expect(reader.read()).rejects.toThrow("broken off");
});

test("who stops reading stops the model", async () => {
  let stopped: unknown = null;
  const model = streaming(new ReadableStream({ cancel: (reason) => void (stopped = reason) }));
  await (await model.doStream({ prompt: [] })).stream.cancel("enough");
  expect(stopped).toBe("enough");
});

test("a model of a class with private fields is asked as itself", async () => {
  class Private implements LanguageModelV4 {
    readonly specificationVersion = "v4";
    readonly modelId = "private";
    readonly supportedUrls = {};
    readonly #text = "## Goal\n- Ship it.";

    get provider(): string {
      return `private ${this.#text.length}`;
    }

    doGenerate(): never {
      throw new Error("A summary is streamed.");
    }

    async doStream() {
      const [begin, end]: Part[] = [
        { type: "text-start", id: "0" },
        { type: "text-end", id: "0" },
      ];
      const parts = [begin, ...pieces("text-delta", "0", this.#text.split("")), end, END];
      return { stream: convertArrayToReadableStream(parts.filter((part) => part !== undefined)) };
    }
  }
  const model = new Private();
  const answer = await summarize({ model, system: "", prompt: "talk", maxOutputTokens: 100, limitMs: 60_000 });
  expect(answer).toMatchObject({ kind: "text", text: "## Goal\n- Ship it." });
});
