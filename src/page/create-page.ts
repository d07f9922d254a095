/**
 * The page in a Worker of the user's own.
 *
 *     <path>/                              the page, with its files below
 *     <path>/agents/<agent>/<name>/ticket  POST: a ticket for the page's WebSocket
 *     <path>/agents/<agent>/<name>         the page's WebSocket (relay.ts)
 *
 * It has a door of its own, because the page may do more than the agent's clients: it reads and steers every session. So nothing here
 * opens a call to clients, and the door is closed without a rule. Requests to any other path are not answered.
 */
import { camelCaseToKebabCase } from "agents";
import { files } from "#page-files";
import { readAgentName } from "../doors/agent-name.ts";
import { answerJson, isUpgrade, notFound, orBroken, refuse } from "../doors/answers.ts";
import {
  holdsSecret,
  issueTicket,
  nameCaller,
  readSecret,
  readTicket,
  TICKET_MS,
  type AgentAddress,
} from "../doors/caller.ts";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { relay, type WatchedNamespace } from "./relay.ts";

/** Who may use the page. Exactly one of the two is given. */
export type PageGuard<Env> =
  | {
      /**
       * Your own rule, such as a session cookie or a header of Cloudflare Access. It is asked at each request for the page and its socket.
       * `false` is answered as not found, and a response of your own is sent unchanged. An error admits nobody.
       */
      readonly authorize: (request: Request, env: Env) => boolean | Response | Promise<boolean | Response>;
      readonly secret?: never;
    }
  | {
      /** A secret of 24 characters or more, which the page asks for. While it is not set, nobody is admitted. */
      readonly secret: (env: Env) => string | undefined;
      readonly authorize?: never;
    };

export type PageOptions<Env> = PageGuard<Env> & {
  /** The Durable Object binding of the agents that the page shows. */
  readonly agent: keyof Env & string;
  /** Name of the agent that the page opens first. A person can choose another. Default "default". */
  readonly name?: string;
  /** Where the page is. Default "/palimpsest". */
  readonly path?: string;
};

export interface Page<Env> {
  /** Answers a request for the page. Null for any other path. */
  fetch(request: Request, env: Env): Promise<Response | null>;
}

/** One or more segments of plain characters. */
const PATH = /^(?:\/[\w.~-]+)+$/;

/** Names of files that change with their content. */
const HASHED = /^assets\//;

/**
 * Makes the page's handler, to be asked before your own routes: `(await page.fetch(request, env)) ?? …`. Throws `invalid_options`.
 */
export function createPage<Env extends object>(options: PageOptions<Env>): Page<Env> {
  checkFields("createPage", options, { agent: true, authorize: true, name: true, path: true, secret: true });
  const { agent, authorize, secret, path = "/palimpsest", name = "default" } = options;
  if (typeof agent !== "string" || agent === "") {
    throw invalid("agent: give the name of the Durable Object binding whose agents the page shows.");
  }
  if ((typeof authorize === "function") === (typeof secret === "function")) {
    throw invalid(
      "createPage takes a function under authorize, which says who may use the page, or one under secret, which returns the page's secret. Give one of the two.",
    );
  }
  if (!PATH.test(path)) throw invalid(`path is ${JSON.stringify(path)}: give one such as "/palimpsest".`);
  if (readAgentName(encodeURIComponent(name)) === null) {
    throw invalid(`name is ${JSON.stringify(name)}: give the name of an agent.`);
  }
  const mounted: Mounted<Env> = { options, path, name, agentInPath: camelCaseToKebabCase(agent) };
  return {
    async fetch(request, env) {
      const { pathname } = new URL(request.url);
      if (pathname !== path && !pathname.startsWith(`${path}/`)) return null;
      return orBroken(() => answer(mounted, request, env));
    },
  };
}

interface Mounted<Env> {
  readonly options: PageOptions<Env>;
  readonly path: string;
  readonly name: string;
  readonly agentInPath: string;
}

async function answer<Env extends object>(mounted: Mounted<Env>, request: Request, env: Env): Promise<Response> {
  const { path } = mounted;
  const url = new URL(request.url);
  // Addresses in the page are relative to its folder.
  if (url.pathname === path) return Response.redirect(new URL(`${path}/`, url).href, 308);
  const rest = url.pathname.slice(path.length + 1);
  if (!rest.startsWith("agents/")) return answerFile(mounted, { request, env, file: rest || "index.html" });
  const origin = request.headers.get("Origin");
  if (origin !== null && origin !== url.origin) {
    return refuse(403, "unauthorized", "Only the page itself may connect here.");
  }
  const [, agent, segment = "", action, ...more] = rest.split("/");
  const name = readAgentName(segment);
  if (agent !== mounted.agentInPath || name === null || more.length > 0) return notFound();
  const address: AgentAddress = { agent, name };
  if (action === "ticket") return answerTicket(mounted, { request, env, address });
  return action === undefined ? answerSocket(mounted, { request, env, address }) : notFound();
}

interface Asked<Env> {
  readonly request: Request;
  readonly env: Env;
}

