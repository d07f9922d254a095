/**
 * What the tools of a turn returned, for those that show the model a form of their own (`toModelOutput`).
 *
 * A message holds an output as JSON. While the turn goes on, the function is asked about the very value that the tool returned.
 */
import type { StepResult, Tool, ToolSet } from "ai";
import { jsonText } from "../steps/message/message.ts";
import { callKey } from "../steps/view/accepted.ts";
import { plain } from "./plain.ts";
import { withOwnIds } from "./step-parts.ts";

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;

/** By the keys of their calls. */
export type Returned = Map<string, unknown>;

/** Notes what the step's tools returned. */
export function keepReturned(returned: Returned, { content }: StepResult<ToolSet>, tools: ToolSet = {}): void {
  for (const part of withOwnIds(content)) {
    if (part.type !== "tool-result" || tools[part.toolName]?.toModelOutput === undefined) continue;
    const output: unknown = part.output;
    if (typeof output === "object" && output !== null) returned.set(callKey(part.toolCallId), output);
  }
}

/** The tools, with a `toModelOutput` that knows what a tool returned before it was stored as JSON. */
export function knowingReturned(tools: ToolSet, returned: ReadonlyMap<string, unknown> = new Map()): ToolSet {
  const shown: ToolSet = { ...tools };
  for (const [name, own] of Object.entries(tools)) {
    const { toModelOutput } = own;
    if (toModelOutput !== undefined)
      shown[name] = { ...own, toModelOutput: ofReturned(toModelOutput.bind(own), returned) };
  }
  return shown;
}

/**
 * Asks about what the tool returned, where this turn has it. A later turn has its JSON alone, and a function that cannot read that does not end
 * the turn: the JSON itself is sent.
 */
function ofReturned(toModelOutput: ToModelOutput, known: ReadonlyMap<string, unknown>): ToModelOutput {
  return async (result) => {
    const key = callKey(result.toolCallId);
    const returned = known.get(key);
    const isWhole = known.has(key) && jsonText(plain(returned)) === jsonText(result.output);
    try {
      return await toModelOutput(isWhole ? { ...result, output: returned } : result);
    } catch {
      if (typeof result.output === "string") return { type: "text", value: result.output };
      return { type: "json", value: plain(result.output) ?? null };
    }
  };
}
