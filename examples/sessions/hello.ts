/** Talks to the agent until a summary stands in its session: `npm run hello`, while `npm start` runs. */
import { AgentClient } from "agents/client";

interface Chat {
  say(text: string): Promise<{ sent: number; summaries: number }>;
}

const host = process.argv[2] ?? "localhost:8787";
const agent = new AgentClient({ agent: "chat", name: crypto.randomUUID(), host });
const chat = agent.stub as unknown as Chat;

const text = "We agreed to keep the ledger in one table, and to name a run after its session. ".repeat(60);
for (let n = 1; n <= 200; n++) {
  const { sent, summaries } = await chat.say(`${n}: ${text}`);
  console.log(`said ${n}, a model would be sent ${sent} messages, ${summaries} summaries among them`);
  if (summaries > 0) break;
  await new Promise((resolve) => setTimeout(resolve, 100));
}
agent.close();
