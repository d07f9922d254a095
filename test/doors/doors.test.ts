/** The front door of the deployed Worker. Tests who is let in, how far, and the answers to everybody else. */
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { isOnThisMachine } from "../../src/agent/this-machine.ts";
import type { guardConnections } from "../../src/doors/guard.ts";
import { MAX_REQUEST_BYTES } from "../../src/limits.ts";
import { say, talk } from "../conversation.ts";
import { AGENT, ask, codeOf, HOST, open, SECRET, upgrade, withSecret, type Ask, type Line } from "./client.ts";

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

const HERE = { "CF-Connecting-IP": "127.0.0.1" };
const LOCAL = "http://localhost:8787";

function connect(name: string): Promise<Line> {
  return open(ask({ path: `/agents/palimpsest-agent/${name}`, headers: { ...withSecret, ...upgrade } }));
}

describe("without a secret", () => {
  test.for<[string, string, Record<string, string>]>([
    ["a deployed Worker's caller", HOST, { "CF-Connecting-IP": "203.0.113.9", "CF-Ray": "1" }],
    ["a caller with no address", LOCAL, {}],
    ["a caller on the same network", LOCAL, { "CF-Connecting-IP": "192.168.1.4" }],
    ["a page whose name was pointed here", "http://evil.example:8787", HERE],
    ["a name that begins like ours", "http://localhost.evil.example", HERE],
    ["an address that begins like ours", "http://127.0.0.1.evil.example", HERE],
    ["a caller behind a proxy here", LOCAL, { ...HERE, "X-Forwarded-For": "203.0.113.9" }],
    ["a caller behind a tunnel", LOCAL, { ...HERE, "CF-Ray": "1" }],
    ["two addresses in one", LOCAL, { "CF-Connecting-IP": "127.0.0.1, 203.0.113.9" }],
  ])("%s is told how to set one, on every path, and reaches nothing", async ([, host, headers]) => {
    for (const path of ["/", "/page.js", AGENT, `${AGENT}/ticket`, "/agents/nothing/here"]) {
      for (const kind of [{}, upgrade]) {
        const answer = ask({ secret: null, host, path, headers: { ...headers, ...kind } });
        expect(await codeOf(answer)).toEqual([403, "unauthorized"]);
      }
    }
    const told = await ask({ secret: null, host, headers });
    expect(await told.text()).toContain("wrangler secret put PALIMPSEST_SECRET");
  });

  test.for(["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"])(
    "a caller on this machine is served at %s",
    async (host) => {
      for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
        expect(isOnThisMachine(new Request(host, { headers: { "CF-Connecting-IP": address } }))).toBe(true);
      }
      const line = await open(ask({ secret: null, host, headers: { ...HERE, ...upgrade } }));
      expect(await line.call("status", {})).toMatchObject({ success: true });
      const ticket = await ask({ secret: null, host, path: `${AGENT}/ticket`, method: "POST", headers: HERE });
      expect(await ticket.json()).toEqual({ ticket: null, expiresAt: null });
    },
  );

  test.for([
    ["too short to be one", "short", "24 characters"],
    ["of several words", "correct horse battery staple", "a space"],
    ["of nothing but spaces", " ".repeat(24), "a space"],
    ["with the line end that it was piped in with", `${SECRET}\n`, "a line end"],
    ["that no header carries", "contraseña-muy-larga-de-verdad", "no header carries"],
  ])("a secret %s locks the Worker for everybody, and says why", async ([, secret = "", why = ""]) => {
    const headers = { ...HERE, Authorization: `Bearer ${secret.replaceAll(/[^ -~]/g, "n")}` };
    expect(await codeOf(ask({ secret, host: LOCAL, headers }))).toEqual([403, "unauthorized"]);
    expect(await (await ask({ secret, host: LOCAL, headers })).text()).toContain(why);
  });

  test("that it is unlocked is in the log once, with what a proxy on this machine would make of it", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { createWorker } = await import("../../src/doors/create-worker.ts");
    const [unlocked, locked] = [createWorker(), createWorker({ authorize: () => false })];
    const here = new Request(`${LOCAL}/nothing`, { headers: HERE });
    await locked.fetch(here, {});
    await unlocked.fetch(new Request(`${HOST}/nothing`), {});
    await unlocked.fetch(here, { PALIMPSEST_SECRET: SECRET });
    expect(warned).not.toHaveBeenCalled();
    for (let time = 0; time < 3; time++) await unlocked.fetch(here, {});
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/unlocked.*proxy.*set a secret/));
    warned.mockRestore();
  });
});

