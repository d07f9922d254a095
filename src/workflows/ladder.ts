/**
 * The ladder of one draft. The rungs are a model, one repair that names the problems, smaller parts, the next model, and a summary that
 * needs no model. For notes, the last rung keeps the version before.
 *
 * Each rung is a durable step with its own retries. The last one cannot fail, so a summariser never blocks a run.
 */
import type { WorkflowStepConfig, WorkflowStep } from "cloudflare:workers";
import type { ChosenModel } from "../model/chosen.ts";
import { MAX_WASTED_CALLS, MODEL_RETRY_DELAY } from "../limits.ts";
import { isAgentFault } from "./agent-stub.ts";
import { SOURCE_FAULT, Unsent, type Drafted } from "./draft.ts";
import type { DraftReceipt, StepMark } from "./port.ts";

/** A call to the agent is short. It gets many tries, because a reset or a deploy makes the agent unreachable for seconds. */
export const AGENT_CALL = {
  retries: { limit: 8, delay: "1 second", backoff: "exponential" },
  timeout: "1 minute",
} as const satisfies WorkflowStepConfig;

/**
 * A call to a model is slow. Quota, auth and refusal errors are not retried, because they throw a NonRetryableError. A model that fails uses
 * up {@link MODEL_RETRIES}. The step has more tries, because each of them also calls the agent, which may be away.
 */
export const MODEL_CALL = {
  retries: { limit: 8, delay: MODEL_RETRY_DELAY, backoff: "exponential" },
  timeout: "5 minutes",
} as const satisfies WorkflowStepConfig;

/** The engine's description of the current step and attempt. */
interface Attempt {
  readonly step: { readonly name: string };
  readonly attempt: number;
}

export interface Rungs {
  /** The first rung's step name. */
  readonly name: string;
  /** What the other rungs' step names say behind their verb, with a blank before it. It tells the drafts of one run apart. */
  readonly label: string;
  /** Verb of the last rung. */
  readonly last: "extract" | "keep";
  draft(mark: StepMark, model: ChosenModel): Promise<Drafted>;
  repair(mark: StepMark, model: ChosenModel, rejected: DraftReceipt): Promise<Drafted>;
  /**
   * The last rung, which asks no model. Notes have no such summary. Without a sound answer the rung ends the run, and the version
   * before stays.
   */
  extract(mark: StepMark): Promise<Drafted>;
}

/**
 * The models of one run in the order of asking, with the state of each.
 *
 * A model is not asked again in this run once a draft got no answer in all its tries, or several answers could not be used. A summariser
 * that is down thus costs a handful of calls, whatever the number of chunks. A replay asks again under the same step names and gets the
 * results that the engine kept.
 */
export class Asked {
  readonly models: readonly ChosenModel[];
  readonly #down: Set<string>;
  readonly #wasted = new Map<string, number>();

  constructor(first: ChosenModel, resting: readonly string[]) {
    this.models = first.fallback === undefined ? [first] : [first, first.fallback];
    this.#down = new Set(resting);
  }

  isWorthAsking({ name }: ChosenModel): boolean {
    return !this.#down.has(name) && (this.#wasted.get(name) ?? 0) < MAX_WASTED_CALLS;
  }

  gaveNoAnswer({ name }: ChosenModel): void {
    this.#down.add(name);
  }

  gaveNothingOfUse({ name }: ChosenModel): void {
    this.#wasted.set(name, (this.#wasted.get(name) ?? 0) + 1);
  }
}

/** Returns the result of the first rung that holds. `smaller`, where given, is tried between the first model and the next. */
export async function climbDown<Smaller>(
  step: WorkflowStep,
  rungs: Rungs & { readonly asked: Asked; smaller?: () => Promise<Smaller | null> },
): Promise<Drafted | Smaller> {
  const { asked, name, label, last, smaller } = rungs;
  for (const [index, model] of asked.models.entries()) {
    if (!asked.isWorthAsking(model)) continue;
    const answered = await askModel(
      step,
      model,
      index === 0 ? rungs : { ...rungs, name: `${name} · ${model.name}`, label: `${label} · ${model.name}` },
    );
    if (answered !== null) return answered;
    const parts = index === 0 && asked.isWorthAsking(model) ? await smaller?.() : null;
    if (parts != null) return parts;
  }
  return step.do(`${last}${label}`, AGENT_CALL, (at) => rungs.extract(markOf(at)));
}

/** Returns null when no answer of the model was sound. */
async function askModel(
  step: WorkflowStep,
  model: ChosenModel,
  { name, label, asked, ...rungs }: Rungs & { readonly asked: Asked },
): Promise<Drafted | null> {
  let first: Drafted | null = null;
  try {
    first = await step.do(
      name,
      MODEL_CALL,
      resuming((mark) => rungs.draft(mark, model)),
    );
    if (first.kind === "ended" || isFaultless(first)) return first;
    const refused = first;
    const repaired = await step.do(
      `repair${label}`,
      MODEL_CALL,
      resuming((mark) => rungs.repair(mark, model, refused)),
    );
    if (repaired.kind === "ended") return repaired;
    const best = better(first, repaired);
    if (best === null) asked.gaveNothingOfUse(model);
    return best;
  } catch (error) {
    // An agent that is away says nothing about the model. The instance fails, and the agent's watchdog restarts it. It finds the stored
    // drafts.
    if (isEngineStopping(error) || isAgentFault(error)) throw error;
    if (isAboutSource(error)) asked.gaveNothingOfUse(model);
    else asked.gaveNoAnswer(model);
    return first?.kind === "draft" && isSound(first) ? first : null;
  }
}

/** A step's work. Its next try goes on from what the last one could not tell the agent. */
function resuming(work: (mark: StepMark) => Promise<Drafted>): (at: Attempt) => Promise<Drafted> {
  let resume: (() => Promise<Drafted>) | null = null;
  return async (at) => {
    try {
      return await (resume ?? (() => work(markOf(at))))();
    } catch (error) {
      resume = error instanceof Unsent ? error.resume : null;
      throw error;
    }
  };
}

export function markOf(at: Attempt): StepMark {
  return { step: at.step.name, attempt: at.attempt };
}

/** A summary. What it names without a source is marked where a repair did not put it right. */
function isSound({ problems }: DraftReceipt): boolean {
  return problems.every(({ kind }) => kind === "unfounded");
}

function isFaultless({ problems }: DraftReceipt): boolean {
  return problems.length === 0;
}

/** Returns the better sound draft of two, or null when neither is sound. */
function better(first: DraftReceipt, second: DraftReceipt): DraftReceipt | null {
  if (isSound(second)) return second;
  return isSound(first) ? first : null;
}

/** A refusal or a length error depends on the source, so the next draft may do better. */
function isAboutSource(error: unknown): boolean {
  return error instanceof Error && error.message.includes(SOURCE_FAULT);
}

/**
 * A paused or stopped instance surfaces inside run() as an error. It says nothing about the summariser. Work after it would be lost,
 * because the engine runs this again from the results that it kept.
 */
export function isEngineStopping(error: unknown): boolean {
  return error instanceof Error && /^(?:\w*Error: )?Aborting engine/.test(error.message);
}
