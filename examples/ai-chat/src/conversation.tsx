import { useAgentChat } from "@cloudflare/ai-chat/react";
import { useAgent } from "agents/react";
import type { UIMessage } from "ai";
import { useCompaction } from "palimpsest/react";
import { Fragment, useEffect, useState, type FormEvent } from "react";
import { Divider, type Summary } from "./divider.tsx";
import { Message } from "./message.tsx";

export function Conversation({ room }: { readonly room: string }) {
  const agent = useAgent({ agent: "Chat", name: room });
  const { messages, sendMessage, status, addToolApprovalResponse } = useAgentChat({ agent });
  const { fullness, live, last, compact, undo } = useCompaction(agent, { refreshOn: `${messages.length} ${status}` });
  const [summaries, setSummaries] = useState<readonly Summary[]>([]);
  const [text, setText] = useState("");

  // Summaries change when a run has ended, and when one is undone.
  useEffect(() => {
    void agent.call<Summary[]>("getCompactions", [{}]).then(setSummaries);
  }, [agent, last]);

  const undone = async (id: string): Promise<void> => {
    await undo(id);
    setSummaries(await agent.call<Summary[]>("getCompactions", [{}]));
  };
  const say = (event: FormEvent): void => {
    event.preventDefault();
    if (text.trim() === "") return;
    void sendMessage({ text });
    setText("");
  };

  return (
    <main>
      <header>
        <h1>A chat that remembers</h1>
        {fullness !== null && (
          <label>
            The model's view
            <meter min={0} max={1} high={0.9} value={Math.min(1, fullness)} />
            {Math.round(fullness * 100)} %
          </label>
        )}
        <button type="button" disabled={live.length > 0} onClick={() => void compact()}>
          Compact now
        </button>
      </header>
      <ol>
        {messages.map((message: UIMessage) => (
          <Fragment key={message.id}>
            <Message message={message} answer={addToolApprovalResponse} />
            {summariesAfter(message.id, summaries).map((summary) => (
              <Divider key={summary.id} agent={agent} summary={summary} undo={undone} />
            ))}
          </Fragment>
        ))}
      </ol>
      {live.map((run) => (
        <p className="run" key={run.runId}>
          <progress value={run.done} max={run.total} aria-label="Summary" /> {run.step ?? "waiting"}
        </p>
      ))}
      <form onSubmit={say}>
        <input
          aria-label="Message"
          placeholder="track 7, send 7, or anything"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit">Send</button>
      </form>
    </main>
  );
}

/** The widest summary in force that ends with this message: narrower ones lie under it. */
function summariesAfter(messageId: string, summaries: readonly Summary[]): readonly Summary[] {
  const ending = summaries.filter(({ state, span }) => state === "active" && span.toId === messageId);
  return ending.toSorted((a, b) => b.spanMessages - a.spanMessages).slice(0, 1);
}
