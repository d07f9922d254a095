/** A person's actions on a session. They are to compact it (plain, with a focus, or from its first drafts) and to split it. */
import { useState } from "react";
import { Told } from "../frame/states.tsx";
import { Question } from "../frame/dialog.tsx";
import { formatRoute, toSession } from "../route.ts";
import { useAct } from "../use-agent.ts";
import { findEnd } from "./branch.ts";

export interface ActionsProps {
  readonly agent: string;
  readonly sessionId: string;
  /** The branch as the route names it. Null for the active one. */
  readonly branch: string | null;
  /** Whether the agent's base class keeps the messages, so that the session cannot be split. */
  readonly isHosted: boolean;
  readonly onDone: () => void;
}

type Asking = "focus" | "split" | null;

export function Actions({ agent, sessionId, branch, isHosted, onDone }: ActionsProps) {
  const act = useAct();
  const [asking, setAsking] = useState<Asking>(null);
  const compact = (how: { focus?: string; rebuild?: boolean }): void =>
    void act.run(async (connection) => {
      const leafId = await findEnd(connection, sessionId, branch);
      const which = leafId === undefined ? { sessionId } : { sessionId, leafId };
      const { run, joined } = await connection.call("compact", { ...which, ...how });
      onDone();
      if (run.outcome?.kind === "nothing") return `Nothing to do: ${run.outcome.detail}`;
      return joined ? `Run ${run.n} is at work on this branch already.` : `Run ${run.n} has begun.`;
    });
  const split = (name: string): void =>
    void act.run(async (connection) => {
      const { run } = await connection.call("compactAndSplit", { sessionId, ...(name !== "" && { name }) });
      onDone();
      globalThis.location.hash = formatRoute({ page: "runs", agent, id: sessionId, run: run.id });
      return null;
    });
  return (
    <div className="actions" role="group" aria-label="What to do with this session">
      <button type="button" disabled={act.busy} onClick={() => compact({})}>
        Compact
      </button>
      <button type="button" disabled={act.busy} onClick={() => setAsking("focus")}>
        Compact with a focus …
      </button>
      <button type="button" disabled={act.busy} onClick={() => compact({ rebuild: true })}>
        Rebuild
      </button>
      {!isHosted && (
        <button type="button" disabled={act.busy} onClick={() => setAsking("split")}>
          Split …
        </button>
      )}
      <Told act={act} />
      <Ask
        title="Compact with a focus"
        label="What the summary should attend to"
        confirm="Compact"
        isOpen={asking === "focus"}
        onClose={() => setAsking(null)}
        onAnswer={(focus) => compact(focus === "" ? {} : { focus })}
      />
      <Ask
        title="Split this session"
        text="It is compacted and ends; a child goes on with the same view. Nothing is deleted: this one is read as before."
        label="What the child is called (optional)"
        confirm="Split"
        isOpen={asking === "split"}
        onClose={() => setAsking(null)}
        onAnswer={split}
      />
    </div>
  );
}

interface AskProps {
  readonly title: string;
  readonly text?: string;
  readonly label: string;
  readonly confirm: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onAnswer: (answer: string) => void;
}

function Ask({ title, text, label, confirm, isOpen, onClose, onAnswer }: AskProps) {
  return (
    <Question title={title} isOpen={isOpen} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const answer = new FormData(event.currentTarget).get("answer");
          onClose();
          onAnswer(typeof answer === "string" ? answer.trim() : "");
        }}
      >
        {text !== undefined && <p>{text}</p>}
        <label className="field">
          <span>{label}</span>
          <input name="answer" autoComplete="off" maxLength={200} />
        </label>
        <div className="answers">
          <button type="button" onClick={onClose}>
            Not now
          </button>
          <button type="submit" className="primary">
            {confirm}
          </button>
        </div>
      </form>
    </Question>
  );
}

/** Forks a session at a message and opens the fork. */
export function useFork(agent: string, sessionId: string) {
  const act = useAct();
  const fork = (atMessageId: string): void =>
    void act.run(async (connection) => {
      const { id } = await connection.call("forkSession", { sessionId, atMessageId });
      globalThis.location.hash = formatRoute(toSession(agent, id));
      return null;
    });
  return { act, fork };
}
