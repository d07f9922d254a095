/**
 * Has a model asked again without files, where its provider refused a prompt for one.
 *
 * Whether a model reads pictures is not known by its name, and neither are all limits of files, such as pages of a PDF. A stored file that is
 * refused would be refused at every later turn. A refused request costs nothing, and the stored file stays for a model that reads it.
 */
import type { LanguageModelMiddleware, ModelMessage } from "ai";
import { textPart } from "../steps/message/message.ts";
import { nameOf } from "./readable.ts";
import { withFiles } from "./taken-files.ts";

type Middleware = Required<Pick<LanguageModelMiddleware, "wrapGenerate" | "wrapStream">>;

/** Refusals of a request's content. One for its size may end when the files are gone. */
const STATUSES = new Set([400, 404, 413, 415, 422]);
const NAMES_FILES = /image|picture|vision|multi-?modal|modalit|\bfile|pdf|document|audio|video|media|content must be/i;

/**
 * Middleware for a model that may take no pictures, or not every file of a conversation.
 * @example const model = wrapLanguageModel({ model: createOpenAI().chat("o3-mini"), middleware: withoutRefusedFiles });
 */
export const withoutRefusedFiles: Middleware = {
  wrapGenerate: async ({ doGenerate, model, params }) =>
    orWithoutFiles(doGenerate, params, async (changed) => model.doGenerate(changed)),
  wrapStream: async ({ doStream, model, params }) =>
    orWithoutFiles(doStream, params, async (changed) => model.doStream(changed)),
};

async function orWithoutFiles<Params extends { readonly prompt: readonly object[] }, Answer>(
  ask: () => PromiseLike<Answer>,
  params: Params,
  askAgain: (changed: Params) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const prompt = params.prompt.map((message) =>
      withFiles(message as ModelMessage, (file) =>
        textPart(`[File ${nameOf(file)}: left out, because it was refused]`),
      ),
    );
    const isSame = prompt.every((message, at) => message === params.prompt[at]);
    if (isSame || !isRefusal(error)) throw error;
    return askAgain({ ...params, prompt });
  }
}

function isRefusal(error: unknown): boolean {
  const { statusCode, message, responseBody } = Object(error) as Record<string, unknown>;
  return STATUSES.has(Number(statusCode)) && NAMES_FILES.test(`${String(message)} ${String(responseBody)}`);
}
