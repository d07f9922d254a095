/** Models by environment variables, for who wants to set one without code: every provider, and Workflows that choose among them. */
import { chooseModel, type ModelEnv } from "./model/choose.ts";
import type { ModelRequest, SummaryModel } from "./model/chosen.ts";
import { CompactionWorkflow as Compaction } from "./workflows/compaction.ts";
import { NotesWorkflow as Notes } from "./workflows/notes.ts";
import { SplitWorkflow as Split } from "./workflows/split.ts";

export { chooseModel, type ModelEnv } from "./model/choose.ts";

export class CompactionWorkflow extends Compaction {
  protected override model({ choice }: ModelRequest): SummaryModel {
    return chooseModel(this.env as ModelEnv, choice);
  }
}

export class NotesWorkflow extends Notes {
  protected override model({ choice }: ModelRequest): SummaryModel {
    return chooseModel(this.env as ModelEnv, choice);
  }
}

export class SplitWorkflow extends Split {
  protected override model({ choice }: ModelRequest): SummaryModel {
    return chooseModel(this.env as ModelEnv, choice);
  }
}
