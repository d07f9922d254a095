import { AgentClient } from "agents/client";
import type { ClientOf } from "palimpsest/client";
import type { ChatAgent } from "./worker.ts";

const host = process.argv[2] ?? "localhost:8787";
const agent = new AgentClient<ClientOf<ChatAgent>>({ agent: "ChatAgent", name: "ada", host });

const text = "We agreed to keep the ledger in one table, and to name a run after its session. ".repeat(200);
for (let n = 1; n <= 20; n++) console.log(`said ${n}, view: ${await agent.stub.say(`${n}: ${text}`)} tokens`);

for (;;) {
  const [run] = await agent.stub.runs();
  if (run?.outcome) {
    const why = "reason" in run.outcome ? ` (${run.outcome.reason})` : "";
    console.log(`compacted: ${run.outcome.kind}${why}, view: ${(await agent.stub.status()).viewTokens} tokens`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}
agent.close();
