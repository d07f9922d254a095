/** The Agents SDK's sessions of version 0.32, `agents/sessions` and `agents/context`. */
import { Agent, type AgentContext } from "agents";
import { truncateOlderMessages } from "agents/chat";
import { AgentContextProvider, ContextBlocks, type ContextConfig } from "agents/context";
import { createCompactFunction, Sessions } from "agents/sessions";
import type { UIMessage } from "ai";
import { Meter } from "../../objects/meter.ts";
import { Desk, keepSummariser, type DeskMethods } from "../remote.ts";
import { noSuchThing, type Block, type SessionStore, type Summariser } from "../store.ts";
import { blockProvider } from "./blocks.ts";

export class Sdk032 extends Agent implements DeskMethods {
  readonly #desk: Desk;
  readonly sessions = new Sessions();
  blocks: ContextBlocks | null = null;

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    const meter = new Meter(ctx.storage);
    super(ctx, env);
    this.lifecycle.use(this.sessions);
    this.#desk = new Desk(ctx.storage, meter, (sessionId) => adapt(this, sessionId));
  }

  async ask(...call: Parameters<Desk["ask"]>): Promise<unknown> {
    return this.#desk.ask(...call);
  }

  async count(...call: Parameters<Desk["count"]>): ReturnType<Desk["count"]> {
    return this.#desk.count(...call);
  }

  async holds(text: string): Promise<boolean> {
    return this.#desk.holds(text);
  }

  async evict(): Promise<void> {
    this.ctx.abort("evicted");
  }

  corrupt(sessionId: string, id: string): void {
    void this.sql`UPDATE cf_agents_session_messages SET content = '{' WHERE session_id = ${sessionId} AND id = ${id}`;
  }

  declare(blocks: readonly Block[]): void {
    if (blocks.some((block) => block.oneObject === true)) noSuchThing("blocks that belong to a session");
    const configs = blocks.map(({ label, maxTokens, ...block }): ContextConfig => {
      const provider = blockProvider(block) ?? new AgentContextProvider(this, label);
      return { label, provider, ...(maxTokens === undefined ? {} : { maxTokens }) };
    });
    this.blocks = new ContextBlocks(configs, new AgentContextProvider(this, "_system_prompt"));
  }
}

function adapt(agent: Sdk032, sessionId: string): SessionStore {
  const session = agent.sessions.session(sessionId);
  const blocks = (): ContextBlocks => {
    if (sessionId !== "") noSuchThing("blocks that belong to a session");
    return agent.blocks ?? noSuchThing("blocks that were not declared");
  };
  return {
    append: async (message, parentId) => {
      await session.appendMessage(message, parentId === undefined ? {} : { parentId });
    },
    appendAll: async () => noSuchThing("a call that appends many"),
    storeAll: async (messages) => {
      for (const message of messages) await session.appendMessage(message);
    },
    upsert: async (message) => {
      await session.upsertMessage(message);
    },
    update: async (message) => {
      await session.updateMessage(message);
    },
    remove: (ids) => session.deleteMessages([...ids]),
    clear: () => session.clearMessages(),
    get: (id) => session.getMessage(id) as Promise<UIMessage | null>,
    leaf: () => session.getLatestLeaf() as Promise<UIMessage | null>,
    branches: (id) => session.getBranches(id) as Promise<UIMessage[]>,
    pathLength: async () => noSuchThing("the length of a path"),
    history: (leafId) => session.getHistory(leafId === undefined ? {} : { leafId }) as Promise<UIMessage[]>,
    newest: async (count) => {
      const messages: UIMessage[] = [];
      for await (const message of session.history({ newestFirst: true })) {
        messages.push(message as UIMessage);
        if (messages.length === count) break;
      }
      return messages;
    },
    recent: async (maxBytes) => {
      const { messages, truncated } = await session.getRecentHistory(maxBytes);
      return { messages: messages as UIMessage[], truncated };
    },
    search: async (query) => (await session.search(query)).map(({ id }) => id),
    addOverlay: async (summary, fromId, toId) => {
      await session.addCompaction(summary, fromId, toId);
    },
    summaries: async () => (await session.getCompactions()).map(({ summary }) => summary),
    compact: async (summariser) => {
      if (summariser !== null) session.onCompaction(compaction(summariser));
      return (await session.compact()) !== null;
    },
    compactAfter: async (tokens, summariser, options = {}) => {
      if (options.brokenCounter === true) noSuchThing("a token counter");
      if (options.onError !== undefined) noSuchThing("a handler of failed compactions");
      session.onCompaction(compaction(keepSummariser(summariser))).compactAfter(tokens);
    },
    // An append waits for the compaction that it starts.
    settle: async () => undefined,
    declare: async (configs) => agent.declare(configs),
    block: async (label) => {
      await blocks().load();
      return blocks().getBlock(label)?.content ?? null;
    },
    setBlock: async (label, content) => {
      await blocks().setBlock(label, content);
    },
    prompt: () => blocks().freezeSystemPrompt(),
    refreshPrompt: () => blocks().refreshSystemPrompt(),
    deleteSession: async () => noSuchThing("sessions that are listed, forked or deleted"),
    fork: async () => noSuchThing("sessions that are listed, forked or deleted"),
    searchAll: async () => noSuchThing("search across sessions"),
    truncate: async (messages) => {
      const given = [...messages];
      return { result: truncateOlderMessages(given) as UIMessage[], given };
    },
    corrupt: async (id) => agent.corrupt(sessionId, id),
  };
}

function compaction(summariser: Summariser) {
  if ("model" in summariser) {
    return createCompactFunction({ summarize: summariser.model, keepRecentTokens: summariser.keepTokens });
  }
  return (messages: readonly { id: string }[]) => summariser.choose(messages as UIMessage[]);
}
