/** What stands beside several summaries of a view: instructions and loaded texts stand there once, whichever is the last one. */
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { NOTHING_PINNED } from "../../src/facts/fact.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { inside } from "../agent/inside.ts";
import type { FullManager } from "../rooms.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const FILL = "We looked at many things and they were all in order. ".repeat(40);
const STANDING = "Never rename the ledger module";
const LIFTED = "You may rename it now";

function say(n: number, text = FILL): UIMessage {
  const words = n === 2 ? `${STANDING}. ${FILL}` : n === 9 ? `${LIFTED}. ${FILL}` : text;
  return { id: `a${n}`, role: [0, 2, 9].includes(n) ? "user" : "assistant", parts: [{ type: "text", text: words }] };
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

/** A session with two summaries. The first knows an instruction and a loaded text, and the second that the user ended the instruction, if he did. */
async function withTwo<T>(
  { isEnded }: { readonly isEnded: boolean },
  work: (session: ReturnType<FullManager["getSession"]>, agent: PalimpsestAgent) => Promise<T>,
) {
  const rules = `# Rules\nAlways run quokka_check before a release.\n${"All is in order here. ".repeat(60)}`;
  const call = { toolCallId: "c", state: "output-available", input: { path: "AGENTS.md" }, output: rules } as const;
  const loaded: UIMessage = { id: "a3", role: "assistant", parts: [{ type: "tool-read", ...call }] };
  return inside(newAgent(), async (manager, agent) => {
    const session = manager.getSession("s");
    await session.appendAll(Array.from({ length: 24 }, (_, n) => (n === 3 ? loaded : say(n))));
    const { overlays } = agent.palimpsest.memory.session("s");
    const instruction = { quote: STANDING, messageId: "a2" };
    const first = { instructions: [instruction], ended: [], said: [], loaded: [] };
    const span = { fromId: "a1", fromStep: 0, toId: "a6", toStep: WHOLE_MESSAGE };
    const details = { facts: first, pinned: { ...NOTHING_PINNED, instructions: [instruction] } };
    const added = overlays.add({ span, summary: "Looked.", details });
    expect(added.kind).toBe("applied");
    const ended = isEnded ? [{ ...instruction, by: { messageId: "a9", quote: LIFTED } }] : [];
    const known = added.kind === "applied" ? [added.overlay.id] : [];
    const later = {
      facts: { instructions: [], ended, said: [], loaded: [] },
      pinned: { ...NOTHING_PINNED, ended, instructions: isEnded ? [] : [instruction] },
      knows: known,
    };
    overlays.add({ span: { ...span, fromId: "a7", toId: "a12" }, summary: "Looked again.", details: later });
    return work(session, agent);
  });
}

/** How often the view says the instruction, by the heading of instructions alone. */
async function told(session: ReturnType<FullManager["getSession"]>): Promise<number> {
  return JSON.stringify((await session.getView()).messages).split(`- \\"${STANDING}\\"`).length - 1;
}

test("an instruction stands once, beside the last summary that knows of it", async () => {
  await withTwo({ isEnded: false }, async (session) => {
    expect(await told(session)).toBe(1);
    await session.addCompaction("A caller's own.", "a13", "a16");
    expect(await told(session)).toBe(1);
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
});

test("behind an imported summary, which knows its span alone, an earlier one goes on to show it", async () => {
  await withTwo({ isEnded: false }, async (session, agent) => {
    const span = { fromId: "a13", fromStep: 0, toId: "a16", toStep: WHOLE_MESSAGE };
    agent.palimpsest.memory.session("s").overlays.add({ span, summary: "An imported summary." });
    expect(await told(session)).toBe(1);
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
});

test("an earlier summary says nothing again that a later one knew to be ended, whichever is the last one", async () => {
  await withTwo({ isEnded: true }, async (session, agent) => {
    expect(await told(session)).toBe(0);
    const span = { fromId: "a13", fromStep: 0, toId: "a16", toStep: WHOLE_MESSAGE };
    agent.palimpsest.memory.session("s").overlays.add({ span, summary: "An imported summary." });
    expect(await told(session)).toBe(0);
    await session.addCompaction("A caller's own.", "a17", "a20");
    expect(await told(session)).toBe(0);
  });
});

test("an edit under the summary that ended it has the earlier one show it again", async () => {
  await withTwo({ isEnded: true }, async (session) => {
    await session.updateMessage({ ...say(9), parts: [{ type: "text", text: FILL }] });
    expect(await told(session)).toBe(1);
    // And an edit of its own message takes it away.
    await session.updateMessage({ ...say(2), parts: [{ type: "text", text: FILL }] });
    expect(await told(session)).toBe(0);
  });
});
