/** A turn never goes on after a lost step, never restores a deleted message, and follows its session. */
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import type { FullManager, FullSession } from "../rooms.ts";
import { runInDurableObject } from "cloudflare:test";
import { generateText, isStepCount, streamText, tool, type ToolSet, type UIMessage } from "ai";
import type { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { z } from "zod";
import { MESSAGE_MAX_BYTES } from "../../src/limits.ts";
import { keepTurn } from "../../src/turn/turn.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { summaryOf } from "../scripted-model.ts";
import { looker, tools } from "../agent/looker.ts";

skipRetryDelays();

/** Calls one tool a step, as often as `look` gives an answer, in a reply of its own. Returns the turn's end. */
async function takeTurn(session: FullSession, steps: number, look: (n: number) => Promise<unknown>) {
  const model = looker(steps);
  const looking = { look: tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => look(n) }) };
  return { ...(await streamed(session, model, looking)), calls: model.doStreamCalls.length };
}

/** As an application uses it. Returns the first error from the stream or from the turn. */
async function streamed(session: FullSession, model: MockLanguageModelV4, tools: ToolSet) {
  const turn = keepTurn(session, { replyId: "reply", tools });
  let failure: unknown;
  const { textStream } = streamText({
    model,
    tools,
    stopWhen: isStepCount(12),
    ...(await turn.prepareStep()),
    ...turn,
    onError: ({ error }) => void (failure ??= error),
  });
  const text = (await Array.fromAsync(textStream)).join("");
  try {
    turn.mustBeKept();
  } catch (error) {
    failure ??= error;
  }
  return { text, turn, failure: failure instanceof Error ? failure.message : "" };
}

/** A session with a question, and a reply that is still empty. */
async function begin(session: FullSession, before: readonly UIMessage[] = []): Promise<FullSession> {
  await session.appendAll([...before, say(90), { id: "reply", role: "assistant", parts: [] }]);
  return session;
}

function withManager<T>(work: (manager: FullManager) => Promise<T>): Promise<T> {
  const { stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  return runInDurableObject(stub, (agent) => work(SessionManager.create(agent)));
}

const looked = (message: UIMessage | null): unknown[] =>
  (message?.parts ?? []).flatMap((part) => (part.type === "tool-look" && "output" in part ? [part.output] : []));

test("a step that cannot be stored ends the turn before anything more is paid for, with the error that says why", async () => {
  await withManager(async (manager) => {
    const session = manager.getSession("full!100000000");
    // A reply so long that no step fits behind it.
    const text = "x".repeat(MESSAGE_MAX_BYTES - 300);
    await session.appendAll([say(0), { id: "reply", role: "assistant", parts: [{ type: "text", text }] }]);
    const { failure, calls } = await takeTurn(session, 5, async () => "y".repeat(2_000));
    expect(failure).toContain("[message_too_large]");
    expect(calls).toBe(1);
    // generateText rejects.
    const again = keepTurn(session, { replyId: "reply" });
    const model = looker(3);
    const options = { model, tools, prompt: "-", stopWhen: isStepCount(9), ...again };
    await expect(generateText(options)).rejects.toThrow("[message_too_large]");
    expect(model.doGenerateCalls).toHaveLength(1);
    expect((await session.getMessage("reply"))?.parts).toHaveLength(1);
  });
});

test("a last step that cannot be stored is told as well", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("last!100000"));
    const model = looker(0, async () => void (await session.deleteMessages(["reply"])));
    const { failure, text } = await streamed(session, model, {});
    expect(text).toBe("Done.");
    expect(failure).toContain("[unknown_message]");
  });
});

test.each([
  ["no number", Number.NaN],
  ["a fraction", 5.5],
  ["a negative number", -1],
  ["more than any prompt", Number.MAX_SAFE_INTEGER],
])("a reply is kept, whatever the provider says that it counted: %s", async (_, counted) => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("odd"));
    const { failure } = await streamed(
      session,
      looker(0, undefined, () => counted),
      {},
    );
    expect(failure).toBe("");
    expect((await session.getMessage("reply"))?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
    expect(manager.get("odd")).toMatchObject({ inputTokens: 0, outputTokens: 10 });
  });
});

test("a reply is kept, however long its model's name is", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("named"));
    const model = Object.assign(looker(0), { modelId: "m".repeat(500) });
    expect((await streamed(session, model, {})).failure).toBe("");
    expect(await session.getMessage("reply")).not.toMatchObject({ parts: [] });
    expect((await session.getUsage())[0]).toMatchObject({ calls: 1, inputTokens: 1_000 });
  });
});

test("an output that no message can hold is stored shortened, says so to the model, and costs the turn nothing", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("huge!100000"));
    const run: number[] = [];
    const { failure, text } = await takeTurn(session, 3, async (n) => {
      run.push(n);
      return n === 1 ? { log: "line of a log\n".repeat(1_300_000), rows: 7 } : `entry ${n}`;
    });
    expect([failure, text, run]).toEqual(["", "Done.", [0, 1, 2]]);
    const [first, huge, third] = looked(await session.getMessage("reply")) as [
      string,
      { log: string; rows: number },
      string,
    ];
    expect([first, third]).toEqual(["entry 0", "entry 2"]);
    expect(huge.rows).toBe(7);
    expect(huge.log).toContain("Too large to be stored");
    expect(huge.log.length).toBeGreaterThan(100_000);
  });
});