describe("with a secret", () => {
  const wrong: Record<string, Record<string, string>> = {
    none: {},
    "another one": { Authorization: "Bearer the-secret-of-nobody-at-all-here" },
    "its beginning": { Authorization: `Bearer ${SECRET.slice(0, -1)}` },
    "more than it": { Authorization: `Bearer ${SECRET}x` },
    "no scheme": { Authorization: SECRET },
    "another scheme": { Authorization: `Basic ${SECRET}` },
    "a loopback address": HERE,
  };

  test.for(Object.entries(wrong))(
    "%s opens no route, and agents that exist look like those that do not",
    async ([, headers]) => {
      const answers: [number, string][] = [];
      for (const path of [AGENT, "/agents/palimpsest-agent/never-seen", "/agents/no-such-class/x"]) {
        answers.push(await codeOf(ask({ path, headers, host: LOCAL })));
        answers.push(await codeOf(ask({ path, headers: { ...headers, ...upgrade }, host: LOCAL })));
        answers.push(await codeOf(ask({ path: `${path}/ticket`, method: "POST", headers, host: LOCAL })));
      }
      expect(answers).toEqual(answers.map(() => [401, "unauthorized"]));
    },
  );

  test("its holder connects, and calls", async () => {
    const line = await open(ask({ headers: { ...withSecret, ...upgrade } }));
    expect(await line.call("append", { message: say(0) })).toMatchObject({ success: true });
    expect(await line.call("getPathLength", {})).toMatchObject({ success: true, result: 1 });
  });

  test.for<[string, number, Ask]>([
    ["an agent class that is not bound", 404, { path: "/agents/no-such-class/x" }],
    ["a binding that is no agent", 404, { path: "/agents/compaction-workflow/x" }],
    ["an agent without a name", 404, { path: "/agents/palimpsest-agent" }],
    ["a child of an agent", 404, { path: `${AGENT}/sub/palimpsest-agent/child`, headers: upgrade }],
    ["a path below an agent", 404, { path: `${AGENT}/get-messages` }],
    ["a name that is too long", 404, { path: `/agents/palimpsest-agent/${"x".repeat(201)}` }],
    ["a ticket asked for with GET", 405, { path: `${AGENT}/ticket` }],
    ["something posted to the page", 405, { path: "/", method: "POST", body: "x" }],
    ["another transport", 400, { path: `${AGENT}?__agents_transport=capnweb`, headers: upgrade }],
    ["a foreign origin", 403, { headers: { ...upgrade, Origin: "https://evil.example" } }],
    ["no origin to speak of", 403, { headers: { ...upgrade, Origin: "null" } }],
    ["our host over another scheme", 403, { headers: { ...upgrade, Origin: HOST.replace("https", "http") } }],
    [
      "a foreign page that asks for a ticket",
      403,
      { path: `${AGENT}/ticket`, method: "POST", headers: { Origin: "https://evil.example" } },
    ],
    ["a body of no stated length", 411, { method: "POST", body: "x" }],
    ["a body of a length that is none", 411, { method: "POST", body: "x", headers: { "Content-Length": "many" } }],
    [
      "a body too large",
      413,
      { method: "POST", body: "x", headers: { "Content-Length": String(MAX_REQUEST_BYTES + 1) } },
    ],
  ])("%s is refused with %i, whatever the credentials", async ([, status, how]) => {
    const answer = await ask({ ...how, headers: { ...withSecret, ...how.headers } });
    expect(answer.status).toBe(status);
    expect(answer.webSocket).toBeNull();
  });

  test("a page of our own origin, and one that was listed, may connect", async () => {
    for (const origin of [HOST, "https://app.example"]) {
      const headers = { ...withSecret, ...upgrade, Origin: origin };
      await open(ask({ headers, options: { origins: ["https://app.example"] } }));
    }
  });
});

describe("with rules of the user's own", () => {
  const options = {
    authorize: (request: Request, { name }: { name: string }) => {
      const user = request.headers.get("X-User");
      if (user === null) return new Response("Sign in", { status: 302, headers: { Location: "/sign-in" } });
      if (user === "mallory") throw new Error("The rules broke.");
      return user === name;
    },
  };

  const askAs = (path: string, user: string, kind: Record<string, string>) =>
    ask({ path, options, headers: { "X-User": user, ...kind }, method: path.endsWith("ticket") ? "POST" : "GET" });

  test("an agent that is another's is not found, and looks like one that does not exist (S1)", async () => {
    for (const kind of [{}, upgrade]) {
      for (const path of [
        "/agents/palimpsest-agent/alice",
        "/agents/palimpsest-agent/alice/ticket",
        "/agents/none/alice",
      ]) {
        expect(await codeOf(askAs(path, "bob", kind))).toEqual([404, "not_found"]);
      }
    }
    await open(askAs("/agents/palimpsest-agent/alice", "alice", upgrade));
  });

  test("their answer is sent as it is, what they throw admits nobody, and the secret does not stand in for them", async () => {
    expect((await ask({ options })).headers.get("Location")).toBe("/sign-in");
    expect((await ask({ options, headers: { "X-User": "mallory", ...upgrade } })).status).toBe(500);
    expect((await ask({ options, headers: withSecret })).status).toBe(302);
  });

  test("a ticket for one's own agent opens it, and not another's", async () => {
    const path = "/agents/palimpsest-agent/alice";
    const { ticket } = await (
      await ask({ path: `${path}/ticket`, method: "POST", options, headers: { "X-User": "alice" } })
    ).json<{ ticket: string }>();
    await open(ask({ path: `${path}?ticket=${ticket}`, options, headers: upgrade }));
    expect(
      (await ask({ path: `/agents/palimpsest-agent/bob?ticket=${ticket}`, options, headers: upgrade })).status,
    ).toBe(401);
  });
});

