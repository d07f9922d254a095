/**
 * An agent behind a local or remote Worker, with typed calls over its WebSocket and the events of its runs.
 *
 * The secret travels in a header each time that a connection opens. The WebSocket's URL holds a ticket that is valid for a minute. So a
 * lost connection can reopen by itself, and no log holds a lasting secret.
 */
import { AgentClient } from "agents/client";
import type { CallInput, CallName, CallResult } from "../../src/rooms.ts";
import type { RunEvent } from "../../src/agent/events.ts";
import { clip } from "../report/text.ts";
import { CommandFailure, EXIT } from "./failure.ts";
import { RUN_EVENT, explainCall, writeAgentName } from "./in-package.ts";

export interface Target {
  /** The Worker's address, such as `http://localhost:8787`. */
  readonly url: URL;
  readonly agent: string;
  readonly name: string;
  readonly secret: string | null;
}

/** Longest time of one call (ms). The agent ends a wait for a run earlier than this. */
const CALL_MS = 330_000;
const CONNECT_MS = 15_000;

export class Remote {
  readonly #client: AgentClient;

  private constructor(client: AgentClient) {
    this.#client = client;
  }

  /** Throws a {@link CommandFailure} that tells an unreachable Worker from wrong credentials. */
  static async connect(target: Target, onRun: (event: RunEvent) => void = () => undefined): Promise<Remote> {
    if (typeof WebSocket === "undefined") {
      throw new CommandFailure(EXIT.usage, `This needs Node 22 or later, and runs on ${process.version}.`, "old_node");
    }
    const { ticket: first, refusal } = await askForTicket(target);
    let unused: string | null = first;
    const client = new AgentClient({
      agent: target.agent,
      name: writeAgentName(target.name),
      host: target.url.host,
      protocol: target.url.protocol === "https:" ? "wss" : "ws",
      query: async () => {
        const ticket = unused ?? (await askForTicket(target).catch(() => null))?.ticket ?? null;
        unused = null;
        return ticket === null ? {} : { ticket };
      },
    });
    client.addEventListener("message", ({ data }: MessageEvent) => {
      const event = parseEvent(data);
      if (event !== null) onRun(event);
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const shut = new Promise<never>((_resolve, reject) => {
      const why = refusal ?? `${target.url.href} let us in, but its WebSocket does not open. ${CANNOT_START}`;
      const fail = (): void => reject(new CommandFailure(EXIT.unreachable, why));
      timer = setTimeout(fail, CONNECT_MS);
      if (refusal !== null) client.addEventListener("error", fail);
    });
    try {
      await Promise.race([client.ready, shut]);
    } catch (error) {
      client.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return new Remote(client);
  }

  async call<Name extends CallName>(name: Name, input: CallInput<Name>): Promise<CallResult<Name>> {
    try {
      return await this.#client.call<CallResult<Name>>(name, [input], { timeout: CALL_MS });
    } catch (error) {
      throw explainCall(error);
    }
  }

  /** Calls the listener each time that the connection reopens after a loss. Events of the time between are lost. */
  onReopened(listener: () => void): void {
    this.#client.addEventListener("open", listener);
  }

  close(): void {
    this.#client.close();
  }
}

interface Admission {
  /** Null where the Worker asks for no ticket. */
  readonly ticket: string | null;
  /** Set where the answer is none of our door's. The agent may be reachable all the same, as by `routeAgentRequest` alone. */
  readonly refusal: string | null;
}

async function askForTicket({ url, agent, name, secret }: Target): Promise<Admission> {
  const answer = await fetch(new URL(`/agents/${agent}/${writeAgentName(name)}/ticket`, url), {
    method: "POST",
    // A Worker on this machine answers anything else with a page where it fails.
    headers: { Accept: "application/json", ...(secret !== null && { Authorization: `Bearer ${secret}` }) },
  }).catch((error: unknown) => {
    const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    const advice =
      "Start one with `npx wrangler dev`, or give its address with --url: `vite dev` has a port of its own.";
    throw new CommandFailure(EXIT.unreachable, `No Worker answers at ${url.href} (${why}). ${advice}`);
  });
  const said = await answer.text();
  const body = parseJson(said);
  if (answer.ok && isTicket(body)) return { ticket: body.ticket, refusal: null };
  const refused = refusalIn(answer.status, body, secret);
  if (refused !== null) throw new CommandFailure(EXIT.unreachable, refused, "unauthorized");
  if (answer.status >= 500) {
    const refusal = `The agent "${name}" of the class "${agent}" does not answer (status ${answer.status}${errorIn(said)}). ${CANNOT_START}`;
    return { ticket: null, refusal };
  }
  const advice =
    "--agent-class takes the name of your Durable Object binding, such as ChatAgent. The Worker's fetch must answer routeAgentRequest(request, env). Check --url as well.";
  const refusal = `The Worker at ${url.href} has no agent "${name}" of the class "${agent}" (status ${answer.status}). ${advice}`;
  return { ticket: null, refusal };
}

/** The platform tells a client nothing of it. */
const CANNOT_START =
  "An agent whose constructor or onStart throws answers nobody. Its error is in the Worker's log: in the terminal of `npx wrangler dev`, or with `npx wrangler tail`.";

/** What a Worker on this machine says of an error: its message and stack as plain text. */
function errorIn(said: string): string {
  const [line = ""] = said.split("\n");
  return /^\w*Error: /.test(line) ? `: ${clip(line, 300)}` : "";
}

function parseJson(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return null;
  }
}

/** Null where the answer is none of our door's. */
function refusalIn(status: number, body: unknown, secret: string | null): string | null {
  if (status === 401 && secret === null) return "The Worker asks for its secret. Set PALIMPSEST_SECRET to it.";
  if (status === 401) return "The Worker did not take the secret in PALIMPSEST_SECRET. Set the one that it was given.";
  const message = (body as { error?: { message?: string } } | null)?.error?.message;
  return message === undefined ? null : message.replace(/^\[\w+\] /, "");
}

function isTicket(body: unknown): body is { ticket: string | null } {
  return typeof body === "object" && body !== null && "ticket" in body;
}

function parseEvent(data: unknown): RunEvent | null {
  if (typeof data !== "string" || !data.includes(RUN_EVENT)) return null;
  const parsed = JSON.parse(data) as { type?: string };
  return parsed.type === RUN_EVENT ? (parsed as RunEvent) : null;
}
