/** The real Worker without configuration. Tests which callers on this machine it serves, and which it refuses. */
import { request } from "node:http";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Remote } from "../../scripts/cli/client.ts";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";

/** A busy machine takes its time to start wrangler (ms). */
const START_MS = 120_000;

let worker: LocalWorker;

beforeAll(async () => {
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-locked-"));
  worker = new LocalWorker({ stateDir, port: await freePort(null), vars: {} });
  await worker.start();
}, START_MS);

afterAll(() => worker.close());

function statusOf(path: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(`${worker.url}${path}`, { headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on("upgrade", (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode);
    });
    asked.on("error", reject);
    asked.end();
  });
}

const AGENT = "/agents/palimpsest-agent/anybody";
const upgrade = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

test("a caller of this machine is served without credentials", async () => {
  const target = { url: new URL(worker.url), agent: "palimpsest-agent", name: "anybody", secret: null };
  const remote = await Remote.connect(target);
  expect(await remote.call("status", {})).toMatchObject({ leafId: null });
  remote.close();
  expect(await statusOf(AGENT, upgrade)).toBe(101);
});

test("what is no WebSocket is told so, as every refusal is told", async () => {
  const answer = await fetch(`${worker.url}${AGENT}`);
  expect(answer.status).toBe(426);
  expect(await answer.json()).toMatchObject({
    error: { code: "invalid_input", message: expect.stringContaining("WebSocket") },
  });
});

test.for<[string, Record<string, string>]>([
  ["a name of somebody else's that leads here", { Host: "rebound.example" }],
  ["a proxy", { "X-Forwarded-For": "203.0.113.9" }],
  ["a tunnel", { "CF-Ray": "1", "CF-Connecting-IP": "203.0.113.9" }],
  ["an address that is not this machine's", { "CF-Connecting-IP": "192.168.1.4" }],
  ["a foreign page", { Origin: "https://evil.example" }],
  ["a page of another server on this machine", { Origin: "http://localhost:1" }],
])("through %s nobody is", async ([, headers]) => {
  expect(await statusOf(AGENT, { ...upgrade, ...headers })).toBe(403);
  expect(await statusOf(AGENT, headers)).toBe(403);
});
