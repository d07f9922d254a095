/** Frames of a connection. It may send calls of listed methods with a bounded size and rate. A test sends 10,000 other frames. */
import { runInDurableObject } from "cloudflare:test";
import * as fc from "fast-check";
import { expect, test, vi } from "vitest";
import { CALL_NAMES } from "../rooms.ts";
import { Budgets, guardConnections, type GuardEnv } from "../../src/doors/guard.ts";
import { MAX_REQUEST_BYTES } from "../../src/limits.ts";
import { newAgent, refusalOf } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { tables } from "../rows.ts";
import { tries } from "../tries.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { ask, guarded, open, upgrade, withSecret, type Line } from "./client.ts";

const TYPED = /^\[\w+\] \S/;

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

/** A connection to an agent that is guarded as the deployed one is. */
async function connect(guard?: GuardEnv) {
  const { stub, path } = await guarded(guard);
  const join = (from = "203.0.113.1"): Promise<Line> =>
    open(ask({ path, headers: { ...withSecret, ...upgrade, "CF-Connecting-IP": from } }));
  return { stub, join, line: await join() };
}

const rowsOf = (stub: DurableObjectStub<PalimpsestAgent>) =>
  runInDurableObject(stub, (_agent: PalimpsestAgent, { storage }) => tables(storage));

test("a frame that is no call is answered with a typed error, and sets no state", async () => {
  const { line, stub } = await connect();
  const frames = [
    "",
    "hello",
    "[]",
    "null",
    "{}",
    '{"type":"cf_agent_state","state":{"admin":true}}',
    '{"type":"cf_agent_state","id":"1","method":"status","args":[],"state":{"admin":true}}',
    '{"type":"rpc","id":"1","method":"status"}',
    '{"type":"rpc","id":1,"method":"status","args":[]}',
    '{"type":"rpc","id":"1","method":["status"],"args":[]}',
    '{"type":"rpc","id":"1","method":"status","args":"[]"}',
    JSON.stringify({ type: "rpc", id: "x".repeat(600), method: "status", args: [] }),
  ];
  for (const frame of frames) line.send(frame);
  const told = await line.until(() => {
    const errors = line.heard.filter(({ type }) => type === "palimpsest:error");
    return errors.length === frames.length ? errors : null;
  });
  for (const { error } of told) expect(error).toMatch(/^\[invalid_input\] Send calls/);
  expect(await runInDurableObject(stub, (agent: PalimpsestAgent) => agent.state)).toBeUndefined();
  expect(await line.call("status", {})).toMatchObject({ success: true });
});

test("what is not listed cannot be called, whatever the agent has under that name", async () => {
  const { line } = await connect();
  const names = [
    "compactionStep",
    "watchCompactions",
    "configureSession",
    "cover",
    "destroy",
    "sql",
    "setState",
    "onMessage",
  ];
  for (const name of [
    ...names,
    "fetch",
    "alarm",
    "palimpsest",
    "constructor",
    "__proto__",
    "toString",
    "status ",
    "Status",
    "",
  ]) {
    expect((await line.call(name, {})).error).toMatch(/^\[not_configured\] This agent (?:has no method|does not open)/);
  }
});

test("a frame too large to be a message closes its connection and no other; so does one that is no text", async () => {
  const { line, join } = await connect();
  const [large, binary] = [await join(), await join()];
  large.send(" ".repeat(MAX_REQUEST_BYTES + 1));
  expect(await large.until(() => large.closed)).toBe(1009);
  expect(large.heard.find(({ type }) => type === "palimpsest:error")?.error).toMatch(/^\[too_large\] /);
  binary.send(new Uint8Array([1, 2, 3]).buffer);
  expect(await binary.until(() => binary.closed)).toBe(1003);
  expect(await line.call("status", {})).toMatchObject({ success: true });
});

test("a connection that calls too often is told so, and others are served", async () => {
  const { line, join } = await connect({ PALIMPSEST_CALLS_PER_SECOND: "1" });
  const answers = await Promise.all(Array.from({ length: 20 }, () => line.call("append", { message: say(0) })));
  const refused = answers.filter(({ success }) => success !== true);
  expect(refused.length).toBeGreaterThanOrEqual(14);
  for (const { error } of refused) expect(error).toMatch(/^\[rate_limited\] At most 1 calls a second/);
  expect(await (await join()).call("status", {})).toMatchObject({ success: true });
});

