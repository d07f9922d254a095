/** The chat example over the SDK's own client, and the prompts of its model. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { AgentClient } from "agents/client";
import type { UIMessage } from "ai";
import { onTestFinished } from "vitest";
import type { TestHarness } from "wrangler";
import type { CompactionClient, ModelUsage } from "palimpsest";
import type { CLIENTS } from "../../../examples/chat/worker.ts";

export interface Reply {
  readonly id: string;
  readonly text: string;
  readonly sessionId: string;
}

/** The agent's calls that these tests use. */
export interface Chat extends CompactionClient<typeof CLIENTS> {
  chat(text: string, sessionId?: string): Promise<Reply>;
  regenerate(messageId: string, sessionId?: string): Promise<Reply>;
  refreshPrompt(sessionId?: string): Promise<string>;
  usage(sessionId?: string): Promise<ModelUsage[]>;
}

/** The additional calls of the agent in chat-recorder.ts. */
export interface RecordedChat extends Chat {
  /** Prompts of the model since the last call of this, refused ones included. */
  received(): Promise<LanguageModelV4Prompt[]>;
  /** Splits the default conversation before the model's `calls`th call from now. */
  splitAt(calls: number): Promise<void>;
}

/** Calls one agent over a WebSocket, until the test ends. */
export async function connect<Known extends Chat = Chat>(server: TestHarness, name: string): Promise<Known> {
  const { url } = await server.listen();
  const client = new AgentClient({ agent: "chat-agent", name, host: url.host });
  onTestFinished(() => client.close());
  return client.stub as unknown as Known;
}

/** The whole active branch as stored, oldest first, with the messages under summaries. */
export async function storedMessages(chat: Chat, sessionId = ""): Promise<UIMessage[]> {
  const newest = (await chat.getView({ sessionId })).elements.at(-1);
  const messages: UIMessage[] = [];
  let id = newest?.kind === "overlay" ? newest.span.toId : (newest?.id ?? null);
  while (id !== null) {
    const message = await chat.getMessage({ id, sessionId });
    if (message === null) throw new Error(`Message "${id}" is in the view and not stored.`);
    messages.unshift(message);
    id = await chat.getParent({ id, sessionId });
  }
  return messages;
}

export function pagesRead(message: UIMessage | null): number[] {
  return (message?.parts ?? []).flatMap((part) =>
    part.type === "tool-read_log" && "output" in part ? [(part.output as { page: number }).page] : [],
  );
}
