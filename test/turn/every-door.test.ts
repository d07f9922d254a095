/** Any conversation, through each door of our own sessions and each provider's package: the provider takes every request of its turns. */
import { convertToModelMessages, generateText, isStepCount, type UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { forModel } from "../../src/turn/readable.ts";
import { stepParts } from "../../src/turn/step-parts.ts";
import { keepTurn, viewBeforeStep } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { newAgent } from "../agents.ts";
import type { FullManager, FullSession } from "../rooms.ts";
import { tries } from "../tries.ts";
import { anyTalk, anyTools, stepAt, summarise, undo, type Talk } from "./any-talk.ts";
import { judging } from "./judging-model.ts";

type Door = "keepTurn" | "viewBeforeStep" | "getView";

/** A turn in the reply's place, which is stored empty. */
async function turn(session: FullSession, door: Door, replyId: string, talk: Talk): Promise<readonly string[]> {
  const { maxTokens, middle, provider } = talk;
  const { model, refused } = judging(provider, (request) => stepAt(talk, request));
  const tools = anyTools(() => summarise(session, talk, middle));
  const limit = maxTokens === undefined ? {} : { maxTokens };
  const base = { model, tools, maxRetries: 0, stopWhen: isStepCount(8) };
  if (door === "keepTurn") {
    const kept = keepTurn(session, { replyId, tools, ...limit });
    await generateText({ ...base, ...(await kept.prepareStep()), ...kept });
    kept.mustBeKept();
    return refused;
  }
  const add = session.editor(replyId);
  const view = { leafId: replyId, ...limit };
  await generateText({
    ...base,
    prompt: "-",
    prepareStep:
      door === "viewBeforeStep"
        ? viewBeforeStep(session, { tools, ...view })
        : async () => ({
            messages: await forModel(
              await convertToModelMessages((await session.getView(view)).messages, { tools }),
              model,
            ),
          }),
    onStepEnd: async (step) => {
      const parts = await stepParts(step, tools);
      add?.((stored) => [...stored, ...parts]);
    },
  });
  return refused;
}

const reply = (id: string): UIMessage => ({ id, role: "assistant", parts: [] });

async function turns(manager: FullManager, session: FullSession, door: Door, talk: Talk): Promise<readonly string[]> {
  const { messages, summary, between } = talk;
  for (const message of messages) await session.appendMessage(message);
  await summarise(session, talk, summary);
  await session.appendMessage(reply("reply"));
  const first = await turn(session, door, "reply", talk);
  const asked: UIMessage = { id: "again", role: "user", parts: [{ type: "text", text: "And now?" }] };
  if (between === "undo") await undo(session);
  const next = between === "fork" ? manager.getSession((await manager.fork(session.id, "reply")).id) : session;
  // A branch answers the same request again.
  if (between !== "branch") await next.appendMessage(asked);
  await next.appendMessage(reply("reply-2"), between === "branch" ? messages.at(-1)?.id : undefined);
  const second = await turn(next, door, "reply-2", talk);
  if (next !== session) await manager.delete(next.id);
  return [...first, ...second];
}

test.each<Door>(["keepTurn", "viewBeforeStep", "getView"])("%s", { timeout: 480_000 }, async (door) => {
  const agent = newAgent();
  await inside(agent, async (manager) => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(anyTalk, async (talk) => {
        const session = manager.getSession(`${door}${n++}!1000000`);
        expect(await turns(manager, session, door, talk)).toEqual([]);
        await manager.delete(session.id);
      }),
      { numRuns: tries(1_000) },
    );
  });
});
