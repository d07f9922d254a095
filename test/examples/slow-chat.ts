/** The AIChatAgent example with a summariser that takes its time, so that several turns fall into one run. */
import { CompactionWorkflow as Base } from "../../examples/ai-chat/worker.ts";
import type { ModelRequest, SummaryModel } from "palimpsest";

export { Chat, default } from "../../examples/ai-chat/worker.ts";

const MODEL_MS = 2_000;

export class CompactionWorkflow extends Base {
  protected override async model(request: ModelRequest): Promise<SummaryModel> {
    await new Promise((resolve) => setTimeout(resolve, MODEL_MS));
    return super.model(request);
  }
}