describe("what is another tenant's is unknown in one's own agent, as what never was (S1)", () => {
  test("their runs, summaries, messages and sessions, through every call that takes an id of one", async () => {
    const theirs = await connect("theirs-too");
    const sessionId = "private";
    await theirs.call("appendAll", { sessionId, messages: talk(0, 17) });
    const { result: runs } = await theirs.call("runs", { sessionId });
    const [{ id: runId } = { id: "" }] = runs as { id: string }[];
    await theirs.call("waitForRun", { runId });
    const { result: overlays } = await theirs.call("getCompactions", { sessionId });
    const [{ id: overlayId } = { id: "" }] = overlays as { id: string }[];
    expect([runId, overlayId]).not.toContain("");

    const line = await connect("mine-alone");
    const ofRuns = [
      "getRun",
      "waitForRun",
      "cancelRun",
      "pauseRun",
      "resumeRun",
      "retryRun",
      "retryRunFrom",
      "getProposal",
      "approveRun",
      "rejectRun",
    ];
    const ofOverlays = ["expand", "rollback", "restore", "getViewAsOf", "diffCompaction", "getProvenance"];
    for (const method of ofRuns) {
      for (const id of [runId, "run-that-never-was"]) {
        expect(
          (await line.call(method, { runId: id, ...(method === "retryRunFrom" && { stepName: "add compaction" }) }))
            .error,
          method,
        ).toMatch(/^\[unknown_run\] /);
      }
    }
    for (const method of ofOverlays) {
      for (const id of [overlayId, "ov-that-never-was"]) {
        expect((await line.call(method, { sessionId, overlayId: id })).error, method).toMatch(/^\[unknown_overlay\] /);
      }
    }
    expect(await line.call("getHistory", { sessionId })).toMatchObject({ success: true, result: [] });
    expect(await line.call("getMessage", { sessionId, id: "m1" })).toMatchObject({ result: null });
    expect(await line.call("getSessionInfo", { sessionId })).toMatchObject({ result: null });
    expect(await line.call("listSessions", {})).toMatchObject({ result: [] });
    expect(await line.call("searchSessions", { query: "ledger" })).toMatchObject({ result: [] });
    expect(await theirs.call("getRun", { runId })).toMatchObject({ result: { outcome: { kind: "applied" } } });
  });
});

test("every answer forbids what a hostile page or file would need", async () => {
  const ASSETS = { fetch: async () => new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } }) };
  const { createWorker } = await import("../../src/doors/create-worker.ts");
  const page = await createWorker().fetch(new Request(`${HOST}/`), { ...env, ASSETS, PALIMPSEST_SECRET: SECRET });
  expect(page.status).toBe(200);
  const others = [
    await ask({}),
    await ask({ secret: null }),
    await ask({ path: "/nothing" }),
    await ask({ headers: withSecret }),
  ];
  for (const { headers } of [page, ...others]) {
    const policy = headers.get("Content-Security-Policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*/);
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(headers.get("Referrer-Policy")).toBe("no-referrer");
  }
});

test("what opened the door does not reach the agent; with rules of one's own, credentials are the agent's to read", async () => {
  const seen: Request[] = [];
  class DurableObjectNamespace {
    idFromName = (name: string) => name;
    get = () => ({ fetch: async (request: Request) => (seen.push(request), new Response("ok")) });
  }
  const { createWorker } = await import("../../src/doors/create-worker.ts");
  const request = new Request(`${HOST}${AGENT}?ticket=abc&page=2`, { headers: withSecret });
  const answer = await createWorker().fetch(request, {
    PalimpsestAgent: new DurableObjectNamespace(),
    PALIMPSEST_SECRET: SECRET,
  } as object);
  expect(await answer.text()).toBe("ok");
  expect(new URL(seen[0]?.url ?? "").search).toBe("?page=2");
  expect(seen[0]?.headers.get("Authorization")).toBeNull();
  await createWorker({ authorize: () => true }).fetch(request, {
    PalimpsestAgent: new DurableObjectNamespace(),
  } as object);
  expect(seen[1]?.headers.get("Authorization")).toBe(withSecret.Authorization);
});

test("a rule under a misspelt name is refused, and lets nobody in", async () => {
  const { createWorker } = await import("../../src/doors/create-worker.ts");
  const misspelt = { authorise: () => false };
  expect(() => createWorker(misspelt as object)).toThrow(/invalid_options.*authorise: no such option.*authorize/);
});

test("an environment without any variable of ours is taken, as it compiles", () => {
  const taken: Parameters<typeof guardConnections>[2] = { ROOM: "main" } as { readonly ROOM: string };
  expect(taken).toEqual({ ROOM: "main" });
});