test.each(["0", "-1", "1.5", "many"])("a rate of %s is refused where it is configured", async (rate) => {
  const { stub } = newAgent();
  const refusal = await runInDurableObject(stub, (agent: PalimpsestAgent, ctx) =>
    refusalOf(async () => guardConnections(agent, ctx, { PALIMPSEST_CALLS_PER_SECOND: rate })),
  );
  expect(refusal).toContain("[invalid_options] PALIMPSEST_CALLS_PER_SECOND");
});

test("a bucket never lets more through than its burst and its rate together, whatever the clock does", () => {
  const rate = fc.record({ burst: fc.integer({ min: 1, max: 50 }), perSecond: fc.integer({ min: 1, max: 50 }) });
  fc.assert(
    fc.property(rate, fc.array(fc.integer({ min: -2_000, max: 2_000 }), { maxLength: 200 }), (rate, moves) => {
      const budgets = new Budgets(rate);
      let [now, latest, taken] = [0, 0, Number(budgets.take("one", 0))];
      for (const move of moves) {
        now += move;
        latest = Math.max(latest, now);
        taken += Number(budgets.take("one", now));
        expect(taken).toBeLessThanOrEqual(rate.burst + (latest / 1000) * rate.perSecond + 1e-6);
      }
    }),
  );
});

// --- ten thousand frames --------------------------------------------------------------------------------------------------

const FIELDS = [
  "id",
  "ids",
  "runId",
  "overlayId",
  "leafId",
  "parentId",
  "message",
  "messages",
  "text",
  "query",
  "limit",
];
const OTHER_FIELDS = [
  "before",
  "after",
  "depth",
  "focus",
  "ignoreBudget",
  "manual",
  "summary",
  "reason",
  "stepName",
  "timeoutMs",
  "events",
];

const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "'; DROP TABLE palimpsest_messages; --",
    "\u0000",
    "\u202e",
    "../..",
    1e308,
    -1,
  ),
);
/** Values that are no session's id and no name, so that no call is valid by chance. */
const wrong = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.array(junk, { maxLength: 2 }),
  fc.constant("x".repeat(201)),
);
const input = fc
  .record({
    fields: fc.dictionary(fc.constantFrom(...FIELDS, ...OTHER_FIELDS), junk, { maxKeys: 6 }),
    sessionId: wrong,
    name: wrong,
  })
  .map(({ fields, ...rest }) => ({ ...fields, ...rest }));
const notAnObject = fc.oneof(fc.integer(), fc.boolean(), fc.string({ unit: "binary" }), fc.array(junk));
const call = fc.record({
  type: fc.constant("rpc"),
  id: fc.uuid(),
  method: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...CALL_NAMES) },
    fc.string({ unit: "binary", maxLength: 20 }),
  ),
  args: fc
    .oneof({ weight: 6, arbitrary: input }, notAnObject)
    .chain((first) => fc.array(junk, { maxLength: 2 }).map((more) => [first, ...more])),
});
const frame = fc.oneof(
  { weight: 8, arbitrary: call.map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: fc.jsonValue().map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 100 }) },
);

const FRAMES = tries(10_000);

test(`${FRAMES} frames of a hostile client change no row, break nothing, and are answered with typed errors (M1, S1)`, async () => {
  const { line, stub } = await connect();
  await line.call("appendAll", { messages: talk(0, 5) });
  // A first search makes its index. Later ones only read.
  expect(await line.call("searchSessions", { query: "ledger" })).toMatchObject({ success: true });
  const before = await rowsOf(stub);
  const frames = fc.sample(frame, { numRuns: FRAMES, seed: 20_261_120 });
  const heard = line.heard.length;
  for (const each of frames) line.send(each);
  // Calls do not wait for each other, so the last may be answered first.
  await line.until(() => (line.heard.length - heard >= frames.length ? true : null));
  const answers = line.heard.slice(heard);
  expect(answers).toHaveLength(frames.length);
  const untyped = answers.filter(({ success, error = "" }) => success !== true && !TYPED.test(error));
  expect(untyped).toEqual([]);
  // Two calls are valid without a session or a name, whatever other fields they have. They list the sessions and the live runs.
  expect(answers.filter(({ success }) => success === true).length).toBeLessThan(200);
  expect(await rowsOf(stub)).toEqual(before);
  expect(line.closed).toBeNull();
  expect(await line.call("getPathLength", {})).toMatchObject({ success: true, result: 5 });
});

