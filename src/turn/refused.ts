/**
 * Has a prompt that a provider refused sent once more, without what it refused.
 *
 * Not everything that a provider refuses can be known before: whether a model reads pictures, the pages of a PDF, and what the provider keeps on its
 * own side, as thoughts that another account encrypted, items that OpenAI deleted, and containers that ended. What is stored
 * would be refused at every later turn. A refused request costs nothing, and the stored message stays for a model that takes it.
 */
import type { LanguageModelMiddleware, ModelMessage } from "ai";
import { textPart } from "../steps/message/message.ts";
import { supportedUrls, withLoaded } from "./links.ts";
import { nameOf, readable } from "./readable.ts";
import { withFiles } from "./taken-files.ts";
import { withoutUnfitCalls } from "./unfit-calls.ts";

type Middleware = Required<Pick<LanguageModelMiddleware, "overrideSupportedUrls" | "wrapGenerate" | "wrapStream">>;

/** Refusals of a request's content. One for its size may end when the files are gone. */
const STATUSES = new Set([400, 404, 413, 415, 422]);

type Mend = (message: ModelMessage) => ModelMessage;

/** What a refusal names, and the message without it. */
const MENDS: readonly (readonly [named: RegExp, mend: Mend])[] = [
  [/encrypted|signature|thinking|reasoning|\bitem\b|container|\w_tool_(?:use|result)/i, withoutOwn],
  [
    /image|picture|vision|multi-?modal|modalit|\bfile|pdf|document|audio|video|media|content must be|download|fetch/i,
    withoutFiles,
  ],
];
/** A gateway may take no calls of the history in a request without tools, as LiteLLM does before Bedrock. No name of a model tells of it. */
const WANTS_TOOLS = /without .?tools|must define tools|toolConfig field must/i;

/**
 * Middleware for any model of a long conversation.
 * @example const model = wrapLanguageModel({ model: createOpenAI().chat("o3-mini"), middleware: retryRefused });
 */
export const retryRefused: Middleware = {
  overrideSupportedUrls: async ({ model }) => supportedUrls(model),
  wrapGenerate: async ({ model, params }) =>
    orMended(await withLoaded(params, model), async (request) => model.doGenerate(request)),
  wrapStream: async ({ model, params }) =>
    orMended(await withLoaded(params, model), async (request) => model.doStream(request)),
};

async function orMended<Params extends { readonly prompt: readonly object[] }, Answer>(
  params: Params,
  ask: (request: Params) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask(params);
  } catch (error) {
    const prompt = await mended(params.prompt as readonly ModelMessage[], error);
    if (prompt === null) throw error;
    return ask({ ...params, prompt });
  }
}

/** Null where nothing in the prompt is what the refusal names. */
async function mended(prompt: readonly ModelMessage[], error: unknown): Promise<readonly ModelMessage[] | null> {
  const { statusCode, message, responseBody } = Object(error) as Record<string, unknown>;
  // An address has words of its own.
  const text = `${String(message)} ${String(responseBody)}`.replaceAll(/https?:[^\s"]+/g, "");
  if (!STATUSES.has(Number(statusCode))) return null;
  const mends = MENDS.filter(([named]) => named.test(text));
  const each = prompt.map((message) => mends.reduce((before, [, mend]) => mend(before), message));
  // Bedrock's own package takes none either.
  const changed = WANTS_TOOLS.test(text) ? await withoutUnfitCalls(each, "bedrock", {}) : each;
  return changed.length === prompt.length && changed.every((message, at) => message === prompt[at]) ? null : changed;
}

function withoutFiles(message: ModelMessage): ModelMessage {
  return withFiles(message, (file) => textPart(`[File ${nameOf(file)}: left out, because it was refused]`));
}

/** An answer in the words that any provider reads: without thoughts, items and signatures, and with what a provider ran itself as text. */
function withoutOwn(message: ModelMessage): ModelMessage {
  const { role, content } = message;
  if (role !== "assistant" || typeof content === "string") return message;
  const given = content as readonly object[] as readonly Readonly<Record<string, unknown>>[];
  const own = given.filter(
    ({ type, providerOptions, providerExecuted }) =>
      type === "reasoning" || providerOptions !== undefined || providerExecuted === true,
  );
  if (own.length === 0) return message;
  const said = given.filter(({ type }) => type !== "reasoning").map(({ providerOptions: _own, ...part }) => part);
  const [told] = readable([{ role, content: said } as unknown as ModelMessage], {
    provider: "other.chat",
    modelId: "",
  });
  return told ?? message;
}
