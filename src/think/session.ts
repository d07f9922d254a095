/**
 * Redirects Think's session. Its compaction settings go to our session, and it summarises nothing itself.
 *
 * Replaces methods of the one object that Think passes to `configureSession`. Think still reads and writes the messages.
 */
import type { ThinkSession } from "@cloudflare/think";
import type { Session as Handle } from "../agent/sessions/session.ts";
import type { FunctionMethods } from "../own-function/room.ts";
import { compactAndWait, storedForm } from "../sessions-source/compact-and-wait.ts";

/** Our session with the room of own functions, which every agent of Think has. */
export type Session = Handle & FunctionMethods;

/** A threshold that no conversation reaches, so that compaction happens only on request. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The recorded settings of Think's session, in order. They are repeated for a session that is configured again. */
export class Recorded {
  readonly #calls: ((session: Session) => unknown)[] = [];
  #threshold = false;

  /** Applies the recorded settings. Throws `invalid_options`. */
  tell(session: Session): void {
    for (const each of this.#calls) each(session);
  }

  /** Replaces the session's methods about compaction, and returns the session. `ours` is called when one of them is. */
  listen(session: ThinkSession, ours: () => Handle): ThinkSession {
    session.compactAfter = (tokens) => {
      this.#threshold = true;
      return this.#keep(session, (each) => each.compactAfter(tokens));
    };
    session.onCompaction = (compact) =>
      this.#keep(session, (each) => {
        if (!this.#threshold) each.compactAfter(NEVER);
        // Think's messages and ours have the same shape, under two types.
        each.onCompaction(async (messages) => compact(messages as never));
      });
    session.onCompactionError = (handler) => this.#keep(session, (each) => each.onCompactionError(handler));
    session.compact = async (leafId) => compactAndWait(ours(), leafId ?? undefined);
    session.addCompaction = async (summary, fromMessageId, toMessageId) =>
      storedForm(await ours().addCompaction(summary, fromMessageId, toMessageId));
    session.getCompactions = async () => {
      const all = await ours().getCompactions();
      return all.filter(({ state }) => state === "active").map(storedForm);
    };
    return session;
  }

  #keep(session: ThinkSession, call: (session: Session) => unknown): ThinkSession {
    this.#calls.push(call);
    return session;
  }
}
