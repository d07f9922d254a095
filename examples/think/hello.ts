/** Talks to the agent until its conversation was compacted: `npm run hello`, while `npm start` runs. */
import { AgentClient } from "agents/client";
import type { CompactionClient } from "palimpsest";

const host = process.argv[2] ?? "localhost:8787";
const name = crypto.randomUUID();
const agent = new AgentClient({ agent: "chat", name, host });
const calls = agent.stub as unknown as CompactionClient;

interface Message {
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

for (let n = 1; n <= 60 && (await calls.runs()).length === 0; n++) {
  await say(`track ${n}. ${"It matters to the ledger. ".repeat(20)}`);
  const text = (await load()).at(-1)?.parts.findLast(({ type }) => type === "text")?.text ?? "";
  console.log(`asked about parcel ${n}: ${text.slice(-40)}`);
}
while ((await calls.liveRuns()).length > 0) await new Promise((resolve) => setTimeout(resolve, 200));
const [run] = await calls.runs();
const messages = await load();
console.log(`compacted: ${run?.outcome?.kind}, view: ${(await calls.status()).viewTokens} tokens`);
console.log(`the person still sees all ${messages.length} messages`);
agent.close();

/** What a person's page shows. */
async function load(): Promise<Message[]> {
  const response = await fetch(`http://${host}/agents/chat/${name}/get-messages`);
  return (await response.json()) as Message[];
}

/** Sends the conversation with one more message, as `useAgentChat` does, and waits for the answer. */
async function say(text: string): Promise<void> {
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const id = crypto.randomUUID();
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  const heard = ({ data }: MessageEvent): void => {
    const frame = JSON.parse(String(data)) as { type: string; id?: string; done?: boolean };
    if (frame.type === "cf_agent_use_chat_response" && frame.id === id && frame.done === true) resolve();
  };
  agent.addEventListener("message", heard);
  const body = JSON.stringify({ messages: [...(await load()), message], trigger: "submit-message" });
  agent.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }));
  await answered;
  agent.removeEventListener("message", heard);
}
