/**
 * Claude Code session files. Each line is one user input, tool result or piece of a reply, and names its parent.
 *
 * A reply's thinking, text and tool calls may be separate lines that share one provider message id. They stay separate messages, with that
 * id as `metadata.providerMessageId`. Sub-agents become conversations of their own, whether their lines are side chains or stand in records
 * of progress. What the harness said in the user's role is marked in the metadata.
 */
import { z } from "zod";
import { anthropicMessage } from "./anthropic.ts";
import { textPiece } from "./blocks.ts";
import { choose, parseItems, timestamp, type Item } from "./items.ts";
import { markHarness } from "./marks.ts";
import type { Slices } from "../steps/text/slices.ts";
import { noMessage, type Chat, type ImportedMetadata, type ImportedTurn } from "./turns.ts";

const line = z.object({
  type: z.string(),
  subtype: z.string().nullish(),
  uuid: z.string().nullish(),
  parentUuid: z.string().nullish(),
  /** Set where the harness cut its own context. It names the line that really came before. */
  logicalParentUuid: z.string().nullish(),
  isSidechain: z.boolean().nullish(),
  agentId: z.string().nullish(),
  timestamp: timestamp.optional(),
  /** True where the harness wrote the line in the user's role. */
  isMeta: z.boolean().nullish(),
  isCompactSummary: z.boolean().nullish(),
});

type LineFields = z.infer<typeof line>;

/** The entries of one line. A record of progress links the lines around it and holds a message of a sub-agent. */
type Line = readonly Entry[];

interface Entry {
  readonly turn: ImportedTurn;
  readonly side: boolean;
  readonly agentId: string | null;
}

const message = line.extend({ message: anthropicMessage }).transform((value): Line => [entryOf(value, value.message)]);
const other = line.transform((value): Line => [entryOf(value, noMessage(value.type))]);

/** What the user typed while the agent worked. The model got it between two calls. */
const queued = line
  .extend({ attachment: z.object({ type: z.literal("queued_command"), prompt: z.string() }) })
  .transform((value): Line => {
    const pieces = [textPiece(value.attachment.prompt)];
    return [entryOf(value, { role: "user", pieces, metadata: {}, id: null })];
  });

const progress = line
  .extend({
    data: z.object({
      type: z.literal("agent_progress"),
      agentId: z.string(),
      // Some versions name the type only inside.
      message: line.extend({ type: z.string().default("message"), message: anthropicMessage }),
    }),
  })
  .transform((value): Line => {
    const { agentId, message: said } = value.data;
    const own = entryOf({ ...said, agentId, isSidechain: true, parentUuid: undefined }, said.message);
    return [entryOf(value, noMessage(null)), own];
  });

const anyLine = choose("type", (type): z.ZodType<Line> => {
  if (type === "user" || type === "assistant") return message;
  if (type === "progress") return z.union([progress, other]);
  return type === "attachment" ? z.union([queued, other]) : other;
});

/** How the first versions began the summary with which they went on, before they marked it. */
const CONTINUED = "This session is being continued from a previous conversation";

function entryOf(value: LineFields, entry: ImportedTurn): Entry {
  const turn: ImportedTurn = {
    ...entry,
    id: value.uuid ?? null,
    metadata: {
      ...entry.metadata,
      ...(value.timestamp !== undefined && { createdAt: value.timestamp }),
      ...(entry.id !== null && { providerMessageId: entry.id }),
      ...markOf(value, entry),
    },
    parentId: parentOf(value),
  };
  return { turn: markHarness(turn), side: value.isSidechain === true, agentId: value.agentId ?? null };
}

/** A cut of the harness continues the line before it, also where it names no parent. */
function parentOf({ type, subtype, ...value }: LineFields): string | null | undefined {
  const parentId = value.parentUuid ?? value.logicalParentUuid ?? value.parentUuid;
  const isCut = value.isCompactSummary === true || (type === "system" && subtype === "compact_boundary");
  return isCut && parentId === null ? undefined : parentId;
}

function markOf(value: LineFields, { role, pieces }: ImportedTurn): ImportedMetadata {
  if (role === null) return {};
  const [first] = pieces;
  const begins = first?.kind === "part" && first.part.type === "text" && first.part.text.startsWith(CONTINUED);
  const isSummary = value.isCompactSummary === true || (role === "user" && begins);
  return { ...(value.isMeta === true && { isMeta: true }), ...(isSummary && { isCompactSummary: true }) };
}

/** Returns the session's turns, then those of each sub-agent. Throws `import_failed`. */
export function* readClaudeCode(items: readonly Item[]): Slices<Chat[]> {
  const lines = yield* parseItems(items, anyLine, "claude-code");
  const entries = lines.flat();
  const chains = new Map<string | null, ImportedTurn[]>();
  const chainOfLine = new Map<string, string>();
  const reported = new Set<string>();
  const onlySide = entries.every(({ turn, side }) => side || turn.role === null);
  for (const { turn, side, agentId } of entries) {
    let label: string | null = null;
    if (side) {
      const inherited = typeof turn.parentId === "string" ? chainOfLine.get(turn.parentId) : undefined;
      label = onlySide ? null : (agentId ?? inherited ?? turn.id ?? "side chain");
      if (turn.id !== null && label !== null) chainOfLine.set(turn.id, label);
      // Progress is reported again and again with the same message.
      const report = turn.id === null ? null : JSON.stringify([label, turn.id]);
      if (turn.parentId === undefined && report !== null && reported.has(report)) continue;
      if (report !== null) reported.add(report);
    }
    const turns = chains.get(label);
    const said = side ? byAnotherAgent(turn) : turn;
    if (turns === undefined) chains.set(label, [said]);
    else turns.push(said);
  }
  const named = [...chains].map(([label, turns]) => ({
    label,
    turns: countUsageOnce(turns),
    isSubAgent: label !== null,
  }));
  return named.toSorted((a, b) => Number(a.isSubAgent) - Number(b.isSubAgent));
}

/** The agent that started a sub-agent wrote what it is told in the user's role. */
function byAnotherAgent(turn: ImportedTurn): ImportedTurn {
  if (turn.role !== "user") return turn;
  return { ...turn, metadata: { ...turn.metadata, isMeta: true } };
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
