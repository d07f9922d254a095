/** The page in a Worker of one's own: who may use it, what it reaches, and that it opens nothing to anybody else. */
import { env } from "cloudflare:workers";
import { routeAgentRequest } from "agents";
import { describe, expect, test, vi } from "vitest";
import { createPage, type PageOptions } from "../../src/page/create-page.ts";
import { writeVisit } from "../../src/doors/caller.ts";
import { MAX_CALLS, relay, type WatchedNamespace } from "../../src/page/relay.ts";
import { newAgent } from "../agents.ts";
import { codeOf, HOST, open, upgrade, type Line } from "../doors/client.ts";

// What fails on purpose is written to the log.
vi.spyOn(console, "error").mockImplementation(() => undefined);

type Env = Cloudflare.Env;
type Options = PageOptions<Env>;

const SECRET = "the-secret-of-every-page-here";
const withSecret = { Authorization: `Bearer ${SECRET}` };
const locked: Options = { agent: "DefaultAgent", secret: () => SECRET };
const mine: Options = { agent: "DefaultAgent", authorize: ({ headers }) => headers.get("X-User") === "ada" };
const anybody = (): boolean => true;
const ada = { "X-User": "ada" };

interface Ask {
  readonly method?: string;
  readonly headers?: Record<string, string>;
}

/** The answer of the page, which must be one. */
async function ask(options: Options, path: string, init: Ask = {}): Promise<Response> {
  const answer = await createPage<Env>(options).fetch(new Request(`${HOST}${path}`, init), env);
  if (answer === null) throw new Error(`${path} is none of the page's.`);
  return answer;
}

const agentAt = (name: string): string => `/palimpsest/agents/default-agent/${name}`;

/** A ticket, and the headers of the browser that it was given to. */
async function ticketOf(name: string, headers: Record<string, string> = {}) {
  const init = { method: "POST", headers: { ...withSecret, ...headers } };
  const answer = await ask(locked, `${agentAt(name)}/ticket`, init);
  const cookie = answer.headers.get("Set-Cookie") ?? "";
  const { ticket } = await answer.json<{ ticket: string }>();
  return { ticket, cookie, browser: { Cookie: `theme=dark; ${cookie.split(";")[0]}`, ...upgrade } };
}

/** A page's connection to an agent. */
function pageOf(name: string, options: Options = mine): Promise<Line> {
  return open(ask(options, agentAt(name), { headers: { ...ada, ...upgrade } }));
}

