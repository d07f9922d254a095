/**
 * One update of a session's notes, as a straight line of durable steps.
 *
 *     plan the notes ─▶ update (─▶ repair …) ─▶ save the notes
 *
 * Everything that a compaction run has is here too: a ledger row, an outbox, the watchdog, cancel, drafts that are paid for
 * once. What is missing is the last rung: notes that no model could write are kept as they are, so an update that fails, or
 * comes late, costs its calls and nothing else.
 */
import type { WorkflowStep } from "cloudflare:workers";
import type { ChosenModel } from "../model/chosen.ts";
import { Asked, climbDown, markOf } from "./ladder.ts";
import { draftNotes, repairNotes } from "./notes-draft.ts";
import type { CompactionPort, RunEnded } from "./port.ts";
import { AGENT_CALL } from "./retries.ts";

export async function updateNotes(
  step: WorkflowStep,
  model: ChosenModel,
  port: () => CompactionPort,
): Promise<RunEnded> {
  const { models } = new Asked(model, []);
  const names = models.map(({ name }) => name);
  const plan = await step.do("plan the notes", AGENT_CALL, (at) =>
    port().planNotes(markOf(at), names, model.windowTokens),
  );
  if (plan.kind === "ended") return plan;

  const drafted = await climbDown<never>(step, {
    asked: new Asked(model, plan.resting),
    verb: "update",
    place: `the notes · ${plan.digest.slice(0, 8)}`,
    draft: (mark, by) => draftNotes({ port: port(), mark, model: by }),
    repair: (mark, by, rejected) => repairNotes({ port: port(), mark, model: by }, rejected),
    digest: (mark) => port().keepNotes(mark),
  });
  if (drafted.kind === "ended") return drafted;
  return step.do("save the notes", AGENT_CALL, (at) => port().saveNotes(markOf(at), drafted.key));
}
