/**
 * The one write at the end of a turn.
 *
 * Safe because it is one transaction, so that of two requests at once each reads either all of the other's turn or
 * nothing of it; and because doing it again changes nothing.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import type { Memory } from "../memory/memory.ts";
import type { WorkingContext } from "./context.ts";
import { appendOnce } from "./log.ts";

/** The messages of one turn, as plain data: what crosses RPC. */
export interface Turn {
  /** The newest message that the turn's model was shown; null for an empty session. */
  readonly leafId: string | null;
  readonly messages: readonly UIMessage[];
}

export interface PersistedTurn {
  /** False when the turn was stored before. */
  readonly inserted: boolean;
  /** Where the turn ends: the leaf of the branch that it is on. Null for a turn of no messages. */
  readonly leafId: string | null;
}

/** Stores the context's new messages: {@link persistTurn}. */
export function persistWorkingContext(memory: Memory, sessionId: string, context: WorkingContext): PersistedTurn {
  return persistTurn(memory, sessionId, { leafId: context.leafId, messages: context.getNewMessages() });
}

/**
 * Stores a whole turn, or nothing of it. It goes behind what came meanwhile on the branch that it was made on; where the
 * conversation went on from an earlier message, it stays on its own branch. Doing it again changes nothing. Throws
 * `unknown_leaf` when the message that it was made on is gone, `invalid_input` when one of its ids is stored with
 * another content, and all that `History.append` throws.
 */
export function persistTurn(memory: Memory, sessionId: string, { leafId, messages }: Turn): PersistedTurn {
  const history = memory.session(sessionId);
  return memory.transaction<PersistedTurn>(() => {
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
