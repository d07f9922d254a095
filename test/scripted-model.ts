/**
 * A summariser that does what a test says. The default is the real offline model; a script may answer, fail, wait.
 *
 * Kept on globalThis, because a test and the Worker under test share an isolate but not every module.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { MockLanguageModelV4 } from "ai/test";
import { extractiveModel } from "../src/model/extractive.ts";
import { parsePrompt, type ParsedPrompt } from "../src/steps/prompt.ts";

/** Given the prompt, read back, and how many calls came before: the answer's text, or what it throws. */
export type Script = (prompt: ParsedPrompt, call: number) => string | Promise<string>;

interface Stage {
  script: Script | null;
  calls: ParsedPrompt[];
}

const stage = ((globalThis as { palimpsestStage?: Stage }).palimpsestStage ??= { script: null, calls: [] });

/** Puts a script in place and forgets earlier calls; null is the offline model. */
export function scriptModel(script: Script | null): void {
  stage.script = script;
  stage.calls = [];
}

/** The prompts that were asked since the script was put in place. */
export function modelCalls(): readonly ParsedPrompt[] {
  return stage.calls;
}

export function scriptedModel(): LanguageModelV4 {
  const offline = extractiveModel();
  return new MockLanguageModelV4({
    modelId: "scripted",
    doGenerate: async (options: LanguageModelV4CallOptions) => {
      const prompt = parsePrompt(textOf(options));
      const call = stage.calls.length;
      if (prompt !== null) stage.calls.push(prompt);
      if (stage.script === null || prompt === null) return offline.doGenerate(options);
      const text = await stage.script(prompt, call);
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: 10, text: 10, reasoning: 0 },
        },
        warnings: [],
      };
    },
  });
}

function textOf({ prompt }: LanguageModelV4CallOptions): string {
  return prompt
    .flatMap((message) => (message.role === "user" ? message.content : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n");
}
