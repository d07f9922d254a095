/** Selects models by environment variables, without code. It has every provider, and a Workflow that chooses among them. */
import { chooseModel, type ModelEnv } from "./choose.ts";
import type { ModelRequest, SummaryModel } from "../model/chosen.ts";
import { CompactionWorkflow as Compaction } from "../workflows/workflow.ts";

export { chooseModel, type ModelEnv } from "./choose.ts";

export class CompactionWorkflow extends Compaction {
  protected override model({ choice }: ModelRequest): SummaryModel {
    return chooseModel(this.env as ModelEnv, choice);
  }
}
