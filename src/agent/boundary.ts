/**
 * What is noted of the moment in which an overlay took the place of messages, and what is carried across it: the texts
 * of context blocks that the model should have before its eyes right behind the summary.
 *
 * Boundary: a block's provider is asked outside of any transaction, and one that fails only means that nothing is carried.
 */
import { CARRIED_TOKENS } from "../limits-of-notes.ts";
import type { Boundary, Carried } from "../memory/overlay-details.ts";
import type { RunRecord } from "../memory/runs.ts";
import { cutSection } from "../steps/notes/document.ts";
import type { SpanPlan } from "../steps/plan.ts";
import type { Core } from "./core.ts";
import { redactionOf } from "./redaction.ts";

/** For an overlay's details. Call inside the transaction that lays it. */
export function describeBoundary(
  core: Core,
  run: RunRecord,
  { plan, carried }: { plan: SpanPlan; carried: readonly Carried[] },
): { boundary: Boundary; carried: readonly Carried[] } {
  const { sessionId, trigger, tokensBefore, leafId } = run;
  const { headTokens, tailTokens, keptId } = plan;
  const tools = core.memory.session(sessionId).toolsUpTo(plan.span);
  const kept = { headTokens, tailTokens, fromId: keptId };
  return { boundary: { trigger, tokensBefore, lastMessageId: leafId, tools, kept }, carried };
}

/** As {@link carriedIn}, of a run's session. */
export async function readCarried(core: Core, runId: string): Promise<readonly Carried[]> {
  const sessionId = core.runs.get(runId)?.sessionId;
  return sessionId === undefined ? [] : carriedIn(core, sessionId);
}

/** The texts of the blocks that a session's summaries carry along, as they are now. */
export async function carriedIn(core: Core, sessionId: string): Promise<readonly Carried[]> {
  const settings = core.settings.get(sessionId);
  const { carryBlocks, countTokens } = settings;
  const blocks = core.contexts.session(sessionId);
  const read = carryBlocks.map(async (label): Promise<Carried[]> => {
    const block = await blocks.getContextBlock(label).catch(() => null);
    const text = block?.content.trim() ?? "";
    return text === "" ? [] : [{ label, text: cutSection(text, CARRIED_TOKENS, { pointer: "[…]", countTokens }) }];
  });
  return redactionOf(settings).carried((await Promise.all(read)).flat());
}
