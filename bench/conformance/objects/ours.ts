/** Palimpsest as its users build on it, with an agent class and a workflow whose model the fact provides. */
import type { AgentContext } from "agents";
import type { AgentWorkflowEvent, AgentWorkflowStep } from "agents/workflows";
import type { WorkflowStepConfig } from "cloudflare:workers";
import { Agent } from "agents";
import { withCompaction } from "../../../src/agent/compacting-agent.ts";
import { ALL_ROOMS, type AllRooms } from "../../../src/rooms.ts";
import { SessionManager, type ManagerOf } from "../../../src/agent/sessions/session-manager.ts";
import type { Finished } from "../../../src/memory/runs/runs.ts";
import type { ChosenModel } from "../../../src/model/chosen.ts";
import { truncateOlderMessages } from "../../../src/fit/truncate.ts";
import { CompactionWorkflow as RealWorkflow, type CompactionParams } from "../../../src/workflows/workflow.ts";
import { answeringModel } from "../../objects/answering-model.ts";
import { Meter } from "../../objects/meter.ts";
import { Desk, keep, keepSummariser, type DeskMethods } from "../remote.ts";
import type { Block, SessionStore, Summariser } from "../store.ts";
import { blockProvider } from "./blocks.ts";

export class Ours extends withCompaction(Agent, { rooms: ALL_ROOMS }) implements DeskMethods {
  readonly #desk: Desk;
  readonly manager: ManagerOf<AllRooms>;
  /** Null after an eviction. The model then counts as down. */
  model: ((prompt: string) => Promise<string>) | null = null;

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    const meter = new Meter(ctx.storage);
    super(ctx, env);
    this.manager = SessionManager.create(this);
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

  async answer(prompt: string): Promise<string> {
    if (this.model === null) throw new Error("The model is down.");
    return this.model(prompt);
  }

  corrupt(sessionId: string, id: string): void {
    void this.sql`UPDATE palimpsest_messages SET content = '{' WHERE session_id = ${sessionId} AND id = ${id}`;
  }

  declare(blocks: readonly Block[]): void {
    for (const { label, maxTokens, ...block } of blocks) {
      const provider = blockProvider(block) ?? undefined;
      this.manager.withContext(label, { maxTokens, provider });
    }
    this.manager.withCachedPrompt();
  }
}

function adapt(agent: Ours, sessionId: string): SessionStore {
  const { manager } = agent;
  const session = manager.getSession(sessionId);
  const bring = (summariser: Summariser, thresholdTokens: number): void => {
    const kept = keepSummariser(summariser);
    if ("choose" in kept) {
      session.onCompaction((messages) => kept.choose(messages)).compactAfter(thresholdTokens);
      return;
    }
    agent.model = kept.model;
    const tail = Math.min(kept.keepTokens, Math.floor(thresholdTokens / 3));
    session.compactAfter(thresholdTokens, { tail });
  };
  return {
    append: async (message, parentId) => {
      await session.appendMessage(message, parentId);
    },
    appendAll: async (messages) => {
      await manager.appendAll(sessionId, messages);
    },
    storeAll: async (messages) => {
      await session.appendAll(messages);
    },
    upsert: async (message) => {
      await session.upsertMessage(message);
    },
    update: async (message) => {
      await session.updateMessage(message);
    },
    remove: async (ids) => {
      await session.deleteMessages(ids);
    },
    clear: () => session.clearMessages(),
    get: (id) => session.getMessage(id),
    leaf: () => session.getLatestLeaf(),
    branches: (id) => session.getBranches(id),
    pathLength: () => session.getPathLength(),
    history: (leafId) => session.getHistory(leafId),
    newest: async (count) => {
      const messages = [];
      for await (const message of session.history({ newestFirst: true })) {
        messages.push(message);
        if (messages.length === count) break;
      }
      return messages;
    },
    recent: (maxBytes) => session.getRecentHistory(maxBytes),
    search: async (query) => (await session.search(query)).map(({ id }) => id),
    addOverlay: async (summary, fromId, toId) => {
      await session.addCompaction(summary, fromId, toId);
    },
    summaries: async () => {
      const overlays = await session.getCompactions();
      return overlays.filter(({ state }) => state === "active").map(({ summary }) => summary);
    },
    compact: async (summariser) => {
      if (summariser !== null) bring(summariser, COMPACTED_BY_HAND);
      const { run } = await session.compact();
      const { outcome } = await session.ended(run.id);
      return outcome?.kind === "applied";
    },
    compactAfter: async (tokens, summariser, { onError, brokenCounter } = {}) => {
      bring(summariser, tokens);
      if (onError !== undefined) session.onCompactionError(keep(onError));
      if (brokenCounter === true) session.compactAfter(tokens, { tokenCounter: () => Number.NaN });
    },
    settle: async () => {
      for (const run of agent.palimpsest.runs.live(sessionId)) await session.ended(run.id);
    },
    declare: async (blocks) => agent.declare(blocks),
    block: async (label) => (await session.getContextBlock(label))?.content ?? null,
    setBlock: async (label, content) => {
      await session.replaceContextBlock(label, content);
    },
    prompt: () => session.freezeSystemPrompt(),
    refreshPrompt: () => session.refreshSystemPrompt(),
    deleteSession: async () => {
      await manager.delete(sessionId);
    },
    fork: async (atId) => (await manager.fork(sessionId, atId)).id,
    searchAll: async (query) => (await manager.search(query)).map(({ id }) => id),
    truncate: async (messages) => {
      const given = [...messages];
      return { result: truncateOlderMessages(given), given };
    },
    corrupt: async (id) => agent.corrupt(sessionId, id),
  };
}

/** Tokens. More than facts compact by hand, and small enough for a head and a tail of ordinary size. */
const COMPACTED_BY_HAND = 30_000;

export class CompactionWorkflow extends RealWorkflow {
  #agent = "";

  protected override model(): ChosenModel {
    const { env } = this;
    const name = this.#agent;
    const model = answeringModel("scripted", async (prompt, system) => {
      const text = await answerOf(env, name).answer(`${system}\n${prompt}`);
      return { text, inputTokens: 1, outputTokens: 1 };
    });
    return { model, name: "fact", windowTokens: 128_000 };
  }

  override async run(event: AgentWorkflowEvent<CompactionParams>, step: AgentWorkflowStep): Promise<Finished> {
    this.#agent = event.payload.agent.name;
    return super.run(event, withoutDelays(step));
  }
}

interface Answering {
  answer(prompt: string): Promise<string>;
}

function answerOf(env: Cloudflare.Env, agent: string): Answering {
  return env.Ours.getByName(agent) as unknown as Answering;
}

/** Keeps the number of retries and removes their delay. */
function withoutDelays(step: AgentWorkflowStep): AgentWorkflowStep {
  const again = (name: string, config: WorkflowStepConfig, body: () => Promise<never>): Promise<never> => {
    const limit = config.retries?.limit ?? 0;
    return step.do(name, { ...config, retries: { ...config.retries, limit, delay: 1 } }, body);
  };
  // Delegates everything but `do` to the step, because the engine's own methods cannot be read from a copy.
  return new Proxy(step, {
    get: (target, name) => (name === "do" ? again : (Reflect.get(target, name, target) as unknown)),
  });
}
