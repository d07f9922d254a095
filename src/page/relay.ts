/**
 * Stands between the page's WebSocket and the agent.
 *
 * A call of the page becomes a call on the agent's stub, which may make every call, as a Workflow may. So the agent opens nothing to its
 * clients for the page. The news of runs come from a connection that is opened as any client's, and nothing else that the agent sends
 * goes through. The agent's own `onConnect` and its guards see that connection.
 */
import { calls } from "../agent/calls.ts";
import type { CallTable } from "../agent/extension.ts";
import { readRunEvent } from "../client.ts";
import { writeAgentName } from "../doors/agent-name.ts";
import { writeVisit, type AgentAddress } from "../doors/caller.ts";
import { readCall } from "../doors/frames.ts";
import { PalimpsestError } from "../errors.ts";
import { explainCall } from "../explain-call.ts";
import { MAX_REQUEST_BYTES } from "../limits.ts";
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
  let made = 0;
  let open = 0;
  const answer = async (call: ClientCall): Promise<void> => {
    const said = await run(stub(), call);
    open--;
    if (page.readyState === WebSocket.OPEN) page.send(JSON.stringify({ type: "rpc", id: call.id, ...said }));
    if (made >= MAX_CALLS && open === 0) end(AGAIN);
  };
  page.addEventListener("message", ({ data }) => {
    const call = typeof data === "string" && data.length <= MAX_REQUEST_BYTES ? readCall(data) : null;
    if (call === null) return end(INVALID);
    made++;
    open++;
    void answer(call);
  });
  news.addEventListener("message", ({ data }) => {
    if (typeof data === "string" && readRunEvent(data) !== null && page.readyState === WebSocket.OPEN) page.send(data);
  });
  for (const socket of [page, news]) {
    for (const type of ["close", "error"] as const) socket.addEventListener(type, () => end(AGAIN));
  }
}

/** The page sends no such frame. */
const INVALID = 1003;

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
    const { message } = explainCall(error);
    const lacks = message.startsWith("The RPC receiver does not implement");
    return { success: false, error: lacks ? closedBy(method).message : message };
  }
}

/** Only AIChatAgent and Think lack calls that come with no room: those that they do not open to clients. */
function closedBy(method: string): PalimpsestError {
  const group = (calls as CallTable)[method]?.group ?? "read";
  const list = [...new Set(["watch", "read", group])].map((each) => JSON.stringify(each)).join(", ");
  return new PalimpsestError(
    "not_configured",
    `The page has the calls that this agent's class opens to clients, and ${method} is not among them. List it where the agent is declared: withCompaction(Base, { clients: [${list}] }).`,
  );
}
