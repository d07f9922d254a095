/** Names that compaction adds to a class of the SDK. None of them exists there already. */
import { AIChatAgent } from "@cloudflare/ai-chat";
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { Agent } from "agents";
import { expect, test } from "vitest";
import { tableOf } from "../../src/agent/calls.ts";
import { DEFAULT_CLIENTS, ClientAccess } from "../../src/agent/clients.ts";
import { withCompaction as withPlainCompaction } from "../../src/agent/compacting-agent.ts";
import { withCompaction } from "../../src/ai-chat/with-compaction.ts";
import { talk } from "../conversation.ts";
import { inside, namesOf, newChat } from "./chat.ts";

/** As far as a front door can tell. Think has a method of AIChatAgent, too. */
class ThinkLike extends Agent {
  saveMessages(): void {}
  getModel(): void {}
  configureSession(): void {}
  beforeTurn(): void {}
  beforeStep(): void {}
}

/** An AIChatAgent of a version that kept its messages in a table of its own. */
class OlderChat extends Agent {
  onChatMessage(): void {}
  persistMessages(): void {}
  saveMessages(): void {}
}

/** An AIChatAgent of a later version, without a method that it had. */
class LaterChat extends Agent {
  onChatMessage(): void {}
  persistMessages(): void {}
}

const ADDED = ["palimpsest", "compactionStep", "watchCompactions", "compacted", "compaction"];
const TABLE = tableOf([]);
const OPEN = Object.keys(TABLE).filter((name) => new ClientAccess(DEFAULT_CLIENTS, TABLE).opens(name));

test("no name that compaction adds is a name of Agent or AIChatAgent, of the class or of an object", async () => {
  const taken = new Set([...namesOf(Agent.prototype), ...namesOf(AIChatAgent.prototype)]);
  const stub = env.StockChat.get(env.StockChat.idFromName("names"));
  await runInDurableObject(stub, (agent) => namesOf(agent).forEach((name) => taken.add(name)));
  expect(taken.size).toBeGreaterThan(100);
  expect([...ADDED, ...OPEN].filter((name) => taken.has(name))).toEqual([]);
});

test("a chat has five names more than AIChatAgent, and the calls that were opened", async () => {
  const { name } = newChat();
  const stock = await runInDurableObject(env.StockChat.get(env.StockChat.idFromName("more")), (agent) =>
    namesOf(agent),
  );
  const ours = await inside(name, (agent) => namesOf(agent));
  const added = [...ours].filter((each) => !stock.has(each) && each !== "onChatMessage");
  expect(added.toSorted()).toEqual([...ADDED, ...OPEN].toSorted());
});

test("a class that keeps no messages, and one that does given to the other door, are refused with the way to go", () => {
  expect(() => withCompaction(class extends Agent {} as never)).toThrow(
    /invalid_options.*withCompaction of palimpsest\./,
  );
  expect(() => withCompaction(undefined as never)).toThrow(/invalid_options/);
  expect(() => withPlainCompaction(AIChatAgent as never)).toThrow(/invalid_options.*palimpsest\/ai-chat/);
  expect(() => withPlainCompaction(ThinkLike as never)).toThrow(/invalid_options.*palimpsest\/think/);
  expect(() => withCompaction(ThinkLike as never)).toThrow(/invalid_options.*palimpsest\/think/);
  expect(() => withCompaction(AIChatAgent, { clients: ["nobody"] as never })).toThrow(/invalid_options.*nobody/);
});

test("a class that has compaction is not given it again, because two would write to one storage", () => {
  class Plain extends withPlainCompaction(Agent) {}
  class Chat extends withCompaction(AIChatAgent) {}
  const refused = /invalid_options.*has compaction already/;
  expect(() => withPlainCompaction(Plain)).toThrow(refused);
  expect(() => withCompaction(Chat as never)).toThrow(refused);
});

test("a base class that keeps its messages elsewhere than in agents/sessions is not_configured, and told the way to go", async () => {
  const stub = env.StockChat.get(env.StockChat.idFromName("older"));
  const refused = await runInDurableObject(stub, (_agent, ctx) => {
    const Older = withCompaction(OlderChat as unknown as typeof AIChatAgent);
    try {
      return new Older(ctx, env).constructor.name;
    } catch (error) {
      return String(error);
    }
  });
  expect(refused).toMatch(/\[not_configured\] This AIChatAgent .*agents\/sessions.*peer dependencies/);
});

test("clients as a static member of a chat is refused with the place where it counts, and never ignored", async () => {
  const stub = env.StockChat.get(env.StockChat.idFromName("static"));
  const refused = await runInDurableObject(stub, (_agent, ctx) => {
    class Closed extends withCompaction(AIChatAgent) {
      static readonly clients = "none";
    }
    try {
      return new Closed(ctx, env).constructor.name;
    } catch (error) {
      return String(error);
    }
  });
  expect(refused).toMatch(/\[invalid_options\] .*withCompaction\(AIChatAgent, \{ clients/);
});

test("a base class that was upgraded and lost a hook is refused, and the lost one is named", () => {
  expect(() => withCompaction(LaterChat as unknown as typeof AIChatAgent)).toThrow(
    /invalid_options.*no saveMessages: @cloudflare\/ai-chat has changed/,
  );
});

test("an optional room adds its methods to the session and, of its calls, what was opened to the class", async () => {
  const stub = env.RoomyChat.get(env.RoomyChat.idFromName("roomy"));
  await runInDurableObject(stub, async (agent) => {
    for (const message of talk(0, 3)) await agent.sessions.session().appendMessage(message);
    const lines = await Array.fromAsync(agent.palimpsest.session().exportTranscript());
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(talk(0, 3));
    expect(await agent.exportTranscript()).toBe(lines.join(""));
    expect("importTranscript" in agent).toBe(false);
    await expect(agent.palimpsest.session().importTranscript(lines.join(""))).rejects.toThrow(/host_owns_messages/);
  });
});
