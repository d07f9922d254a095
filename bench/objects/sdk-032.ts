/** The Agents SDK's sessions of version 0.32, `agents/sessions`, a capability of an Agent. */
import { Agent, type AgentContext } from "agents";
import { createCompactFunction, Sessions } from "agents/sessions";
import { Meter } from "./meter.ts";
import { NEVER, Rig, type Asked, type Contender } from "./rig.ts";
import { readSetting } from "./setting.ts";
import { Summariser } from "./summariser.ts";

export class Sdk032 extends Agent {
  readonly #rig: Rig;

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    const meter = new Meter(ctx.storage, readSetting(ctx.id.name ?? "", "start") !== null);
    super(ctx, env);
    const sessions = new Sessions();
    this.lifecycle.use(sessions);
    this.#rig = new Rig(ctx, meter, contender(this, sessions.session()));
  }

  async rig(...asked: Asked): Promise<unknown> {
    return this.#rig.answer(asked);
  }

  async evict(): Promise<void> {
    this.ctx.abort("evicted");
  }
}

function contender(agent: Sdk032, session: ReturnType<Sessions["session"]>): Contender {
  session.onCompaction(async () => null).compactAfter(NEVER);
  return {
    append: (message) => session.appendMessage(message),
    appendAll: async (messages) => {
      for (const message of messages) await session.appendMessage(message);
    },
    addSummary: (summary, fromId, toId) => session.addCompaction(summary, fromId, toId),
    view: () => session.getHistory() as ReturnType<Contender["view"]>,
    update: (message) => session.updateMessage(message),
    remove: (id) => session.deleteMessages([id]),
    branches: (id) => session.getBranches(id),
    search: (phrase) => session.search(phrase),
    fork: null,
    compactAfter: (tokens, keptTokens) => {
      const summariser = new Summariser(agent.name);
      const summarize = (): Promise<string> => summariser.ask();
      session.onCompaction(createCompactFunction({ summarize, keepRecentTokens: keptTokens })).compactAfter(tokens);
      // An append waits for the compaction that it starts.
      return async () => undefined;
    },
  };
}
