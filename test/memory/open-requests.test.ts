/** Open requests stay in view beside the summaries that hide them, whichever summary is the last one. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { inside } from "../agent/inside.ts";

skipRetryDelays();

const FILL = "We looked at many things and they were all in order. ".repeat(40);
const FIRST = "Please migrate the billing table to Postgres 17. ";
const SECOND = "Please rename the ledger module to accounts. ";

function say(n: number, text = n === 2 ? FIRST : n === 9 ? SECOND : FILL): UIMessage {
  return { id: `a${n}`, role: [0, 2, 9].includes(n) ? "user" : "assistant", parts: [{ type: "text", text }] };
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
    // The second summary knows that the user asked for something else since.
    expect(await told()).toEqual([0, 1]);
    await session.updateMessage(say(4, `Short. ${FILL}`));
    expect(await told()).toEqual([1, 1]);
    await compact("a1", "a6");
    expect(await told()).toEqual([1, 1]);
    await session.addCompaction("A caller's own.", "a13", "a16");
    expect(await told()).toEqual([1, 1]);
  });
});

test("a caller's own section on a state stays when a later summary stands behind it", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("s");
    await session.appendAll(Array.from({ length: 12 }, (_, n) => say(n)));
    await session.addCompaction("## State\nTexas: 8.25 %.\n\n## Customers\nAcme.", "a1", "a4");
    await session.addCompaction("## Customers\nNothing new.", "a5", "a8");
    expect(JSON.stringify((await session.getView()).messages)).toContain("Texas");
  });
});
