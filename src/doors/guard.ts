/**
 * Guards an agent's open connections against reused tickets, too many calls and malformed frames.
 *
 * It refuses a spent ticket. It gives each connection, and each caller over all connections, a budget of calls. It passes only calls of
 * listed methods. So no frame sets the agent's state, reaches an unlisted method, or keeps the object busy for others. A base class with a
 * protocol of its own, such as AIChatAgent, uses its own frames, and these count as calls do.
 *
 * It does not know what a call means, and agent/calls.ts checks the input. The door names the caller (caller.ts), and a connection keeps
 * that name in a tag, which survives the object's hibernation.
 */
import type { Agent, Connection } from "agents";
import { adviceOn } from "../agent/clients.ts";
import { AI_CHAT, isHost, THINK } from "../agent/known-hosts.ts";
import { PalimpsestError } from "../errors.ts";
import { CALLER_SHARE, CALLS_IN_A_ROW, CALLS_PER_SECOND } from "../limits.ts";
import { refuse } from "./answers.ts";
import { answerError, readFrame } from "./frames.ts";
import { readVisit, spendTicket, type Spending, type Visit } from "./caller.ts";

/** The part of a Worker's environment that bounds its connections. */
export interface GuardEnv {
  /** Calls per second that one connection may make in the long run. Five times as many may come in a row. Default 200. */
  readonly PALIMPSEST_CALLS_PER_SECOND?: string;
}

/** Prefix of a connection's tag that names its caller. */
const CALLER_TAG = "palimpsest-caller:";

/** Guards every connection of an agent. Call it at the end of the agent's constructor. Throws `invalid_options`. */
export function guardConnections(agent: Agent, ctx: Pick<DurableObjectState, "storage">, env: object & GuardEnv): void {
  const rate = readRate(env);
  const ofConnections = new Budgets(rate);
  const ofCallers = new Budgets({ burst: rate.burst * CALLER_SHARE, perSecond: rate.perSecond * CALLER_SHARE });
  const spend = (ticket: Visit["ticket"], now: number): Spending =>
    ticket === null ? "spent" : spendTicket(ctx.storage.kv, ticket, now);

  const letIn = agent.fetch.bind(agent);
  agent.fetch = async (request) => {
    const { caller, ticket } = readVisit(request);
    const now = Date.now();
    if (caller !== null && !ofCallers.take(caller, now))
      return tooMany(describeRate(ofCallers, "all your connections"));
    const spending = spend(ticket, now);
    if (spending === "over") return refuse(401, "unauthorized", "This ticket was used already. Ask for a new one.");
    if (spending === "crowded") return tooMany("Too many connections were opened in this minute.");
    return letIn(request);
  };

  const tagsOf = agent.getConnectionTags.bind(agent);
  agent.getConnectionTags = async (connection, context) => {
    const { caller } = readVisit(context.request);
    const tags = await tagsOf(connection, context);
    return caller === null ? tags : [...tags, CALLER_TAG + caller];
  };

  const hosts = isHost(agent.constructor, AI_CHAT) || isHost(agent.constructor, THINK);
  const guard =
    (pass: Agent["onMessage"]): Agent["onMessage"] =>
    async (connection, message) => {
      const now = Date.now();
      const caller = callerOf(connection);
      const mine = ofConnections.take(connection.id, now);
      // A call that the connection's own budget refuses costs the caller's other connections nothing.
      const ours = !mine || caller === null || ofCallers.take(caller, now);
      const frame = readFrame(connection, message, hosts);
      if (frame === null) return;
      if (!mine)
        return answerError(connection, frame, ["rate_limited", describeRate(ofConnections, "this connection")]);
      if (!ours)
        return answerError(connection, frame, ["rate_limited", describeRate(ofCallers, "all your connections")]);
      if ("method" in frame && !agent.getCallableMethods().has(frame.method)) {
        return answerError(connection, frame, ["not_configured", adviceOn(agent, frame.method)]);
      }
      await pass(connection, message);
    };
  const inner = agent.onMessage.bind(agent);
  const guarded = guard(inner);
  let isOutermost = true;
  const first: Agent["onMessage"] = async (connection, message) =>
    isOutermost ? guarded(connection, message) : inner(connection, message);
  agent.onMessage = first;

  // Think wraps `onMessage` with its protocol when it starts. The guard then wraps that, and each frame is counted once.
  const start = agent.onStart.bind(agent);
  agent.onStart = async (props) => {
    await start(props);
    if (agent.onMessage === first) return;
    isOutermost = false;
    agent.onMessage = guard(agent.onMessage.bind(agent));
  };
}

function callerOf({ tags }: Connection): string | null {
  return tags.find((tag) => tag.startsWith(CALLER_TAG))?.slice(CALLER_TAG.length) ?? null;
}

function describeRate({ rate: { perSecond } }: Budgets, over: string): string {
  return `At most ${perSecond} calls a second over ${over}. Wait a moment and call again.`;
}

function tooMany(advice: string): Response {
  return refuse(429, "rate_limited", advice);
}

function readRate({ PALIMPSEST_CALLS_PER_SECOND: raw }: GuardEnv): Rate {
  if (raw === undefined || raw === "") return { burst: CALLS_IN_A_ROW, perSecond: CALLS_PER_SECOND };
  const perSecond = Number(raw);
  if (Number.isSafeInteger(perSecond) && perSecond > 0) {
    return { burst: (perSecond * CALLS_IN_A_ROW) / CALLS_PER_SECOND, perSecond };
  }
  throw new PalimpsestError(
    "invalid_options",
    `PALIMPSEST_CALLS_PER_SECOND must be a whole number of at least 1, or be left out; it is ${JSON.stringify(raw)}.`,
  );
}

/** A burst of calls, refilled at a steady rate. */
interface Rate {
  /** Most calls in a row. */
  readonly burst: number;
  readonly perSecond: number;
}

/** Number of names above which those with a full budget are dropped. */
export const BUDGETS_KEPT = 1_000;

/**
 * Call budgets by name, in memory. An object that sleeps long enough to lose them was quiet for longer than one takes to refill. Callers may
 * choose names freely, because full budgets are dropped.
 */
export class Budgets {
  readonly rate: Rate;
  /** The calls that each name had left at a time (epoch ms). */
  readonly #left = new Map<string, { readonly calls: number; readonly at: number }>();
  #sweepAt = BUDGETS_KEPT;

  constructor(rate: Rate) {
    this.rate = rate;
  }

  /** Takes one call from the name's budget. Returns false when the budget is spent. A clock that went back refills nothing. */
  take(name: string, now: number): boolean {
    const calls = this.#callsAt(name, now);
    const at = Math.max(now, this.#left.get(name)?.at ?? now);
    this.#left.set(name, { calls: calls >= 1 ? calls - 1 : calls, at });
    if (this.#left.size > this.#sweepAt) this.#sweep(now);
    return calls >= 1;
  }

  get size(): number {
    return this.#left.size;
  }

  #callsAt(name: string, now: number): number {
    const { burst, perSecond } = this.rate;
    const { calls, at } = this.#left.get(name) ?? { calls: burst, at: now };
    return Math.min(burst, calls + (Math.max(0, now - at) / 1_000) * perSecond);
  }

  #sweep(now: number): void {
    for (const name of this.#left.keys()) if (this.#callsAt(name, now) >= this.rate.burst) this.#left.delete(name);
    // The remaining names are active now. Searching them at each call would cost more than keeping them.
    this.#sweepAt = Math.max(BUDGETS_KEPT, 2 * this.#left.size);
  }
}
