/** What the command line says, with which exit code, where it cannot do what was asked. The Worker is played: no process, no network. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { runProgram, type Terminal } from "../../scripts/cli/program.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

type Played = (method: string) => { readonly result: unknown } | { readonly error: string };

/** A WebSocket whose other end is an agent that answers calls as `play` says. */
function socketTo(play: Played) {
  return class Played extends EventTarget {
    static readonly CONNECTING = 0;
    static readonly OPEN = 1;
    static readonly CLOSING = 2;
    static readonly CLOSED = 3;
    readyState = 0;

    constructor() {
      super();
      queueMicrotask(() => {
        this.readyState = 1;
        this.dispatchEvent(new Event("open"));
        this.#hear({ type: "cf_agent_identity", name: "demo", agent: "palimpsest-agent" });
      });
    }

    send(frame: string): void {
      const { id, method } = JSON.parse(frame) as { id: string; method: string };
      const answer = play(method);
      this.#hear({ type: "rpc", id, success: !("error" in answer), done: true, ...answer });
    }

    close(): void {
      this.readyState = 3;
    }

    #hear(frame: object): void {
      this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(frame) }));
    }
  };
}

/** A Worker whose door answers `status` and `body`, before an agent. Without an answer nobody listens there. */
function playWorker(door: { readonly status: number; readonly body: unknown } | null, play?: Played): void {
  vi.stubGlobal("fetch", () =>
    door === null
      ? Promise.reject(new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") }))
      : Promise.resolve(Response.json(door.body, { status: door.status })),
  );
  vi.stubGlobal("WebSocket", socketTo(play ?? ((method) => ({ error: `Method ${method} does not exist` }))));
}

const OPEN = { status: 200, body: { ticket: null } };

async function run(line: string, env: Terminal["env"] = {}) {
  const told = { out: "", err: "" };
  const screen = (which: "out" | "err"): Terminal["out"] => ({
    isTTY: false,
    columns: 80,
    write: (text: string | Uint8Array) => {
      told[which] += String(text);
      return true;
    },
  });
  const code = await runProgram(line.split(" "), { env, out: screen("out"), err: screen("err") });
  return { code, ...told };
}

test.each([
  ["fly", "unknown command 'fly'"],
  ["runs --colour", "unknown option '--colour'"],
  ["runs --limit 0", "Give 1 or more."],
  ["runs --limit many", "Give a whole number."],
  ["run", "missing required argument 'id'"],
  ["import x --format csv", "Allowed choices are"],
  ["runs --url ftp://here", "--url takes an address such as http://localhost:8787"],
  ["runs --agent a/b", "is no agent's name"],
])("a wrong command line (%s) has exit code 2, says what is wrong, and asks no Worker", async (line, said) => {
  const asked = vi.fn();
  vi.stubGlobal("fetch", asked);
  const { code, out, err } = await run(line);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain(said);
  const json = await run(`${line} --json`);
  expect(json.code).toBe(2);
  expect(JSON.parse(json.err)).toEqual({ error: { code: "invalid_options", message: expect.stringContaining(said) } });
  expect(asked).not.toHaveBeenCalled();
});

test("a Node without WebSockets has exit code 2, and is told which Node it takes; no Worker is asked", async () => {
  const asked = vi.fn();
  vi.stubGlobal("fetch", asked);
  vi.stubGlobal("WebSocket", undefined);
  const { code, err } = await run("runs");
  expect([code, err]).toEqual([2, `This needs Node 22 or later, and runs on ${process.version}.\n`]);
  expect(asked).not.toHaveBeenCalled();
});

test("a Worker that does not answer has exit code 3, and the way to start one is told", async () => {
  playWorker(null);
  const { code, err } = await run("runs --url http://localhost:9");
  expect(code).toBe(3);
  expect(err).toContain("No Worker answers at http://localhost:9/ (connect ECONNREFUSED). Start one with");
  expect(JSON.parse((await run("runs --json")).err)).toMatchObject({ error: { code: "unreachable" } });
});

/** A WebSocket that nobody takes. */
class Refused extends EventTarget {
  static readonly CONNECTING = 0;
  readyState = 0;
  constructor() {
    super();
    setTimeout(() => this.dispatchEvent(new Event("error")));
  }
  close(): void {
    this.readyState = 3;
  }
}

test("an agent that cannot start is told apart from a wrong class, with its error and where the log is", async () => {
  vi.stubGlobal(
    "fetch",
    async () => new Response("Error: [invalid_options] compactAfter is 0.\n    at new ChatAgent", { status: 500 }),
  );
  vi.stubGlobal("WebSocket", Refused);
  const { code, err } = await run("--agent-class ChatAgent --agent ada runs");
  expect(code).toBe(3);
  expect(err).toContain(
    'The agent "ada" of the class "chat-agent" does not answer (status 500: Error: [invalid_options] compactAfter is 0.)',
  );
  expect(err).toContain("npx wrangler tail");
  expect(err).not.toContain("--agent-class takes");
  vi.stubGlobal("fetch", async () => new Response("<html>1101</html>", { status: 500 }));
  expect((await run("runs")).err).toContain("(status 500). An agent whose constructor or onStart throws");
});

test("runs say why one changed nothing, or has a summary without a model", async () => {
  const sums = { modelCalls: 1, inputTokens: 0, outputTokens: 0, createdAt: 0, endedAt: 1_000, tokensBefore: 9 };
  const base = { ...sums, id: "r", trigger: "threshold", state: "ended", steps: [] };
  const failure = { code: "auth", reason: "401 Unauthorized" };
  const runs = [
    { ...base, n: 4, outcome: { kind: "failed", reason: "No Workflow is bound." } },
    { ...base, n: 3, outcome: { kind: "stale", reason: "larger" } },
    { ...base, n: 2, outcome: { kind: "applied", tokensAfter: 3, degraded: true }, steps: [{ failure }] },
    { ...base, n: 1, outcome: { kind: "applied", tokensAfter: 3, degraded: false } },
  ];
  playWorker(OPEN, () => ({ result: runs }));
  const [head, ...rows] = (await run("runs")).out.trimEnd().split("\n");
  expect(head).toMatch(/when +why$/);
  expect(rows.map((row) => row.split("1970-01-01 00:00:00")[1]?.trim())).toEqual([
    "No Workflow is bound.",
    "larger",
    "auth: 401 Unauthorized",
    "",
  ]);
});

test("a class or an agent that the Worker does not have is named, with what to give in its place", async () => {
  playWorker({ status: 400, body: "Invalid request" });
  vi.stubGlobal("WebSocket", Refused);
  const { code, err } = await run("--agent-class ChatAgnt --agent ada runs");
  expect(code).toBe(3);
  expect(err).toContain('has no agent "ada" of the class "chat-agnt" (status 400)');
  expect(err).toContain("--agent-class takes the name of your Durable Object binding, such as ChatAgent");
});

test("a Worker that asks for its secret, or does not take the one given, has exit code 3", async () => {
  playWorker({ status: 401, body: { error: { message: "[unauthorized] No." } } });
  const none = await run("runs");
  const wrong = await run("runs --json", { PALIMPSEST_SECRET: "not-this-one" });
  expect([none.code, wrong.code]).toEqual([3, 3]);
  expect(none.err).toContain("Set PALIMPSEST_SECRET to it.");
  expect(JSON.parse(wrong.err)).toEqual({
    error: { code: "unauthorized", message: expect.stringContaining("did not take the secret") },
  });
  expect(wrong.err).not.toContain("not-this-one");
});

test("a session that does not exist, and a run, are told in the agent's words, with exit code 2", async () => {
  playWorker(OPEN, (method) => ({
    error:
      method === "getRun" ? '[unknown_run] There is no run "r1".' : '[unknown_session] There is no session "gone".',
  }));
  expect(await run("run r1")).toEqual({ code: 2, out: "", err: 'There is no run "r1".\n' });
  const session = await run("--session gone compact --json");
  expect(session.code).toBe(2);
  expect(JSON.parse(session.err)).toEqual({
    error: { code: "unknown_session", message: 'There is no session "gone".' },
  });
});

test("a call of a room that the agent lacks names the room, and one that it does not open the list", async () => {
  playWorker(OPEN, (method) => ({
    error:
      method === "health"
        ? '[not_configured] This agent has no method "health" for its clients. It opens compact.'
        : `[not_configured] This agent does not open ${method} to clients. List it: clients: ["watch", "${method}"].`,
  }));
  const room = await run("health");
  expect(room.code).toBe(2);
  expect(room.err).toContain("withCompaction(Base, { rooms: [inspect()] })");
  const list = await run("sessions");
  expect(list.code).toBe(2);
  expect(list.err).toContain('clients: ["watch", "listSessions"]');
});

test("costs are told beside health, and models without a price are named; an agent that counts no costs has none", async () => {
  const health = {
    state: "ok",
    breakers: [],
    spend: { dayTokens: 0, sessionTokens: 0 },
    budget: null,
    usage: [],
    failures: [],
    runs: [],
    savedTokens: 0,
    spentTokens: 0,
  };
  const costs = {
    agent: [{ model: "own", calls: 2, cost: 0.25 }],
    summarisers: [{ model: "small", calls: 1, cost: 0.01 }],
    total: 0.26,
    withoutCompaction: { total: 0.5 },
    unpriced: [] as string[],
  };
  playWorker(OPEN, (method) => ({ result: method === "health" ? health : costs }));
  const { out } = await run("health");
  for (const line of [
    "own cost 0.2500 (2 calls)",
    "small, for summaries, cost 0.0100",
    "0.2600 in all; without compaction some 0.5000",
  ])
    expect(out).toContain(line);
  Object.assign(costs, { total: null, unpriced: ["own", ""] });
  expect((await run("health")).out).toContain("no price is set for own, calls without a model");
  playWorker(OPEN, (method) =>
    method === "health" ? { result: health } : { error: '[not_configured] This agent has no method "getCosts".' },
  );
  const plain = await run("health");
  expect(plain.code).toBe(0);
  expect(plain.out).not.toContain("no price");
});

test("--version is the package's, and --help names what the environment sets", async () => {
  const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, "../../package.json"), "utf8")) as {
    readonly version: string;
  };
  expect(await run("--version")).toEqual({ code: 0, out: `${version}\n`, err: "" });
  const { code, out } = await run("--help");
  expect(code).toBe(0);
  for (const name of ["PALIMPSEST_URL", "PALIMPSEST_SECRET"]) expect(out).toContain(name);
});

test("an answer is printed as lines, or as JSON, with exit code 0", async () => {
  playWorker(OPEN, () => ({ result: [] }));
  const { code, out, err } = await run("runs --json");
  expect({ code, out, err }).toEqual({ code: 0, out: "[]\n", err: "" });
  expect((await run("--help")).code).toBe(0);
});
