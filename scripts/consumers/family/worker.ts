/** A Worker as others have it: two kinds of agents in it, with schedules, a start and an alarm of their own, and a sub-agent that is compacted too. */
import { Agent, callable, routeAgentRequest } from "agents";
import { CompactionWorkflow, Session, withCompaction } from "palimpsest";
import { events } from "palimpsest/events";

export { CompactionWorkflow };

type Plain = Agent<Cloudflare.Env, { readonly said: number }>;

export class Root extends withCompaction(Agent) {
  #started = 0;
  #alarms = 0;
  readonly session = Session.create(this).compactAfter(60_000);

  override async onStart(): Promise<void> {
    this.#started += 1;
    void this.sql`CREATE TABLE IF NOT EXISTS ticks (at INTEGER)`;
    await this.schedule(1, "tick", undefined, { idempotent: true });
  }

  override alarm = async (): Promise<void> => {
    this.#alarms += 1;
    await super.alarm();
  };

  tick(): void {
    void this.sql`INSERT INTO ticks VALUES (${Date.now()})`;
  }

  @callable()
  async say(text: string): Promise<void> {
    await store(this.session, text);
  }

  @callable()
  async sayToChild(text: string): Promise<void> {
    await (await this.subAgent(Child, "first")).say(text);
  }

  @callable()
  async told(): Promise<{ started: number; alarms: number; ticks: number; child: readonly string[] }> {
    const ticks = this.sql<{ n: number }>`SELECT count(*) AS n FROM ticks`[0]?.n ?? 0;
    const child = await (await this.subAgent(Child, "first")).outcomes();
    return { started: this.#started, alarms: this.#alarms, ticks, child };
  }
}

export class Child extends withCompaction(Agent) {
  readonly session = Session.create(this).compactAfter(60_000);

  async say(text: string): Promise<void> {
    await store(this.session, text);
  }

  async outcomes(): Promise<string[]> {
    return (await this.runs()).flatMap(({ outcome }) => (outcome === null ? [] : [outcome.kind]));
  }
}

export class Other extends withCompaction(Agent as new (ctx: DurableObjectState, env: Cloudflare.Env) => Plain, {
  rooms: [events()],
}) {
  override initialState = { said: 0 };
  readonly talk = Session.create(this).compactAfter(60_000);

  @callable()
  async say(text: string): Promise<number> {
    await store(this.talk, text);
    this.setState({ said: this.state.said + 1 });
    return (await this.talk.loadEvents()).length;
  }
}

async function store(session: Session, text: string): Promise<void> {
  await session.appendMessage({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
}

export default {
  fetch: async (request: Request, env: Cloudflare.Env) =>
    (await routeAgentRequest(request, env)) ?? new Response("Not found", { status: 404 }),
};
