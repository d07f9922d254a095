/** The stored versions of the notes, and a comparison of two. */
import { useState } from "react";
import type { CallResult } from "../../src/rooms.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { count, when } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { useCall } from "../use-agent.ts";
import { diffNotes, type DiffLine } from "./notes-diff.ts";

type Version = CallResult<"notesHistory">[number];

export function NotesHistory({ sessionId, revision }: { sessionId: string; revision: unknown }) {
  const versions = useCall("notesHistory", { sessionId }, revision);
  return (
    <Shown asked={versions} what="the versions of the notes">
      {(versions) => <Compare versions={versions} />}
    </Shown>
  );
}

/** Versions come newest first. When a chosen version is gone, the newest or the one before it replaces it. */
function Compare({ versions }: { versions: readonly Version[] }) {
  const [[olderN, newerN], choose] = useState<readonly [number | null, number | null]>([null, null]);
  const newer = versions.find(({ n }) => n === newerN) ?? versions[0];
  const older = versions.find(({ n }) => n === olderN) ?? versions.find(({ n }) => n < (newer?.n ?? 0));
  if (newer === undefined) return <Empty title="No version was kept yet." />;
  return (
    <>
      <div className="actions">
        <Choice label="Version" versions={versions} chosen={newer} onChoose={(n) => choose([older?.n ?? null, n])} />
        <Choice label="against" versions={versions} chosen={older} onChoose={(n) => choose([n, newer.n])} />
      </div>
      <p className="dim">{describe(newer)}</p>
      {older === undefined ? (
        <Empty title="It is the first that is kept: there is nothing to compare it with." />
      ) : (
        <Diff older={older} newer={newer} />
      )}
    </>
  );
}

function Choice(props: {
  label: string;
  versions: readonly Version[];
  chosen: Version | undefined;
  onChoose: (n: number) => void;
}) {
  const { label, versions, chosen, onChoose } = props;
  return (
    <label>
      <span className="dim">{label}</span>{" "}
      <select
        value={chosen?.n ?? ""}
        onChange={({ target }) => {
          const version = versions.find(({ n }) => String(n) === target.value);
          if (version !== undefined) onChoose(version.n);
        }}
      >
        {chosen === undefined && <option value="">none</option>}
        {versions.map(({ n, createdAt }) => (
          <option key={n} value={n}>
            {n}, {when(createdAt)}
          </option>
        ))}
      </select>
    </label>
  );
}

function describe({ n, by, tokens, standing }: Version): string {
  const how = by === "hand" ? "changed by hand" : "kept in the background";
  const holds = standing
    ? ""
    : "; messages that it covers were edited since, so it is no longer used, and only what a person wrote is shown";
  return `Version ${n}: ${how}, ${count(tokens)} tokens${holds}.`;
}

const SIGNS = { kept: "=", added: "+", dropped: "−" } as const;

function Diff({ older, newer }: { older: Version; newer: Version }) {
  const sections = diffNotes(older.sections, newer.sections);
  if (sections.length === 0) return <Empty title="Both are empty." />;
  return (
    <div className="notes-diff">
      {sections.map(({ title, lines }) => (
        <section key={title} aria-label={showInvisible(title)}>
          <h3>{showInvisible(title)}</h3>
          <ul className="bullets">
            {lines.map((line, at) => (
              // Lines have no ids, and two may be equal, so their index is the key.
              // oxlint-disable-next-line react/no-array-index-key
              <Line key={at} line={line} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Line({ line: { kind, text } }: { line: DiffLine }) {
  const shown = showInvisible(text);
  return (
    <li className={kind === "kept" ? "" : `bullets-${kind}`} dir="auto">
      <span aria-hidden="true">{SIGNS[kind]}</span>{" "}
      {kind === "added" ? <ins>{shown}</ins> : kind === "dropped" ? <del>{shown}</del> : shown}
    </li>
  );
}
