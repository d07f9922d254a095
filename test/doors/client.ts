/** A caller at the Worker's door: requests with a caller's credentials, and a WebSocket as a browser would open one. */
import { env } from "cloudflare:workers";
import { createWorker, type WorkerEnv, type WorkerOptions } from "../../src/doors/create-worker.ts";

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

/** What the deployed Worker answers. `secret` is the one it was configured with; null is none. */
export function ask({ path = AGENT, host = HOST, ...rest }: Ask): Promise<Response> {
  const { method = "GET", headers = {}, body, secret = SECRET, options = {} } = rest;
  const configured = secret === null ? env : { ...env, PALIMPSEST_SECRET: secret };
  const request = new Request(`${host}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
  return createWorker<Env>(options).fetch(request, configured);
}

export const withSecret = { Authorization: `Bearer ${SECRET}` };
export const upgrade = { Upgrade: "websocket" };

export interface Answer {
  readonly type: string;
  readonly id?: string;
  readonly success?: boolean;
  readonly error?: string;
  readonly result?: unknown;
}

/** An open connection: frames go out as they are, and everything that comes back is kept. */
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
