/**
 * One update of a session's notes as a straight line of durable steps.
 *
 *     plan the notes ─▶ update (─▶ repair …) ─▶ save the notes
 *
 * An update has all that a compaction run has, such as a ledger row, an outbox, the watchdog, cancel, and drafts that are paid for once.
 * Only the extractive rung is missing. Notes that no model could write stay as they are, so a failed or late update costs only its calls.
 */
import type { WorkflowStep } from "cloudflare:workers";
import type { ChosenModel } from "../model/chosen.ts";
import { Asked, climbDown, markOf, AGENT_CALL } from "../workflows/ladder.ts";
import type { Drafted } from "../workflows/draft.ts";
import { draftNotes, repairNotes } from "./draft.ts";
import type { NotesAsked, NotesPlanned } from "./workflow-port.ts";
import type { CompactionPort, RunEnded } from "../workflows/port.ts";

export async function updateNotes(step: WorkflowStep, model: ChosenModel, port: CompactionPort): Promise<RunEnded> {
  const { models } = new Asked(model, []);
  const asked: NotesAsked = { models: models.map(({ name }) => name), windowTokens: model.windowTokens };
  const plan = await step.do(
    "plan the notes",
    AGENT_CALL,
    async (at) => (await port.recordPlan(markOf(at), { kind: "own", asked })) as NotesPlanned,
  );
  if (plan.kind === "ended") return plan;

  const drafted = await climbDown<never>(step, {
    asked: new Asked(model, plan.resting),
    name: "update the notes",
    label: " the notes",
    last: "keep",
    draft: async (mark, by) => withoutWords(await draftNotes({ port, mark, model: by })),
    repair: async (mark, by, rejected) => withoutWords(await repairNotes({ port, mark, model: by }, rejected)),
    extract: (mark) => port.end(mark, null),
  });
  if (drafted.kind === "ended") return drafted;
  return step.do("save the notes", AGENT_CALL, (at) => port.commit(markOf(at), { key: drafted.key, leaves: [] }));
}

/** The receipt as the engine keeps it. What was wrong with an answer may quote the notes, so a repair reads it from the agent (S2). */
function withoutWords(drafted: Drafted): Drafted {
  if (drafted.kind === "ended") return drafted;
  return { ...drafted, problems: drafted.problems.map(({ kind }) => ({ kind, detail: "" })) };
}
