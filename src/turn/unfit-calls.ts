/**
 * Calls that a package of the AI SDK or its provider would refuse or leave out of a request, told in words.
 *
 * - OpenAI's own tools that an agent runs (a shell, patches, a computer) have forms that the package holds calls and results to. It throws where a
 *   limit cut one, and sends a result of another kind where the call failed or was stopped, which the API refuses.
 * - Anthropic's own calls have results of certain forms. Its package throws on another one, or leaves out the result and not the call.
 * - Bedrock's package leaves calls and results out of a request without tools.
 * - Anthropic refuses a reference to a tool, which a search found, where the request has no such tool. Nobody else reads one.
 */
import { asSchema, type ModelMessage } from "ai";
import { jsonText, withoutBytes } from "../steps/message/message.ts";
import { wellFormed } from "../steps/view/accepted.ts";

/** What the user is made to say behind a prompt that would end with the assistant. */
export const GO_ON = "[Go on.]";

type Fields = Readonly<Record<string, unknown>>;
/** By the id of a call that is told in words, its result. */
type Told = ReadonlyMap<unknown, Fields | undefined>;

/** The messages as the package can send them. The same array where it can. `tools` are those of the request, if they are known. */
export async function withoutUnfitCalls(
  given: readonly ModelMessage[],
  provider: string,
  tools: Readonly<Record<string, object>> | undefined,
): Promise<readonly ModelMessage[]> {
  const isReferred = (name: string): boolean =>
    provider.includes("anthropic") && (tools === undefined || Object.hasOwn(tools, name));
  const messages = withFoundTools(given, isReferred);
  const takesNone = provider.includes("bedrock") && tools !== undefined && Object.keys(tools).length === 0;
  if (!takesNone && !/openai|azure|anthropic/.test(provider)) return messages;
  const parts = messages.flatMap(partsOf);
  const results = new Map(
    parts.flatMap((part) => (part["type"] === "tool-result" ? [[part["toolCallId"], part]] : [])),
  );
  const told = new Map<unknown, Fields | undefined>();
  for (const call of parts) {
    if (call["type"] !== "tool-call") continue;
    const result = results.get(call["toolCallId"]);
    const tool = tools?.[String(call["toolName"])];
    const isFit =
      call["providerExecuted"] === true ? isRead(call, result, tool, provider) : !takesNone && fits(call, result, tool);
    if (!(await isFit)) told.set(call["toolCallId"], result);
  }
  return told.size === 0 ? messages : inWords(messages, told);
}

/** The messages without references to tools that may not be referred to. */
function withFoundTools(messages: readonly ModelMessage[], isReferred: (name: string) => boolean) {
  return messages.map((message): ModelMessage => {
    const given = partsOf(message);
    const content = given.map((part) => {
      const { type, value } = (part["output"] ?? {}) as Fields;
      if (!Array.isArray(value)) return part;
      const found = value.flatMap((item: unknown) => {
        const name = toolReferred(item);
        if (name === null || isReferred(name)) return [item];
        return type === "content" ? [{ type: "text", text: `[Tool ${name}]` }] : [];
      });
      return found.every((item, at) => item === value[at]) && found.length === value.length
        ? part
        : { ...part, output: { type, value: found } };
    });
    const isSame = content.every((part, at) => part === given[at]);
    return isSame ? message : ({ ...message, content } as unknown as ModelMessage);
  });
}

/** The tool that an item of a result refers to, which Anthropic's own search or a tool of the agent's found. */
function toolReferred(item: unknown): string | null {
  const { type, toolName, providerOptions } = Object(item) as Fields;
  if (type === "tool_reference") return String(toolName);
  const own =
    type === "custom" ? ((providerOptions as Fields | undefined)?.["anthropic"] as Fields | undefined) : undefined;
  return own?.["type"] === "tool-reference" ? String(own["toolName"]) : null;
}

/** Whether a call and its result have the forms that its tool declares. Only a provider's own tool that has both is held to them. */
async function fits(call: Fields, result: Fields | undefined, tool: unknown): Promise<boolean> {
  const { type, inputSchema, outputSchema } = (tool ?? {}) as Fields;
  if (!String(type).startsWith("provider") || outputSchema === undefined) return true;
  const { input, toolCallId } = call;
  // A patch is named by the id in its input.
  const { callId = toolCallId } = Object(input) as Fields;
  if (callId !== toolCallId || !(await isValid(inputSchema, input))) return false;
  const output = result?.["output"] as Fields | undefined;
  return output === undefined || (output["type"] === "json" && (await isValid(outputSchema, output["value"])));
}

/** Whether Anthropic's package reads the result of a call that Anthropic ran. It throws on one of no form, or leaves it out. */
async function isRead({ toolName }: Fields, result: Fields | undefined, tool: unknown, provider: string) {
  const { type, value } = (result?.["output"] ?? {}) as Fields;
  if (type === undefined || !provider.includes("anthropic")) return true;
  // Only an adviser's error has a form.
  if (type === "error-json" && toolName !== "advisor") return true;
  const { outputSchema } = (tool ?? {}) as Fields;
  return Object(value) === value && (outputSchema === undefined || (await isValid(outputSchema, value)));
}

async function isValid(schema: unknown, value: unknown): Promise<boolean> {
  const checked = await asSchema(schema as Parameters<typeof asSchema>[0]).validate?.(value);
  return checked?.success !== false;
}

function inWords(messages: readonly ModelMessage[], told: Told): ModelMessage[] {
  const approvals = new Set<unknown>();
  const inPlaceOf = (part: Fields): object[] => {
    const { type, toolCallId, approvalId } = part;
    if (type === "tool-approval-response") return approvals.has(approvalId) ? [] : [part];
    if (!told.has(toolCallId)) return [part];
    if (type === "tool-approval-request") approvals.add(approvalId);
    if (type !== "tool-call") return [];
    const output = told.get(toolCallId)?.["output"] as Fields | undefined;
    const result = output === undefined ? [] : [line("Result", part, output["value"] ?? output["reason"])];
    return [line("Call", part, part["input"]), ...result];
  };
  const shown = messages.flatMap((message): ModelMessage[] => {
    const given = partsOf(message);
    const content = given.flatMap(inPlaceOf);
    if (content.every((part, at) => part === given[at]) && content.length === given.length) return [message];
    return content.length === 0 ? [] : [{ ...message, content } as unknown as ModelMessage];
  });
  // What the step goes on from is the assistant's own words now, and a request ends with the user.
  return shown.at(-1)?.role === "assistant"
    ? [...shown, { role: "user", content: [{ type: "text", text: GO_ON }] }]
    : shown;
}

function partsOf({ content }: ModelMessage): readonly Fields[] {
  return typeof content === "string" ? [] : (content as unknown as Fields[]);
}

function line(what: "Call" | "Result", { toolName }: Fields, value: unknown): object {
  return { type: "text", text: wellFormed(`[${what} of tool ${String(toolName)}] ${jsonText(withoutBytes(value))}`) };
}
