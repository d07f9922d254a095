/** A connection from the machine that runs the Worker may look at everything, so that a developer sees summaries and views. */
import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { say, talk } from "../conversation.ts";
import type { DefaultAgent } from "../worker.ts";
import { Line, upgrade } from "./client.ts";

vi.spyOn(console, "error").mockImplementation(() => undefined);

const HERE = { "CF-Connecting-IP": "127.0.0.1" };
let agents = 0;

async function connect(host: string, headers: Record<string, string>): Promise<Line> {
  return (await connected(host, headers)).line;
}

async function connected(host: string, headers: Record<string, string>): Promise<{ line: Line; stub: DefaultAgent }> {
  const name = `at-home-${agents++}`;
  const stub = env.DefaultAgent.get(env.DefaultAgent.idFromName(name)) as unknown as DefaultAgent;
  await stub.append({ message: say(0) });
  const address = `${host}/agents/default-agent/${name}`;
  const { webSocket } = await exports.default.fetch(address, { headers: { ...upgrade, ...headers } });
  if (webSocket === null) throw new Error("No WebSocket.");
  return { line: new Line(webSocket), stub };
}

test("on this machine the looks answer without being opened, and nothing else does", async () => {
  const line = await connect("http://localhost:8787", HERE);
  expect(await line.call("getView", {})).toMatchObject({ success: true, result: { messages: [{ id: "m0" }] } });
  expect(await line.call("listSessions", {})).toMatchObject({ success: true, result: [{ id: "" }] });
  expect(await line.call("health", {})).toMatchObject({ success: true, result: { state: "idle" } });
  expect(await line.call("getView", { odd: 1 })).toMatchObject({
    success: false,
    error: expect.stringContaining("invalid_input"),
  });
  for (const closed of ["append", "rollback", "deleteSession", "constructor"]) {
    expect(await line.call(closed, {})).toMatchObject({
      success: false,
      error: expect.stringContaining("not_configured"),
    });
  }
});

test.each([
  ["this machine", HERE, true],
  ["another machine", { "CF-Connecting-IP": "203.0.113.7" }, false],
])("why a run failed is told to a connection from %s by a call that is open: %o %s", async (_what, headers, isTold) => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { line, stub } = await connected("http://localhost:8787", headers);
  await stub.appendAll({ sessionId: "own", messages: talk(0, 17) });
  const { run } = await stub.compact({ sessionId: "own" });
  await stub.waitForRun({ runId: run.id });
  const told = JSON.stringify(await line.call("runs", { sessionId: "own" }));
  expect(told).toContain('"kind":"failed"');
  expect(told.includes("quokka-own")).toBe(isTold);
  // Nothing listens to failures of this session, so the log has the reason.
  expect(warned.mock.calls.flat().join("\n")).toMatch(/A compaction of session "own" failed: .*quokka-own/);
  warned.mockRestore();
});

test.each([
  ["another machine", "http://localhost:8787", { "CF-Connecting-IP": "203.0.113.7" }],
  ["a deployed name", "https://chat.example", HERE],
  ["a proxy", "http://localhost:8787", { ...HERE, "X-Forwarded-For": "203.0.113.7" }],
  ["a page of another site", "http://localhost:8787", { ...HERE, Origin: "https://evil.example" }],
  ["a page without a site", "http://localhost:8787", { ...HERE, Origin: "null" }],
])("a connection from %s has what the list opens alone", async (_what, host, headers) => {
  const line = await connect(host, headers);
  expect(await line.call("status", {})).toMatchObject({ success: true });
  expect(await line.call("getView", {})).toMatchObject({
    success: false,
    error: expect.stringContaining("not_configured"),
  });
});
