/** The chat example as it is, with a record of what its model was sent. */
import type { LanguageModelV4, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { callable } from "agents";
import { wrapLanguageModel, type LanguageModel } from "ai";
import type { Session } from "palimpsest";
import { ChatAgent as Example } from "../../examples/chat/worker.ts";

export { default, CompactionWorkflow, SplitWorkflow } from "../../examples/chat/worker.ts";

export class ChatAgent extends Example {
  #received: LanguageModelV4Prompt[] = [];

  /** Prompts since this was last asked, refused ones included. */
  @callable()
  received(): LanguageModelV4Prompt[] {
    return this.#received.splice(0);
  }

  protected override model(session: Session): LanguageModel {
    return wrapLanguageModel({
      model: super.model(session) as LanguageModelV4,
      middleware: {
        specificationVersion: "v4",
        wrapStream: ({ doStream, params }) => {
          this.#received.push(structuredClone(params.prompt));
          return doStream();
        },
      },
    });
  }
}
