/** The Worker under test: the example's own, with a summariser that says what a test tells it to. */
import { CompactionWorkflow as Base, type ModelRequest, type SummaryModel } from "palimpsest";
import { scriptedModel } from "palimpsest/testing";

export { ChatAgent, default } from "../worker.ts";

export class CompactionWorkflow extends Base {
  protected override model(request: ModelRequest): SummaryModel {
    return scriptedModel(request);
  }
}
