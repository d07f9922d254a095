/** What only a room brings. Code without types may use it on an agent that was declared without that room. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { installRooms } from "../../src/agent/extension.ts";
import { MEMBERS_OF_ROOMS } from "../../src/agent/missing-room.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { ALL_ROOMS } from "../../src/rooms.ts";
import { newAgent } from "../agents.ts";
import { inside } from "./inside.ts";

const MEMBERS = Object.entries(MEMBERS_OF_ROOMS).flatMap(([room, names]) => names.map((name) => [name, room] as const));

test.each(MEMBERS)("%s without its room says which import brings %s()", async (member, room) => {
  const agents = env.BareAgent;
  const from = { transcripts: "import", ownFunction: "own-function" }[room] ?? room;
  await runInDurableObject(agents.get(agents.idFromName("no-rooms")), (agent) => {
    // Every session has tools, those of the rooms that there are.
    const sessions = member === "tools" ? [] : [Session.create(agent)];
    for (const told of [...sessions, SessionManager.create(agent)]) {
      expect(() => (told as unknown as Record<string, () => unknown>)[member]?.()).toThrow(
        `[not_configured] ${member} needs a room, which is an optional part. Add it where the agent is declared: import { ${room} } from "palimpsest/${from}", then withCompaction(Base, { rooms: [${room}()] }).`,
      );
    }
  });
});

test("the members that are known by name are those that rooms add, and the imports are there", async () => {
  const seen = new Map<string, Set<string>>();
  await inside(newAgent(), async (_manager, agent) => {
    const core = agent.palimpsest;
    const state = { core, sessionId: "" } as never;
    for (const [at, room] of installRooms(core, ALL_ROOMS).entries()) {
      const parts = [room.session(state), room.manager?.({ core, collect: () => undefined }) ?? {}];
      seen.set(ALL_ROOMS[at]?.name ?? "", new Set(parts.flatMap(methodsOf)));
    }
  });
  const known = Object.entries(MEMBERS_OF_ROOMS).map(([room, names]) => [room, names.toSorted()]);
  expect([...seen].map(([room, names]) => [room, [...names].toSorted()])).toEqual(known);
});

function methodsOf(part: object): string[] {
  const prototype = Object.getPrototypeOf(part) as object | null;
  if (prototype === null || prototype === Object.prototype) return [];
  return [...Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor"), ...methodsOf(prototype)];
}
