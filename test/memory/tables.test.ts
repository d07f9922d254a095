/** The first write creates a table, so an agent pays only for the tables that it uses. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { getAgentByName } from "agents";
import { expect, test } from "vitest";
import { Runs } from "../../src/memory/runs/runs.ts";
import { newAgent } from "../agents.ts";
import { inside } from "../agent/inside.ts";
import { say } from "../conversation.ts";
import { notesIn } from "../notes/in.ts";
import { draft, fill, say as tell, span, withProbe } from "./probe.ts";

/** Most that an agent with one message may take, over an agent of the SDK alone. */
const MOST_TIMES = 1.3;

function tablesOf({ sql }: DurableObjectStorage): string[] {
  const found = sql.exec<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'palimpsest_*' ORDER BY name",
  );
  return [...found].map(({ name }) => name.slice("palimpsest_".length));
}

test("an agent with one message takes at most 1.3 times the storage of an agent of the SDK alone", async () => {
  const plain = await getAgentByName(env.PlainAgent, "plain");
  const alone = await runInDurableObject(plain, async (_agent, { storage }) => storage.sql.databaseSize);
  const made = newAgent();
  await made.agent.append({ message: say(0) });
  const ours = await inside(made, (_manager, _agent, { sql }) => sql.databaseSize);
  console.log(`alone ${alone} bytes, with one message ${ours}: ${(ours / alone).toFixed(2)}`);
  expect(ours / alone).toBeLessThanOrEqual(MOST_TIMES);
});

test("reading makes no table: what nothing was written to reads as empty", async () => {
  await withProbe(({ memory, history, storage, cost }) => {
    const runs = new Runs(memory.db, { now: () => 1, started: () => {}, proposed: () => {}, ended: () => {} });
    const spent = cost(() => {
      expect([history.getHistory(), history.view().elements, history.overlays.list()]).toEqual([[], [], []]);
      expect([history.leafId(), history.get("m1"), memory.drafts.get("", "key")]).toEqual([null, null, null]);
      expect([memory.sessions.list({ limit: 10 }), memory.search.find("word", { limit: 3 })]).toEqual([[], []]);
      expect([notesIn(history).current(), runs.allLive()]).toEqual([null, []]);
      history.clear();
    });
    expect(spent).toEqual({ rowsRead: 0, rowsWritten: 0 });
    expect(tablesOf(storage)).toEqual([]);
  });
});

test("each write makes what it needs, and no more", async () => {
  await withProbe(({ history, storage, reopen }) => {
    history.append(tell("m1"));
    expect(tablesOf(storage)).toEqual(["messages", "schema", "sessions"]);
    fill(history, 2, 9);
    history.overlays.add({ span: span("m2", "m5"), summary: "S" });
    expect(tablesOf(storage)).toContain("overlays");
    expect(tablesOf(storage)).not.toContain("notes");
    const again = reopen().session("");
    expect(again.overlays.list()).toHaveLength(1);
    expect(again.append(tell("m10")).inserted).toBe(true);
  });
});

test("a rollback takes a table back, and the next write makes it again (M1)", async () => {
  await withProbe(({ memory, history, storage, reopen }) => {
    const fail = (): unknown =>
      memory.db.transaction((): void => {
        history.append(tell("m1"));
        memory.drafts.save("", draft("key", "text"));
        throw new Error("not this time");
      });
    expect(fail).toThrow("not this time");
    expect(tablesOf(storage)).toEqual([]);
    expect(history.getHistory()).toEqual([]);
    history.append(tell("m1"));
    // Within a transaction that stands, only what was made inside the one that failed is taken back.
    memory.db.transaction(() => {
      history.append(tell("m2"));
      expect(() =>
        memory.db.transaction((): void => {
          memory.drafts.save("", draft("key", "text"));
          throw new Error("nor this");
        }),
      ).toThrow("nor this");
    });
    expect(tablesOf(storage)).toEqual(["messages", "schema", "sessions"]);
    memory.drafts.save("", draft("key", "text"));
    const again = reopen();
    expect(again.session("").getHistory()).toEqual([tell("m1"), tell("m2")]);
    expect(again.drafts.get("", "key")?.text).toBe("text");
  });
});
