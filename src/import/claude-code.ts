/**
 * Claude Code session files. Each line is one user input, tool result or piece of a reply, and names its parent.
 *
 * A reply's thinking, text and tool calls may be separate lines that share one provider message id. They stay separate messages, with that
 * id as `metadata.providerMessageId`. Side chains (sub-agents) become conversations of their own.
 */
import { z } from "zod";
import { anthropicMessage } from "./anthropic.ts";
import { choose, parseItems, timestamp, type Item } from "./items.ts";
import type { Slices } from "../steps/text/slices.ts";
import type { Chat, ImportedTurn } from "./turns.ts";

const line = z.object({
  uuid: z.string().nullish(),
  parentUuid: z.string().nullish(),
  /** Set where the harness cut its own context. It names the line that really came before. */
  logicalParentUuid: z.string().nullish(),
  isSidechain: z.boolean().nullish(),
  agentId: z.string().nullish(),
  timestamp: timestamp.optional(),
});

interface Line {
  readonly turn: ImportedTurn;
  readonly side: boolean;
  readonly agentId: string | null;
}

const message = line.extend({ message: anthropicMessage }).transform((value): Line => lineOf(value, value.message));
const other = line.transform((value): Line => lineOf(value, { role: null, pieces: [], metadata: {}, id: null }));
const anyLine = choose("type", (type) => (type === "user" || type === "assistant" ? message : other));

function lineOf(value: z.infer<typeof line>, entry: ImportedTurn): Line {
  const parentId = value.parentUuid ?? value.logicalParentUuid ?? value.parentUuid;
  const turn: ImportedTurn = {
    ...entry,
    id: value.uuid ?? null,
    metadata: {
      ...entry.metadata,
      ...(value.timestamp !== undefined && { createdAt: value.timestamp }),
      ...(entry.id !== null && { providerMessageId: entry.id }),
    },
    ...(parentId !== undefined && { parentId }),
  };
  return { turn, side: value.isSidechain === true, agentId: value.agentId ?? null };
}

/** Returns the session's turns, then those of each side chain. Throws `import_failed`. */
export function* readClaudeCode(items: readonly Item[]): Slices<Chat[]> {
  const lines = yield* parseItems(items, anyLine, "claude-code");
  const chains = new Map<string | null, ImportedTurn[]>();
  const chainOfLine = new Map<string, string>();
  const onlySide = lines.every(({ turn, side }) => side || turn.role === null);
  for (const { turn, side, agentId } of lines) {
    let label: string | null = null;
    if (side && !onlySide) {
      const inherited = typeof turn.parentId === "string" ? chainOfLine.get(turn.parentId) : undefined;
      label = agentId ?? inherited ?? turn.id ?? "side chain";
      if (turn.id !== null) chainOfLine.set(turn.id, label);
    }
    const turns = chains.get(label);
    if (turns === undefined) chains.set(label, [turn]);
    else turns.push(turn);
  }
  const named = [...chains].map(([label, turns]) => ({ label, turns: countUsageOnce(turns) }));
  return named.toSorted((a, b) => Number(a.label !== null) - Number(b.label !== null));
}

/** Every line of a reply repeats the reply's usage. Only the last line keeps it, so that sums are right. */
function countUsageOnce(turns: readonly ImportedTurn[]): ImportedTurn[] {
  const last = new Map(turns.map((turn, index) => [turn.metadata.providerMessageId, index]));
  return turns.map((turn, index) => {
    const reply = turn.metadata.providerMessageId;
    if (reply === undefined || last.get(reply) === index) return turn;
    const { usage: _, ...metadata } = turn.metadata;
    return { ...turn, metadata };
  });
}
