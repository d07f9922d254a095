/**
 * The one write at the end of a turn.
 *
 * It is one transaction, so of two concurrent requests each reads the other's whole turn or nothing of it. Repeating the write changes
 * nothing.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import type { Memory } from "../memory/memory.ts";
import type { WorkingContext } from "./context.ts";
import { appendOnce } from "./log.ts";

/** The messages of one turn as plain data, which may cross RPC. */
export interface Turn {
  /** The newest message that the turn's model was shown. Null for an empty session. */
  readonly leafId: string | null;
  /** The messages of the turn, oldest first. */
  readonly messages: readonly UIMessage[];
}

/** What became of a turn that was to be stored. */
export interface PersistedTurn {
  /** False when the turn was stored before. */
  readonly inserted: boolean;
  /** Leaf of the turn's branch, where the turn ends. Null for a turn without messages. */
  readonly leafId: string | null;
}

/** Stores the context's new messages with {@link persistTurn}. */
export function persistWorkingContext(memory: Memory, sessionId: string, context: WorkingContext): PersistedTurn {
  return persistTurn(memory, sessionId, { leafId: context.leafId, messages: context.getNewMessages() });
}

/**
 * Stores a whole turn or nothing of it. The turn goes behind messages that came meanwhile on its branch. Where the conversation continued
 * from an earlier message, the turn stays on its own branch. Repeating the call changes nothing. Throws `unknown_leaf` when the turn's leaf
 * is gone and `invalid_input` when one of its ids is stored with other content. Also throws the errors of `History.append`.
 */
export function persistTurn(memory: Memory, sessionId: string, { leafId, messages }: Turn): PersistedTurn {
  const history = memory.session(sessionId);
  return memory.db.transaction<PersistedTurn>(() => {
    if (leafId !== null && !history.has(leafId)) {
      throw new PalimpsestError(
        "unknown_leaf",
        `Message "${leafId}", on which this turn was made, is not in session "${sessionId}" any more. Load the events again and make the turn on them.`,
      );
    }
    const active = history.leafId();
    const follows = leafId === null || active === null || history.isOnPath(leafId, active);
    let parentId: string | null = follows ? active : leafId;
    let inserted = false;
    for (const message of messages) {
      inserted = appendOnce(history, message, parentId).inserted || inserted;
      if (history.has(message.id)) parentId = message.id;
    }
    return { inserted, leafId: messages.length === 0 ? null : parentId };
  });
}
