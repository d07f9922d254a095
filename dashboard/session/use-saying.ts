/**
 * The state of a message that a person types, sends and retries.
 *
 * A retry sends the same message, because its id stays the same from the first try on. Appending an id that is already stored changes
 * nothing. The text leaves its box only when the agent reports that it is stored.
 */
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Unanswered, type Connection } from "../connection.ts";
import { useAct, useConnection, useOpenings } from "../use-agent.ts";
import { findEnd } from "./branch.ts";

export type Role = "user" | "assistant";

export interface Place {
  readonly sessionId: string;
  /** The branch to append to, as the route names it. Null for the active one. */
  readonly branch: string | null;
  readonly onSaid: () => void;
}

interface Tried {
  readonly what: string;
  readonly id: string;
  /** True when the connection was lost before the answer. The message may be stored or not. */
  readonly unanswered: boolean;
}

export function useSaying({ sessionId, branch, onSaid }: Place) {
  const [text, setText] = useState("");
  const [role, setRole] = useState<Role>("user");
  const act = useAct();
  const tried = useRef<Tried | null>(null);
  const what = JSON.stringify([branch, role, text]);
  const done = (): null => {
    tried.current = null;
    setText("");
    onSaid();
    return null;
  };
  const store = async (connection: Connection): Promise<null> => {
    const id = tried.current?.what === what ? tried.current.id : crypto.randomUUID();
    tried.current = { what, id, unanswered: false };
    const message = { id, role, parts: [{ type: "text" as const, text }] };
    try {
      const parentId = await findEnd(connection, sessionId, branch);
      await connection.call("append", { sessionId, message, ...(parentId !== undefined && { parentId }) });
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      tried.current = { what, id, unanswered: true };
      throw new Error("No answer came: this is stored or not. Sent again, it is stored once.", { cause: error });
    }
    return done();
  };
  useAnswerLater(tried, sessionId, (stored) =>
    act.run(async () => {
      if (!stored) throw new Error("This was not stored: the connection broke before. Send it again.");
      return tried.current?.what === what ? done() : null;
    }),
  );
  const say = (): void => {
    if (text.trim() !== "" && !act.busy) void act.run(store);
  };
  return { text, setText, role, setRole, act, say };
}

/** Asks once the connection is back whether an unanswered message was stored. */
function useAnswerLater(
  tried: { readonly current: Tried | null },
  sessionId: string,
  answer: (stored: boolean) => Promise<void>,
): void {
  const connection = useConnection();
  const openings = useOpenings();
  const tell = useEffectEvent(answer);
  useEffect(() => {
    const { current } = tried;
    if (current?.unanswered !== true) return;
    connection
      .call("getMessage", { sessionId, id: current.id })
      .then((message) => tell(message !== null))
      // The connection was lost again. The next opening asks again.
      .catch(() => undefined);
    // Not read here. A new number means that the connection is back.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [connection, openings, sessionId, tried]);
}
