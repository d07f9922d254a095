/** A summary that waits for a person, who can read, edit, approve or reject it. */
import { MAX_REASON_CHARS } from "../../src/limits.ts";
import { useState } from "react";
import { findInvisible, stripInvisible } from "../../src/steps/text/text.ts";
import { Empty, Shown, Told } from "../frame/states.tsx";
import { plural, when } from "../format.ts";
import { useAct, useCall } from "../use-agent.ts";
import type { CallResult } from "../../src/rooms.ts";

export function Approval({ runId }: { runId: string }) {
  const proposal = useCall("getProposal", { runId });
  return (
    <section className="approval" aria-label="Waiting for you">
      <h3>This summary waits for you</h3>
      <Shown asked={proposal} what="the summary">
        {(proposal) =>
          proposal === null ? (
            <Empty title="It was decided meanwhile." />
          ) : (
            <Decide key={proposal.askedAt} proposal={proposal} />
          )
        }
      </Shown>
    </section>
  );
}

function Decide({ proposal }: { proposal: NonNullable<CallResult<"getProposal">> }) {
  const { runId, summary } = proposal;
  const [text, setText] = useState(summary);
  const [reason, setReason] = useState("");
  const act = useAct();
  const unseen = findInvisible(text);
  const approve = (): void =>
    void act.run(async (connection) => {
      const decided = await connection.call("approveRun", { runId, ...(text !== summary && { summary: text }) });
      if (decided.kind !== "unsound")
        return decided.kind === "approved" ? "Approved." : "Too late: it was decided, or its messages were changed.";
      throw new Error(`Not yet: ${decided.problems.map((problem) => problem.detail).join(" ")}`);
    });
  const reject = (): void =>
    void act.run(async (connection) => {
      const why = reason.trim();
      const decided = await connection.call("rejectRun", { runId, ...(why !== "" && { reason: why }) });
      return decided.kind === "late" ? "Too late: it was decided meanwhile." : "Rejected: the view stays as it is.";
    });
  return (
    <>
      <p className="dim">
        {plural(proposal.tokens, "token")} for {plural(proposal.spanTokens, "token")}
        {proposal.degraded && ", made without a model"}. Until {when(proposal.expiresAt)}; after that it is{" "}
        {proposal.onTimeout === "apply" ? "applied" : "discarded"}.
      </p>
      <label className="field">
        <span>The summary, to be changed if you like</span>
        <textarea rows={16} value={text} onChange={(event) => setText(event.target.value)} dir="auto" />
      </label>
      {unseen.length > 0 && (
        <p className="note" role="alert">
          It holds characters that cannot be seen: {unseen.join(", ")}. A model would read another text than you do.{" "}
          <button type="button" onClick={() => setText(stripInvisible(text))}>
            Take them out
          </button>
        </p>
      )}
      <label className="field">
        <span>Why, if it is rejected (optional): kept with the run</span>
        <input
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          maxLength={MAX_REASON_CHARS}
          dir="auto"
        />
      </label>
      <div className="answers">
        <button type="button" disabled={act.busy} onClick={reject}>
          Reject
        </button>
        <button type="button" className="primary" disabled={act.busy} onClick={approve}>
          {text === summary ? "Approve" : "Approve as changed"}
        </button>
        <Told act={act} />
      </div>
    </>
  );
}
