/** A box to say something: an append like any other, so that a threshold can be crossed by typing. */
import { useState } from "react";
import { Told } from "../frame/states.tsx";
import { useAct } from "../use-agent.ts";

export interface ComposerProps {
  readonly sessionId: string;
  /** The message that it goes under; null is the active leaf. */
  readonly leafId: string | null;
  readonly onSaid: () => void;
}

type Role = "user" | "assistant";

export function Composer({ sessionId, leafId, onSaid }: ComposerProps) {
  const [text, setText] = useState("");
  const [role, setRole] = useState<Role>("user");
  const act = useAct();
  const say = (): void => {
    if (text.trim() === "" || act.busy) return;
    void act.run(async (connection) => {
      const message = { id: crypto.randomUUID(), role, parts: [{ type: "text" as const, text }] };
      await connection.call("append", { sessionId, message, ...(leafId !== null && { parentId: leafId }) });
      // Only now: what was typed is not lost when the connection is.
      setText("");
      onSaid();
      return null;
    });
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        say();
      }}
    >
      <label className="unseen" htmlFor="say">
        Say something
      </label>
      <textarea
        id="say"
        rows={2}
        value={text}
        placeholder="Say something. Enter sends, Shift and Enter begin a line."
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          say();
        }}
      />
      <div className="composer-side">
        <label>
          <span className="unseen">Said by</span>
          <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
            <option value="user">as the user</option>
            <option value="assistant">as the assistant</option>
          </select>
        </label>
        <button type="submit" className="primary" disabled={act.busy || text.trim() === ""}>
          Send
        </button>
      </div>
      {act.told?.kind === "failed" && <Told act={act} />}
    </form>
  );
}
