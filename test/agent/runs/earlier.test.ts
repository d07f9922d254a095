/** What a summary shows of the messages under earlier ones, which are the user's instructions. It goes when its source may have changed (C3, S3). */
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import { measureMessage } from "../../../src/steps/message/message.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { overlayMessageId } from "../../../src/steps/view/view.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk, textOf } from "../../conversation.ts";
import type { FullSession } from "../../rooms.ts";
import { summaryOf, withInstructions, type Script } from "../../scripted-model.ts";
import { withNumbers } from "../runs.ts";

skipRetryDelays();

/** Said by message 2 alone, which the first summary covers. */
const WORD = "quokka";
const keep = (word: string): string => `Never feed the ${word} after dark`;
const told = (n: number): UIMessage => (n === 2 ? say(2, `${keep(WORD)}. `) : say(n));

/** Fills its summary, so that the next one begins beside it, and names the instructions that it reads. */
const naming: Script = (prompt) => {
  const found = (prompt.transcript ?? "").match(/Never feed the \w+ after dark/g) ?? [];
  return withInstructions(`${summaryOf(prompt, "Done.")}\n${"All of it was looked at twice. ".repeat(28)}`, {
    standing: found,
  });
};

interface Stacked {
  readonly session: FullSession;
  readonly older: OverlayRecord;
  readonly newer: OverlayRecord;
  readonly compact: () => Promise<void>;
}

/** Summaries side by side. The newest shows the instruction under the first of them. */
async function stacked(look: (made: Stacked) => Promise<void>, added: string | null = null): Promise<void> {
  const { stub } = newAgent(naming);
  await runInDurableObject(stub, async (agent) => {
    const numbers = { summaryTokens: 300, stackTokens: 2_400, pinnedTokens: 0, minSpanTokens: 100 };
    const made = Session.create(agent).forSession("stacked").compactAfter(20_000, { head: 1, tail: 400 });
    const session = withNumbers(made, numbers).onAfterCompaction(async () => added);
    const compact = async (): Promise<void> => {
      const { run } = await session.compactNow();
      expect((await session.ended(run.id)).outcome?.kind).toBe("applied");
    };
    for (const [from, to] of [
      [0, 12],
      [12, 22],
      [22, 32],
    ] as const) {
      await session.appendAll(Array.from({ length: to - from }, (_, at) => told(from + at)));
      await compact();
    }
    const active = (await session.getCompactions()).filter(({ state }) => state === "active");
    const [older, newer] = active.slice(-2);
    if (older === undefined || newer === undefined) throw new Error("No two summaries side by side.");
    expect([older.details.level, newer.details.level]).toEqual([0, 0]);
    expect(newer.details.pinned.instructions).toEqual([{ quote: `${keep(WORD)}.`, messageId: "m2" }]);
    expect(await shown(session)).toContain(WORD);
    await look({ session, older, newer, compact });
  });
}

/** Waits until no run is at work. */
async function settle(session: FullSession): Promise<void> {
  for (;;) {
    const { liveRunIds } = await session.status();
    if (liveRunIds.length === 0) return;
    await Promise.all(liveRunIds.map((id) => session.ended(id)));
  }
}

async function shown(session: FullSession): Promise<string> {
  return textOf((await session.getView()).messages);
}

async function everything(session: FullSession): Promise<string> {
  const overlays = await session.getCompactions();
  const past = await Promise.all(overlays.map(({ id }) => session.getViewAsOf(id)));
  return JSON.stringify([await session.getView(), overlays, past]);
}

test("after an edit under another summary nothing of its old text is left", async () => {
  await stacked(async ({ session }) => {
    await session.updateMessage(say(2));
    expect(await shown(session)).not.toContain(WORD);
  });
});

test("nor after an edit of what an older summary had hidden and was taken back from", async () => {
  await stacked(async ({ session, older }) => {
    for (const { id, state, n } of await session.getCompactions())
      if (state === "active" && n <= older.n) await session.rollback(id);
    expect(await shown(session)).toContain(WORD);
    await session.updateMessage(say(2));
    expect(await shown(session)).not.toContain(WORD);
    expect(await everything(session)).not.toContain(WORD);
  });
});

test("nor in a summary that was taken back before the edit, in any answer, and not when it is put back", async () => {
  await stacked(async ({ session, newer }) => {
    await session.rollback(newer.id);
    await session.updateMessage(say(2));
    expect(await everything(session)).not.toContain(WORD);
    expect(await session.restore(newer.id)).toMatchObject({ kind: "applied" });
    expect(await everything(session)).not.toContain(WORD);
  });
});

test("nor after the message was deleted", async () => {
  await stacked(async ({ session }) => {
    await session.deleteMessages(["m2"]);
    expect(await everything(session)).not.toContain(WORD);
  });
});

test("only the last summary says how things stand, and the one before it where that was taken back", async () => {
  await stacked(async ({ session, older, newer }) => {
    const telling = async (): Promise<string[]> =>
      (await session.getView({ apart: true })).messages
        .filter((each) => textOf([each]).includes("## State\\n"))
        .map(({ id }) => id);
    expect(await telling()).toEqual([overlayMessageId(newer.id)]);
    await session.rollback(newer.id);
    expect(await telling()).toEqual([overlayMessageId(older.id)]);
  });
});

test("an edit of what no summary tells of leaves the instruction where it is", async () => {
  await stacked(async ({ session }) => {
    await session.updateMessage(say(31, "Edited. "));
    await session.updateMessage(say(0, "Edited. "));
    expect(await shown(session)).toContain(WORD);
  });
});

test("later compactions have them again, of what is said now", async () => {
  await stacked(async ({ session, compact }) => {
    await session.updateMessage(say(2, `${keep("wombat")}. `));
    await settle(session);
    await session.appendAll(talk(32, 42));
    await compact();
    expect(await shown(session)).toContain("wombat");
    expect(await shown(session)).not.toContain(WORD);
  });
});

test("a branch that leaves between two summaries has nothing that only the later one's messages say", async () => {
  await stacked(async ({ session }) => {
    // A run lays a summary over the messages that the edit uncovered. It lies before the newer one and was made later.
    await session.updateMessage(say(3, "Edited. "));
    await settle(session);
    const mended = (await session.getCompactions()).at(-1);
    expect(mended).toMatchObject({ state: "active", details: { trigger: "edit" }, runId: expect.any(String) });
    await session.appendMessage({ ...say(99), id: "aside" }, mended?.span.toId);
    const text = textOf((await session.getView("aside")).messages);
    for (let n = 22; n < 28; n++) expect(text).not.toContain(`-${n}.ts`);
  });
});

test.each([null, "A line that the caller adds behind the summary, with words of its own."])(
  "without its instructions a summary weighs what it then shows (added: %s)",
  async (added) => {
    await stacked(async ({ session }) => {
      const weigh = async (): Promise<void> => {
        const { messages, elements } = await session.getView({ apart: true });
        const weighed = messages.map((message) => measureMessage(message, estimateTokens).tokens);
        expect(elements.map(({ tokens }) => tokens)).toEqual(weighed);
      };
      await weigh();
      await session.updateMessage(say(2));
      await weigh();
    }, added);
  },
);
