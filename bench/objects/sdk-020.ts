/** The Agents SDK's sessions of version 0.20, `agents/experimental/memory/session`, inside an Agent. */
import { Agent, type AgentContext } from "upstream-020";
import { AgentSessionProvider, Session, SessionManager } from "upstream-020/experimental/memory/session";
import { createCompactFunction } from "upstream-020/experimental/memory/utils";
import { Meter } from "./meter.ts";
import { NEVER, Rig, type Asked, type Contender } from "./rig.ts";
import { readSetting } from "./setting.ts";
import { Summariser } from "./summariser.ts";

export class Sdk020 extends Agent {
  readonly #rig: Rig;

  constructor(ctx: AgentContext, env: Cloudflare.Env) {
    const meter = new Meter(ctx.storage, readSetting(ctx.id.name ?? "", "start") !== null);
    super(ctx, env);
    this.#rig = new Rig(ctx, meter, contender(this));
  }

  async rig(...asked: Asked): Promise<unknown> {
    return this.#rig.answer(asked);
  }

  async evict(): Promise<void> {
    this.ctx.abort("evicted");
  }
}

function contender(agent: Sdk020): Contender {
  const session = Session.create(agent);
  const rows = new AgentSessionProvider(agent);
  let last: string | null = null;
  session.onCompaction(async () => null).compactAfter(NEVER);
  return {
    append: (message) => session.appendMessage(message),
    // Writes below the session, which reads the whole conversation again after every append.
    appendAll: async (messages) => {
      for (const message of messages) {
        rows.appendMessage(message, last);
        last = message.id;
      }
    },
    addSummary: (summary, fromId, toId) => session.addCompaction(summary, fromId, toId),
    view: () => session.getHistory() as ReturnType<Contender["view"]>,
    update: (message) => session.updateMessage(message),
    remove: (id) => session.deleteMessages([id]),
    branches: (id) => session.getBranches(id),
    search: (phrase) => session.search(phrase),
    // Copies the view, so the messages that its summary hides are not in the new session.
    fork: (atId) => SessionManager.create(agent).fork("", atId, "Fork"),
    compactAfter: (tokens, keptTokens) => {
      const summariser = new Summariser(agent.name);
      const summarize = (): Promise<string> => summariser.ask();
      session.onCompaction(createCompactFunction({ summarize, tailTokenBudget: keptTokens })).compactAfter(tokens);
      // An append waits for the compaction that it starts.
      return async () => undefined;
    },
  };
}
