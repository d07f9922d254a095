/** A form that appends a message. It is an ordinary append, so typing can cross the threshold. */
import { Told } from "../frame/states.tsx";
import { useSaying, type Place, type Role } from "./use-saying.ts";

export function Composer(props: Place) {
  const { text, setText, role, setRole, act, say } = useSaying(props);
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
