/** A setting that only a room brings. Code without types may use it on an agent that was declared without that room. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { installRooms } from "../../src/agent/extension.ts";
import { ROOM_OF_SETTING } from "../../src/agent/missing-room.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { ALL_ROOMS } from "../../src/rooms.ts";
import { newAgent } from "../agents.ts";
import { inside } from "./inside.ts";

test.each(Object.entries(ROOM_OF_SETTING))("%s without its room names %s()", async (setting, room) => {
  const agents = env.BareAgent;
  await runInDurableObject(agents.get(agents.idFromName("no-rooms")), (agent) => {
    for (const told of [Session.create(agent), SessionManager.create(agent)]) {
      const set = (told as unknown as Record<string, () => unknown>)[setting];
      expect(() => set?.()).toThrow(
        `[not_configured] ${setting} needs a room. Add it where the agent is declared: withCompaction(Base, { rooms: [${room}()] }).`,
      );
    }
  });
});

test("the settings that are known by name are those that rooms add to a manager of sessions", async () => {
  await inside(newAgent(), async (_manager, agent) => {
    const core = agent.palimpsest;
    const installed = installRooms(core, ALL_ROOMS);
    const added = ALL_ROOMS.flatMap((room, at) => {
      const part = installed[at]?.manager?.({ core, tell: () => undefined }) ?? {};
      return methodsOf(part).map((name) => [name, room.name]);
    });
    const uses = new Set<unknown>(["search", "tools"]);
    expect(Object.fromEntries(added.filter(([name]) => !uses.has(name)))).toEqual(ROOM_OF_SETTING);
  });
});

function methodsOf(part: object): string[] {
  const prototype = Object.getPrototypeOf(part) as object | null;
  if (prototype === null || prototype === Object.prototype) return [];
  return [...Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor"), ...methodsOf(prototype)];
}
