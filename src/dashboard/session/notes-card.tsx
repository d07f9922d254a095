/** The session's notes: section by section, to be read and changed by hand. */
import { useState } from "react";
import type { Answer } from "../calls.ts";
import { Told } from "../frame/states.tsx";
import { count, when } from "../format.ts";
import { Markdown } from "../reading/markdown.tsx";
import { showUnseen } from "../reading/inert-text.ts";
import { useAct, useCall } from "../use-agent.ts";

type Notes = NonNullable<Answer<"getNotes">>;

/** Nothing where no notes are kept. */
export function NotesCard({ sessionId, revision }: { sessionId: string; revision: string }) {
  const [edits, setEdits] = useState(0);
  const notes = useCall("getNotes", { sessionId }, [revision, edits]);
  if (notes.kind !== "ready" || notes.value === null) return null;
  const { value } = notes;
  return (
    <section className="card" aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      <p className="dim">
        Version {value.n}, {when(value.createdAt)}, {count(value.tokens)} tokens,{" "}
        {value.by === "hand" ? "changed by hand" : "kept in the background"}
        {!value.standing && "; what it covers was edited since, so it is not used"}
      </p>
      {value.sections.map((section) => (
        <Section
          key={`${value.n}/${section.title}`}
          sessionId={sessionId}
          section={section}
          onSaved={() => setEdits(edits + 1)}
        />
      ))}
    </section>
  );
}

interface SectionProps {
  readonly sessionId: string;
  readonly section: Notes["sections"][number];
  readonly onSaved: () => void;
}

function Section({ sessionId, section, onSaved }: SectionProps) {
  const [text, setText] = useState<string | null>(null);
  const act = useAct();
  const save = (): void =>
    void act.run(async (connection) => {
      await connection.call("updateNotes", { sessionId, sections: [{ title: section.title, text: text ?? "" }] });
      onSaved();
      return null;
    });
  return (
    <details>
      <summary>
        {showUnseen(section.title)} {section.text.trim() === "" && <span className="dim">empty</span>}
      </summary>
      {text === null ? (
        <>
          <Markdown text={section.text} />
          <button type="button" className="quiet" onClick={() => setText(section.text)}>
            change
          </button>
        </>
      ) : (
        <>
          <label className="field">
            <span className="unseen">{showUnseen(section.title)}</span>
            <textarea rows={6} value={text} onChange={(event) => setText(event.target.value)} dir="auto" />
          </label>
          <div className="answers">
            <button type="button" onClick={() => setText(null)}>
              Leave as it was
            </button>
            <button type="button" className="primary" disabled={act.busy} onClick={save}>
              Save
            </button>
            <Told act={act} />
          </div>
        </>
      )}
    </details>
  );
}