/** With a secret the page's files are open, because the page must ask for the secret. They hold no word of a conversation. */
async function answerFile<Env extends object>(
  { options, name, agentInPath }: Mounted<Env>,
  { request, env, file }: Asked<Env> & { readonly file: string },
): Promise<Response> {
  const { authorize } = options;
  const refused = authorize === undefined ? null : refusalOf(await authorize(request, env));
  if (refused !== null) return refused;
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refuse(405, "invalid_input", "Only GET is answered here.");
  }
  const found = Object.hasOwn(files, file) ? files[file] : undefined;
  if (found === undefined) return notFound();
  const isHtml = file === "index.html";
  const body = isHtml
    ? found.body
        .replace('content="palimpsest-agent"', () => `content="${escape(agentInPath)}"`)
        .replace('content="demo"', () => `content="${escape(name)}"`)
    : found.body;
  const kept = HASHED.test(file) ? "public, max-age=31536000, immutable" : "no-cache";
  return new Response(request.method === "HEAD" ? null : body, {
    headers: { "Content-Type": found.type, "Cache-Control": kept },
  });
}

async function answerTicket<Env extends object>(
  { options }: Mounted<Env>,
  { request, env, address }: Asked<Env> & { readonly address: AgentAddress },
): Promise<Response> {
  if (request.method !== "POST") return refuse(405, "invalid_input", "Ask for a ticket with POST.");
  if (options.authorize !== undefined) {
    return refusalOf(await options.authorize(request, env)) ?? answerJson({ ticket: null, expiresAt: null });
  }
  const secret = readSecret({ PALIMPSEST_SECRET: options.secret(env) ?? "" });
  if (secret.kind === "unset") return refuse(403, "unauthorized", "The page is locked, and its secret is not set.");
  if (secret.kind === "unusable") {
    return refuse(403, "unauthorized", secret.advice.replace("PALIMPSEST_SECRET", "The page's secret"));
  }
  if (!(await holdsSecret(request, secret.value))) return askForSecret();
  const half = crypto.randomUUID();
  const caller = await nameCaller(half);
  const issued = await issueTicket(signingKey(secret.value), address, { caller, now: Date.now() });
  const given = answerJson(issued);
  const safe = new URL(request.url).protocol === "https:" ? "; Secure" : "";
  const kept = `Max-Age=${TICKET_MS / 1_000}; HttpOnly; SameSite=Strict${safe}`;
  given.headers.set("Set-Cookie", `${cookieName(issued.ticket)}=${half}; ${kept}`);
  return given;
}

/**
 * A ticket stands in an address, and addresses are kept in logs. So its other half is a cookie in the browser that asked for it. The half is
 * new with each ticket, so a cookie that somebody planted opens nothing. The agent knows nothing of the page's tickets, so it could not keep
 * a used one. The cookie has the ticket's id in its name, because two tabs may connect at once.
 */
function cookieName(ticket: string): string {
  const [, id = ""] = ticket.split(".");
  return `palimpsest-page-${id}`;
}

function halfOf(request: Request, ticket: string): string | null {
  const cookies = (request.headers.get("Cookie") ?? "").split(/;\s*/);
  const name = `${cookieName(ticket)}=`;
  return cookies.find((each) => each.startsWith(name))?.slice(name.length) ?? null;
}

async function answerSocket<Env extends object>(
  { options }: Mounted<Env>,
  { request, env, address }: Asked<Env> & { readonly address: AgentAddress },
): Promise<Response> {
  if (!isUpgrade(request)) return refuse(426, "invalid_input", "Connect with a WebSocket.");
  if (options.authorize !== undefined) {
    const refused = refusalOf(await options.authorize(request, env));
    if (refused !== null) return refused;
  } else if (!(await holdsTicket(options.secret(env), { request, address }))) {
    return askForSecret();
  }
  const namespace = (env as Record<string, WatchedNamespace | undefined>)[options.agent];
  if (typeof namespace?.idFromName !== "function") {
    const advice = `This Worker has no Durable Object binding "${options.agent}", which createPage was given as its agent.`;
    return refuse(500, "not_configured", advice);
  }
  return relay(request, namespace, address);
}

async function holdsTicket(
  value: string | undefined,
  { request, address }: { readonly request: Request; readonly address: AgentAddress },
): Promise<boolean> {
  const secret = readSecret({ PALIMPSEST_SECRET: value ?? "" });
  const ticket = new URL(request.url).searchParams.get("ticket");
  if (secret.kind !== "set" || ticket === null) return false;
  const half = halfOf(request, ticket);
  const claim = await readTicket(signingKey(secret.value), address, { ticket, now: Date.now() });
  return claim !== null && half !== null && claim.caller === (await nameCaller(half));
}

/** The same secret may also lock the Worker's own door. A ticket of the one opens nothing at the other. */
function signingKey(secret: string): string {
  return `page ${secret}`;
}

/** Only a plain `true` admits, whatever a rule that was written without types returns. */
function refusalOf(answer: unknown): Response | null {
  if (answer instanceof Response) return answer;
  return answer === true ? null : notFound();
}

function askForSecret(): Response {
  return refuse(401, "unauthorized", "Send the page's secret as `Authorization: Bearer …`.");
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
