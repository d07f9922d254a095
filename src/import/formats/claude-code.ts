/**
 * Claude Code session files. Each line is one user input, tool result or piece of a reply, and names its parent.
 *
 * A reply's thinking, text and tool calls may be separate lines that share one provider message id. They stay separate messages, with that
 * id as `metadata.providerMessageId`. Sub-agents become conversations of their own, whether their lines are side chains or stand in records
 * of progress. What the harness said in the user's role is marked in the metadata.
 */
import type { Slices } from "../../steps/text/text.ts";
import { attempt, Fields, Misfit, readEach, type Item } from "../items.ts";
import { metadataOf, noMessage, textPart, type Chat, type ImportedMetadata, type ImportedTurn } from "../turns.ts";
import { anthropicMessage } from "./anthropic.ts";
import { markHarness } from "./harness.ts";

/** One entry of a line. A record of progress has two: it links the lines around it and holds a message of a sub-agent. */
interface Entry {
  readonly turn: ImportedTurn;
  /** True for a message of a sub-agent. */
  readonly side: boolean;
  readonly agentId: string | null;
}

function readLine(value: unknown): Entry[] {
  const line = new Fields(value);
  const type = line.text("type");
  if (type === "user" || type === "assistant") return [entryOf(line, anthropicMessage(line.fields("message")))];
  const special = attempt(() =>
    type === "progress" ? progressOf(line) : type === "attachment" ? queuedIn(line) : null,
  );
  return special === null || special instanceof Misfit ? [entryOf(line, noMessage(type))] : special;
}

function progressOf(line: Fields): Entry[] {
  const data = line.fields("data");
  data.oneOf("type", ["agent_progress"]);
  const agentId = data.text("agentId");
  const said = data.fields("message");
  const own = entryOf(said, anthropicMessage(said.fields("message")));
  return [entryOf(line, noMessage(null)), { turn: { ...own.turn, parentId: undefined }, side: true, agentId }];
}

/** What the user typed while the agent worked. The model got it between two calls. */
function queuedIn(line: Fields): Entry[] {
  const attachment = line.fields("attachment");
  attachment.oneOf("type", ["queued_command"]);
  const pieces = [textPart(attachment.text("prompt"))];
  return [entryOf(line, { role: "user", pieces, metadata: {}, id: null })];
}

function entryOf(line: Fields, said: ImportedTurn): Entry {
  const turn: ImportedTurn = {
    ...said,
    id: line.maybeText("uuid"),
    metadata: metadataOf({
      ...said.metadata,
      createdAt: line.time("timestamp"),
      providerMessageId: said.id,
      ...marksOf(line, said),
    }),
    parentId: parentOf(line),
  };
  return { turn: markHarness(turn), side: line.get("isSidechain") === true, agentId: line.maybeText("agentId") };
}

/** A cut of the harness continues the line before it, also where it names no parent. */
function parentOf(line: Fields): string | null | undefined {
  // Where the harness cut its own context, the logical parent names the line that really came before.
  const parentId = line.maybeText("parentUuid") ?? line.maybeText("logicalParentUuid");
  if (parentId !== null) return parentId;
  const isBoundary = line.get("type") === "system" && line.get("subtype") === "compact_boundary";
  const isCut = line.get("isCompactSummary") === true || isBoundary;
  return isCut || !("parentUuid" in line.all) ? undefined : null;
}

/** How the first versions began the summary with which they went on, before they marked it. */
const CONTINUED = "This session is being continued from a previous conversation";

function marksOf(line: Fields, { role, pieces: [first] }: ImportedTurn): ImportedMetadata {
  if (role === null) return {};
  const begins = role === "user" && first?.type === "text" && first.text.startsWith(CONTINUED);
  const isSummary = line.get("isCompactSummary") === true || begins;
  return { ...(line.get("isMeta") === true && { isMeta: true }), ...(isSummary && { isCompactSummary: true }) };
}

/** Returns the session's turns, then those of each sub-agent. Throws `import_failed`. */
export function* readClaudeCode(items: readonly Item[]): Slices<Chat[]> {
  const entries = (yield* readEach(items, readLine, "claude-code")).flat();
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
    const chain = chains.get(label) ?? [];
    chains.set(label, chain);
    chain.push(side ? byAnotherAgent(turn) : turn);
  }
  const chats = [...chains].map(([label, turns]) => ({
    label,
    turns: countUsageOnce(turns),
    isSubAgent: label !== null,
  }));
  return chats.toSorted((a, b) => Number(a.isSubAgent) - Number(b.isSubAgent));
}

/** The agent that started a sub-agent wrote what it is told in the user's role. */
function byAnotherAgent(turn: ImportedTurn): ImportedTurn {
  return turn.role === "user" ? { ...turn, metadata: { ...turn.metadata, isMeta: true } } : turn;
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
