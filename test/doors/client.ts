/** A caller of the Worker, with requests under a caller's credentials and a WebSocket as a browser would open one. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { createWorker, type WorkerEnv, type WorkerOptions } from "../../src/doors/create-worker.ts";
import { guardConnections, type GuardEnv } from "../../src/doors/guard.ts";
import { newAgent } from "../agents.ts";
import type { PalimpsestAgent } from "../worker.ts";

export const SECRET = "the-secret-of-every-test-here";
export const HOST = "https://palimpsest.example";

type Env = Cloudflare.Env & WorkerEnv;

export interface Ask {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly secret?: string | null;
  readonly options?: WorkerOptions<Env>;
  readonly host?: string;
}

export const AGENT = "/agents/palimpsest-agent/mine";

/** The deployed Worker's answer. `secret` is its configured secret, and null is none. */
export function ask({ path = AGENT, host = HOST, ...rest }: Ask): Promise<Response> {
  const { method = "GET", headers = {}, body, secret = SECRET, options = {} } = rest;
  const configured = secret === null ? env : { ...env, PALIMPSEST_SECRET: secret };
  const request = new Request(`${host}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  return createWorker<Env>(options).fetch(request, configured);
}

export const withSecret = { Authorization: `Bearer ${SECRET}` };
export const upgrade = { Upgrade: "websocket" };

/** The status and the code of a refusal. */
export async function codeOf(answer: Promise<Response>): Promise<[number, string]> {
  const response = await answer;
  const { error } = await response.json<{ error: { code: string; message: string } }>();
  expect(error.message.startsWith(`[${error.code}] `)).toBe(true);
  return [response.status, error.code];
}

/** A ticket for the agent at a path, requested with the secret from an address. */
export async function ticketFor(path = AGENT, address = "203.0.113.1"): Promise<string> {
  const headers = { ...withSecret, "CF-Connecting-IP": address };
  const answer = await ask({ path: `${path}/ticket`, method: "POST", headers });
  return (await answer.json<{ ticket: string }>()).ticket;
}

/** Practically no limit of calls. */
const UNBOUNDED: GuardEnv = { PALIMPSEST_CALLS_PER_SECOND: "1000000" };

/** An agent with the deployed guard, and its path. It is a new one, or the one with this name, as after a restart. */
export async function guarded(guard = UNBOUNDED, name = newAgent().name) {
  const stub = env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(name));
  await runInDurableObject(stub, (agent: PalimpsestAgent, ctx) => guardConnections(agent, ctx, guard));
  return { name, stub, path: `/agents/palimpsest-agent/${name}` };
}

export interface Answer {
  readonly type: string;
  readonly id?: string;
  readonly success?: boolean;
  readonly error?: string;
  readonly result?: unknown;
}

/** An open connection. It sends frames unchanged and records everything that comes back. */
export class Line {
  readonly heard: Answer[] = [];
  closed: number | null = null;
  readonly #socket: WebSocket;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => void this.heard.push(JSON.parse(String(data)) as Answer));
    socket.addEventListener("close", ({ code }) => void (this.closed = code));
    socket.accept();
  }

  send(frame: string | ArrayBuffer): void {
    this.#socket.send(frame);
  }

  close(): void {
    this.#socket.close();
  }

  async until<T>(find: () => T | undefined | null): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== null) return found;
      await scheduler.wait(1);
    }
  }

  async call(method: string, ...args: unknown[]): Promise<Answer> {
    const id = crypto.randomUUID();
    this.send(JSON.stringify({ type: "rpc", id, method, args }));
    return this.until(() => this.heard.find((each) => each.id === id));
  }
}

export async function open(ask: Promise<Response>): Promise<Line> {
  const { webSocket, status } = await ask;
  if (webSocket === null) throw new Error(`No WebSocket: ${status}`);
  return new Line(webSocket);
}
