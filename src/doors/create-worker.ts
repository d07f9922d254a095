/**
 * The Worker's front door. It decides who may reach which agent before any agent is woken.
 *
 *     /agents/<agent>/<name>          the agent, by WebSocket or HTTP
 *     /agents/<agent>/<name>/ticket   POST: a ticket for its WebSocket
 *     anything else                   the page, when the Worker has one
 *
 * It fails closed. Without a secret and without rules of the user's own, only callers on this machine are served. No other path reaches an
 * agent. A caller who may not reach an agent gets the same answer as for an agent that does not exist.
 */
import { camelCaseToKebabCase, routeAgentRequest } from "agents";
import { MAX_REQUEST_BYTES } from "../limits.ts";
import { readAgentName, writeAgentName } from "./agent-name.ts";
import { isOnThisMachine } from "../agent/this-machine.ts";
import { checkFields } from "../known-fields.ts";
import { answerJson, isUpgrade, notFound, orBroken, refuse } from "./answers.ts";
import {
  addressOf,
  holdsSecret,
  issueTicket,
  nameCaller,
  readSecret,
  readTicket,
  writeVisit,
  type AgentAddress,
  type DoorEnv,
  type Visit,
} from "./caller.ts";

/** The bindings and variables that the Worker reads. */
export interface WorkerEnv extends DoorEnv {
  /** The page's files. */
  readonly ASSETS?: { fetch(request: Request): Promise<Response> };
}

/** An admitted caller in your own words, such as a user's id. All of their connections to an agent share one budget of calls. */
export interface KnownCaller {
  /** The name, such as `user-7`. */
  readonly caller: string;
}

type Authorized = boolean | KnownCaller | Response;

/** Options of {@link createWorker}. */
export interface WorkerOptions<Env> {
  /**
   * Your own rules in place of the secret's. They decide whether this caller may reach this agent, and may name the caller. A bare `true`
   * names the caller by their address. `false` is answered as not found, and a response of your own is sent unchanged. An error admits
   * nobody.
   */
  readonly authorize?: (request: Request, to: AgentAddress, env: Env) => Authorized | Promise<Authorized>;
  /** Origins of other pages that may connect, such as `https://app.example.com`. The Worker's own origin always may. */
  readonly origins?: readonly string[];
}

type Route = { readonly kind: "agent" | "ticket"; readonly to: AgentAddress } | { readonly kind: "page" };

type Admission =
  | { readonly kind: "admitted"; readonly visit: Visit & { readonly caller: string } }
  | { readonly kind: "refused"; readonly answer: Response };

/**
 * A Worker that serves agents and the project's page behind one door. Without a secret and without `authorize` it serves callers on its
 * own machine alone. Throws `invalid_options` for an unknown option.
 */
export function createWorker<Env extends object & WorkerEnv>(
  options: WorkerOptions<Env> = {},
): { fetch(request: Request, env: Env): Promise<Response> } {
  // A misspelt rule would let everybody in whom the secret lets in.
  checkFields<WorkerOptions<Env>>("createWorker", options, { authorize: true, origins: true });
  let warned = false;
  return {
    async fetch(request, env) {
      return orBroken(async () => {
        if (!warned && isUnlocked(request, env, options)) {
          warned = true;
          console.warn(UNLOCKED);
        }
        return answer(request, env, options);
      });
    },
  };
}

async function answer<Env extends WorkerEnv>(
  request: Request,
  env: Env,
  options: WorkerOptions<Env>,
): Promise<Response> {
  const closed = findClosed(request, env, options);
  if (closed !== null) return closed;
  const route = findRoute(new URL(request.url).pathname);
  if (route === null) return notFound();
  if (route.kind === "page") return answerPage(request, env);
  const wrong = findWrong(request, route, options);
  if (wrong !== null) return wrong;
  const admission = await admit(request, route, { env, options });
  if (admission.kind === "refused") return admission.answer;
  if (!hasAgent(env, route.to.agent)) return notFound();
  const { visit } = admission;
  if (route.kind === "ticket") return answerTicket(env, route.to, visit.caller);
  return (await routeAgentRequest(handOn(request, route.to, { visit, options }), env)) ?? notFound();
}

/** Warns of a proxy on this machine that names neither itself nor its callers. Its callers cannot be told from local ones. */
const UNLOCKED =
  "This Worker is unlocked: without PALIMPSEST_SECRET it serves whoever reaches it on this machine. Behind a proxy or a tunnel that runs here, that may be anybody: set a secret first.";

/** True when only the caller's location admits this request. */
function isUnlocked<Env extends WorkerEnv>(request: Request, env: Env, { authorize }: WorkerOptions<Env>): boolean {
  return authorize === undefined && readSecret(env).kind === "unset" && isOnThisMachine(request);
}

/** Refuses every request to a Worker that was deployed without any rule for its callers. */
function findClosed<Env extends WorkerEnv>(request: Request, env: Env, options: WorkerOptions<Env>): Response | null {
  const secret = readSecret(env);
  if (secret.kind === "unusable") return refuse(403, "unauthorized", secret.advice);
  if (secret.kind === "set" || options.authorize !== undefined || isUnlocked(request, env, options)) return null;
  return refuse(
    403,
    "unauthorized",
    "This Worker is locked: without a secret it serves only callers on its own machine. Set one (`npx wrangler secret put PALIMPSEST_SECRET`), and send it as `Authorization: Bearer …`.",
  );
}

