/**
 * Files that a prompt has by their address, for a model that takes no addresses.
 *
 * The AI SDK loads them before it asks a model, and ends the turn where one cannot be loaded. A link of the history expires, and every later turn
 * would end so. Here it becomes a line. The stored message stays, and each prompt tries again.
 */
import * as sdk from "ai";
import type { LanguageModelMiddleware, ModelMessage } from "ai";
import { textPart } from "../steps/message/message.ts";
import { nameOf } from "./readable.ts";
import { convertsSteps } from "./step-parts.ts";
import { contentOf, withFiles } from "./taken-files.ts";

type Fields = Readonly<Record<string, unknown>>;
type TakesUrls = Parameters<NonNullable<LanguageModelMiddleware["overrideSupportedUrls"]>>[0]["model"];
type Urls = Awaited<TakesUrls["supportedUrls"]>;

/** The SDK's own way to load a file. Version 6 has another form of a prompt, and loads them itself. */
type MayLoad = Partial<Pick<typeof sdk, "createDownload">>;
const loader = (): MayLoad["createDownload"] => (convertsSteps() ? (sdk as MayLoad).createDownload : undefined);

/** With every address of the web, so that the SDK loads none. */
export async function supportedUrls({ supportedUrls: own }: TakesUrls): Promise<Urls> {
  const urls = await own;
  return loader() === undefined ? urls : { ...urls, "*": [...(urls["*"] ?? []), /^https?:/] };
}

/** The request with the files that the model does not load itself. The same object where there are none. */
export async function withLoaded<Params extends { readonly prompt: readonly object[]; abortSignal?: AbortSignal }>(
  params: Params,
  model: TakesUrls,
): Promise<Params> {
  const urls = await model.supportedUrls;
  const prompt = params.prompt as readonly ModelMessage[];
  const files = new Map<Fields, object>();
  for (const message of prompt)
    withFiles(message, (file) => {
      if (isToLoad(file, urls)) files.set(file, file);
      return file;
    });
  const download = files.size === 0 ? undefined : loader()?.();
  if (download === undefined) return params;
  const load = async (file: Fields): Promise<object> => {
    const { abortSignal } = params;
    const mediaType = String(file["mediaType"]);
    try {
      const url = new URL(String(contentOf(file)));
      const { data, mediaType: served = "" } = await download({ url, ...(abortSignal && { abortSignal }) });
      if (isOtherwise(served, mediaType)) throw new TypeError(served);
      const isPicture = served.startsWith("image/") && mediaType.startsWith("image");
      return { ...file, mediaType: isPicture ? served : mediaType, data: { type: "data", data } };
    } catch {
      abortSignal?.throwIfAborted();
      return textPart(`[File ${nameOf(file)}: left out, because it could not be loaded]`);
    }
  };
  await Promise.all([...files.keys()].map(async (file) => files.set(file, await load(file))));
  return { ...params, prompt: prompt.map((message) => withFiles(message, (file) => files.get(file) ?? file)) };
}

function isToLoad(file: Fields, urls: Urls): boolean {
  const address = contentOf(file);
  if (file["type"] !== "file" || typeof address !== "string" || !/^https?:/.test(address)) return false;
  const mediaType = String(file["mediaType"]).toLowerCase();
  const isOfKind = (kind: string): boolean =>
    kind.startsWith("*") || kind === mediaType || kind === `${mediaType.split("/", 1)[0]}/*`;
  return !Object.entries(urls).some(
    ([kind, forms]) => isOfKind(kind.toLowerCase()) && forms.some((form) => address.search(form) !== -1),
  );
}

/** Whether a page was served in the place of a file, as some hosts do for a link that has expired. */
function isOtherwise(served: string, mediaType: string): boolean {
  return /^text\/html\b/.test(served) && !/^text\b/.test(mediaType);
}
