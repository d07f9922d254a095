/**
 * What has come of the step that runs, for the case that it is stopped before its end.
 *
 * It holds the chunks of the step's stream and the results of its calls, and forgets them when the step ends. A call may have paid for
 * something, so its result counts although the step has none.
 */
import type { TextStreamPart, ToolSet } from "ai";
import type { ToolEnded } from "./call-results.ts";

type Chunk = TextStreamPart<ToolSet>;

/** The argument of `onChunk`. */
export interface ChunkCame {
  readonly chunk: { readonly type: string };
}

/** Chunks that say something which a message keeps. The input of a call comes again with the call. */
const KEPT = new Set<string>([
  "text-start",
  "text-delta",
  "text-end",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
  "tool-call",
  "tool-result",
  "tool-error",
  "file",
  "source",
]);

export class RunningStep {
  #chunks: Chunk[] = [];
  #ended: ToolEnded[] = [];

  came({ chunk }: ChunkCame): void {
    if (chunk.type === "start-step" || chunk.type === "finish-step") this.forget();
    if (!KEPT.has(chunk.type)) return;
    const part = chunk as Chunk;
    const last = this.#chunks.at(-1);
    if (last !== undefined && "text" in part && "text" in last && last.type === part.type && last.id === part.id) {
      this.#chunks.splice(-1, 1, { ...last, text: last.text + part.text });
    } else this.#chunks.push(part);
  }

  /** A call's result may come before its chunk. */
  toolEnded(ended: ToolEnded): void {
    this.#ended.push(ended);
  }

  /** Whether a call has run, which may have changed something. */
  get hasRun(): boolean {
    return this.#ended.length > 0;
  }

  /** The chunks so far, with each call and each result once. Forgets them. */
  take(): Chunk[] {
    const chunks = this.#chunks;
    const missing: Chunk[] = [];
    const calls = countById(chunks.filter(({ type }) => type === "tool-call"));
    const results = countById(chunks.filter(({ type }) => type === "tool-result" || type === "tool-error"));
    for (const { toolCall, toolOutput } of this.#ended) {
      // generateText has no stream, and so no chunk of a call.
      if (isNext(calls, toolCall)) missing.push({ type: "tool-call", ...toolCall } as Chunk);
      if (isNext(results, toolCall)) missing.push({ ...toolCall, ...toolOutput } as Chunk);
    }
    this.forget();
    return [...chunks, ...missing];
  }

  forget(): void {
    this.#chunks = [];
    this.#ended = [];
  }
}

function countById(chunks: readonly Chunk[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const chunk of chunks) {
    if ("toolCallId" in chunk) counts.set(chunk.toolCallId, (counts.get(chunk.toolCallId) ?? 0) + 1);
  }
  return counts;
}

/** Whether a call is one more than was counted under its id. Counts it off. */
function isNext(counts: Map<string, number>, { toolCallId }: ToolEnded["toolCall"]): boolean {
  const left = counts.get(toolCallId) ?? 0;
  counts.set(toolCallId, left - 1);
  return left <= 0;
}
