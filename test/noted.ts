/** Sessions that keep notes. See `NOTED` in worker.ts. They have an update every five messages and a compaction every seventeen. */
import type { UIMessage } from "ai";
import type { RunRecord } from "../src/memory/runs/runs.ts";
import { talk } from "./conversation.ts";
import { summaryOf, type Script } from "./scripted-model.ts";
import type { PalimpsestAgent } from "./worker.ts";

export const SESSION = "noted";

/** Answers an update with two sections. Any other prompt is a compaction by a model. */
export const noting: Script = (prompt) =>
  prompt.kind === "notes"
    ? "## Task\n- keep every promise of the parser, the scheduler and the ledger\n\n## Worklog\n- changed src/parser-0.ts"
    : summaryOf(prompt, "summarised");

/** Waits until no run is live. Returns the runs, newest first. */
export async function rest(agent: PalimpsestAgent, sessionId = SESSION): Promise<RunRecord[]> {
  for (;;) {
    const { liveRunIds } = await agent.status({ sessionId });
    if (liveRunIds.length === 0) return agent.runs({ sessionId });
    for (const runId of liveRunIds) await agent.waitForRun({ runId });
  }
}

/** Appends one message after the other, each when the runs before it have ended. */
export async function sayAll(
  agent: PalimpsestAgent,
  messages: readonly UIMessage[],
  sessionId = SESSION,
): Promise<void> {
  for (const message of messages) {
    await agent.append({ sessionId, message });
    await rest(agent, sessionId);
  }
}

/** Appends enough for notes, and not enough for a compaction. */
export async function sayWithNotes(agent: PalimpsestAgent, sessionId = SESSION): Promise<void> {
  await sayAll(agent, talk(0, 8), sessionId);
}

export function ofKind(runs: readonly RunRecord[], kind: RunRecord["kind"]): RunRecord[] {
  return runs.filter((run) => run.kind === kind);
}
