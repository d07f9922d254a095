/** Models by environment variables, for who wants to set one without code: every provider, and Workflows that choose among them. */
import { chooseModel, type ModelEnv } from "./model/choose.ts";
import type { ChosenModel } from "./model/chosen.ts";
import { CompactionWorkflow as Compaction } from "./workflows/compaction.ts";
import { NotesWorkflow as Notes } from "./workflows/notes.ts";
import { SplitWorkflow as Split } from "./workflows/split.ts";

export { chooseModel, type ModelEnv } from "./model/choose.ts";

export class CompactionWorkflow extends Compaction {
  protected override model(): ChosenModel {
    return chooseModel(this.env as ModelEnv);
  }
}

export class NotesWorkflow extends Notes {
  protected override model(): ChosenModel {
    return chooseModel(this.env as ModelEnv);
  }
}

export class SplitWorkflow extends Split {
  protected override model(): ChosenModel {
    return chooseModel(this.env as ModelEnv);
  }
}
