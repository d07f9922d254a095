/**
 * Repairs any list of messages so that a model accepts it. Every tool call has exactly one result, and the reverse
 * (V2). The newest message that says anything may still have open calls, because a person may approve them, the SDK may
 * run them, or a client may answer them.
 *
 * Beside that, each part has a form that every provider takes (accepted.ts), no text is blank, nothing is told twice, and a step does not end with
 * reasoning. A step that differs from what its provider keeps is not sent as the provider's (items.ts). turns.ts has the rules about the
 * order of messages.
 *
 * On a copy, fixes the traces of branches, edits, deletions, crashes and imports. It stores nothing and repairs again
 * on the next read. It is safe because it is deterministic and keeps the order of parts. A part that it cannot pair
 * becomes text, so a repaired view never says less.
 */
import type { FileUIPart, TextUIPart, UIMessage } from "ai";
import { cutMiddle } from "../draft/render.ts";
import {
  messageSteps,
  fieldText,
  hasResult,
  innerParts,
  isBareResult,
  isOpenCall,
  isSaid,
  jsonText,
  textsOf,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../message/message.ts";
import { acceptedId, acceptedInput, unusedId, wellFormed } from "./accepted.ts";
import { isCopy, isReasoning, itemOf, withoutItems } from "./items.ts";

export interface RepairOptions {
  /** Whether an open call of the newest message can still be answered. By default each can. */
  readonly canBeAnswered?: (call: ToolPart) => boolean;
}

/** Why a call has a stub instead of a result, and the text of the stub for the model. */
const STUBS = {
  "no-result": "No result was recorded for this call.",
  "never-approved": "This call needed an approval, and the request was never answered: it was not run.",
  "approved-only": "This call was approved, but no result of it was recorded: it may not have run.",
} as const;

/** Stand for an output and an error without a word, which Bedrock refuses. */
const NO_OUTPUT = "(no output)";
const FAILED = "The call failed.";

/** Shorter ids of calls are numbers or names, which occur again. */
const LEAST_RANDOM_CHARS = 16;

/** Characters of encoded bytes that are looked at. */
const SAMPLE_CHARS = 1_000;

/** Characters shown of an address that cannot be sent, because it may be an encoded file. */
const MAX_ADDRESS = 500;

type FilePart = Extract<Part, { type: "file" | "reasoning-file" }>;

/** The place of a part, and its replacement. `null` removes it. */
interface PartSlot {
  readonly message: number;
  part: Part | null;
}

/**
 * The messages with every call paired once. Returns the same array, and the same objects in it, wherever nothing needed
 * repair. `convertToModelMessages` accepts the result.
 */
export function repairMessages(messages: UIMessage[], options: RepairOptions = {}): UIMessage[] {
  const slots = messages.map((message, index) =>
    message.parts.map((part): PartSlot => ({ message: index, part: convertible(saidBy(message.role, part)) })),
  );
  const waiting = pairCalls(messages, slots.flat());
  // A message that says nothing, or only had results of earlier calls, does not count as newest, because nobody
  // continued from it.
  const newest = slots.findLastIndex((each) => each.some(({ part }) => part !== null && isSaid(part)));
  for (const slot of waiting) {
    const call = slot.part as ToolPart;
    if (slot.message !== newest || options.canBeAnswered?.(call) === false) slot.part = stub(call);
  }
  const told: Told = new Map();
  const repaired = messages.flatMap((message, index) => {
    const parts = cleanSteps(message, slots[index] ?? [], told);
    if (!parts.some((part) => isSaid(part) && isShown(message.role, part))) return [];
    const same = parts.length === message.parts.length && parts.every((part, at) => part === message.parts[at]);
    return same ? [message] : [{ ...message, parts }];
  });
  const same = repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
  return same ? messages : repaired;
}

/** A message of another role than the assistant is sent with its texts and files alone. */
function isShown(role: UIMessage["role"], { type }: Part): boolean {
  return role === "assistant" || type === "text" || type === "file";
}

/** What steers a reply stands in the reply. Elsewhere it would not be sent. */
function saidBy(role: UIMessage["role"], part: Part): Part {
  if (role === "assistant" || part.type !== "steering-message") return part;
  return {
    type: "text",
    text: textsOf(
      innerParts(part)
        .map(sayable)
        .filter((each) => each !== null),
    ).join("\n\n"),
  };
}

/** By the id of a provider's item, where it was told first and what its text is. */
type Told = Map<string, { readonly place: string; readonly text: unknown }>;

/** The parts of a message, step by step. */
function cleanSteps(message: UIMessage, slots: readonly PartSlot[], told: Told): Part[] {
  let at = 0;
  return messageSteps(message).flatMap((stored, step) => {
    const place = `${step} ${message.id}`;
    let isOurs = false;
    const parts = stored.flatMap((before): Part[] => {
      const after = slots[at++]?.part ?? null;
      const item = itemOf(before);
      if (item === null) return after === null ? [] : [after];
      // A call that another part tells is no part of this step.
      if (after === null) {
        isOurs ||= toolPart(before) === null;
        return [];
      }
      const known = told.get(item);
      const first = known ?? { place, text: textOf(after) };
      told.set(item, first);
      // Several texts or thoughts of one step may be one item.
      const isAgain = first.place !== place || (known !== undefined && after.type === "custom");
      if (isAgain && toolPart(after) === null && first.text === textOf(after)) return [];
      isOurs ||= isAgain || isInterrupted(after) || !isCopy(before, after) || acceptedId(item) !== item;
      return [after];
    });
    return withoutLastThoughts(isOurs ? withoutItems(parts) : parts);
  });
}

/** Null for reasoning, which is told once, whatever is stored of it. */
function textOf(part: Part): unknown {
  return part.type === "text" ? part.text : null;
}

/** A text or reasoning that was cut off while it came, so that the provider has no such item. */
function isInterrupted(part: Part): boolean {
  return (part.type === "text" || part.type === "reasoning") && part.state === "streaming";
}

/**
 * Providers refuse a step that ends with reasoning. A call whose input is still coming is not sent, and a steering message is sent apart.
 */
function withoutLastThoughts(parts: Part[]): Part[] {
  let isFollowed = false;
  const kept = parts.toReversed().filter((part) => {
    if (isReasoning(part)) return isFollowed;
    if (part.type === "steering-message") isFollowed = false;
    else isFollowed ||= isSaid(part) && toolPart(part)?.state !== "input-streaming";
    return true;
  });
  return kept.length === parts.length ? parts : kept.toReversed();
}

/** The calls that no part answers. */
function pairCalls(messages: readonly UIMessage[], slots: readonly PartSlot[]): Iterable<PartSlot> {
  const open = new Map<string, PartSlot>();
  const waiting = new Set<PartSlot>();
  const used = new Set<string>();
  const finished = new Map<string, PartSlot>();
  for (const slot of slots) {
    const part = slot.part === null ? null : toolPart(slot.part);
    if (part === null) continue;
    const call = open.get(part.toolCallId);
    const earlier = finished.get(part.toolCallId);
    if (call !== undefined && answers(part, call.part as ToolPart)) {
      call.part = answered(call.part as ToolPart, part);
      slot.part = null;
      open.delete(part.toolCallId);
      waiting.delete(call);
      finished.set(part.toolCallId, call);
    } else if (messages[slot.message]?.role !== "assistant" || isBareResult(part)) {
      slot.part = asText(part);
    } else if (
      earlier !== undefined &&
      repeats(part, earlier.part, inOneTurn(messages, earlier.message, slot.message))
    ) {
      slot.part = null;
    } else {
      const id = unusedId(part.toolCallId, used);
      used.add(id);
      slot.part = id === part.toolCallId ? normalized(part) : { ...normalized(part), toolCallId: id };
      if (hasResult(part)) {
        finished.set(part.toolCallId, slot);
        continue;
      }
      open.set(part.toolCallId, slot);
      waiting.add(slot);
    }
  }
  return waiting;
}

function inOneTurn(messages: readonly UIMessage[], from: number, to: number): boolean {
  return messages.slice(from, to).every(({ role }) => role === "assistant");
}

/**
 * Whether a finished call is an earlier one, stored again where a turn went on. Models that number their calls anew may make the same call
 * again, so either the provider's item tells, or an id that nobody writes twice by chance.
 */
function repeats(part: ToolPart, earlier: Part | null, isOneTurn: boolean): boolean {
  const told = earlier === null ? null : toolPart(earlier);
  if (told === null || !hasResult(part) || told.state !== part.state || toolName(told) !== toolName(part)) return false;
  const item = itemOf(part);
  if (item !== itemOf(told)) return false;
  if (item === null && !(isOneTurn && isRandom(part.toolCallId, toolName(part)))) return false;
  return (
    jsonText(told.input) === jsonText(part.input) &&
    jsonText(told.output ?? told.errorText) === jsonText(part.output ?? part.errorText)
  );
}

function isRandom(id: string, name: string): boolean {
  return id.length >= LEAST_RANDOM_CHARS && /\d/.test(id) && /[a-z]/i.test(id) && !id.includes(name);
}

/** Closes a call without a result by a marked stub, so that it differs from a tool's own error. */
function stub(part: ToolPart): ToolPart {
  const why = whyOpen(part);
  const metadata = part.toolMetadata;
  const mark = { ...(typeof metadata === "object" ? metadata : {}), palimpsest: { stub: why } };
  return { ...closed(part, STUBS[why]), toolMetadata: mark };
}

function whyOpen({ state }: ToolPart): keyof typeof STUBS {
  if (state === "approval-requested") return "never-approved";
  return state === "approval-responded" ? "approved-only" : "no-result";
}

/** Whether a part's result is a stub. */
export function isStub(part: Part): boolean {
  const metadata = toolPart(part)?.toolMetadata as { palimpsest?: { stub?: unknown } | null } | null | undefined;
  return typeof metadata?.palimpsest?.stub === "string";
}

/**
 * A result answers an open call with its id, unless its input shows that another call was made under that id. A result
 * with an input of its own never answers a call that still waits for approval.
 */
function answers(part: ToolPart, call: ToolPart): boolean {
  if (!hasResult(part)) return false;
  if (isBareResult(part)) return true;
  if (call.state === "approval-requested") return false;
  return call.state === "input-streaming" || jsonText(part.input) === jsonText(acceptedInput(call.input));
}

/** The call's part with the result of another part. The approval is dropped, because the call has its result. */
function answered(call: ToolPart, result: ToolPart): ToolPart {
  if (result.state === "output-available") {
    return {
      ...bare(call),
      state: "output-available",
      input: acceptedInput(result.input ?? call.input),
      output: result.output,
    } as ToolPart;
  }
  return closed({ ...call, input: result.input ?? call.input }, failure(result));
}

function closed(part: ToolPart, errorText: string): ToolPart {
  return { ...bare(part), state: "output-error", input: acceptedInput(part.input), errorText } as ToolPart;
}

/** The fields that name a call, without its state. */
function bare(part: ToolPart): Record<string, unknown> {
  const { state: _state, input: _input, output: _output, errorText: _errorText, approval: _approval, ...rest } = part;
  delete (rest as Record<string, unknown>)["rawInput"];
  return rest;
}

/** A refused call that the provider would have run itself converts to a call without a result, so it becomes an error. */
function normalized(part: ToolPart): ToolPart {
  return part.state === "output-denied" && part.providerExecuted === true ? closed(part, failure(part)) : part;
}

function failure(part: ToolPart): string {
  const value: unknown = part.errorText ?? part.approval?.reason;
  if (value !== undefined && value !== null) return fieldText(value);
  return part.state === "output-error" ? FAILED : "The call was refused.";
}

function asText(part: ToolPart): Part {
  const name = toolName(part);
  if (!hasResult(part)) return { type: "text", text: `[Call of tool ${name}] ${jsonText(part.input)}` };
  if (part.state === "output-available")
    return { type: "text", text: `[Result of tool ${name}] ${jsonText(part.output)}` };
  return { type: "text", text: `[Error of tool ${name}] ${failure(part)}` };
}

/**
 * The part in a form that the AI SDK can convert and that providers take. The SDK throws on files without a usable address and on steering
 * messages with anything but texts and files. Providers refuse its result when a text or a name is not a string. Null for a blank text, and
 * for what Anthropic's package notes at the start of each streamed answer, which no provider reads.
 */
function convertible(part: Part): Part | null {
  if (part.type === "steering-message") {
    const inner = innerParts(part);
    const parts = inner.flatMap((each) => sayable(each) ?? []);
    const same = inner === part.parts && parts.length === inner.length && parts.every((each, at) => each === inner[at]);
    if (parts.length === 0) return null;
    return same ? part : ({ ...part, parts } as Part);
  }
  if (part.type === "dynamic-tool" || part.type.startsWith("tool-")) {
    const tool = toolPart(part);
    return tool === null
      ? { type: "text", text: wellFormed(`[Unreadable tool part] ${jsonText(part)}`) as string }
      : convertibleTool(tool);
  }
  if (part.type === "text" || part.type === "reasoning") {
    const text = wellFormed(fieldText(part.text)) as string;
    // Encrypted reasoning has no text.
    if (text.trim() === "" && (part.type === "text" || part.providerMetadata === undefined)) return null;
    return text === part.text ? part : { ...(part as TextUIPart), text };
  }
  if (part.type === "custom" && fieldText(part.kind).endsWith(".message_start")) return null;
  return part.type === "file" || part.type === "reasoning-file" ? convertibleFile(part) : part;
}

/** A tool without a name gets an empty one. An approval without an id gets the call's id. */
function convertibleTool(part: ToolPart): ToolPart {
  const named = part.type !== "dynamic-tool" || typeof part.toolName === "string";
  const tool = withAcceptedValues(named ? part : { ...part, toolName: toolName(part) });
  const { approval: stored, ...rest } = tool;
  const approval = stored as { id?: unknown } | null | undefined;
  if (approval === undefined || typeof approval?.id === "string") return tool;
  if (approval === null || typeof approval !== "object") return rest as ToolPart;
  return { ...rest, approval: { ...approval, id: part.toolCallId } } as ToolPart;
}

/** An open call runs with the very input that it has. */
function withAcceptedValues(tool: ToolPart): ToolPart {
  const changes: { input?: unknown; output?: unknown; errorText?: string } = {};
  const input = wellFormed(tool.input);
  const sent = isOpenCall(tool) || isBareResult(tool) ? input : acceptedInput(input ?? rawInputOf(tool));
  if (sent !== tool.input) changes.input = sent;
  if (tool.state === "output-available") {
    const output = wellFormed(tool.output);
    const told = typeof output === "string" && output.trim() === "" ? NO_OUTPUT : output;
    if (told !== tool.output) changes.output = told;
  }
  if (typeof tool.errorText === "string") {
    const told = tool.errorText.trim() === "" ? FAILED : tool.errorText.toWellFormed();
    if (told !== tool.errorText) changes.errorText = told;
  }
  return Object.keys(changes).length === 0 ? tool : ({ ...tool, ...changes } as ToolPart);
}

function rawInputOf(tool: ToolPart): unknown {
  return "rawInput" in tool ? tool.rawInput : undefined;
}

function convertibleFile(part: FilePart): Part {
  const { filename, mediaType, url } = part as Partial<FileUIPart>;
  if (typeof mediaType === "string") {
    // A provider's own id of the file. The package looks at it where the address is no data.
    const reference: unknown = part.type === "file" ? part.providerReference : null;
    if (typeof reference === "object" && Object.keys(reference ?? {}).length > 0) return part;
    const sent = mediaType === "image/jpg" ? "image/jpeg" : mediaType;
    const address = sendableAddress(url, sent);
    if (address !== null)
      return address === url && sent === mediaType ? part : { ...part, mediaType: sent, url: address };
  }
  const address = cutMiddle(fieldText(url), MAX_ADDRESS);
  const text = `[File ${fieldText(filename)} (${fieldText(mediaType)}): its address ${address} cannot be sent]`;
  return { type: "text", text: text.toWellFormed() };
}

/** The messages with a line in the place of each file that has no address, on which the AI SDK's conversion throws. */
export function sayLostFiles(messages: UIMessage[]): UIMessage[] {
  return messages.map((message) => {
    const parts = message.parts.map((part) => (part.type === "file" ? convertibleFile(part) : part));
    return parts.every((part, at) => part === message.parts[at]) ? message : { ...message, parts };
  });
}

/** Null for an address that leads nowhere from a server. A data URL gets the form that all packages read: with its type, and in base64. */
function sendableAddress(url: unknown, mediaType: string): string | null {
  if (typeof url !== "string" || !URL.canParse(url)) return null;
  if (!url.startsWith("data:")) return /^(?:https?|gs|s3):/i.test(url) ? url : null;
  const comma = url.indexOf(",");
  const head = url.slice(0, comma);
  // Bytes that were left out for a plan.
  if (head.startsWith("data:;bytes=")) return url;
  if (comma === -1 || comma === url.length - 1) return null;
  if (!head.endsWith(";base64")) return inBase64(url.slice(comma + 1), mediaType);
  if (!/^[\w+/=-]+$/.test(url.slice(comma + 1, comma + 1 + SAMPLE_CHARS))) return null;
  const isTyped = /^data:[^;/]+\/[^;]+;/.test(head) && !head.startsWith("data:image/jpg;");
  return isTyped ? url : `data:${mediaType};base64${url.slice(comma)}`;
}

function inBase64(encoded: string, mediaType: string): string | null {
  try {
    const bytes = new TextEncoder().encode(decodeURIComponent(encoded));
    return `data:${mediaType};base64,${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}`;
  } catch {
    return null;
  }
}

/** A part of a steering message, which may only have texts and files. */
function sayable(part: Part): Part | null {
  const value = convertible(part);
  if (value === null || value.type === "text" || value.type === "file") return value;
  return { type: "text", text: `[Part of type ${value.type}] ${jsonText(value)}` };
}
