/** The session's name, the size of its view, and the link to its runs. */
import { useState, type ReactNode } from "react";
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";
import { Told } from "../frame/states.tsx";
import { count, money } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute, toSession, type SessionRoute } from "../route.ts";
import { nameOf } from "../sessions/lineage.ts";
import { useAct } from "../use-agent.ts";

export interface SessionHeadProps {
  readonly route: SessionRoute;
  readonly session: SessionInfo | null;
  /** Null where it cannot be renamed. */
  readonly onRenamed: (() => void) | null;
  readonly children: ReactNode;
}

export function SessionHead({ route, session, onRenamed, children }: SessionHeadProps) {
  const { agent, id } = route;
  const [renaming, setRenaming] = useState(false);
  const act = useAct();
  const name = session === null ? nameOf({ id, name: null }) : nameOf(session);
  return (
    <header className="session-head">
      <h1 dir="auto">{showInvisible(name)}</h1>
      {session !== null && onRenamed !== null && !renaming && (
        <button type="button" className="quiet" onClick={() => setRenaming(true)}>
          rename
        </button>
      )}
      {renaming && onRenamed !== null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const said = new FormData(event.currentTarget).get("name");
            void act.run(async (connection) => {
              await connection.call("renameSession", { sessionId: id, name: typeof said === "string" ? said : "" });
              setRenaming(false);
              onRenamed();
              return null;
            });
          }}
        >
          <label>
            <span className="unseen">New name</span>
            <input name="name" defaultValue={session?.name ?? ""} maxLength={200} autoComplete="off" />
          </label>
          <button type="submit">Save</button>
          <Told act={act} />
        </form>
      )}
      {children}
      {session !== null && (
        <p className="session-facts">
          {session.parentSessionId !== null && (
            <a href={formatRoute(toSession(agent, session.parentSessionId))}>
              {session.source === "split" ? "goes on from an earlier session" : "forked from another session"}
            </a>
          )}
          {session.inputTokens + session.outputTokens > 0 && (
            <span>
              {count(session.inputTokens)} tokens in, {count(session.outputTokens)} out
            </span>
          )}
          {session.cost > 0 && <span>cost {money(session.cost)}</span>}
        </p>
      )}
      <nav className="tabs" aria-label="Of this session">
        <a href={formatRoute(toSession(agent, id))} aria-current="page">
          Conversation
        </a>
        <a href={formatRoute({ page: "runs", agent, id, run: null })}>Runs</a>
      </nav>
    </header>
  );
}
