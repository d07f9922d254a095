/** A person at an example's chat, who speaks over a WebSocket as `useAgentChat` does. */
import { AgentClient } from "agents/client";
import type { UIMessage } from "ai";

interface Frame {
  readonly type: string;
  readonly id?: string;
  readonly done?: boolean;
}

export class Person {
  readonly agent: AgentClient;
  readonly #url: string;

  /** The examples' agents are called `chat`. */
  constructor(host: string, name: string, agent = "chat") {
    this.#url = `http://${host}/agents/${agent}/${name}`;
    this.agent = new AgentClient({ agent, name, host });
  }

  /** What the person's page shows. */
  async load(): Promise<UIMessage[]> {
    const response = await fetch(`${this.#url}/get-messages`);
    return response.json<UIMessage[]>();
  }

  /** Sends the whole conversation with the new message, and waits until the answer is done. */
  async say(text: string): Promise<void> {
    await this.ask({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] }, await this.load());
  }

  /** Sends a message behind what the page shows. Resolves when the answer is done. */
  ask(message: UIMessage, shown: readonly UIMessage[]): Promise<void> {
    const id = crypto.randomUUID();
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const heard = ({ data }: MessageEvent): void => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.type !== "cf_agent_use_chat_response" || frame.id !== id || frame.done !== true) return;
      this.agent.removeEventListener("message", heard);
      resolve();
    };
    this.agent.addEventListener("message", heard);
    const body = JSON.stringify({ messages: [...shown, message], trigger: "submit-message" });
    this.agent.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
    return answered;
  }

  leave(): void {
    this.agent.close();
  }
}
