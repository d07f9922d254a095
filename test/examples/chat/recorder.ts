/** The chat example with a record of its model's prompts. */
import type { FullSession } from "../../rooms.ts";
import type { LanguageModelV4, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { callable } from "agents";
import { wrapLanguageModel, type LanguageModel } from "ai";
import { ChatAgent as Example } from "../../../examples/chat/worker.ts";

export { default, CompactionWorkflow } from "../../../examples/chat/worker.ts";

const isDown = async (): Promise<never> => {
  throw new Error("The bucket is down.");
};
const downBucket = { list: isDown, get: isDown, head: isDown, put: isDown } as unknown as R2Bucket;

export class ChatAgent extends Example {
  #received: LanguageModelV4Prompt[] = [];

  /** The agent that is called "outage" has a bucket that is down. */
  constructor(ctx: DurableObjectState, env: ConstructorParameters<typeof Example>[1]) {
    super(ctx, ctx.id.name === "outage" ? { ...env, SKILLS: downBucket } : env);
  }

  /** Prompts since the last call of this, refused ones included. */
  @callable()
  received(): LanguageModelV4Prompt[] {
    return this.#received.splice(0);
  }

  #callsToSplit = 0;

  @callable()
  splitAt(calls: number): void {
    this.#callsToSplit = calls;
  }

  protected override model(session: FullSession): LanguageModel {
    return wrapLanguageModel({
      model: super.model(session) as LanguageModelV4,
      middleware: {
        specificationVersion: "v4",
        wrapStream: async ({ doStream, params }) => {
          this.#received.push(structuredClone(params.prompt));
          if (this.#callsToSplit > 0 && --this.#callsToSplit === 0) await this.#split();
          return doStream();
        },
      },
    });
  }

  async #split(): Promise<void> {
    const { run } = await this.sessions.compactAndSplit("");
    await this.sessions.getSession("").ended(run.id);
  }
}
