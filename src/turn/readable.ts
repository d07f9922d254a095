/**
 * What a model's provider cannot read, because another provider made it. A text says it instead, since the package would drop it, send bytes as a
 * text, or refuse the prompt.
 *
 * - Gemini alone takes a file as the assistant's own, and chat completions take none in the result of a call. Of a user's files most take
 *   pictures and PDF alone, and Bedrock takes no name twice. Of all there are a most (taken-files.ts).
 * - Most models of Mistral's API take no thought, which another provider's model may have left unsigned. Groq and Cerebras take none either.
 * - A call that a provider ran itself, and a part of its own kind, are known to that provider alone.
 */
import type { ModelMessage } from "ai";
import { MAX_NAME_CHARS } from "../limits.ts";
import { jsonText, withoutBytes } from "../steps/message/message.ts";
import { wellFormed } from "../steps/view/accepted.ts";
import { RUN_ITEM, madeBy, withoutKey } from "../steps/view/items.ts";
import { wantsNineChars, withNineCharIds } from "./nine-char-ids.ts";
import { contentOf, withItems, withTakenFiles } from "./taken-files.ts";
import { GO_ON, withoutUnfitCalls } from "./unfit-calls.ts";

const GOOGLE = /google|gemini|vertex/i;
/** Mistral refuses a thought where its model makes none. Groq and Cerebras know no `reasoning_content`, and at Bedrock Claude alone takes one. */
const NO_THOUGHTS =
  /groq|cerebras|^\S*bedrock(?!.*(?:claude|arn:))|^mistral\b(?!.*(?:magistral|mistral-(?:small|medium)-(?:latest|[3-9])))/;
/** They refuse a prompt that ends in the assistant's words, as chat completions do. */
const USER_ENDS = /claude|bedrock|google|gemini|vertex/;
const CHAT_COMPLETIONS = /^(?!.*(?:google|vertex|anthropic|bedrock)).*\.chat$|^(?:mistral|groq|deepseek)\b/;

/** The kinds of a user's files that a package or its provider takes, besides pictures and PDF. The prompt is refused for another. */
const OTHER_FILES: readonly (readonly [provider: RegExp, kinds: RegExp])[] = [
  [/bedrock/, /^video\/|^text\/(?:csv|html|plain|markdown)$|word|excel|spreadsheet/],
  [/anthropic/, /^text\/plain$/],
  [GOOGLE, /^(?:audio|video)\/|^text\/plain$/],
  [/^mistral\b|^(?:openai|azure)\.responses/, /^$/],
  [CHAT_COMPLETIONS, /^audio\/(?:wav|mp3|mpeg)$|^text\//],
];
/** What is text, whatever its kind. Who takes no such file is sent its text. */
const TEXT = /^text\b|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml|javascript)$/;
/** The kinds of pictures that a provider's API takes. Others are asked for any but drawings in XML. */
const PICTURES: readonly (readonly [provider: RegExp, kinds: RegExp])[] = [
  [/anthropic|bedrock|^mistral\b|^openai|^azure/, /^image(?:\/(?:jpeg|png|gif|webp|\*))?$/],
  [GOOGLE, /^image(?:\/(?:jpeg|png|webp|heic|heif|\*))?$/],
  [/./, /^image\b(?!\/svg)/],
];

/**
 * A type and base64 that begins as no file of that type does. Any of PNG, JPEG, GIF and WebP will do for another. "%PDF-" has three forms, because
 * other bytes may stand before it.
 */
const MISTYPED =
  /^(?:image\/(?:png|jpeg|gif|webp),(?:data:[^,]*,|(?!\w+:))(?!iVBORw|\/9j|R0lGOD|UklGR)|application\/pdf,(?:data:[^,]*,|(?!\w+:))(?!.*(?:JVBERi0|VQREYt|lUERGL)))./;

/** They refuse a call without the thought that led to it, where they think. Another model may have made it, or a limit left the thought out. */
const THINKS_AT_CALLS = /kimi|moonshot|deepseek/i;
const NOT_KEPT = { type: "reasoning", text: "(What was thought here is not kept.)" };
/** Behind an endpoint of Anthropic's form they sign no thought, and its package leaves out one without a signature. */
const BY_NOBODY = { anthropic: { signature: "" } };

