/** Stands in the transcript where the model's memory of the words ends: above it, the model sees a summary. */
import type { UIMessage } from "ai";
import { useState } from "react";

export interface Summary {
  readonly id: string;
  readonly state: string;
  readonly summary: string;
  readonly spanMessages: number;
  readonly span: { readonly fromId: string; readonly toId: string };
}

interface DividerProps {
  readonly agent: { call(method: string, args?: unknown[]): Promise<unknown> };
  readonly summary: Summary;
  readonly undo: (id: string) => Promise<void>;
}

export function Divider({ agent, summary, undo }: DividerProps) {
  const [originals, setOriginals] = useState<readonly UIMessage[] | null>(null);
  const open = async (): Promise<void> => {
    setOriginals((await agent.call("expand", [{ overlayId: summary.id }])) as UIMessage[]);
  };
  return (
    <li className="divider">
      <details>
        <summary>{summary.spanMessages} earlier messages are summarised for the model</summary>
        <pre>{summary.summary}</pre>
        {originals === null ? (
          <button type="button" onClick={() => void open()}>
            What it stands for
          </button>
        ) : (
          <ul>
            {originals.map(({ id, role, parts }) => (
              <li key={id}>
                <b>{role}</b> {parts.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join(" ")}
              </li>
            ))}
          </ul>
        )}
        <button type="button" onClick={() => void undo(summary.id)}>
          Undo: show the model the messages again
        </button>
      </details>
    </li>
  );
}
