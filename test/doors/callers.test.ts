/** Callers at the Worker's door. Tests how a caller is identified, and that all of its connections to an agent share one budget. */
import { CALLER_SHARE } from "../../src/limits.ts";
import { describe, expect, test, vi } from "vitest";
import { Budgets, BUDGETS_KEPT } from "../../src/doors/guard.ts";
import { nameCaller, addressOf } from "../../src/doors/caller.ts";
import type { WorkerOptions } from "../../src/doors/create-worker.ts";
import { ask, codeOf, guarded, HOST, open, ticketFor, upgrade, withSecret, type Line } from "./client.ts";

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

const from = (address: string) => ({ "CF-Connecting-IP": address });
const SLOW = { PALIMPSEST_CALLS_PER_SECOND: "1" };
/** Calls in a row at that rate, of one connection, and of a caller over all connections. Opening a connection counts as a call. */
const [BURST, SHARED] = [5, 5 * CALLER_SHARE];

/** Asks more than a connection may on each of these, and says how many were answered. */
async function flood(lines: readonly Line[]): Promise<number> {
  const asked = lines.flatMap((line) => Array.from({ length: 2 * BURST }, () => line.call("status", {})));
  const answers = await Promise.all(asked);
  for (const { success, error } of answers)
    if (success !== true) expect(error).toMatch(/^\[rate_limited\] At most \d+ calls/);
  return answers.filter(({ success }) => success === true).length;
}

describe("one budget for all connections of one caller", () => {
  test("of an address: many sockets get no more than a few, and another caller is served meanwhile", async () => {
    const { path } = await guarded(SLOW);
    const join = (address: string) => open(ask({ path, headers: { ...withSecret, ...upgrade, ...from(address) } }));
    const many = await Promise.all(Array.from({ length: 10 }, () => join("203.0.113.7")));
    expect(await flood(many)).toBeLessThan(2 * SHARED);
    expect(await flood([await join("203.0.113.8")])).toBeGreaterThanOrEqual(BURST);
  });

  test("also where each socket has a ticket of its own, and where the next one wants to open", async () => {
    const { path } = await guarded(SLOW);
    const admit = async (address: string) => {
      const ticket = await ticketFor(path, address);
      return ask({ path: `${path}?ticket=${ticket}`, headers: { ...upgrade, ...from("198.51.100.1") } });
    };
    const many = await Promise.all(Array.from({ length: 10 }, () => open(admit("2001:db8:0:1::1"))));
    expect(await flood(many)).toBeLessThan(2 * SHARED);
    const more = Array.from({ length: 2 * SHARED }, () => admit("2001:db8:0:1:ffff::9"));
    const refused = (await Promise.all(more)).filter(({ status }) => status !== 101);
    expect(refused.length).toBeGreaterThan(SHARED / 2);
    for (const answer of refused) expect(await codeOf(Promise.resolve(answer))).toEqual([429, "rate_limited"]);
    await open(admit("2001:db8:0:2::1"));
  });

  test("of a user, where rules of one's own say who it is; what they say that is no name admits nobody", async () => {
    const { path } = await guarded(SLOW);
    const options: WorkerOptions<object> = {
      authorize: ({ headers }) => ({ caller: headers.get("X-User") ?? "" }),
    };
    const admit = (user: string, address: string) =>
      ask({ path, options, headers: { ...upgrade, ...from(address), "X-User": user } });
    const many = await Promise.all(Array.from({ length: 10 }, (_, n) => open(admit("alice", `203.0.113.${n}`))));
    expect(await flood(many)).toBeLessThan(2 * SHARED);
    expect(await flood([await open(admit("bob", "203.0.113.1"))])).toBeGreaterThanOrEqual(BURST);
    expect(await codeOf(admit("", "203.0.113.1"))).toEqual([404, "not_found"]);
  });

  test("one that closes its connection and opens it under the same id has what it had", async () => {
    const { path } = await guarded(SLOW);
    const join = () => open(ask({ path: `${path}?_pk=mine`, headers: { ...withSecret, ...upgrade } }));
    const first = await join();
    expect(await flood([first])).toBeLessThan(2 * BURST);
    first.close();
    expect(await flood([await join()])).toBeLessThan(BURST);
  });
});

test.for([
  ["203.0.113.9", "203.0.113.9"],
  ["::ffff:203.0.113.9", "203.0.113.9"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:0DB8:1:2::", "2001:db8:1:2"],
  ["2001:db8::6", "2001:db8:0:0"],
  ["::1", "0:0:0:0"],
  ["1:2:3:4:5:6:7::", "1:2:3:4"],
] as const)("a caller at %s is one with its network, %s", ([address, place]) => {
  expect(addressOf(new Request(HOST, { headers: from(address) }))).toBe(place);
});

test("a caller without an address has a place too, and names are short, equal for equals, and say nothing", async () => {
  expect(addressOf(new Request(HOST))).toBe("nowhere");
  const names = await Promise.all(["203.0.113.9", "203.0.113.9", "203.0.113.8", ""].map(nameCaller));
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(name).toMatch(/^[0-9a-f]{16}$/);
});

test("budgets that are full again are forgotten, whoever chooses the names; one in use is not", () => {
  const budgets = new Budgets({ burst: 5, perSecond: 1 });
  for (let n = 0; n < 5; n++) expect(budgets.take("busy", 0)).toBe(true);
  for (let n = 0; n < 10 * BUDGETS_KEPT; n++) budgets.take(`name ${n}`, 2 * n);
  expect(budgets.size).toBeLessThan(3 * BUDGETS_KEPT);
  for (let n = 0; n < 5; n++) budgets.take("again", 30_000);
  for (let n = 0; n < 3 * BUDGETS_KEPT; n++) budgets.take(`more ${n}`, 30_000);
  expect(budgets.take("again", 30_000)).toBe(false);
});
