/** The session's notes. A person can read and edit each section, start an update and compare versions. */
import { useState } from "react";
import type { CallResult } from "../../src/rooms.ts";
import { Empty, Told } from "../frame/states.tsx";
import { count, when } from "../format.ts";
import { Markdown } from "../reading/markdown.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { useAct, useCall } from "../use-agent.ts";
import { NotesHistory } from "./notes-history.tsx";

type Notes = NonNullable<CallResult<"getNotes">>;

export interface NotesCardProps {
  readonly sessionId: string;
  readonly revision: string;
  /** True when notes are kept in the background. A person may then ask for them before there are any. */
  readonly isKept: boolean;
}

/** Shows nothing where there are no notes and none are kept. */
export function NotesCard({ sessionId, revision, isKept }: NotesCardProps) {
  const [edits, setEdits] = useState(0);
  const [looksBack, setLooksBack] = useState(false);
  const asked = [revision, edits];
  const notes = useCall("getNotes", { sessionId }, asked);
  if (notes.kind !== "ready" || (notes.value === null && !isKept)) return null;
  return (
    <section className="card" aria-labelledby="notes">
      <h2 id="notes">Notes</h2>
      {notes.value === null ? (
        <First sessionId={sessionId} onSaved={() => setEdits(edits + 1)} />
      ) : (
        <Current sessionId={sessionId} notes={notes.value} onSaved={() => setEdits(edits + 1)} />
      )}
      <div className="actions">
        {isKept && <Refresh sessionId={sessionId} />}
        <button type="button" aria-expanded={looksBack} onClick={() => setLooksBack(!looksBack)}>
          Versions
        </button>
      </div>
      {looksBack && <NotesHistory sessionId={sessionId} revision={asked} />}
    </section>
  );
}

function Refresh({ sessionId }: { sessionId: string }) {
  const act = useAct();
  const refresh = (): void =>
    void act.run(async (connection) => {
      const { run, joined } = await connection.call("refreshNotes", { sessionId });
      return joined ? `Run ${run.n} is at it already.` : `Run ${run.n} brings them up to date.`;
    });
  return (
    <>
      <button type="button" disabled={act.busy} onClick={refresh}>
        Bring up to date
      </button>
      <Told act={act} />
    </>
  );
}

function Current({ sessionId, notes, onSaved }: { sessionId: string; notes: Notes; onSaved: () => void }) {
  return (
    <>
      <p className="dim">
        Version {notes.n}, {when(notes.createdAt)}, {count(notes.tokens)} tokens,{" "}
        {notes.by === "hand" ? "changed by hand" : "kept in the background"}
      </p>
      {notes.sections.map((section) => (
        <Section key={section.title} sessionId={sessionId} version={notes.n} section={section} onSaved={onSaved} />
      ))}
    </>
  );
}

/** Where no version holds, a person may write the first notes, one section at a time. */
function First({ sessionId, onSaved }: { sessionId: string; onSaved: () => void }) {
  const [title, setTitle] = useState("Task");
  return (
    <>
      <Empty title="No version holds for this branch." />
      <label className="field">
        Begin with the section
        <input value={title} onChange={(event) => setTitle(event.target.value)} dir="auto" />
      </label>
      <Section sessionId={sessionId} version={0} section={{ title, text: "" }} onSaved={onSaved} />
    </>
  );
}

interface SectionProps {
  readonly sessionId: string;
  /** The version that is shown, or 0 without one. */
  readonly version: number;
  readonly section: Notes["sections"][number];
  readonly onSaved: () => void;
}

/** A draft survives an update of the notes that comes meanwhile, and the editor says that the notes changed. */
function Section({ sessionId, version, section, onSaved }: SectionProps) {
  const [draft, setDraft] = useState<{ readonly text: string; readonly of: number } | null>(null);
  const act = useAct();
  const save = (): void =>
    void act.run(async (connection) => {
      try {
        await connection.call("updateNotes", {
          sessionId,
          sections: [{ title: section.title, text: draft?.text ?? "" }],
          // The version that the person saw or was told of. A newer version that they did not see is not replaced.
          basedOn: version,
        });
        setDraft(null);
      } finally {
        onSaved();
      }
      return null;
    });
  const title = showInvisible(section.title);
  return (
    <details>
      <summary>
        {title} {section.text.trim() === "" && <span className="dim">empty</span>}
      </summary>
      {draft === null ? (
        <>
          <Markdown text={section.text} />
          <button type="button" className="quiet" onClick={() => setDraft({ text: section.text, of: version })}>
            change
          </button>
        </>
      ) : (
        <>
          <label className="field">
            <span className="unseen">{title}</span>
            <textarea
              rows={6}
              value={draft.text}
              onChange={(event) => setDraft({ ...draft, text: event.target.value })}
              dir="auto"
            />
          </label>
          {draft.of !== version && (
            <p className="note">Version {version} came meanwhile: saved, this replaces what it says here.</p>
          )}
          <div className="answers">
            <button type="button" onClick={() => setDraft(null)}>
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
