/** The agent as a client of its WebSocket sees it, with typed calls and the events of its runs. */
import type { UIMessage } from "ai";
import { AgentClient } from "agents/client";
import { RUN_EVENT, type RunEvent } from "../../src/agent/events.ts";
import type { SessionStatus } from "../../src/agent/sessions/session.ts";
import type { AppendResult } from "../../src/memory/messages/history.ts";
import type { View } from "../../src/memory/messages/visible.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";

interface Calls {
  append(input: { sessionId: string; message: UIMessage }): AppendResult;
  appendAll(input: { sessionId: string; messages: readonly UIMessage[] }): AppendResult[];
  getMessage(input: { sessionId: string; id: string }): UIMessage | null;
  getView(input: { sessionId: string; asOf?: string; apart?: boolean }): View;
  status(input: { sessionId: string }): SessionStatus;
  runs(input: { sessionId: string; limit?: number }): RunRecord[];
  getRun(input: { runId: string }): RunRecord;
  waitForRun(input: { runId: string; timeoutMs?: number }): RunRecord;
  getCompactions(input: { sessionId: string }): OverlayRecord[];
}

export class DemoAgent {
  readonly #client: AgentClient;

  private constructor(client: AgentClient) {
    this.#client = client;
  }

  static async connect(url: string, onRun: (event: RunEvent) => void): Promise<DemoAgent> {
    const client = new AgentClient({
      agent: "palimpsest-agent",
      name: "demo",
      host: new URL(url).host,
      protocol: "ws",
    });
    client.addEventListener("message", (message: MessageEvent) => {
      const event = parseEvent(message.data);
      if (event !== null) onRun(event);
    });
    await client.ready;
    return new DemoAgent(client);
  }

  async call<Name extends keyof Calls>(
    name: Name,
    input: Parameters<Calls[Name]>[0],
  ): Promise<ReturnType<Calls[Name]>> {
    return this.#client.call<ReturnType<Calls[Name]>>(name, [input], { timeout: 120_000 });
  }

  close(): void {
    this.#client.close();
  }
}

function parseEvent(data: unknown): RunEvent | null {
  if (typeof data !== "string" || !data.includes(RUN_EVENT)) return null;
  const parsed = JSON.parse(data) as { type?: string };
  return parsed.type === RUN_EVENT ? (parsed as RunEvent) : null;
}
