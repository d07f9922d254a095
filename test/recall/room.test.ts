/** The room of recall. Tests an agent without it, and that it leaves nothing behind. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { Db } from "../../src/memory/db.ts";
import { Memory } from "../../src/memory/memory.ts";
import type { History } from "../../src/memory/messages/history.ts";
import { installRooms } from "../../src/agent/extension.ts";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { Session } from "../../src/agent/sessions/session.ts";
import { context } from "../../src/context/room.ts";
import type { ManagerContextMethods } from "../../src/context/room.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { say, withProbe } from "../memory/probe.ts";
import { rowsOf } from "../rows.ts";

describe("S2: an agent that no longer has the room still takes words out of the index", () => {
  test.each<[what: string, change: (history: History) => unknown]>([
    ["an edit", (history) => history.update(say("m1", "Nothing to see."))],
    ["a delete", (history) => history.delete(["m1"])],
    ["a clear", (history) => history.clear()],
  ])("after %s", async (_what, change) => {
    await withProbe(({ memory, history, storage, reopen }) => {
      history.append(say("m1", "The quokka is a secret."));
      history.append(say("m2", "Something else."));
      expect(memory.search.find("quokka")).toHaveLength(1);
      const without = new Memory(new Db(storage), { counterOf: () => estimateTokens, now: () => 3_000 });
      change(without.session(""));
      expect(JSON.stringify(rowsOf(storage, "palimpsest_search"))).not.toContain("quokka");
      // With the room again, everything that is stored is found, and nothing else.
      const again = reopen();
      expect(again.search.find("quokka")).toEqual([]);
      const left = again.session("").get("m2") === null ? 0 : 1;
      expect(again.search.find("something")).toHaveLength(left);
    });
  });
});

test("without the room there is no search, no recall, no tool, and a block that would search is refused", async () => {
  const agents = env.BareAgent;
  await runInDurableObject(agents.get(agents.idFromName("no-recall")), (agent) => {
    const session = Session.create(agent);
    for (const name of ["search", "recall"]) {
      for (const configured of [session, SessionManager.create(agent)]) {
        const method = Reflect.get(configured, name) as () => unknown;
        expect(() => method()).toThrow(/^\[not_configured\].*recall\(\)/);
      }
      expect(name in agent).toBe(false);
    }
    const { palimpsest: core } = agent;
    const [blocks] = installRooms(core, [context()]);
    const manager = blocks?.manager?.({ core, collect: () => undefined }) as ManagerContextMethods;
    expect(() => manager.withSearchableHistory("past")).toThrow(/^\[not_configured\].*recall\(\)/);
  });
});