/** Divides segments as the SDK's own routing does, so the admitted agent is the agent that is reached. */
function findRoute(pathname: string): Route | null {
  const [first, agent, segment = "", action, ...rest] = pathname.split("/").filter(Boolean);
  if (first !== "agents") return { kind: "page" };
  const name = readAgentName(segment);
  if (agent === undefined || name === null || rest.length > 0) return null;
  if (action === undefined) return { kind: "agent", to: { agent, name } };
  return action === "ticket" ? { kind: "ticket", to: { agent, name } } : null;
}

/** Refuses requests that no caller may make. */
function findWrong<Env>(request: Request, { kind }: Route, { origins = [] }: WorkerOptions<Env>): Response | null {
  const { method, headers } = request;
  const url = new URL(request.url);
  const origin = headers.get("Origin");
  if (kind === "ticket" && method !== "POST") return refuse(405, "invalid_input", "Ask for a ticket with POST.");
  if (origin !== null && origin !== url.origin && !origins.includes(origin)) {
    return refuse(
      403,
      "unauthorized",
      "Pages of this origin may not connect. List it under `origins` in createWorker.",
    );
  }
  // The SDK's other transport reaches an object's methods without passing the guard of frames.
  if (url.searchParams.has("__agents_transport")) {
    return refuse(400, "invalid_input", "Connect with a plain WebSocket: leave __agents_transport out.");
  }
  if (request.body === null) return null;
  const length = Number(headers.get("Content-Length") ?? Number.NaN);
  if (Number.isNaN(length)) return refuse(411, "invalid_input", "Send a Content-Length with a body.");
  return length > MAX_REQUEST_BYTES
    ? refuse(413, "too_large", `A body is at most ${MAX_REQUEST_BYTES} bytes; this one says ${length}.`)
    : null;
}

async function admit<Env extends WorkerEnv>(
  request: Request,
  { kind, to }: Extract<Route, { to: AgentAddress }>,
  { env, options }: { env: Env; options: WorkerOptions<Env> },
): Promise<Admission> {
  const secret = readSecret(env);
  const ticket = new URL(request.url).searchParams.get("ticket");
  if (kind === "agent" && ticket !== null && secret.kind === "set" && isUpgrade(request)) {
    const claim = await readTicket(secret.value, to, { ticket, now: Date.now() });
    if (claim === null) return { kind: "refused", answer: askForCredentials() };
    return { kind: "admitted", visit: { caller: claim.caller, ticket: claim } };
  }
  if (options.authorize !== undefined) {
    const authorized = await options.authorize(request, to, env);
    if (authorized instanceof Response) return { kind: "refused", answer: authorized };
    if (authorized === true) return admitted(addressOf(request));
    const isKnown = typeof authorized === "object" && typeof authorized.caller === "string" && authorized.caller !== "";
    return isKnown ? admitted(authorized.caller) : { kind: "refused", answer: notFound() };
  }
  // Without a secret and without rules, only callers on this machine get this far.
  const may = secret.kind === "unset" || (secret.kind === "set" && (await holdsSecret(request, secret.value)));
  return may ? admitted(addressOf(request)) : { kind: "refused", answer: askForCredentials() };
}

async function admitted(caller: string): Promise<Admission> {
  return { kind: "admitted", visit: { caller: await nameCaller(caller), ticket: null } };
}

/** A null ticket means that none is needed, or that none can be signed and the caller's own credentials suffice. */
async function answerTicket(env: WorkerEnv, to: AgentAddress, caller: string): Promise<Response> {
  const secret = readSecret(env);
  if (secret.kind !== "set") return answerJson({ ticket: null, expiresAt: null });
  return answerJson(await issueTicket(secret.value, to, { caller, now: Date.now() }));
}

async function answerPage(request: Request, { ASSETS }: WorkerEnv): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD")
    return refuse(405, "invalid_input", "Only GET is answered here.");
  return ASSETS === undefined ? notFound() : ASSETS.fetch(request);
}

/**
 * Hands the request to the admitted agent, under the canonical form of its name. The credentials are removed, because neither the agent nor
 * a reader of its log needs them. The caller's name is passed on.
 */
function handOn<Env>(
  request: Request,
  { agent, name }: AgentAddress,
  { visit, options }: { visit: Visit; options: WorkerOptions<Env> },
): Request {
  const url = new URL(request.url);
  url.pathname = `/agents/${agent}/${writeAgentName(name)}`;
  url.searchParams.delete("ticket");
  const handed = new Request(url, request);
  if (options.authorize === undefined) handed.headers.delete("Authorization");
  writeVisit(handed.headers, visit);
  return handed;
}

/** Checks before the SDK's routing, which answers and logs a missing class in its own words. */
function hasAgent(env: object, agent: string): boolean {
  return Object.entries(env).some(
    ([binding, value]) =>
      typeof value === "object" &&
      value !== null &&
      value.constructor.name === "DurableObjectNamespace" &&
      camelCaseToKebabCase(binding) === agent,
  );
}

function askForCredentials(): Response {
  return refuse(401, "unauthorized", "Send the secret as `Authorization: Bearer …`, or a ticket with a WebSocket.");
}
