/** Open requests stay in view beside the summaries that hide them, whichever summary is the last one. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import type { FullManager } from "../rooms.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { inside } from "../agent/inside.ts";

skipRetryDelays();

const FILL = "We looked at many things and they were all in order. ".repeat(40);
const FIRST = "Please migrate the billing table to Postgres 17. ";
const SECOND = "Please rename the ledger module to accounts. ";
const THIRD = "Please update the changelog. ";
/** What the user asks for, by message. A request stays open until two later messages bring requests. */
const REQUESTS = new Map([
  [2, FIRST],
  [9, SECOND],
  [11, THIRD],
]);

function say(n: number, text = REQUESTS.get(n) ?? FILL): UIMessage {
  return { id: `a${n}`, role: n === 0 || REQUESTS.has(n) ? "user" : "assistant", parts: [{ type: "text", text }] };
}

test("an open request is in view after edits, deletes and new summaries elsewhere, and an earlier one says it once", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("s").compactAfter(900_000);
    let ends: readonly [string, string] = ["a1", "a6"];
    session.onCompaction(() => ({ summary: "Looked.", fromMessageId: ends[0], toMessageId: ends[1] }));
    await session.appendAll(Array.from({ length: 20 }, (_, n) => say(n)));
    const compact = async (from: string, to: string): Promise<void> => {
      ends = [from, to];
      const { run } = await session.compactNow();
      expect((await session.ended(run.id)).outcome?.kind).toBe("applied");
    };
    const told = async (): Promise<number[]> => {
      const shown = JSON.stringify((await session.getView()).messages);
      return ["migrate the billing", "rename the ledger"].map((request) => shown.split(request).length - 1);
    };
    await compact("a1", "a6");
    await compact("a7", "a12");
    // The second summary knows that the user asked for two other things since.
    expect(await told()).toEqual([0, 1]);
    await session.updateMessage(say(4, `Short. ${FILL}`));
    expect(await told()).toEqual([1, 1]);
    await compact("a1", "a6");
    expect(await told()).toEqual([1, 1]);
    // A caller's own knows both that stand before it, as the second one did.
    await session.addCompaction("A caller's own.", "a13", "a16");
    expect(await told()).toEqual([0, 1]);
  });
});

/** A session with two summaries. The second knows that the first one's open request was followed by two others. */
async function withTwo<T>(
  work: (session: ReturnType<FullManager["getSession"]>, agent: PalimpsestAgent) => Promise<T>,
) {
  const rules = `# Rules\nAlways run quokka_check before a release.\n${"All is in order here. ".repeat(60)}`;
  const call = { toolCallId: "c", state: "output-available", input: { path: "AGENTS.md" }, output: rules } as const;
  const loaded: UIMessage = { id: "a3", role: "assistant", parts: [{ type: "tool-read", ...call }] };
  return inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession("s").compactAfter(900_000);
    let at = 0;
    for (const [from, to, end] of [
      ["a1", "a6", 9],
      ["a7", "a12", 24],
    ] as const) {
      for (; at < end; at++) await session.appendMessage(at === 3 ? loaded : say(at));
      session.onCompaction(() => ({ summary: "Looked.", fromMessageId: from, toMessageId: to }));
      const { run } = await session.compactNow();
      expect((await session.ended(run.id)).outcome?.kind).toBe("applied");
    }
    return work(session, agent);
  });
}

test("a caller's own section on a state stays when a later summary stands behind it", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("s");
    await session.appendAll(Array.from({ length: 12 }, (_, n) => say(n)));
    await session.addCompaction("## State\nTexas: 8.25 %.\n\n## Customers\nAcme.", "a1", "a4");
    await session.addCompaction("## Customers\nNothing new.", "a5", "a8");
    expect(JSON.stringify((await session.getView()).messages)).toContain("Texas");
  });
});

test("a caller's own summary behind two others shows what is open, and their loaded texts, once", async () => {
  await withTwo(async (session) => {
    const told = async (): Promise<number[]> => {
      const shown = JSON.stringify((await session.getView()).messages);
      return ["migrate the billing", "rename the ledger", "quokka_check"].map((each) => shown.split(each).length - 1);
    };
    const before = await told();
    expect(before).toEqual([0, 1, 1]);
    await session.addCompaction("A caller's own.", "a13", "a16");
    expect(await told()).toEqual(before);
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
});

test("an earlier summary says nothing again that one between it and the last knew to be settled", async () => {
  await withTwo(async (session, agent) => {
    const span = { fromId: "a13", fromStep: 0, toId: "a16", toStep: WHOLE_MESSAGE };
    agent.palimpsest.memory
      .session("s")
      .overlays.add({ span, summary: "An imported summary, which knows its span alone." });
    const shown = JSON.stringify((await session.getView()).messages);
    expect(shown).not.toContain("migrate the billing");
    expect(shown.split("rename the ledger")).toHaveLength(2);
  });
});
