/**
 * Reads the facts out of one chunk's messages.
 *
 * Boundary: messages in, {@link Facts} out. Safe against what a tool or a model may have written: rules are read only
 * from text that a message of a user holds outside tool parts; everything else is looked at for names alone. Time is
 * linear in the text.
 */
import type { UIMessage } from "ai";
import { MAX_FACT_CHARS } from "../../limits.ts";
import { extractIdentifiers, type IdentifierKind } from "../facts.ts";
import { splitSentences } from "../sentences.ts";
import {
  fieldText,
  hasResult,
  innerParts,
  jsonText,
  toolName,
  toolPart,
  type Part,
  type ToolPart,
} from "../tool-parts.ts";
import { parseSyntheticId } from "../view.ts";
import type { Facts } from "./fact.ts";
import { NO_FACTS } from "./fact.ts";
import { findRules } from "./ledger.ts";
import { mergeFacts } from "./merge.ts";

type Source = "user" | "assistant" | "call" | "output";
interface Said {
  readonly by: Source;
  readonly text: string;
}

/** What a message adds to the heat of a name that it says, by who says it. */
const HEAT: Readonly<Record<Source, number>> = { user: 2, assistant: 1, call: 1, output: 0.5 };

/** The facts of `messages`, oldest first. Bounded as `limits.ts` says; never throws on what was stored. */
export function gatherFacts(messages: readonly UIMessage[]): Facts {
  const inputs = new Map<string, string>();
  return mergeFacts(messages.map((message) => readMessage(message, inputs)));
}

function readMessage(message: UIMessage, inputs: Map<string, string>): Facts {
  const synthetic = parseSyntheticId(message.id);
  const messageId = synthetic?.kind === "slice" ? synthetic.messageId : message.id;
  const spoken: Source = message.role === "user" && synthetic?.kind !== "overlay" ? "user" : "assistant";
  const said = message.parts.flatMap((part) => readPart(part, spoken));
  const fact = { messageId, age: 0, heat: 1, about: "" };
  const names = new Map<string, { kind: IdentifierKind; value: string; heat: number }>();
  for (const { by, text } of said) {
    for (const { kind, value } of extractIdentifiers(text)) {
      const known = names.get(`${kind} ${value}`)?.heat ?? 0;
      if (value.length <= MAX_FACT_CHARS)
        names.set(`${kind} ${value}`, { kind, value, heat: Math.max(known, HEAT[by]) });
    }
  }
  const rules = said.flatMap(({ by, text }) => (by === "user" ? findRules(text) : []));
  const outcomes = message.parts.flatMap((part) => readOutcome(part, inputs));
  return {
    ...NO_FACTS,
    messages: 1,
    rules: rules
      .filter((value) => value.length <= 2 * MAX_FACT_CHARS)
      .map((value) => ({ ...fact, kind: "rule" as const, value })),
    identifiers: [...names.values()].map((each) => ({ ...fact, ...each })),
    failures: outcomes.flatMap(({ about, error }) =>
      error === null ? [] : [{ ...fact, kind: "failure" as const, value: error, about }],
    ),
    worked: outcomes.flatMap(({ about, error }) => (error === null ? [about] : [])),
  };
}

function readPart(part: Part, spoken: Source): Said[] {
  const tool = toolPart(part);
  if (tool !== null) {
    const said: Said[] = [{ by: "call", text: stringsOf(tool.input) }];
    if (hasResult(tool)) said.push({ by: "output", text: stringsOf(tool.errorText ?? tool.output) });
    return said;
  }
  if (part.type === "text") return [{ by: spoken, text: fieldText(part.text) }];
  if (part.type === "reasoning") return [{ by: "output", text: fieldText(part.text) }];
  if (part.type === "file") return [{ by: spoken, text: fieldText(part.filename) }];
  if (part.type === "steering-message") return innerParts(part).flatMap((each) => readPart(each, "user"));
  return [];
}

/** All strings and numbers in a value, a line each: JSON's own marks and escapes are no part of a name. */
function stringsOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return jsonText(value ?? undefined);
  const lines: string[] = [];
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const each = waiting.pop();
    if (typeof each === "object" && each !== null) waiting.push(...Object.values(each).toReversed());
    else if (each !== null && each !== undefined) lines.push(fieldText(each));
  }
  return lines.join("\n");
}

function readOutcome(part: Part, inputs: Map<string, string>): { about: string; error: string | null }[] {
  const tool = toolPart(part);
  if (tool === null) return [];
  if (tool.input !== undefined) inputs.set(tool.toolCallId, aboutCall(tool));
  if (!hasResult(tool)) return [];
  const about = inputs.get(tool.toolCallId) ?? toolName(tool);
  const failed = tool.state === "output-error";
  const [line = ""] = splitSentences(fieldText(tool.errorText)).map(({ text }) => text);
  return [{ about, error: failed && line !== "" ? line.slice(0, MAX_FACT_CHARS) : null }];
}

/** What a call is about: its tool and the first thing that it names. */
function aboutCall(tool: ToolPart): string {
  const [first = ""] = stringsOf(tool.input).split("\n");
  return `${toolName(tool)} ${first.slice(0, 100)}`;
}
