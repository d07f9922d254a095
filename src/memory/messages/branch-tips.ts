/**
 * Where the branches of a session have come to: what a person chooses from who wants to read another one.
 *
 * Boundary: reads only. It costs rows for branches, not for messages: rows between two that start a branch follow each
 * other, so the last of them is a tip unless a branch hangs on it.
 */
import { titleOf } from "../../steps/message/title.ts";
import type { Tree } from "./tree.ts";

/** Branches that a page of a session's branches shows, the newest: each is read with its last message. */
const MAX_BRANCH_TIPS = 100;

export interface BranchTip {
  readonly leafId: string;
  readonly role: string;
  /** The beginning of what the leaf says; null when it holds no text. */
  readonly title: string | null;
  /** When the leaf was stored, epoch ms. */
  readonly createdAt: number;
  /** The message after which it goes its own way; null for a branch that begins the session. */
  readonly partsAfterId: string | null;
}

const END = Number.MAX_SAFE_INTEGER;

/** Rows that follow each other, from one that starts a branch to the one before the next start. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The newest leaf that is the message at `seq` or comes after it. */
export function findLeafAfter(tree: Tree, seq: number): string {
  const starts = tree.sql.branchRows(tree.sessionId);
  const after: Stretch[] = [{ from: seq, to: (starts.findLast((start) => start.seq > seq)?.seq ?? END) - 1 }];
  // Oldest first: a branch hangs on an older row, so what it hangs on was looked at before it.
  for (const [at, start] of [...starts.entries()].toReversed()) {
    const hangsOn = start.parentSeq ?? -1;
    if (start.seq <= seq || !after.some(({ from, to }) => from <= hangsOn && hangsOn <= to)) continue;
    after.push({ from: start.seq, to: (starts[at - 1]?.seq ?? END) - 1 });
  }
  // The newest of those rows: whatever hung on it would be one of them, and newer.
  for (const { from, to } of after.toReversed()) {
    const last = tree.sql.messageBefore(tree.sessionId, to);
    if (last !== undefined && last.seq >= from) return tree.shape(last.seq).id;
  }
  return tree.shape(seq).id;
}

/** The newest {@link MAX_BRANCH_TIPS}, newest first. Empty for a session without messages. */
export function listTips(tree: Tree): BranchTip[] {
  const starts = tree.sql.branchRows(tree.sessionId);
  const hangsOn = new Set(starts.map((start) => start.parentSeq));
  const tips: BranchTip[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (const start of [...starts, { seq: 0, parentSeq: null }]) {
    const last = tree.sql.messageBefore(tree.sessionId, before);
    before = start.seq - 1;
    if (last === undefined || last.seq < start.seq || hangsOn.has(last.seq)) continue;
    tips.push(describeTip(tree, last.seq, start.parentSeq));
    if (tips.length === MAX_BRANCH_TIPS) break;
  }
  return tips;
}

function describeTip(tree: Tree, seq: number, parentSeq: number | null): BranchTip {
  const row = tree.contentAt(seq);
  const { id: leafId, role, createdAt } = row;
  const partsAfterId = parentSeq === null ? null : tree.shape(parentSeq).id;
  return { leafId, role, title: titleOf(tree.decode(row)), createdAt, partsAfterId };
}
