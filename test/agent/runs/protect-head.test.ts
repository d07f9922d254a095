/** The beginning of a conversation, which is usually the task itself. Tests how much of it is kept and which setting decides. */
import { Session } from "../../../src/agent/sessions/session.ts";
import type { FullSession } from "../../rooms.ts";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import type { CompactAfterOptions } from "../../../src/agent/settings.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { secretRules } from "../../../src/redact/secret-rules.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk, textOf } from "../../conversation.ts";
import { noting, ofKind, rest, sayAll, SESSION } from "../../noted.ts";
import { openGates, summaryOf, withInstructions } from "../../scripted-model.ts";

skipRetryDelays();
afterEach(openGates);

const RULE = "Never delete src/keep-me.ts";
const BEGINNING = "The task: build the harbour ledger, berth by berth.";

/** A task of about so many tokens, with a rule at its end. */
function task(tokens: number): UIMessage {
  const filler = "The tide tables are attached here as they came in. ".repeat(Math.ceil(tokens / 11));
  return { id: "m0", role: "user", parts: [{ type: "text", text: `${BEGINNING}\n${filler}\n${RULE}.` }] };
}

/** A session of threshold 10,000 that says the task and goes on until a run was made of it. */
function begin<T>(
  tokens: number,
  options: CompactAfterOptions,
  look: (session: FullSession, lastRun: () => RunRecord | undefined) => Promise<T>,
): Promise<T> {
  const { stub } = newAgent((prompt) =>
    withInstructions(summaryOf(prompt, "done"), { standing: prompt.transcript?.includes(RULE) === true ? [RULE] : [] }),
  );
  return runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("long").compactAfter(10_000, options);
    await session.appendAll([task(tokens), ...talk(1, 70)]);
    await settle(session);
    return look(session, () => agent.palimpsest.runs.list("long", { limit: 1 })[0]);
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

const shown = async (session: FullSession): Promise<string> => textOf((await session.getView()).messages);

describe("by default", () => {
  test("the user's first message is kept whole up to a quarter of the threshold, though it is more than a tenth", async () => {
    await begin(2_000, {}, async (session, lastRun) => {
      expect(lastRun()?.outcome?.kind).toBe("applied");
      const { messages, elements } = await session.getView({ apart: true });
      expect(messages[0]).toEqual(task(2_000));
      expect(elements[1]?.kind).toBe("overlay");
    });
  });

  test("of a larger one its beginning and its instructions stay word for word, and plan() and the run say so", async () => {
    await begin(4_000, {}, async (session, lastRun) => {
      const run = lastRun();
      expect(run?.outcome?.kind).toBe("applied");
      expect(run?.plan?.head).toEqual({ asked: 3, kept: 0, why: "budget", inWords: [], beginningOf: "m0" });
      const { messages } = await session.getView({ apart: true });
      expect(messages.some(({ id }) => id === "m0")).toBe(false);
      expect(textOf(messages.slice(0, 1))).toContain(BEGINNING);
      expect(textOf(messages.slice(0, 1))).toContain(RULE);
    });
    // As it is told beforehand.
    const { stub } = newAgent();
    await runInDurableObject(stub, async (agent) => {
      const session = Session.create(agent).forSession("asked").compactAfter(10_000);
      await session.appendAll([task(4_000), ...talk(1, 40)]);
      expect(agent.palimpsest.runs.list("asked", { limit: 1 })).toEqual([]);
      const report = await session.plan({ manual: true });
      expect(report?.plan).toMatchObject({ kind: "span", head: { beginningOf: "m0" } });
      expect(report?.lines.join("\n")).toMatch(/first message of the user .*its beginning stays/);
    });
  });

  test("they stay through later compactions that fold the summary in, and through an edit elsewhere", async () => {
    await begin(4_000, {}, async (session) => {
      for (let from = 70; from < 400; from += 30) {
        await session.appendAll(talk(from, from + 30));
        await settle(session);
        const text = await shown(session);
        expect([from, text.includes(BEGINNING), text.includes(RULE)]).toEqual([from, true, true]);
      }
      const overlays = await session.getCompactions();
      expect(overlays.some(({ details }) => details.level > 0)).toBe(true);
      await session.updateMessage(say(20, "Edited. "));
      expect(await shown(session)).toContain(BEGINNING);
    });
  });

  test("when the message itself is edited, none of its old words are left in any view", async () => {
    await begin(4_000, {}, async (session) => {
      await session.updateMessage({ ...task(4_000), parts: [{ type: "text", text: "Something else entirely." }] });
      expect(await shown(session)).not.toContain(BEGINNING);
      expect(JSON.stringify(await session.getCompactions())).not.toContain(BEGINNING);
    });
  });

  test("with redactSecrets no secret of it stands in a summary", async () => {
    const { stub } = newAgent((prompt) => summaryOf(prompt, "done"));
    await runInDurableObject(stub, async (agent) => {
      const session = Session.create(agent).forSession("secret").compactAfter(10_000).redactSecrets(secretRules());
      const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
      const [part] = task(4_000).parts;
      const text = part?.type === "text" ? `Log in with ${secret} first. ${part.text}` : "";
      await session.appendAll([{ id: "m0", role: "user", parts: [{ type: "text", text }] }, ...talk(1, 70)]);
      await settle(session);
      const seen = await shown(session);
      expect(seen).toContain(BEGINNING);
      expect(seen).not.toContain(secret);
    });
  });
});

describe("what a caller states", () => {
  test("wins over every default: messages of two thirds of the threshold are kept whole", async () => {
    await begin(6_000, { head: 2 }, async (session, lastRun) => {
      const run = lastRun();
      expect(run?.outcome?.kind).toBe("applied");
      expect(run?.plan?.head).toEqual({ asked: 2, kept: 2, why: null, inWords: [], beginningOf: null });
      expect((await session.getView({ apart: true })).messages.slice(0, 2)).toEqual([task(6_000), say(1)]);
    });
  });

  test("ends at the hard line, and plan() and the run's record say what was kept instead", async () => {
    await begin(16_000, { head: 2 }, async (session, lastRun) => {
      const run = lastRun();
      expect(run?.outcome?.kind).toBe("applied");
      expect(run?.plan?.head).toEqual({ asked: 2, kept: 0, why: "hard-line", inWords: [], beginningOf: "m0" });
      const text = await shown(session);
      expect(text).toContain(BEGINNING);
      expect(text).toContain(RULE);
    });
    // A window that is said moves the line.
    await begin(16_000, { head: 1, windowTokens: 40_000 }, async (session) => {
      const { run } = await session.compactNow();
      const ended = await session.ended(run.id);
      expect(ended.plan?.head).toMatchObject({ kept: 1, why: null });
      expect((await session.getView({ apart: true })).messages[0]).toEqual(task(16_000));
    });
  });

  test("nothing is nothing: neither the first message nor its beginning", async () => {
    await begin(2_000, { head: 0 }, async (session, lastRun) => {
      expect(lastRun()?.plan?.head).toEqual({ asked: 0, kept: 0, why: null, inWords: [], beginningOf: null });
      expect(await shown(session)).not.toContain(BEGINNING);
    });
  });

  test("a budget of its own wins as well", async () => {
    await begin(2_000, { head: { tokens: 500 } }, async (session, lastRun) => {
      expect(lastRun()?.plan?.head).toMatchObject({ kept: 0, why: "budget", beginningOf: "m0" });
    });
  });
});

test("a summary from notes, which stands for the beginning as well, holds its words: whole, where it would be kept whole", async () => {
  const { agent } = newAgent(noting);
  await sayAll(agent, talk(0, 18));
  expect(ofKind(await rest(agent), "compaction")[0]).toMatchObject({
    path: "notes",
    plan: { head: { kept: 0, why: "notes", inWords: ["m0"], beginningOf: null } },
  });
  const { messages } = await agent.getView({ sessionId: SESSION });
  const [part] = say(0).parts;
  expect(textOf(messages.slice(0, 1))).toContain(
    JSON.stringify(part?.type === "text" ? part.text.trim() : "").slice(1, -1),
  );
});

test("a function that takes the first message into its range leaves the beginning in view all the same", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent)
      .forSession("own")
      .compactAfter(10_000)
      .onCompaction(async (messages) => ({
        summary: "The harbour ledger is built berth by berth.",
        fromMessageId: messages[0]?.id ?? "",
        toMessageId: messages.at(-5)?.id ?? "",
      }));
    await session.appendAll([task(4_000), ...talk(1, 70)]);
    await settle(session);
    const [run] = agent.palimpsest.runs.list("own", { limit: 1 });
    expect(run).toMatchObject({
      outcome: { kind: "applied" },
      plan: { head: { asked: 3, kept: 0, why: "function", beginningOf: "m0" } },
    });
    expect(await shown(session)).toContain(BEGINNING);
  });
});
