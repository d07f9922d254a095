/**
 * Stubs that replace older tool outputs in the view of a model.
 *
 * Puts stubs into a copy of a message. src/facts/mask-words.ts chooses the words that a stub keeps. steps/decide/rent.ts decides
 * which outputs are masked and when, and the masks are stored beside the messages. No stored message changes (M1).
 *
 * Why it is safe:
 * - The call and its input stay, so call and result remain paired (V2). The stub names the place of the whole output.
 * - A stub consists of its output's size, a reference to its call where `recall` may read it, and words that were chosen once. So it is the
 * same in
 *   every view, and the provider's cache of a prompt stays valid until the next edit.
 * - stub.ts says which outputs stay whole, and what stays of the shape of an object.
 */
import type { UIMessage } from "ai";
import { referenceToCall } from "../message/reference.ts";
import { messageSteps } from "../message/slice.ts";
import { jsonText, toolPart, type Part, type ToolPart } from "../message/tool-parts.ts";
import { withoutMark } from "./repair.ts";
import { maskableOutput, STUB_START, stubOf, stubStart, withOutput } from "./stub.ts";

const NAMES_START = "Words of outputs that were left out, this one and earlier ones: ";

/**
 * The words in stubs, by the reference of the call. Ids of calls may repeat in one conversation. Null for an output that
 * stays whole although it is before the line.
 */
export type StubWords = Readonly<Record<string, string | null>>;

export interface Masking {
  /** The words of its stubs. An output without an entry gets a stub without words. */
  readonly words: StubWords;
  /** Steps up to this one are masked. */
  readonly toStep: number;
  /** The names shown beside the last stub of the steps up to `namesStep`. */
  readonly names: readonly string[];
  readonly namesStep: number;
  /** Whether the model may have the tool `recall`. No stub names it otherwise. */
  readonly canRecall: boolean;
}

/** The message with stubs for the outputs of its first steps. Returns the same object where there is nothing to mask. */
export function maskMessage(message: UIMessage, { words, toStep, names, namesStep, canRecall }: Masking): UIMessage {
  const masked = maskedOutputs(message, { from: 0, to: toStep }, words);
  if (masked.length === 0) return message;
  const stubs = new Map(masked.map((each) => [each.part, stubText(each, { words: words[each.reference], canRecall })]));
  const named = masked.findLast(({ step }) => step <= namesStep)?.part;
  if (named !== undefined && names.length > 0) stubs.set(named, `${stubs.get(named) ?? ""}\n${namesText(names)}`);
  const stub = (part: Part): Part => {
    const text = stubs.get(part);
    return text === undefined ? part : stubOf(part, text);
  };
  return { ...message, parts: message.parts.map(stub) };
}

/**
 * The message of a view that is sent back, with the stored outputs in place of its stubs. All else stays as it was sent. A message without
 * stubs is the same object.
 */
export function unmask(message: UIMessage, stored: () => UIMessage | null): UIMessage {
  if (!message.parts.some((part) => wholeOutput(part).includes(STUB_START))) return message;
  const masked = (stored()?.parts ?? []).filter((part) => maskableOutput(part) !== null);
  const left = Map.groupBy(masked, (part) => toolPart(part)?.toolCallId);
  return { ...message, parts: message.parts.map((part) => unmaskPart(part, left)) };
}

/** Calls with one id are told apart by their inputs, and otherwise by their order. */
function unmaskPart(part: Part, left: ReadonlyMap<string | undefined, Part[]>): Part {
  const tool = toolPart(part);
  if (tool === null || !wholeOutput(part).includes(STUB_START)) return part;
  const known = left.get(tool.toolCallId) ?? left.get(withoutMark(tool.toolCallId)) ?? [];
  const own = known.filter((each) => isStubOf(part, each));
  const found = own.find((each) => jsonText(toolPart(each)?.input) === jsonText(tool.input)) ?? own[0];
  if (found === undefined) return part;
  known.splice(known.indexOf(found), 1);
  const { toolCallId, output } = found as ToolPart;
  // A spread would copy the symbol that marks a stub.
  return { ...structuredClone<object>(tool), toolCallId, output } as Part;
}

/** Whether a part is a view's form of a stored one, so that nothing else of its output was changed. */
function isStubOf(part: Part, stored: Part): boolean {
  const stubs: string[] = [];
  JSON.stringify(toolPart(part)?.output, (_key, value: unknown) => {
    if (typeof value === "string" && value.startsWith(stubStart(wholeOutput(stored)))) stubs.push(value);
    return value;
  });
  return stubs.some((text) => wholeOutput(withOutput(stored, text)) === wholeOutput(part));
}

/** Empty for a part without an output. */
function wholeOutput(part: Part): string {
  const tool = toolPart(part);
  return tool?.state === "output-available" ? jsonText(tool.output) : "";
}

export function namesText(names: readonly string[]): string {
  return `${NAMES_START}${names.join(" ")}`;
}

/** A stub's text without the names of all outputs that were left out. */
export function withoutNames(stub: string): string {
  const at = stub.indexOf(`\n${NAMES_START}`);
  return at === -1 ? stub : stub.slice(0, at);
}

/** A stub's first sentence with another size, without any word of an output. */
export function bareStub(stub: string, characters: number): string {
  const sized = stub.slice(STUB_START.length, stub.indexOf("]") + 1).replace(/^\d+/, `${characters}`);
  return `${STUB_START}${sized}`;
}

function stubText(
  { text, reference }: MaskedOutput,
  { words = "", canRecall }: { readonly words: string | null | undefined; readonly canRecall: boolean },
): string {
  const line = `${stubStart(text)}${canRecall ? ` recall ${reference} reads it again.` : ""}]`;
  return words === "" ? line : `${line} ${words}`;
}

export interface MaskedOutput {
  readonly part: Part;
  /** The whole output as a text. */
  readonly text: string;
  readonly reference: string;
  readonly step: number;
}

/** The outputs of the given steps that may be masked. */
export function maskedOutputs(
  message: UIMessage,
  steps: { readonly from: number; readonly to: number },
  words: StubWords,
): MaskedOutput[] {
  if (message.role !== "assistant") return [];
  let call = 0;
  return messageSteps(message).flatMap((parts, step) =>
    parts.flatMap((part) => {
      if (toolPart(part) === null) return [];
      call++;
      const reference = referenceToCall(message.id, call);
      const isWhole = step < steps.from || step > steps.to || words[reference] === null;
      const output = isWhole ? null : maskableOutput(part);
      return output === null ? [] : [{ part, text: output.text, reference, step }];
    }),
  );
}
