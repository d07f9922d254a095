/** The state of an agent's compactions in a component, over a scripted connection. */
import { expect, test } from "vitest";
import { RUN_EVENT, type RunEvent } from "../../src/client.ts";
import { CompactionFollower, type AgentConnection } from "../../src/react/follow.ts";

type Answer = (input: Record<string, unknown>) => unknown;

/** A connection that answers as a test says, and counts what it is asked. */
class Played extends EventTarget implements AgentConnection {
  readyState = 1;
  readonly asked: [method: string, input: Record<string, unknown>][] = [];
  answers: Record<string, Answer> = {
    status: () => ({ viewTokens: 30_000, thresholdTokens: 60_000 }),
    liveRuns: () => [],
  };

  async call(method: string, args: unknown[] = []): Promise<unknown> {
    const input = (args[0] ?? {}) as Record<string, unknown>;
    this.asked.push([method, input]);
    const answer = this.answers[method];
    // As an agent refuses a call that it does not open.
    if (answer === undefined) {
      throw new Error(
        `[not_configured] This agent does not open ${method} to clients. List it: clients: ["watch", "${method}"].`,
      );
    }
    return answer(input);
  }

  tell(event: Partial<RunEvent> | string): void {
    const data = typeof event === "string" ? event : JSON.stringify({ type: RUN_EVENT, sessionId: "", ...event });
    this.dispatchEvent(new MessageEvent("message", { data }));
  }

  open(): void {
    this.dispatchEvent(new Event("open"));
  }
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function followed(sessionId = "") {
  const agent = new Played();
  const follower = new CompactionFollower(agent, sessionId);
  let changes = 0;
  const stop = follower.subscribe(() => void changes++);
  await soon();
  return { agent, follower, stop, changes: () => changes };
}

test("an open connection is asked at once how full the view is and what is at work", async () => {
  const { agent, follower } = await followed();
  expect(agent.asked.map(([method]) => method)).toEqual(["status", "liveRuns"]);
  expect(follower.state()).toMatchObject({ fullness: 0.5, live: [], error: null });
});

test("a run is followed from its first event to its end, and the view is asked for again then", async () => {
  const { agent, follower } = await followed();
  agent.tell({ runId: "a", n: 1, done: 1, total: 3, outcome: null });
  agent.tell({ runId: "b", n: 2, done: 0, total: 3, outcome: null });
  agent.tell({ runId: "a", n: 1, done: 2, total: 3, outcome: null });
  expect(follower.state().live.map(({ runId, done }) => [runId, done])).toEqual([
    ["b", 0],
    ["a", 2],
  ]);
  agent.answers = { ...agent.answers, status: () => ({ viewTokens: 6_000, thresholdTokens: 60_000 }) };
  agent.answers["liveRuns"] = () => [{ runId: "b", sessionId: "" }];
  agent.tell({ runId: "a", n: 1, outcome: { kind: "cancelled" } });
  await soon();
  expect(follower.state()).toMatchObject({ fullness: 0.1, last: { runId: "a" }, live: [{ runId: "b" }] });
});

test("what happened while the connection was down is known once it is back", async () => {
  const { agent, follower } = await followed();
  agent.tell({ runId: "a", n: 1, outcome: null });
  expect(follower.state().live).toHaveLength(1);
  agent.open();
  await soon();
  expect(follower.state().live).toEqual([]);
});

test("an answer that is older than an event changes nothing", async () => {
  const { agent, follower } = await followed();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  agent.answers["liveRuns"] = () => promise;
  const asked = follower.refresh();
  agent.tell({ runId: "a", n: 1, outcome: null });
  resolve([]);
  await asked;
  expect(follower.state().live.map(({ runId }) => runId)).toEqual(["a"]);
});

test("another session's runs, and frames that are none of ours, are let pass", async () => {
  const { agent, follower, changes } = await followed("mine");
  const before = changes();
  agent.tell({ runId: "a", n: 1, outcome: null });
  agent.tell("{");
  agent.tell(JSON.stringify({ type: "cf_agent_state" }));
  expect(changes()).toBe(before);
  agent.tell({ runId: "b", n: 2, sessionId: "mine", outcome: null });
  expect(follower.state().live).toHaveLength(1);
  expect(agent.asked[0]).toEqual(["status", { sessionId: "mine" }]);
});

test("undo takes back the newest summary, then the one before it, then none", async () => {
  const { agent, follower } = await followed();
  const gone: unknown[] = [];
  agent.answers["rollback"] = ({ overlayId }) => void gone.push(overlayId);
  agent.answers["runs"] = () => [
    { outcome: { kind: "failed" } },
    { outcome: { kind: "applied", overlayId: "two" } },
    { outcome: null },
    { outcome: { kind: "applied", rebased: true, overlayId: "one" } },
  ];
  expect([await follower.undo(), await follower.undo(), await follower.undo()]).toEqual(["two", "one", null]);
  expect(await follower.undo("chosen")).toBe("chosen");
  expect(gone).toEqual(["two", "one", "chosen"]);
});

test("a refused question is in the state until one is answered; a refused undo is thrown", async () => {
  const { agent, follower } = await followed();
  const { status } = agent.answers;
  delete agent.answers["status"];
  await follower.refresh();
  expect(follower.state().error?.message).toMatch(/does not open status to clients\. .* clients: /);
  if (status !== undefined) agent.answers["status"] = status;
  await follower.refresh();
  expect(follower.state().error).toBeNull();
  await expect(follower.undo("one")).rejects.toThrow(/does not open rollback to clients\. .* clients: /);
});

test("whoever stops listening is told nothing more, and nothing is asked any more", async () => {
  const { agent, stop, changes } = await followed();
  stop();
  const [told, asked] = [changes(), agent.asked.length];
  agent.tell({ runId: "a", n: 1, outcome: null });
  agent.open();
  await soon();
  expect([changes(), agent.asked.length]).toEqual([told, asked]);
});
