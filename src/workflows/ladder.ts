/**
 * The ladder of one draft: the model, one repair that names what is wrong, then a digest that no model makes. Each rung
 * is a durable step with retries of its own. The last rung cannot fail, so a run is never stuck on a summariser.
 */
import type { AgentWorkflowStep } from "agents/workflows";
import { SOURCE_FAULT } from "./draft.ts";
import type { DraftReceipt, RunEnded, StepMark } from "./port.ts";
import { AGENT_CALL, MODEL_CALL } from "./retries.ts";

export type Drafted = DraftReceipt | RunEnded;

/** What a step's body is told about itself by the engine. */
interface Attempt {
  readonly step: { readonly name: string };
  readonly attempt: number;
}

export interface Rungs {
  /** First word of the first rung's step name: what is being done. */
  readonly verb: "summarize" | "merge";
  /** The rest of every rung's step name: which one of them. */
  readonly place: string;
  draft(mark: StepMark): Promise<Drafted>;
  repair(mark: StepMark, rejected: DraftReceipt): Promise<Drafted>;
  digest(mark: StepMark): Promise<Drafted>;
}

/**
 * Whether the model is worth asking in this run. Once a draft got no answer in all its tries, the drafts after it do not
 * ask: a summariser that is down costs a handful of calls, whatever the number of chunks. What a replay asks again
 * under the same step names comes from the engine's kept results.
 */
export interface ModelHealth {
  down: boolean;
}

export async function climbDown(step: AgentWorkflowStep, health: ModelHealth, rungs: Rungs): Promise<Drafted> {
  if (!health.down) {
    const answered = await askModel(step, health, rungs);
    if (answered !== null) return answered;
  }
  return step.do(`digest ${rungs.place}`, AGENT_CALL, (at) => rungs.digest(markOf(at)));
}

/** Null when no answer of the model was sound. */
async function askModel(
  step: AgentWorkflowStep,
  health: ModelHealth,
  { verb, place, ...rungs }: Rungs,
): Promise<Drafted | null> {
  try {
    const draft = await step.do(`${verb} ${place}`, MODEL_CALL, (at) => rungs.draft(markOf(at)));
    if (isSound(draft)) return draft;
    const repaired = await step.do(`repair ${place}`, MODEL_CALL, (at) => rungs.repair(markOf(at), draft));
    return isSound(repaired) ? repaired : null;
  } catch (error) {
    if (isEngineStopping(error)) throw error;
    health.down ||= !isAboutSource(error);
    return null;
  }
}

export function markOf(at: Attempt): StepMark {
  return { step: at.step.name, attempt: at.attempt };
}

function isSound(draft: Drafted): draft is RunEnded | (DraftReceipt & { readonly problems: readonly [] }) {
  return draft.kind === "ended" || draft.problems.length === 0;
}

/** A refusal or a length tells of what was sent, and the next draft may do better. */
function isAboutSource(error: unknown): boolean {
  return error instanceof Error && error.message.includes(SOURCE_FAULT);
}

/**
 * Pausing or stopping an instance surfaces inside run() as an error. It says nothing about the summariser, and whatever
 * were done after it would be lost: the engine runs this again from its kept results.
 */
function isEngineStopping(error: unknown): boolean {
  return error instanceof Error && /^(?:\w*Error: )?Aborting engine/.test(error.message);
}
