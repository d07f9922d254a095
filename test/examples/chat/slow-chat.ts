/** The AIChatAgent example with a summariser that answers only after the person had a whole turn meanwhile. */
import { Chat as Example, CompactionWorkflow as Base } from "../../../examples/ai-chat/worker.ts";
import type { ModelRequest, SummaryModel } from "palimpsest";

export { default } from "../../../examples/ai-chat/worker.ts";

/**
 * A turn that began behind the question has ended when the next one begins. A question that a person's message raises is asked before its own
 * turn counts as begun, so there is one more.
 */
const TURNS = 3;
/** With this word the person leaves, and no further turn comes. */
const GOODBYE = "Goodbye";
/** Longer than any turn of a busy machine (ms). */
const LONGEST_MS = 60_000;
const LOOK_MS = 20;

/** Counted here, because objects and Workflows of a local Worker share its modules. */
const turns = { begun: 0 };

export class Chat extends Example {
  override async onChatMessage(...args: Parameters<Example["onChatMessage"]>) {
    turns.begun += JSON.stringify(this.messages.at(-1)).includes(GOODBYE) ? Infinity : 1;
    return super.onChatMessage(...args);
  }
}

export class CompactionWorkflow extends Base {
  protected override async model(request: ModelRequest): Promise<SummaryModel> {
    const until = turns.begun + TURNS;
    for (let waited = 0; turns.begun < until && waited < LONGEST_MS; waited += LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return super.model(request);
  }
}
