/**
 * Reads a rendered transcript into a list of events: statements, tool calls and tool results.
 *
 * Takes text of draft/render.ts. It leaves out reasoning, because the reply supersedes it. It also leaves out system
 * text, because that is still in force and no event.
 */
import { unreachable } from "../errors.ts";
import { parseTranscript, type Block } from "../steps/draft/render.ts";

/** One event of a conversation. Lists are oldest first. */
export type Entry = Event & {
  /** The number of its message in the transcript. */
  readonly message: number;
};

type Event =
  | { readonly kind: "said"; readonly by: "user" | "assistant"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly tool: string; readonly input: string }
  | { readonly kind: "result"; readonly id: string; readonly output: string; readonly failed: boolean }
  | { readonly kind: "file"; readonly name: string };

/** The events of a transcript, and the earlier summaries in it. */
export function readTranscript(transcript: string): { entries: Entry[]; summaries: string[] } {
  const entries: Entry[] = [];
  const summaries: string[] = [];
  for (const { index: message, role, blocks } of parseTranscript(transcript)) {
    if (role === "summary") summaries.push(blocks.map((block) => block.text).join("\n"));
    else if (role !== "system")
      for (const block of blocks) for (const event of readBlock(block, role)) entries.push({ ...event, message });
  }
  return { entries, summaries };
}

function readBlock({ kind, id, name, text }: Block, role: "user" | "assistant"): Event[] {
  switch (kind) {
    case "text":
      return [{ kind: "said", by: role, text }];
    case "meanwhile":
      return [{ kind: "said", by: "user", text }];
    case "call":
      return [{ kind: "call", id, tool: name, input: text }];
    case "result":
    case "error":
      return [{ kind: "result", id, output: text, failed: kind === "error" }];
    case "denied":
      return [{ kind: "result", id, output: text === "" ? kind : text, failed: true }];
    case "file":
      return [{ kind: "file", name }];
    case "reasoning":
    case "unanswered":
    case "source":
      return [];
  }
  return unreachable(kind);
}
