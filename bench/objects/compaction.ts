/** Our workflow with the summariser that its agent's name asks for. See setting.ts. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { AgentWorkflowEvent, AgentWorkflowStep } from "agents/workflows";
import type { Finished } from "../../src/memory/runs/runs.ts";
import type { ChosenModel } from "../../src/model/chosen.ts";
import { CompactionWorkflow as RealCompaction, type CompactionParams } from "../../src/workflows/workflow.ts";
import type { SummariserName, Terms } from "../policies/host.ts";
import { summarise } from "../policies/summariser.ts";
import { continuing } from "./agent-model.ts";
import { answeringModel } from "./answering-model.ts";
import { readSetting } from "./setting.ts";
import { Summariser } from "./summariser.ts";

/** Tokens, unless the name says `window`. Chunks are then bounded by their own limit. */
const WINDOW = 128_000;

type Event = AgentWorkflowEvent<CompactionParams>;

export class CompactionWorkflow extends RealCompaction {
  #agent = "";

  protected override model(): ChosenModel {
    return chooseModel(this.#agent);
  }

  override async run(event: Event, step: AgentWorkflowStep): Promise<Finished> {
    this.#agent = event.payload.agent.name;
    return super.run(event, step);
  }
}

/** A model with one answer for everything (summariser.ts), unless the name asks for a summariser of a comparison. */
function chooseModel(agent: string): ChosenModel {
  const summariser = readSetting(agent, "summariser") as SummariserName | null;
  if (summariser === null) {
    const windowTokens = Number(readSetting(agent, "window") ?? WINDOW);
    return { model: new Summariser(agent).asModel(), name: "bench", windowTokens };
  }
  const seed = Number(readSetting(agent, "seed") ?? 0);
  const name = `bench:${summariser}-${seed}`;
  const chosen = { model: comparedModel({ summariser, seed }), name, windowTokens: WINDOW };
  if (readSetting(agent, "behind") === null) return chosen;
  return { ...chosen, continues: continuing({ summariser, seed }, WINDOW) };
}

function comparedModel(terms: Pick<Terms, "summariser" | "seed">): LanguageModelV4 {
  return answeringModel(terms.summariser, (prompt, system) => summarise(prompt, system));
}