/** Gemini refuses a call without its signature. Google's own package sends this for a call of another model, and others do not. */
const UNSIGNED = { google: { thoughtSignature: "skip_thought_signature_validator" } };

/**
 * Stands between results and a reminder. Mistral's models, and others behind chat completions and Bedrock, refuse a user's message right behind
 * a result. Claude wants a thought at the beginning of its last message.
 */
const NOTED: ModelMessage = { role: "assistant", content: "[A reminder follows.]" };
const NOTHING_READABLE = "[What stood here is another provider's own.]";

type Fields = Readonly<Record<string, unknown>>;
type UserPart = Exclude<Extract<ModelMessage, { role: "user" }>["content"], string>[number];

export interface NamedModel {
  readonly provider: string;
  readonly modelId: string;
}

/** What a model of the AI SDK calls itself. Null for an id alone. */
export function named(model: unknown): NamedModel | null {
  const { provider, modelId } = (model ?? {}) as { provider?: unknown; modelId?: unknown };
  return typeof provider === "string" ? { provider, modelId: String(modelId) } : null;
}

/**
 * The converted messages of a view as this model takes them. The prompts of a turn have this form already. A message that the model takes as it
 * is stays the same object, and so does everything for a model that is named by its id alone. `tools` are those of the request.
 * @example const messages = await forModel(await convertToModelMessages((await session.getView()).messages), model, tools);
 */
export async function forModel(
  messages: readonly ModelMessage[],
  model: unknown,
  tools?: Readonly<Record<string, object>>,
): Promise<ModelMessage[]> {
  const by = named(model);
  const read = by === null ? [...messages] : readable(await withoutUnfitCalls(messages, by.provider, tools), by);
  return wantsNineChars(model) ? withNineCharIds(read) : read;
}

/** The messages as the model can read them. A message that it can read is the same object. */
export function readable(messages: readonly ModelMessage[], { provider, modelId }: NamedModel): ModelMessage[] {
  const name = `${provider} ${modelId}`;
  const takesFiles = GOOGLE.test(name);
  const takesThoughts = !NO_THOUGHTS.test(name);
  const signs = takesFiles && /^(?!.*vertex).*\.chat$/.test(provider);
  const isChat = CHAT_COMPLETIONS.test(provider);
  const thinks = takesThoughts && THINKS_AT_CALLS.test(name) && (isChat || provider.includes("anthropic"));
  const foreign = new Set<string>();
  const read = (part: Fields): object[] => {
    const { type, toolCallId } = part;
    if (type === "reasoning" && !takesThoughts) return [];
    if (!provider.replace("azure", "openai").includes(madeBy(part) ?? "")) return [];
    if (type === "file" && !(takesFiles && isOwn(part))) return [lineFor(part)];
    if (type === "reasoning-file" && !takesFiles) return [];
    if (type === "tool-call" && part["providerExecuted"] === true && !ranCall(provider, part)) {
      foreign.add(String(toolCallId));
      return [asText("Call", part, part["input"])];
    }
    const isForeign = type === "tool-result" && foreign.has(String(toolCallId));
    return [
      isForeign
        ? asText("Result", part, (part["output"] as Fields)["value"])
        : marked(withOwnSignature(part, provider), thinks && !isChat, signs),
    ];
  };
  const taken = filesOf(provider);
  const isOwn = (part: Fields): boolean => taken(part) === part && !/^https?:/.test(String(contentOf(part)));
  const shown = messages.map((message): ModelMessage => {
    if (typeof message.content === "string" || message.role === "system") return message;
    const given = message.content as unknown as Fields[];
    const content =
      message.role === "user"
        ? given.map(taken)
        : message.role === "assistant"
          ? withThought(given.flatMap(read), thinks)
          : given.map((part) => withItems(part, isChat ? lineFor : taken));
    if (content.length === 0) return { role: "assistant", content: NOTHING_READABLE };
    const isSame = content.length === given.length && content.every((part, at) => part === given[at]);
    return isSame ? message : ({ ...message, content } as unknown as ModelMessage);
  });
  const sent = [...withTakenFiles(shown, provider, modelId), ...goingOn(shown, { provider, modelId })];
  const isParted = !/claude|arn:/.test(name) && (isChat || provider.includes("bedrock"));
  const isApart = provider.includes("bedrock") && /llama|mi[sx]tral/.test(modelId);
  return (isChat ? sent.map(asOneText) : sent).flatMap((message, at) =>
    isParted && message.role === "user" && sent[at - 1]?.role === "tool"
      ? [NOTED, message]
      : isApart
        ? wordsApart(message)
        : [message],
  );
}

