/** Skills that a summary carries, in the views of a session. */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { keepFacts } from "../../../src/facts/beside.ts";
import { gatherFacts } from "../../../src/facts/gather.ts";
import { WHOLE_MESSAGE } from "../../../src/steps/plan/outline.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { talk } from "../../conversation.ts";
import type { FullSession } from "../../rooms.ts";
import type { BuiltAgent } from "../../worker.ts";

const SKILL = "Answer each letter within a day. ".repeat(4);

let calls = 0;

/** Loads the skill as the model's tool does, and stores the message of that call. */
async function load(session: FullSession): Promise<void> {
  const input = { label: "skills", key: "letters" };
  const output = await session.context.loadSkill(input.label, input.key);
  const call = { toolCallId: `${calls++}`, state: "output-available", input, output } as const;
  await session.appendMessage({
    id: `load-${calls}`,
    role: "assistant",
    parts: [{ type: "tool-load_context", ...call }],
  });
}

test("a skill that a summary carries is in a view once while it is loaded, never when it is not, and in the stored messages for good (M1)", async () => {
  const stub = env.BuiltAgent.get(env.BuiltAgent.idFromName("carried-skills"));
  await runInDurableObject(stub, async (instance: BuiltAgent) => {
    const session = Session.create(instance).forSession("skills") as FullSession;
    session.withContext("skills", { provider: { get: async () => "letters", load: async () => SKILL } });
    await session.appendAll(talk(0, 4));
    await load(session);
    await session.appendAll(talk(4, 12));
    const { overlays, spans } = instance.palimpsest.memory.session("skills");
    const span = { fromId: "m2", fromStep: 0, toId: "m9", toStep: WHOLE_MESSAGE };
    const facts = gatherFacts(spans.messages(span) ?? []);
    const pinned = keepFacts(facts, { pinnedTokens: 500, loadedTokens: 500, countTokens: estimateTokens });
    const laid = overlays.add({ span, summary: "They talked.", details: { facts, pinned } });
    const overlayId = laid.kind === "stale" ? "" : laid.overlay.id;
    const times = async (): Promise<number[]> => {
      const views = [await session.getView(), await session.getViewAsOf(overlayId)];
      return views.map((view) => JSON.stringify(view.messages).split(SKILL).length - 1);
    };
    expect(await times()).toEqual([1, 1]);
    await session.unloadSkill("skills", "letters");
    expect(await times()).toEqual([0, 0]);
    await load(session);
    expect(await times()).toEqual([1, 1]);
    const { messages } = await session.getView();
    expect(JSON.stringify(messages.at(-1))).toContain(SKILL);
    await session.unloadSkill("skills", "letters");
    expect(await times()).toEqual([0, 0]);
    expect(JSON.stringify(await session.getHistory()).split(SKILL)).toHaveLength(3);
  });
});
