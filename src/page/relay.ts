/**
 * Stands between the page's WebSocket and the agent.
 *
 * A call of the page becomes a call on the agent's stub, which may make every call, as a Workflow may. So the agent opens nothing to its
 * clients for the page. The news of runs come from a connection that is opened as any client's, and nothing else that the agent sends
 * goes through. The agent's own `onConnect` and its guards see that connection.
 */
import { RUN_EVENT } from "../agent/events.ts";
import { writeAgentName } from "../doors/agent-name.ts";
import type { AgentAddress } from "../doors/tickets.ts";
import { writeVisit } from "../doors/visit.ts";
import { PalimpsestError } from "../errors.ts";
import { explainCall } from "../explain-call.ts";
import { MAX_ID_CHARS, MAX_REQUEST_BYTES } from "../limits.ts";
import { isPageCall } from "./page-calls.ts";

type AgentStub = DurableObjectStub<Rpc.DurableObjectBranded>;
export type WatchedNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded>;

/**
 * Most calls of one WebSocket. The platform bounds the calls that one request makes, and this one's lasts as long as its socket. The page
 * opens the next one by itself.
 */
export const MAX_CALLS = 500;

/** The socket's end is for the service's own reasons, so the page connects again. */
const AGAIN = 1012;

interface ClientCall {
  readonly id: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Connects a page to its agent. Returns the agent's answer where it refuses the connection. */
export async function relay(request: Request, namespace: WatchedNamespace, address: AgentAddress): Promise<Response> {
  // A stub stays broken after its object was reset, so each call has its own.
  const stub = (): AgentStub => namespace.get(namespace.idFromName(address.name));
  const news = await stub().fetch(asClient(request, address));
  if (news.webSocket === null) return news;
  const [page, socket] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
  join(socket, news.webSocket, stub);
  return new Response(null, { status: 101, webSocket: page });
}

/** The request as the SDK's routing would hand it on. */
function asClient(request: Request, { agent, name }: AgentAddress): Request {
  const url = new URL(request.url);
  url.pathname = `/agents/${agent}/${writeAgentName(name)}`;
  url.search = "";
  const handed = new Request(url, request);
  writeVisit(handed.headers, { caller: null, ticket: null });
  return handed;
}

function join(page: WebSocket, news: WebSocket, stub: () => AgentStub): void {
  page.accept();
  news.accept();
  const end = (code: number): void => {
    for (const socket of [page, news]) if (socket.readyState <= WebSocket.OPEN) socket.close(code);
  };
  let calls = 0;
  let open = 0;
  const answer = async (call: ClientCall): Promise<void> => {
    const said = await run(stub(), call);
    open--;
    if (page.readyState === WebSocket.OPEN) page.send(JSON.stringify({ type: "rpc", id: call.id, ...said }));
    if (calls >= MAX_CALLS && open === 0) end(AGAIN);
  };
  page.addEventListener("message", ({ data }) => {
    const call = readCall(data);
    if (call === null) return end(INVALID);
    calls++;
    open++;
    void answer(call);
  });
  news.addEventListener("message", ({ data }) => {
    if (typeof data === "string" && isNews(data) && page.readyState === WebSocket.OPEN) page.send(data);
  });
  for (const socket of [page, news]) {
    for (const type of ["close", "error"] as const) socket.addEventListener(type, () => end(AGAIN));
  }
}

/** The page sends no such frame. */
const INVALID = 1003;

function readCall(data: unknown): ClientCall | null {
  if (typeof data !== "string" || data.length > MAX_REQUEST_BYTES) return null;
  const { type, id, method, args } = (parse(data) ?? {}) as Record<string, unknown>;
  const isCall = type === "rpc" && isText(id) && isText(method) && Array.isArray(args);
  return isCall ? { id, method, args } : null;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_ID_CHARS;
}

function isNews(data: string): boolean {
  return data.includes(RUN_EVENT) && (parse(data) as { readonly type?: unknown } | null)?.type === RUN_EVENT;
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}

type Answer =
  | { readonly success: true; readonly result: unknown }
  | { readonly success: false; readonly error: string };

async function run(stub: AgentStub, { method, args }: ClientCall): Promise<Answer> {
  try {
    if (!isPageCall(method))
      throw new PalimpsestError("invalid_input", `The page has no call ${JSON.stringify(method)}.`);
    const agent = stub as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>;
    return { success: true, result: await agent[method]?.(...args) };
  } catch (error) {
    return { success: false, error: explainCall(error).message };
  }
}
