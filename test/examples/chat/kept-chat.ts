/** The AIChatAgent example that keeps as few messages as Cloudflare's starter does, in conversations whose name says so. */
import { Chat as Example } from "../../../examples/ai-chat/worker.ts";

export { CompactionWorkflow, default } from "../../../examples/ai-chat/worker.ts";

export class Chat extends Example {
  override maxPersistedMessages = this.name.startsWith("keeps") ? 100 : undefined;
}
