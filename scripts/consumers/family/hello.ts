/** Talks to each agent of the family until all were compacted, and the schedules of their own ran. */
import { AgentClient } from "agents/client";
import type { ClientOf } from "palimpsest/client";
import type { Other, Root } from "./worker.ts";

const host = process.argv[2] ?? "localhost:8787";
const root = new AgentClient<ClientOf<Root>>({ agent: "Root", name: "ada", host });
const other = new AgentClient<ClientOf<Other>>({ agent: "Other", name: "ada", host });

const text = "We agreed to keep the ledger in one table, and to name a run after its session. ".repeat(200);
for (let n = 1; n <= 20; n++) {
  await Promise.all([
    root.stub.say(`${n}: ${text}`),
    root.stub.sayToChild(`${n}: ${text}`),
    other.stub.say(`${n}: ${text}`),
  ]);
}
for (;;) {
  const [own, others, told] = await Promise.all([root.stub.runs(), other.stub.runs(), root.stub.told()]);
  const outcomes = [own[0]?.outcome?.kind, others[0]?.outcome?.kind, told.child[0]];
  if (outcomes.every((kind) => kind !== undefined) && told.ticks > 0 && told.alarms > 0) {
    console.log(
      `compacted: ${outcomes.join(", ")}; started ${told.started}, ticks ${told.ticks}, alarms ${told.alarms}`,
    );
    process.exit(outcomes.every((kind) => kind === "applied") && told.started === 1 ? 0 : 1);
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}