/** Some of Bedrock's models take no words beside a call. */
function wordsApart(message: ModelMessage): ModelMessage[] {
  const { role, content } = message;
  if (role !== "assistant" || typeof content === "string") return [message];
  const [calls, words] = [true, false].map((isCall) => content.filter(({ type }) => (type === "tool-call") === isCall));
  if (calls?.length === 0 || words?.length === 0) return [message];
  return [
    { role, content: words ?? [] },
    { role: "user", content: GO_ON },
    { role, content: calls ?? [] },
  ];
}

/**
 * Servers of open models read a user's message that is one text, and some of them no list of texts. Packages send a file of text as a text. A
 * mark of a cache stays with its text.
 */
function asOneText(message: ModelMessage): ModelMessage {
  const { role, content } = message;
  if (role !== "user" || typeof content === "string") return message;
  const texts = content.flatMap((part) => (isCached(part) ? [] : (textIn({ ...part }) ?? [])));
  return texts.length < content.length ? message : { ...message, content: texts.join("\n\n") };
}

/** The text of a text, or of a file of text whose content stands in the prompt in base64. */
function textIn(part: Fields): string | undefined {
  const { type, text, mediaType } = part;
  if (type === "text") return String(text);
  const content = contentOf(part);
  if (!TEXT.test(String(mediaType)) || typeof content !== "string") return undefined;
  const base64 = content.replace(/^data:[^,]*;base64,/, "");
  if (!/^[A-Za-z\d+/]+={0,2}$/.test(base64)) return undefined;
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (byte) => byte.codePointAt(0) ?? 0));
}

function isCached({ providerOptions = {} }: UserPart): boolean {
  return /cache/i.test(JSON.stringify(providerOptions));
}

/**
 * What stands behind a prompt that ends in the assistant's words, as a reply that was cut off does. Newer models of Claude and Gemini, those of
 * Bedrock and servers of open models that think refuse such a prompt.
 */
export function goingOn(messages: readonly ModelMessage[], { provider, modelId }: NamedModel): ModelMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "assistant" || !(USER_ENDS.test(`${provider} ${modelId}`) || CHAT_COMPLETIONS.test(provider)))
    return [];
  const isSaid = typeof last.content === "string" || last.content.at(-1)?.type === "text";
  return isSaid ? [{ role: "user", content: GO_ON }] : [];
}

/** A file of the user or of a result as the provider takes it. */
function filesOf(provider: string): (part: Fields) => object {
  const kinds = OTHER_FILES.find(([name]) => name.test(provider))?.[1];
  const pictures = PICTURES.find(([name]) => name.test(provider))?.[1];
  const isBedrock = provider.includes("bedrock");
  const names = new Set<string>();
  return (given) => {
    const part = given["mediaType"] === "image/jpg" ? { ...given, mediaType: "image/jpeg" } : given;
    const { type, mediaType, filename } = part;
    if (type === "text" || typeof mediaType !== "string") return part;
    if (!isWithin(provider, part) || isMistyped(mediaType, contentOf(part))) return lineFor(part);
    const isPicture = pictures?.test(mediaType) === true;
    const isKnown = isPicture || mediaType === "application/pdf" || kinds?.test(mediaType) !== false;
    if (!isKnown || (!isPicture && /^image\b/.test(mediaType))) {
      const text = textIn(part);
      return text === undefined ? lineFor(part) : textOf(`File ${nameOf(part)}:\n\n${text}`);
    }
    if (!isBedrock || isPicture || typeof filename !== "string") return part;
    const stem = sentName(filename.replace(/\.[^.]*$/, "").replaceAll(".", "-")) || "document";
    let name = stem;
    for (let n = 2; names.has(name); n++) name = `${stem.slice(0, 190)}-${n}`;
    names.add(name);
    return name === sentName(filename) ? part : { ...part, filename: name };
  };
}