describe("the page's door", () => {
  test.for([
    ["without a rule", { agent: "DefaultAgent" }],
    ["with two rules", { agent: "DefaultAgent", authorize: anybody, secret: () => SECRET }],
    ["with a rule that is no function", { agent: "DefaultAgent", authorize: true }],
    ["without an agent", { authorize: anybody }],
    ["with an unknown option", { agent: "DefaultAgent", authorize: anybody, open: true }],
    ["at the root", { agent: "DefaultAgent", authorize: anybody, path: "/" }],
    ["at a path that no address has", { agent: "DefaultAgent", authorize: anybody, path: "pages/" }],
    ["on an agent that no path can name", { agent: "DefaultAgent", authorize: anybody, name: "a/b" }],
  ] as const)("is not made %s", ([, options]) => {
    expect(() => createPage<Env>(options as unknown as Options)).toThrow(/^\[invalid_options\] /);
  });

  test("leaves every other path to the Worker, and leads to the folder of its own", async () => {
    const page = createPage<Env>({ ...mine, path: "/admin/memory" });
    for (const path of ["/", "/admin", "/admin/memory2", "/agents/default-agent/a", "/palimpsest/"]) {
      expect(await page.fetch(new Request(`${HOST}${path}`, { headers: ada }), env)).toBeNull();
    }
    const led = await page.fetch(new Request(`${HOST}/admin/memory`, { headers: ada }), env);
    expect([led?.status, led?.headers.get("Location")]).toEqual([308, `${HOST}/admin/memory/`]);
    expect((await page.fetch(new Request(`${HOST}/admin/memory/`, { headers: ada }), env))?.status).toBe(200);
  });

  test("gives nobody a file, a ticket or a socket whom a rule of one's own does not admit", async () => {
    const name = newAgent().name;
    const asked: [string, Ask][] = [
      ["/palimpsest/", {}],
      ["/palimpsest/assets/index-1.js", {}],
      [`${agentAt(name)}/ticket`, { method: "POST" }],
      [agentAt(name), { headers: upgrade }],
    ];
    for (const [path, init] of asked) {
      expect(await codeOf(ask(mine, path, init))).toEqual([404, "not_found"]);
      const truthy = { ...mine, authorize: (() => "yes") as unknown as () => boolean };
      expect(await codeOf(ask(truthy, path, init))).toEqual([404, "not_found"]);
      const broken = { ...mine, authorize: () => Promise.reject(new Error("The store of users is down.")) };
      expect(await codeOf(ask(broken, path, init))).toEqual([500, "broken_invariant"]);
      const login = { ...mine, authorize: () => Response.redirect(`${HOST}/login`, 302) };
      expect((await ask(login, path, init)).status).toBe(302);
      expect((await ask(mine, path, { ...init, headers: { ...init.headers, ...ada } })).status).toBeLessThan(300);
    }
  });

  test("with a secret: the files are open and hold no conversation; a socket needs a ticket, and a ticket the secret", async () => {
    const { name } = newAgent();
    expect((await ask(locked, "/palimpsest/")).status).toBe(200);
    expect(await codeOf(ask(locked, agentAt(name), { headers: upgrade }))).toEqual([401, "unauthorized"]);
    for (const headers of [{}, { Authorization: "Bearer a-wrong-secret-of-24-chars" }]) {
      const refused = ask(locked, `${agentAt(name)}/ticket`, { method: "POST", headers });
      expect(await codeOf(refused)).toEqual([401, "unauthorized"]);
    }
    const { ticket, browser } = await ticketOf(name);
    const line = await open(ask(locked, `${agentAt(name)}?ticket=${ticket}`, { headers: browser }));
    expect((await line.call("status", {})).success).toBe(true);
    line.close();
  });

  test("a ticket that was read from a log opens nothing: its other half is in the browser that asked for it", async () => {
    const { name } = newAgent();
    const [mine, other] = [await ticketOf(name), await ticketOf(name)];
    const path = `${agentAt(name)}?ticket=${mine.ticket}`;
    const [cookieName = "", half = ""] = (mine.cookie.split(";")[0] ?? "").split("=");
    const [, othersHalf = ""] = (other.cookie.split(";")[0] ?? "").split("=");
    const cookies = ["", `${cookieName}=`, `${cookieName}=${othersHalf}`, `x${cookieName}=${half}`];
    for (const headers of [upgrade, other.browser, ...cookies.map((Cookie) => ({ ...upgrade, Cookie }))]) {
      expect(await codeOf(ask(locked, path, { headers }))).toEqual([401, "unauthorized"]);
    }
    expect(mine.cookie).toMatch(/^[^;]+; Max-Age=60; HttpOnly; SameSite=Strict; Secure$/);
  });

  test("a ticket has a half of its own, so tabs take none from each other, and a planted cookie opens nothing", async () => {
    const { name } = newAgent();
    const planted = "palimpsest-page-0=00000000-0000-4000-8000-000000000000";
    const [one, two] = [await ticketOf(name, { Cookie: planted }), await ticketOf(name, { Cookie: planted })];
    const both = { ...upgrade, Cookie: [one, two].map(({ cookie }) => cookie.split(";")[0]).join("; ") };
    for (const { ticket, cookie } of [one, two]) {
      expect(cookie).not.toContain("00000000-0000-4000-8000-000000000000");
      (await open(ask(locked, `${agentAt(name)}?ticket=${ticket}`, { headers: both }))).close();
    }
    expect(one.cookie.split(";")[0]).not.toBe(two.cookie.split(";")[0]);
  });

  test("a ticket's cookie is read wherever it stands among cookies, and from no cookie of another name", async () => {
    const { name } = newAgent();
    const { ticket, cookie } = await ticketOf(name);
    const [mark = ""] = cookie.split(";");
    const path = `${agentAt(name)}?ticket=${ticket}`;
    for (const cookies of [`my-${mark}`, `theme=dark; my-${mark}`, `theme=${mark}`, `${mark}0`]) {
      expect(await codeOf(ask(locked, path, { headers: { ...upgrade, Cookie: cookies } }))).toEqual([
        401,
        "unauthorized",
      ]);
    }
    for (const cookies of [mark, `${mark};theme=dark`, `theme=dark;${mark}`, `theme=dark;  ${mark}; a=b`]) {
      const { status } = await ask(locked, path, { headers: { ...upgrade, Cookie: cookies } });
      expect(status, cookies).toBe(101);
    }
  });

  test("a ticket is for one agent, and for the page alone", async () => {
    const [{ name }, other] = [newAgent(), newAgent()];
    const { ticket, browser } = await ticketOf(name);
    for (const path of [
      `${agentAt(other.name)}?ticket=${ticket}`,
      `${agentAt(name)}?ticket=${ticket.slice(0, -1)}0g`,
    ]) {
      expect(await codeOf(ask(locked, path, { headers: browser }))).toEqual([401, "unauthorized"]);
    }
    const { readTicket } = await import("../../src/doors/caller.ts");
    const place = { agent: "default-agent", name };
    expect(await readTicket(SECRET, place, { ticket, now: Date.now() })).toBeNull();
  });

  test.for([undefined, "", "short", "one with spaces in it, long enough"])(
    "stays closed while its secret is %j",
    async (value) => {
      const options: Options = { agent: "DefaultAgent", secret: () => value };
      const asked = ask(options, `${agentAt("a")}/ticket`, { method: "POST", headers: withSecret });
      expect(await codeOf(asked)).toEqual([403, "unauthorized"]);
      expect(await codeOf(ask(options, agentAt("a"), { headers: upgrade }))).toEqual([401, "unauthorized"]);
    },
  );

  test("no page of another origin connects, no other class is reached, and what is missing is said", async () => {
    const elsewhere = { ...ada, Origin: "https://evil.example" };
    for (const [path, init] of [
      [agentAt("a"), { headers: { ...elsewhere, ...upgrade } }],
      [`${agentAt("a")}/ticket`, { method: "POST", headers: elsewhere }],
    ] as const) {
      expect(await codeOf(ask(mine, path, init))).toEqual([403, "unauthorized"]);
    }
    for (const path of [
      "agents/bare-agent/a",
      "agents/default-agent/a%2Fb",
      "agents/default-agent/a/b/c",
      "agents/default-agent/a/ticket/c",
      "no.js",
      "constructor",
    ]) {
      expect(await codeOf(ask(mine, `/palimpsest/${path}`, { headers: { ...ada, ...upgrade } }))).toEqual([
        404,
        "not_found",
      ]);
    }
    expect(await codeOf(ask(mine, agentAt("a"), { headers: ada }))).toEqual([426, "invalid_input"]);
    expect(await codeOf(ask(mine, "/palimpsest/", { method: "POST", headers: ada }))).toEqual([405, "invalid_input"]);
    expect(await codeOf(ask(mine, `${agentAt("a")}/ticket`, { headers: ada }))).toEqual([405, "invalid_input"]);
    const unbound = { ...mine, agent: "SKILLS" } as Options;
    const answer = ask(unbound, "/palimpsest/agents/skills/a", { headers: { ...ada, ...upgrade } });
    expect(await codeOf(answer)).toEqual([500, "not_configured"]);
  });

  test("its document names the agents that it shows, as text, under the strict policy", async () => {
    const answer = await ask({ ...mine, name: 'a"><script>' }, "/palimpsest/", { headers: ada });
    expect(await answer.text()).toContain(
      'content="default-agent" /><meta name="palimpsest-name" content="a&#34;&#62;',
    );
    expect(answer.headers.get("Content-Security-Policy")).toContain("script-src 'self'");
    expect(answer.headers.get("Cache-Control")).toBe("no-cache");
    const asset = await ask(mine, "/palimpsest/assets/index-1.js", { headers: ada });
    expect(asset.headers.get("Cache-Control")).toContain("immutable");
  });
});

