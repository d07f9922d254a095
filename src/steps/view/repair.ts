/**
 * Repairs any list of messages so that a model accepts it. Every tool call has exactly one result, and the reverse
 * (V2). The newest message that says anything may still have open calls, because a person may approve them, the SDK may
 * run them, or a client may answer them.
 *
 * On a copy, fixes the traces of branches, edits, deletions, crashes and imports. It stores nothing and repairs again
 * on the next read. It is safe because it is deterministic and keeps the order of parts. A part that it cannot pair
 * becomes text, so a repaired view never says less.
 */
import type { FileUIPart, TextUIPart, UIMessage } from "ai";
import { cutMiddle } from "../draft/render.ts";
import {
  fieldText,
  hasResult,
  innerParts,
  isBareResult,
  isSaid,
  jsonText,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../message/tool-parts.ts";

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
    message.parts.map((part): PartSlot => ({ message: index, part: convertible(part) })),
  );
  const waiting = pairCalls(messages, slots.flat());
  // A message that says nothing, or only had results of earlier calls, does not count as newest, because nobody
  // continued from it.
  const newest = slots.findLastIndex((each) => each.some(({ part }) => part !== null && isSaid(part)));
  for (const slot of waiting) {
    const call = slot.part as ToolPart;
    if (slot.message !== newest || options.canBeAnswered?.(call) === false) slot.part = stub(call);
  }
  const repaired = messages.flatMap((message, index) => {
    const parts = (slots[index] ?? []).flatMap(({ part }) => (part === null ? [] : [part]));
    if (parts.every((part) => part.type === "step-start")) return [];
    const same = parts.length === message.parts.length && parts.every((part, at) => part === message.parts[at]);
    return same ? [message] : [{ ...message, parts }];
  });
  const same = repaired.length === messages.length && repaired.every((message, index) => message === messages[index]);
  return same ? messages : repaired;
}

/** The calls that no part answers. */
function pairCalls(messages: readonly UIMessage[], slots: readonly PartSlot[]): Iterable<PartSlot> {
  const open = new Map<string, PartSlot>();
  const waiting = new Set<PartSlot>();
  const used = new Set<string>();
  for (const slot of slots) {
    const part = slot.part === null ? null : toolPart(slot.part);
    if (part === null) continue;
    const call = open.get(part.toolCallId);
    if (call !== undefined && answers(part, call.part as ToolPart)) {
      call.part = answered(call.part as ToolPart, part);
      slot.part = null;
      open.delete(part.toolCallId);
      waiting.delete(call);
    } else if (messages[slot.message]?.role !== "assistant" || isBareResult(part)) {
      slot.part = asText(part);
    } else {
      const id = unusedId(part.toolCallId, used);
      used.add(id);
      slot.part = id === part.toolCallId ? normalized(part) : { ...normalized(part), toolCallId: id };
      if (hasResult(part)) continue;
      open.set(part.toolCallId, slot);
      waiting.add(slot);
    }
  }
  return waiting;
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
  return call.state === "input-streaming" || jsonText(part.input) === jsonText(call.input);
}

/** Some models reuse call ids from turn to turn, which providers refuse within one request. */
function unusedId(id: string, used: ReadonlySet<string>): string {
  let candidate = id;
  for (let n = 2; used.has(candidate); n++) candidate = `${id}~${n}`;
  return candidate;
}

/** A call's id as it was stored. */
export function withoutMark(id: string): string {
  return id.replace(/~\d+$/, "");
}

/** The call's part with the result of another part. The approval is dropped, because the call has its result. */
function answered(call: ToolPart, result: ToolPart): ToolPart {
  if (result.state === "output-available") {
    return {
      ...bare(call),
      state: "output-available",
      input: result.input ?? call.input ?? {},
      output: result.output,
    } as ToolPart;
  }
  return closed({ ...call, input: result.input ?? call.input }, failure(result));
}

function closed(part: ToolPart, errorText: string): ToolPart {
  return { ...bare(part), state: "output-error", input: part.input ?? {}, errorText } as ToolPart;
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
  return part.state === "output-error" ? "The call failed." : "The call was refused.";
}

function asText(part: ToolPart): Part {
  const name = toolName(part);
  if (!hasResult(part)) return { type: "text", text: `[Call of tool ${name}] ${jsonText(part.input)}` };
  if (part.state === "output-available")
    return { type: "text", text: `[Result of tool ${name}] ${jsonText(part.output)}` };
  return { type: "text", text: `[Error of tool ${name}] ${failure(part)}` };
}

/**
 * The part in a form that the AI SDK can convert. The SDK throws on files without a usable address and on steering
 * messages with anything but texts and files. Providers refuse its result when a text or a name is not a string.
 */
function convertible(part: Part): Part {
  if (part.type === "steering-message") {
    const inner = innerParts(part);
    const parts = inner.map(sayable);
    const same = inner === part.parts && parts.every((each, at) => each === inner[at]);
    return same ? part : ({ ...part, parts } as Part);
  }
  if (part.type === "dynamic-tool" || part.type.startsWith("tool-")) {
    const tool = toolPart(part);
    return tool === null ? { type: "text", text: `[Unreadable tool part] ${jsonText(part)}` } : convertibleTool(tool);
  }
  if (part.type === "text" || part.type === "reasoning") {
    return typeof part.text === "string" ? part : { ...(part as TextUIPart), text: fieldText(part.text) };
  }
  return part.type === "file" || part.type === "reasoning-file" ? convertibleFile(part) : part;
}

/** A tool without a name gets an empty one. An approval without an id gets the call's id. */
function convertibleTool(part: ToolPart): ToolPart {
  const named = part.type !== "dynamic-tool" || typeof part.toolName === "string";
  const tool = named ? part : { ...part, toolName: toolName(part) };
  const { approval: stored, ...rest } = tool;
  const approval = stored as { id?: unknown } | null | undefined;
  if (approval === undefined || typeof approval?.id === "string") return tool;
  if (approval === null || typeof approval !== "object") return rest as ToolPart;
  return { ...rest, approval: { ...approval, id: part.toolCallId } } as ToolPart;
}

function convertibleFile(part: FilePart): Part {
  const referred = part.type === "file" && (part.providerReference ?? null) !== null;
  const addressed = referred || (typeof part.url === "string" && URL.canParse(part.url));
  if (addressed && typeof part.mediaType === "string") return part;
  const { filename, mediaType, url } = part as Partial<FileUIPart>;
  const address = cutMiddle(fieldText(url), MAX_ADDRESS);
  return {
    type: "text",
    text: `[File ${fieldText(filename)} (${fieldText(mediaType)}): its address ${address} cannot be sent]`,
  };
}

/** A part of a steering message, which may only have texts and files. */
function sayable(part: Part): Part {
  const value = convertible(part);
  if (value.type === "text" || value.type === "file") return value;
  return { type: "text", text: `[Part of type ${value.type}] ${jsonText(value)}` };
}
