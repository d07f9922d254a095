/**
 * The one Workflow class. An instance is one run, and the run's kind selects its line of durable steps.
 *
 * An instance is named after its run, and a run's id begins with its kind. A list of instances thus shows the kind of each.
 */
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import { PalimpsestError } from "../errors.ts";
import type { Finished, RunRecord } from "../memory/runs/runs.ts";
import { checkModel, withoutModel, type ChosenModel, type ModelRequest, type SummaryModel } from "../model/chosen.ts";
import { classifyError } from "../model/failures.ts";
import { openPort, outcomeWithoutAgent, type AgentLocation } from "./agent-stub.ts";
import { markOf, AGENT_CALL } from "./ladder.ts";
import { runStepsOf } from "./run-steps.ts";
import type { CompactionPort, RunEnded } from "./port.ts";

/** What an instance of the Workflow is created with. The agent makes it. */
export interface CompactionParams {
  readonly runId: string;
  readonly kind: RunRecord["kind"];
  readonly agent: AgentLocation;
  /** Name of the model that the session chose. */
  readonly model?: string;
}

/**
 * This is not the SDK's AgentWorkflow. The SDK's class asks the agent before its first step, where nothing is retried, and keeps a stub
 * that a reset of the agent kills.
 */
export class CompactionWorkflow extends WorkflowEntrypoint<Cloudflare.Env, CompactionParams> {
  /**
   * Returns the summariser. Override it to bring your own model. Each replay of a run calls it again, and an error that it throws fails the
   * run.
   */
  protected model({ choice }: ModelRequest): SummaryModel | Promise<SummaryModel> {
    if (choice === null) return withoutModel();
    throw new PalimpsestError(
      "not_configured",
      `A session asks for the model "${choice}", and this Workflow has none: override model() of ${this.constructor.name}.`,
    );
  }

  /** Returns the run's checked models, or the run's outcome when there is no model. */
  async #models(params: CompactionParams, step: WorkflowStep, port: CompactionPort): Promise<ChosenModel | RunEnded> {
    try {
      const { runId, agent, model: choice = null } = params;
      return checkModel(await this.model({ choice, runId, agentName: agent.path?.at(-1)?.name ?? agent.name }));
    } catch (error) {
      return step.do("refuse the model", AGENT_CALL, (at) => port.end(markOf(at), classifyError(error).reason));
    }
  }

  override async run({ payload }: WorkflowEvent<CompactionParams>, step: WorkflowStep): Promise<Finished> {
    try {
      const port = openPort(this.env, payload.agent, payload.runId);
      const model = await this.#models(payload, step, port);
      if ("outcome" in model) return model.outcome;
      const { outcome } = await runStepsOf(payload.kind)(step, model, port);
      return outcome;
    } catch (error) {
      const outcome = outcomeWithoutAgent(error);
      if (outcome === null) throw error;
      return outcome;
    }
  }
}
