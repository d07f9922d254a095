/** What holds beside the summaries of a view, what a model took for ended and why, and what its summaries name without a source. */
import { showInvisible } from "../reading/inert-text.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";

/** `overlays` are those that the view shows, oldest first. Nothing is drawn where there is nothing to say. */
export function InstructionsCard({ overlays }: { overlays: readonly OverlayRecord[] }) {
  // What a later summary knows of, it tells itself, as it stands by then.
  const known = new Set(overlays.flatMap(({ details }) => details.knows));
  const telling = overlays.flatMap(({ id, details }) => (known.has(id) ? [] : [details.pinned]));
  const instructions = unique(telling.flatMap((each) => each.instructions));
  const ended = unique(telling.flatMap((each) => each.ended));
  const unfounded = [...new Set(overlays.flatMap(({ details }) => details.pinned.unfounded))];
  const degraded = overlays.filter(({ details }) => details.degraded).length;
  if (instructions.length + ended.length + unfounded.length + degraded === 0) return null;
  return (
    <section className="card" aria-labelledby="pinned">
      <h2 id="pinned">Standing instructions</h2>
      {degraded > 0 && (
        <p role="alert">
          No model made {degraded === 1 ? "one summary" : `${degraded} summaries`} here, so the conversation is only
          quoted.
        </p>
      )}
      <ul className="facts">
        {instructions.map(({ quote, messageId }) => (
          <li key={`${messageId}/${quote}`} title={`from message ${messageId}`} dir="auto">
            {showInvisible(quote)}
          </li>
        ))}
        {ended.map(({ quote, messageId, by, left }) => (
          <li key={`ended/${messageId}/${quote}`} title={`from message ${messageId}`} dir="auto">
            <s>{showInvisible(quote)}</s>{" "}
            {left === true ? "left out, because many came since" : `ended by “${showInvisible(by.quote)}”`}
          </li>
        ))}
      </ul>
      {unfounded.length > 0 && (
        <>
          <h3>Named without a source</h3>
          <ul className="facts">
            {unfounded.map((name) => (
              <li key={name} dir="auto">
                {showInvisible(name)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function unique<Each extends { readonly quote: string; readonly messageId: string }>(all: readonly Each[]): Each[] {
  return [...new Map(all.map((each) => [`${each.messageId}/${each.quote}`, each])).values()];
}
