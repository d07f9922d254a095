/** An update of the notes for a compaction that would end at a summary, because large messages are all that stands behind it. */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";
import { noting, ofKind, rest } from "../noted.ts";
import { keptNotes, type PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const SESSION = "wide";

test.each([1, 2])(
  "it ends with an outcome, and so does the compaction behind it (%i messages behind)",
  async (behind) => {
    const { agent, stub } = newAgent(noting);
    await runInDurableObject(stub, ({ name }: PalimpsestAgent) => {
      keptNotes.set(`${name}/${SESSION}`, { keep: { minTextBlockMessages: 1 }, toolCalls: 0 });
    });
    // Messages, and a summary of those behind them.
    await agent.appendAll({ sessionId: SESSION, messages: talk(0, 10) });
    await agent.addCompaction({
      sessionId: SESSION,
      fromMessageId: "m6",
      toMessageId: "m9",
      summary: "They changed files.",
    });
    for (let n = 0; n < behind; n++) {
      await agent.append({
        sessionId: SESSION,
        message: { id: `large${n}`, role: "user", parts: [{ type: "text", text: "word ".repeat(2_600 / behind) }] },
      });
    }
    const runs = await rest(agent, SESSION);
    expect(ofKind(runs, "notes").filter(({ outcome }) => outcome?.kind === "failed")).toEqual([]);
  },
);