// --- sound in part ------------------------------------------------------------------------------------------------------

/** Each value is valid for some calls, and too large or too small for most. */
const SOUND = ["", "m1", "m4", "s2", "ledger", 1, 2, 50, true, ["m1"], say(1), [say(90)], [say(1), say(2)]] as const;
const MORE_FIELDS =
  "sections coveredId model inputTokens outputTokens cost name atMessageId maxBytes maxTokens truncate asOf format index under viewTokens redact fresh rebuild label content refs".split(
    " ",
  );
/** But for what waits as long as it is told to, and what would leave nothing to the calls after it. */
const KEEPING = CALL_NAMES.filter((method) => !["waitForRun", "clearMessages", "deleteSession"].includes(method));
const half = (known: { runId: string; overlayId: string }) =>
  fc.record({
    method: fc.constantFrom(...KEEPING),
    input: fc
      .record({
        ids: fc.record(
          { sessionId: fc.constantFrom("", "s2", "nobody"), ...mapValues(known) },
          { requiredKeys: ["sessionId"] },
        ),
        fields: fc.dictionary(
          fc.constantFrom(...FIELDS, ...OTHER_FIELDS, ...MORE_FIELDS),
          fc.oneof(junk, fc.constantFrom(...SOUND)),
          { maxKeys: 5 },
        ),
      })
      .map(({ ids, fields }) => ({ ...fields, ...ids })),
  });

function mapValues({ runId, overlayId }: { runId: string; overlayId: string }) {
  return { runId: fc.constant(runId), overlayId: fc.constant(overlayId) };
}

test("calls that are sound in part, of sessions and runs that there are, end in an answer or a typed error, and one that is refused has changed nothing (M1, S1)", async () => {
  const { line, stub } = await connect();
  await line.call("appendAll", { messages: talk(0, 17) });
  const { result: runs } = await line.call("runs", {});
  const [{ id: runId } = { id: "" }] = runs as { id: string }[];
  await line.call("waitForRun", { runId });
  const { result: overlays } = await line.call("getCompactions", {});
  const [{ id: overlayId } = { id: "" }] = overlays as { id: string }[];
  expect([runId, overlayId]).not.toContain("");
  await line.call("appendAll", { sessionId: "s2", messages: talk(0, 3) });
  await line.call("searchSessions", { query: "ledger" });

  const calls = fc.sample(half({ runId, overlayId }), { numRuns: tries(1_000), seed: 20_261_121 });
  let before = await rowsOf(stub);
  const refusals = new Map<string, number>();
  for (const { method, input } of calls) {
    const { success, error = "" } = await line.call(method, input);
    if (success === true) {
      await quiet(stub);
      before = await rowsOf(stub);
      continue;
    }
    expect(error, `${method} ${JSON.stringify(input)}`).toMatch(TYPED);
    expect(await rowsOf(stub), `${method} ${JSON.stringify(input)}`).toEqual(before);
    refusals.set(method, (refusals.get(method) ?? 0) + 1);
  }
  // Many kinds of calls are refused past their first field, not only by the session that they name.
  expect(refusals.size).toBeGreaterThan(KEEPING.length / 2);
  expect(line.closed).toBeNull();
});

/** Waits until no run is live, so that a run's writes are not attributed to the next call. */
async function quiet(stub: DurableObjectStub<PalimpsestAgent>): Promise<void> {
  const isLive = () =>
    runInDurableObject(
      stub,
      (_agent: PalimpsestAgent, { storage }) =>
        (tables(storage).get("palimpsest_runs") ?? "") !== "" &&
        storage.sql.exec("SELECT 1 FROM palimpsest_runs WHERE live = 1").toArray().length > 0,
    );
  while (await isLive()) await scheduler.wait(1);
}
