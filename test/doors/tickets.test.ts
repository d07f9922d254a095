/** Tickets. Each opens one WebSocket of one agent within a minute, and nothing else. */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { issueTicket, MAX_SPENT_TICKETS, readTicket, spendTicket, TICKET_MS } from "../../src/doors/caller.ts";
import { refusalOf } from "../agents.ts";
import { AGENT, ask, codeOf, guarded, HOST, open, SECRET, ticketFor, upgrade, withSecret, type Ask } from "./client.ts";

// The SDK writes each refusal to the log with its stack.
vi.spyOn(console, "error").mockImplementation(() => undefined);

const TO = { agent: "palimpsest-agent", name: "mine" };
const CALLER = "0123456789abcdef";
const NOW = 1_800_000_000_000;

const read = (ticket: string, now = NOW) => readTicket(SECRET, TO, { ticket, now });

test("a ticket opens one agent's WebSocket, and nothing else", async () => {
  const ticket = await ticketFor();
  const line = await open(ask({ path: `${AGENT}?ticket=${ticket}`, headers: { ...upgrade, Origin: HOST } }));
  expect(await line.call("status", {})).toMatchObject({ success: true });
  const elsewhere: Ask[] = [
    { path: `/agents/palimpsest-agent/theirs?ticket=${ticket}`, headers: upgrade },
    { path: `/agents/built-agent/mine?ticket=${ticket}`, headers: upgrade },
    { path: `${AGENT}?ticket=${ticket}` },
    { path: `${AGENT}/ticket?ticket=${ticket}`, method: "POST" },
    { path: `${AGENT}?ticket=${ticket}`, headers: upgrade, secret: `another-${SECRET}` },
  ];
  for (const how of elsewhere) expect(await codeOf(ask(how))).toEqual([401, "unauthorized"]);
});

test("a ticket that was changed in any character, or has more or fewer, admits nobody", async () => {
  const { ticket, expiresAt } = await issueTicket(SECRET, TO, { caller: CALLER, now: NOW });
  expect(await read(ticket)).toMatchObject({ expiresAt, caller: CALLER });
  for (let at = 0; at < ticket.length; at++) {
    const other = ticket[at] === "0" ? "1" : "0";
    expect(await read(ticket.slice(0, at) + other + ticket.slice(at + 1))).toBeNull();
  }
  const parts = ticket.split(".");
  const odd = ["", ".", `${ticket}0`, ticket.slice(0, -1), ticket.toUpperCase(), ` ${ticket}`, `${ticket}\n`];
  for (const forged of [...odd, parts.slice(0, 2).join("."), [parts[0], parts[2], parts[1], parts[3]].join(".")]) {
    expect(await read(forged)).toBeNull();
  }
});

test("a ticket is over after a minute, and one that lasts longer was not given out here", async () => {
  const { ticket, expiresAt } = await issueTicket(SECRET, TO, { caller: CALLER, now: NOW });
  expect(expiresAt).toBe(NOW + TICKET_MS);
  expect(await read(ticket, expiresAt - 1)).not.toBeNull();
  expect(await read(ticket, expiresAt)).toBeNull();
  expect(await read(ticket, NOW - 1)).toBeNull();
});

describe("a ticket is good once", () => {
  test("a replayed one is refused, also of two at the same moment; a new one opens", async () => {
    const { path } = await guarded();
    const connect = (ticket: string) => ask({ path: `${path}?ticket=${ticket}`, headers: upgrade });
    const ticket = await ticketFor(path);
    const both = await Promise.all([connect(ticket), connect(ticket)]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([101, 401]));
    expect(await codeOf(connect(ticket))).toEqual([401, "unauthorized"]);
    const line = await open(connect(await ticketFor(path)));
    expect(await line.call("status", {})).toMatchObject({ success: true });
  });

  test("also after the agent was restarted in between", async () => {
    const { name, stub, path } = await guarded();
    const ticket = await ticketFor(path);
    const connect = () => ask({ path: `${path}?ticket=${ticket}`, headers: upgrade });
    await open(connect());
    await refusalOf(() => runInDurableObject(stub, (_agent, ctx) => ctx.abort("restarted")));
    await guarded(undefined, name);
    expect(await codeOf(connect())).toEqual([401, "unauthorized"]);
  });

  test("what a caller says of itself in the door's own headers is not believed", async () => {
    const { path } = await guarded();
    const said = { "X-Palimpsest-Ticket": `x.${Date.now() - 1}`, "X-Palimpsest-Caller": "somebody" };
    await open(ask({ path, headers: { ...withSecret, ...upgrade, ...said } }));
    const ticket = await ticketFor(path);
    const invented = { ...upgrade, "X-Palimpsest-Ticket": `another.${Date.now() + TICKET_MS}` };
    await open(ask({ path: `${path}?ticket=${ticket}`, headers: invented }));
    expect((await ask({ path: `${path}?ticket=${ticket}`, headers: invented })).status).toBe(401);
  });

  test("what was spent is remembered until it is over, forgotten then, and bounded", async () => {
    const stub = env.StorageProbe.get(env.StorageProbe.newUniqueId());
    await runInDurableObject(stub, (_probe, { storage: { kv } }) => {
      const ticket = { id: "first", expiresAt: NOW + TICKET_MS };
      expect(spendTicket(kv, ticket, NOW)).toBe("spent");
      expect(spendTicket(kv, ticket, NOW + TICKET_MS - 1)).toBe("over");
      expect(spendTicket(kv, { ...ticket, id: "late" }, NOW + TICKET_MS)).toBe("over");
      const [[key, spent] = []] = kv.list<Record<string, number>>();
      // As after so many calls, of which each stores the whole list.
      const others = Array.from({ length: MAX_SPENT_TICKETS - 2 }, (_, n) => [`t${n}`, ticket.expiresAt] as const);
      kv.put(key ?? "", { ...spent, ...Object.fromEntries(others) });
      expect(spendTicket(kv, { ...ticket, id: "last" }, NOW)).toBe("spent");
      expect(spendTicket(kv, { ...ticket, id: "one more" }, NOW)).toBe("crowded");
      const next = NOW + TICKET_MS;
      expect(spendTicket(kv, { id: "next", expiresAt: next + TICKET_MS }, next)).toBe("spent");
      expect([...kv.list()].map(([, value]) => Object.keys(value as object))).toEqual([["next"]]);
    });
  });
});
