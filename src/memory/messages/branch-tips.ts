/**
 * The tips of a session's branches, from which a person chooses another branch to read.
 *
 * Reads only. Its cost grows with branches, not with messages. The rows between two branch starts follow each other, so
 * the last of them is a tip unless a branch hangs on it.
 */
import { titleOf } from "../../steps/message/message.ts";
import type { Tree } from "./tree.ts";

/** The most branches that a page shows, newest first. Each costs a read of its last message. */
const MAX_BRANCH_TIPS = 100;

/** The last message of a branch. */
export interface BranchTip {
  /** The id of that message. */
  readonly leafId: string;
  /** The role of that message. */
  readonly role: string;
  /** The beginning of the leaf's text. Null when the leaf has no text. */
  readonly title: string | null;
  /** When the leaf was stored, epoch ms. */
  readonly createdAt: number;
  /** The message after which the branch parts from its parent. Null for a branch that begins the session. */
  readonly partsAfterId: string | null;
}

const END = Number.MAX_SAFE_INTEGER;

/** Rows that follow each other, from a branch start to the row before the next start. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The newest leaf among the message at `seq` and its descendants. */
export function findLeafAfter(tree: Tree, seq: number): string {
  const newest = tree.newest();
  if (newest?.seq === seq) return newest.id;
  const starts = tree.sql.branchRows(tree.sessionId);
  if (starts.length === 0 && newest !== null) return newest.id;
  const after: Stretch[] = [{ from: seq, to: (starts.findLast((start) => start.seq > seq)?.seq ?? END) - 1 }];
  // Oldest first, because a branch hangs on an older row. The row that it hangs on was then visited before.
  for (const [at, start] of [...starts.entries()].toReversed()) {
    const hangsOn = start.parentSeq ?? -1;
    if (start.seq <= seq || !after.some(({ from, to }) => from <= hangsOn && hangsOn <= to)) continue;
    after.push({ from: start.seq, to: (starts[at - 1]?.seq ?? END) - 1 });
  }
  // The newest of those rows is a leaf, because a child of it would be newer and also in the list.
  for (const { from, to } of after.toReversed()) {
    const last = tree.sql.messageBefore(tree.sessionId, to);
    if (last !== undefined && last.seq >= from) return tree.shape(last.seq).id;
  }
  return tree.shape(seq).id;
}

/** The newest {@link MAX_BRANCH_TIPS} tips, newest first. Empty for a session without messages. */
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
