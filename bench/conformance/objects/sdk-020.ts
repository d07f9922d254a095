/** The Agents SDK's sessions of version 0.20, `agents/experimental/memory`. */
import type { UIMessage } from "ai";
import { Agent, type AgentContext } from "upstream-020";
import { AgentSessionProvider, SessionManager } from "upstream-020/experimental/memory/session";
import { createCompactFunction, truncateOlderMessages } from "upstream-020/experimental/memory/utils";
import { Meter } from "../../objects/meter.ts";
import { Desk, keep, keepSummariser, type DeskMethods } from "../remote.ts";
import { noSuchThing, type Block, type SessionStore, type Summariser } from "../store.ts";
import { blockProvider } from "./blocks.ts";

export class Sdk020 extends Agent implements DeskMethods {
  readonly #desk: Desk;
  readonly manager = SessionManager.create(this);

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    const meter = new Meter(ctx.storage);
    super(ctx, env);
    this.#desk = new Desk(ctx.storage, meter, (sessionId) => adapt(this, sessionId === "" ? "default" : sessionId));
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

  corrupt(id: string): void {
    void this.sql`UPDATE assistant_messages SET content = '{' WHERE id = ${id}`;
  }

  declare(blocks: readonly Block[]): void {
    for (const { label, maxTokens, ...block } of blocks) {
      const provider = blockProvider(block);
      this.manager.withContext(label, {
        ...(maxTokens === undefined ? {} : { maxTokens }),
        ...(provider === null ? {} : { provider }),
      });
    }
    this.manager.withCachedPrompt();
  }
}

function adapt(agent: Sdk020, sessionId: string): SessionStore {
  const { manager } = agent;
  // Looked up at every call, because a deleted session must be created again.
  const session = () => manager.getSession(sessionId);
  return {
    append: (message, parentId) => session().appendMessage(message, parentId),
    appendAll: async (messages) => {
      await manager.appendAll(sessionId, [...messages]);
    },
    // Writes below the session, which reads the whole conversation again after every append.
    storeAll: async (messages) => {
      const rows = new AgentSessionProvider(agent, sessionId);
      let last = (await session().getLatestLeaf())?.id ?? null;
      for (const message of messages) {
        rows.appendMessage(message, last);
        last = message.id;
      }
    },
    upsert: async (message) => {
      await manager.upsert(sessionId, message);
    },
    update: (message) => session().updateMessage(message),
    remove: (ids) => session().deleteMessages([...ids]),
    clear: () => session().clearMessages(),
    get: (id) => session().getMessage(id) as Promise<UIMessage | null>,
    leaf: () => session().getLatestLeaf() as Promise<UIMessage | null>,
    branches: (id) => session().getBranches(id) as Promise<UIMessage[]>,
    pathLength: () => session().getPathLength(),
    history: (leafId) => session().getHistory(leafId) as Promise<UIMessage[]>,
    newest: async () => noSuchThing("reading newest first"),
    recent: async (maxBytes) => {
      const { messages, truncated } = await session().getRecentHistory(maxBytes);
      return { messages: messages as UIMessage[], truncated };
    },
    search: async (query) => (await session().search(query)).map(({ id }) => id),
    addOverlay: async (summary, fromId, toId) => {
      await session().addCompaction(summary, fromId, toId);
    },
    summaries: async () => (await session().getCompactions()).map(({ summary }) => summary),
    compact: async (summariser) => {
      if (summariser !== null) session().onCompaction(compaction(summariser));
      return (await session().compact()) !== null;
    },
    compactAfter: async (tokens, summariser, options = {}) => {
      const { onError, brokenCounter } = options;
      if (onError !== undefined) session().onCompactionError(keep(onError));
      const counter = brokenCounter === true ? { tokenCounter: () => Number.NaN } : {};
      session()
        .onCompaction(compaction(keepSummariser(summariser)))
        .compactAfter(tokens, counter);
    },
    // An append waits for the compaction that it starts.
    settle: async () => undefined,
    declare: async (blocks) => agent.declare(blocks),
    block: async (label) => {
      // Starts a turn by asking for its tools, because blocks are read then.
      await session().tools();
      return session().getContextBlock(label)?.content ?? null;
    },
    setBlock: async (label, content) => {
      await session().replaceContextBlock(label, content);
    },
    prompt: () => session().freezeSystemPrompt(),
    refreshPrompt: () => session().refreshSystemPrompt(),
    deleteSession: () => manager.delete(sessionId),
    fork: async (atId) => (await manager.fork(sessionId, atId, "fork")).id,
    searchAll: async (query) => manager.search(query).map(({ id }) => id),
    truncate: async (messages) => {
      const given = [...messages];
      return { result: truncateOlderMessages(given) as UIMessage[], given };
    },
    corrupt: async (id) => agent.corrupt(id),
  };
}

function compaction(summariser: Summariser) {
  if ("model" in summariser) {
    return createCompactFunction({ summarize: summariser.model, tailTokenBudget: summariser.keepTokens });
  }
  return (messages: readonly { id: string }[]) => summariser.choose(messages as UIMessage[]);
}
