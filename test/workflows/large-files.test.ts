/** Files and data are not counted by their bytes, so those of one chunk may exceed the 32 MiB that RPC takes. */
import type { UIMessage } from "ai";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { settle } from "../agent/runs.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";

skipRetryDelays();

const BYTES = 12_000_000;

/** Messages of which three together exceed what RPC takes. */
function withFiles(messages: readonly UIMessage[]): UIMessage[] {
  return messages.map((message, at) =>
    at < 4 || at > 6
      ? message
      : { ...message, parts: [...message.parts, { type: "data-page", data: String(at).repeat(BYTES) }] },
  );
}

test("a chunk whose files exceed what RPC takes is summarised", async () => {
  const { agent } = newAgent();
  for (const message of withFiles(talk(0, 20))) await agent.appendAll({ messages: [message] });
  const runs = await settle(agent, "");
  expect(runs[0]?.outcome).toMatchObject({ kind: "applied" });
});

test("a view that RPC does not take is refused with advice, and the agent itself reads it", async () => {
  const { agent, stub } = newAgent();
  const sessionId = "all!1000000";
  for (const message of withFiles(talk(0, 8))) await agent.appendAll({ sessionId, messages: [message] });
  for (const read of [() => agent.getView({ sessionId }), () => agent.getHistory({ sessionId, leafId: null })]) {
    expect(await refusalOf(async () => read())).toMatch(/^\[too_large\] The answer takes 35 MiB.*getRecentHistory/);
  }
  await runInDurableObject(stub, async (object) => {
    const view = await Session.create(object).forSession(sessionId).getView();
    expect(view.messages).toHaveLength(8);
  });
  const { messages } = await agent.getRecentHistory({ sessionId, maxBytes: 1_000_000 });
  expect(messages.map(({ id }) => id)).toEqual(["m7"]);
});