/** What Bedrock's package sends of a document's name. Bedrock takes no name twice. */
function sentName(filename: string): string {
  const [stem = ""] = filename.split(".");
  const plain = stem.replaceAll(/\s+/g, " ").replaceAll(/[^a-zA-Z\d ()[\]-]/g, "");
  return plain.trim().slice(0, 200).trim();
}

/** Whether the provider reaches the file: by its own id of it, or where the file lies in its own cloud. A package refuses the prompt otherwise. */
function isWithin(provider: string, part: Fields): boolean {
  const address = String(contentOf(part));
  if (address.startsWith("gs:")) return /vertex|gateway/.test(provider);
  if (address.startsWith("s3:")) return /bedrock|gateway/.test(provider);
  const { type, reference } = (part["data"] ?? {}) as Fields;
  if (type !== "reference") return true;
  const [own = ""] = provider.split(".");
  return !/vertex|bedrock|mistral/.test(provider) && typeof (reference as Fields | null)?.[own] === "string";
}

function isMistyped(mediaType: string, content: unknown): boolean {
  return typeof content === "string" && MISTYPED.test(`${mediaType},${content.slice(0, 1_400)}`);
}

/** The step's words, with a thought where the model wants one before a call. */
function withThought(step: object[], isWanted: boolean): object[] {
  const types = new Set(step.map((part) => (part as Fields)["type"]));
  return isWanted && types.has("tool-call") && !types.has("reasoning")
    ? [{ ...NOT_KEPT, providerOptions: BY_NOBODY }, ...step]
    : step;
}

/** Google's own API and Vertex refuse each other's signatures. For a call without one their package sends what stands for it. */
function withOwnSignature(part: Fields, provider: string): Fields {
  const providerOptions = Object(part["providerOptions"]) as Fields;
  const marks = JSON.stringify(providerOptions);
  const isForeign = /thoughtSignature/.test(marks) && /vertex":/i.test(marks) !== /vertex/.test(provider);
  if (!/^google\b/.test(provider) || !isForeign) return part;
  return { ...part, providerOptions: withoutKey(providerOptions, "thoughtSignature") };
}

/** The part with the mark that stands for a signature, where another model made it. */
function marked(part: Fields, signsThoughts: boolean, signsCalls: boolean): object {
  const { type, providerOptions } = part;
  const isThought = type === "reasoning" && signsThoughts && !/"anthropic"/.test(JSON.stringify(providerOptions ?? ""));
  const isCall =
    type === "tool-call" && signsCalls && !/"thoughtSignature"/.test(JSON.stringify(providerOptions ?? ""));
  if (!isThought && !isCall) return part;
  return { ...part, providerOptions: { ...(providerOptions as object), ...(isCall ? UNSIGNED : BY_NOBODY) } };
}

/** Whether this provider ran a call, by the marks that each leaves. A provider that is not known is asked to read it. */
function ranCall(provider: string, { toolCallId, toolName, input, providerOptions }: Fields): boolean {
  const id = String(toolCallId);
  const marked = (name: RegExp): boolean => Object.keys(providerOptions ?? {}).some((key) => name.test(key));
  if (/bedrock/.test(provider) || CHAT_COMPLETIONS.test(provider)) return false;
  if (/anthropic/.test(provider)) return /^(?:srvtoolu|mcptoolu)_/.test(id);
  if (/openai|azure/.test(provider)) return marked(/openai|azure/) || RUN_ITEM.test(id);
  if (!GOOGLE.test(provider)) return true;
  return (
    marked(GOOGLE) || (toolName === "code_execution" && typeof (input as Fields | null)?.["language"] === "string")
  );
}

function lineFor(part: Fields): object {
  return textOf(`[File ${nameOf(part)}: this model takes none here]`);
}

/** A file's name and type, for a line in its place. */
export function nameOf({ mediaType, filename, type }: Fields): string {
  const what = [filename, mediaType ?? type].filter((each) => typeof each === "string" && each !== "");
  return what.join(", ").slice(0, MAX_NAME_CHARS);
}

function asText(what: "Call" | "Result", { toolName }: Fields, value: unknown): object {
  return textOf(`[${what} of tool ${String(toolName)}, which another provider ran] ${jsonText(withoutBytes(value))}`);
}

function textOf(text: string): object {
  return { type: "text", text: wellFormed(text) };
}
