/**
 * What is being said: typed, sent, and known to be stored or not.
 *
 * Safe because what is tried again is the same message: it has its id from the first try on, and an id that is stored already
 * stores nothing. What was typed leaves its box when the agent says that it is stored, and not before.
 */
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { Unanswered, type Connection } from "../connection.ts";
import { useAct, useConnection, useOpenings } from "../use-agent.ts";
import { findEnd } from "./branch.ts";

export type Role = "user" | "assistant";

export interface Place {
  readonly sessionId: string;
  /** At the end of which it goes, as the route names it; null is the active one. */
  readonly branch: string | null;
  readonly onSaid: () => void;
}

interface Tried {
  readonly what: string;
  readonly id: string;
  /** The connection was lost meanwhile: nobody knows whether it was stored. */
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

/** Once the connection is back, asks what became of a message that nobody answered for. */
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
      // Lost again: asked at the next opening.
      .catch(() => undefined);
    // Not read: it says that the connection is back.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [connection, openings, sessionId, tried]);
}