describe("the page's connection", () => {
  test("hands the agent no ticket of the page, and no visit that the caller wrote", async () => {
    const handed: Request[] = [];
    const stub = { fetch: (request: Request) => Promise.resolve((handed.push(request), new Response("No."))) };
    const namespace = { idFromName: (name: string) => name, get: () => stub } as unknown as WatchedNamespace;
    const forged = new Headers(upgrade);
    writeVisit(forged, { caller: "somebody", ticket: { id: "theirs", expiresAt: 1 } });
    const place = { agent: "default-agent", name: "a" };
    const asked = new Request(`${HOST}${agentAt("a")}?ticket=secret`, { headers: forged });
    expect((await relay(asked, namespace, place)).status).toBe(200);
    expect(handed.map(({ url }) => url)).toEqual([`${HOST}/agents/default-agent/a`]);
    expect([...(handed[0]?.headers ?? [])].join()).not.toMatch(/somebody|theirs/);
  });

  test("makes calls that no client of the same agent may make", async () => {
    const { name } = newAgent();
    const page = await pageOf(name);
    const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] };
    expect((await page.call("append", { message })).success).toBe(true);
    const view = (await page.call("getView", {})).result as { messages: { id: string }[] };
    expect(view.messages.map(({ id }) => id)).toEqual(["m1"]);
    const request = new Request(`${HOST}/agents/default-agent/${name}`, { headers: upgrade });
    const client = await open(routeAgentRequest(request, env) as Promise<Response>);
    expect((await client.call("getView", {})).error).toContain("does not open getView");
    expect((await client.call("status", {})).success).toBe(true);
  });

  test("hears of runs, and of nothing else that the agent sends", async () => {
    const { name } = newAgent();
    const page = await pageOf(name);
    for (let n = 0; n < 30; n++) {
      const text = `Step ${n} is done, and its test says so. `.repeat(20);
      await page.call("append", {
        message: { id: `m${n}`, role: n % 2 ? "assistant" : "user", parts: [{ type: "text", text }] },
      });
    }
    await page.until(() => page.heard.find((each) => each.type === "palimpsest:run" && "outcome" in each));
    expect(new Set(page.heard.map(({ type }) => type))).toEqual(new Set(["rpc", "palimpsest:run"]));
  });

  test.for(["compactionStep", "setState", "fetch", "getHistory", "deleteSession", "constructor", "__proto__"])(
    "has no call %s",
    async (method) => {
      const page = await pageOf(newAgent().name);
      const { success, error } = await page.call(method, {});
      expect([success, error?.startsWith("[invalid_input] ")]).toEqual([false, true]);
    },
  );

  test("answers a wrong input with the agent's own error, and a call of a missing room with the line that adds it", async () => {
    const page = await pageOf(newAgent().name);
    expect((await page.call("getMessage", { id: 7 })).error).toMatch(/^\[invalid_input\] /);
    const path = "/palimpsest/agents/bare-agent/bare";
    const bare = await open(ask({ ...mine, agent: "BareAgent" }, path, { headers: { ...ada, ...upgrade } }));
    expect((await bare.call("getNotes", {})).error).toMatch(
      /^\[not_configured\] This agent has no getNotes, .* rooms: \[notes\(\)\] /,
    );
    expect((await bare.call("status", {})).success).toBe(true);
  });

  test("names the line that opens a call where the agent has only those that it opens to clients", async () => {
    const [heard, news] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    news.accept();
    const lacks = (name: string): unknown =>
      name === "fetch"
        ? async () => new Response(null, { status: 101, webSocket: heard })
        : () => Promise.reject(new TypeError(`The RPC receiver does not implement "${name}".`));
    const stub = new Proxy({}, { get: (_stub, name) => lacks(String(name)) });
    const namespace = { idFromName: (name: string) => name, get: () => stub } as unknown as WatchedNamespace;
    const place = { agent: "default-agent", name: "a" };
    const page = await open(relay(new Request(`${HOST}${agentAt("a")}`, { headers: upgrade }), namespace, place));
    expect((await page.call("getView", {})).error).toMatch(/^\[not_configured\] .* clients: \["watch", "read"\] /);
    expect((await page.call("rollback", {})).error).toContain('clients: ["watch", "read", "steer"]');
    page.close();
  });

  test.for(["no json", "{}", '{"type":"rpc","id":1,"method":"status","args":[]}', '{"type":"cf_agent_state"}'])(
    "is closed by the frame %s",
    async (frame) => {
      const page = await pageOf(newAgent().name);
      page.send(frame);
      expect(await page.until(() => page.closed)).toBe(1003);
    },
  );

  test("ends after so many calls, with every one of them answered", async () => {
    const page = await pageOf(newAgent().name);
    const asked = Array.from({ length: MAX_CALLS }, () => page.call("liveRuns", {}));
    expect((await Promise.all(asked)).every(({ success }) => success === true)).toBe(true);
    expect(await page.until(() => page.closed)).toBe(1012);
  });
});
