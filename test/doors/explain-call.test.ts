/** A refused call says which room brings it, or which list opens it, whoever made it. */
import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { errorCode } from "../../src/errors.ts";
import { CALLS_OF_ROOMS, explainCall } from "../../src/explain-call.ts";
import { ALL_ROOMS } from "../../src/rooms.ts";
import { guardConnections } from "../../src/doors/guard.ts";
import { CALL_NAMES, calls } from "../rooms.ts";
import type { BareAgent } from "../worker.ts";
import { Line, upgrade } from "./client.ts";

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

async function connect(agent: "bare-agent" | "default-agent", name = "explained"): Promise<Line> {
  const { webSocket } = await exports.default.fetch(`http://test/agents/${agent}/${name}`, { headers: upgrade });
  if (webSocket === null) throw new Error("No WebSocket.");
  return new Line(webSocket);
}

/** The rooms' own tables are the truth. */
const ROOM_OF = new Map(ALL_ROOMS.flatMap((room) => Object.keys(room.calls).map((name) => [name, room.name] as const)));

test("the names on the caller's side are those of the rooms' tables", () => {
  const listed = Object.entries(CALLS_OF_ROOMS).flatMap(([room, { calls }]) =>
    calls.map((name) => [name, room] as const),
  );
  expect(new Map(listed)).toEqual(ROOM_OF);
});

test("the agent itself tells a bare client which calls it opens, and the list that opens another; its own methods stay as they are", async () => {
  const bare = await connect("bare-agent", "answers");
  const { id, success, error } = await bare.call("search", {});
  expect({ id, success }).toEqual({ id: expect.any(String), success: false });
  expect(error).toBe(
    '[not_configured] This agent has no method "search" for its clients. It opens compact, runs, liveRuns, getRun, cancelRun, status, needsCompaction. A room may bring it: docs/clients.md.',
  );
  expect((await bare.call("configureSession", {})).error).toMatch(/not @callable\(\), or .* another copy of "agents"/);
  expect((await bare.call("append", { message: { method: "status" } })).error).toBe(
    '[not_configured] This agent does not open append to clients. List it where the agent is declared: clients: ["watch", "append"].',
  );
  expect((await bare.call("runs", { method: "search" })).error).toMatch(/method: no such field/);
  expect((await bare.call("runs", {})).success).toBe(true);
});

test("a client is told the room of each call that the agent lacks, and the list that opens each other one", async () => {
  const line = await connect("bare-agent");
  for (const name of CALL_NAMES.filter((each) => calls[each].group !== "watch" || ROOM_OF.has(each))) {
    const { error = "" } = await line.call(name, {});
    const explained = explainCall(new Error(error));
    const room = ROOM_OF.get(name);
    expect(errorCode(explained), name).toBe("not_configured");
    if (room !== undefined) expect(explained.message).toContain(`withCompaction(Base, { rooms: [${room}()] })`);
    expect(explained.message).toContain(`clients: ["watch", "${name}"]`);
  }
});

test("a call of a room that the agent has, but does not open, is not said to lack its room", async () => {
  const { error = "" } = await (await connect("default-agent")).call("getCosts", {});
  const { message } = explainCall(new Error(error));
  expect(message).toContain("does not open getCosts");
  expect(message).not.toContain("rooms:");
});

test("a guarded agent's refusal is explained as well", async () => {
  const stub = env.BareAgent.get(env.BareAgent.idFromName("guarded-explained"));
  await runInDurableObject(stub, (agent: BareAgent, ctx) => guardConnections(agent, ctx, {}));
  const { error = "" } = await (await connect("bare-agent", "guarded-explained")).call("search", {});
  expect(error).toMatch(/^\[not_configured\] /);
  expect(explainCall(new Error(error)).message).toContain("rooms: [recall()]");
});

test("who holds the stub of an agent without a room is told the room", async () => {
  const stub = env.BareAgent.get(env.BareAgent.idFromName("explained")) as unknown as Record<
    string,
    (input: object) => Promise<unknown>
  >;
  const error: unknown = await stub["exportTranscript"]?.({}).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(explainCall(error).message).toContain("the room transcripts() of palimpsest/import");
});

test("a refusal is known with and without the name of its class before it", () => {
  for (const before of ["", "Error: "]) {
    expect(explainCall(new Error(`${before}Method recall does not exist`)).message).toContain("rooms: [recall()]");
  }
});

test("any other error stays as it is, also one about a method of the user's own", () => {
  for (const message of [
    "[unknown_run] No run.",
    "Method say is not callable",
    "Method __proto__ does not exist",
    // It tells of another agent's refusal.
    "The helper answered: Method recall does not exist",
    "The helper answered: Method getCosts is not callable",
  ]) {
    const error = new Error(message);
    expect(explainCall(error)).toBe(error);
  }
});
