/**
 * A summariser with a test's script.
 *
 * The Worker under test and the test itself share an isolate, but not every module, so scripts are kept on globalThis.
 */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3GenerateResult } from "@ai-sdk/provider";
import type { ModelRequest, SummaryModel } from "../model/chosen.ts";
import { extractiveModel, promptOf, generateResultOf, streamOf } from "../model/extractive.ts";
import { parsePrompt, type ParsedPrompt } from "../steps/draft/prompt.ts";

/** More than any test's conversation takes. */
const DEFAULT_WINDOW_TOKENS = 1_000_000;

/** The summariser's request, with its kind, its sections, and the source text. */
export type SummaryRequest = ParsedPrompt;

/** Answers one call, or throws like a model. `call` counts from 0. */
export type SummaryScript = (
  request: SummaryRequest,
  context: { readonly call: number; readonly runId: string },
) => string | Promise<string>;

interface ScriptedAgent {
  script: SummaryScript | null;
  readonly requests: SummaryRequest[];
}

const KEY = Symbol.for("palimpsest.testing.scripts");

function partOf(agentName: string): ScriptedAgent {
  const shared = globalThis as { [KEY]?: Map<string, ScriptedAgent> };
  const parts = (shared[KEY] ??= new Map());
  const known = parts.get(agentName);
  if (known !== undefined) return known;
  const part: ScriptedAgent = { script: null, requests: [] };
  parts.set(agentName, part);
  return part;
}

/**
 * For the test. Sets the script of an agent's summariser from now on. Null restores the offline model. The returned list grows with each
 * call.
 */
export function scriptModel(agentName: string, script: SummaryScript | null): readonly SummaryRequest[] {
  const part = partOf(agentName);
  part.script = script;
  return part.requests;
}

/** For `model()` of the Workflow under test. The model follows the script, and without a script it is the offline one. */
export function scriptedModel(
  { agentName, runId }: Pick<ModelRequest, "agentName" | "runId">,
  windowTokens: number = DEFAULT_WINDOW_TOKENS,
): SummaryModel {
  const offline = extractiveModel();
  const answer = async (options: LanguageModelV3CallOptions): Promise<LanguageModelV3GenerateResult> => {
    const part = partOf(agentName);
    const prompt = promptOf(options);
    const request = parsePrompt(prompt);
    if (request === null) return offline.doGenerate(options);
    const call = part.requests.push(request) - 1;
    if (part.script === null) return offline.doGenerate(options);
    return generateResultOf(prompt, await part.script(request, { call, runId }));
  };
  const model: LanguageModelV3 = {
    specificationVersion: "v3",
    provider: "palimpsest",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (options) => answer(options),
    doStream: async (options) => ({ stream: streamOf(await answer(options)) }),
  };
  return { model, windowTokens };
}

/** A summary that passes every audit. It has each requested section with its title and these words under it. */
export function summaryOf({ sections }: SummaryRequest, words: string): string {
  return sections.map(({ title }) => `## ${title}\n- ${title}: ${words}`).join("\n\n");
}