test("what a tool answers is stored as a provider is sent it: dates as texts, nothing as nothing", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("dates!100000"));
    const answers = [{ at: new Date(0), none: undefined }, undefined, new Map([[1, 2]])];
    expect((await takeTurn(session, 3, async (n) => answers[n])).failure).toBe("");
    expect(looked(await session.getMessage("reply"))).toEqual([{ at: "1970-01-01T00:00:00.000Z" }, null, [[1, 2]]]);
  });
});

test("S2: a turn whose session is cleared in its middle stops, and nothing of it is written", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("cleared!100000"));
    const { failure, calls } = await takeTurn(session, 5, async (n) => {
      if (n === 1) await session.clearMessages();
      return "an old secret";
    });
    expect(failure).toContain("[unknown_message]");
    expect(calls).toBe(2);
    expect(await session.getHistory()).toEqual([]);
    expect(await session.search("secret")).toEqual([]);
  });
});

test("a reply that is deleted in the middle of its turn stays deleted, and another one under its id is not written to", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("deleted!100000"));
    const { failure } = await takeTurn(session, 5, async (n) => {
      if (n === 2) {
        await session.deleteMessages(["reply"]);
        await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
      }
      return "out of date";
    });
    expect(failure).toContain("[unknown_message]");
    expect(await session.getMessage("reply")).toEqual({ id: "reply", role: "assistant", parts: [] });
    expect(() => keepTurn(session, { replyId: "none" })).toThrow("[unknown_message]");
  });
});

test("an edit of the reply in the middle of its turn is kept beside what the turn adds", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("edited!100000"));
    await takeTurn(session, 2, async (n) => {
      if (n === 1)
        await session.updateMessage({ id: "reply", role: "assistant", parts: [{ type: "text", text: "Edited." }] });
      return n;
    });
    const parts = (await session.getMessage("reply"))?.parts ?? [];
    expect(parts[0]).toEqual({ type: "text", text: "Edited." });
    expect(looked({ id: "reply", role: "assistant", parts })).toEqual([1]);
  });
});

test("a turn whose session is split in its middle goes on in the child, step by step, and pays for nothing twice (M1)", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("split!3000"), talk(0, 20));
    const run: number[] = [];
    const { failure, text, calls, turn } = await takeTurn(session, 5, async (n) => {
      run.push(n);
      if (n !== 2) return `answer ${n}`;
      const { run: split } = await manager.compactAndSplit("split!3000");
      expect((await session.ended(split.id)).outcome).toMatchObject({ kind: "split" });
      return `answer ${n}`;
    });
    expect([failure, text, calls]).toEqual(["", "Done.", 6]);
    expect(run).toEqual([0, 1, 2, 3, 4]);
    const child = manager.newestOf("split!3000").id;
    expect(child).not.toBe("split!3000");
    expect(turn.session().id).toBe(child);
    expect(session.newest().id).toBe(child);
    expect(looked(await session.getMessage("reply"))).toEqual(["answer 0", "answer 1"]);
    const reply = await session.newest().getMessage("reply");
    expect(looked(reply)).toEqual(run.map((n) => `answer ${n}`));
    expect(reply?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
    expect((await session.newest().getUsage())[0]?.calls).toBeGreaterThan(0);
  });
});

test("tools of a session that was split act where its conversation goes on", async () => {
  await withManager(async (manager) => {
    manager.withContext("memory");
    const session = await begin(manager.getSession("tools!3000"), talk(0, 20));
    const { set_context } = await session.tools();
    const { run } = await manager.compactAndSplit("tools!3000");
    await session.ended(run.id);
    await set_context?.execute?.({ label: "memory", content: "after" }, { toolCallId: "c", messages: [], context: {} });
    expect((await session.newest().getContextBlock("memory"))?.content).toBe("after");
    expect((await session.getContextBlock("memory"))?.content).toBe("");
  });
});

test("a turn whose reply did not go along with a split stops with session_ended, which names the child", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("branch!3000"), talk(0, 20));
    // Another branch is the active one when it is split.
    const { failure } = await takeTurn(session, 5, async (n) => {
      if (n !== 1) return n;
      await session.appendMessage({ id: "other", role: "user", parts: [{ type: "text", text: "Elsewhere." }] }, "m19");
      await session.ended((await manager.compactAndSplit("branch!3000")).run.id);
      return n;
    });
    expect(failure).toContain("[session_ended]");
    expect(failure).toContain(manager.newestOf("branch!3000").id);
  });
});

test("what a provider counted is not taken for a branch that is not there", async () => {
  await withManager(async (manager) => {
    const session = await begin(manager.getSession("counted"));
    const report = { inputTokens: 10, viewTokens: 10, leafId: "none" };
    await expect(session.recordUsage(report)).rejects.toThrow("[unknown_leaf]");
  });
});
