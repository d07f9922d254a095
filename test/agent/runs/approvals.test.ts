/**
 * Tool calls that wait for a person's approval or for a client's result. They reach the model unchanged through every view and format,
 * whatever is compacted meanwhile.
 */
import { Session } from "../../../src/agent/sessions/session.ts";
import type { FullSession } from "../../rooms.ts";
import { runInDurableObject } from "cloudflare:test";
import type { LanguageModelV4GenerateResult, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import {
  convertToModelMessages,
  generateText,
  isStepCount,
  isToolUIPart,
  streamText,
  tool,
  type ToolSet,
  type UIMessage,
} from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { keepTurn, viewBeforeStep, type KeptTurn } from "../../../src/turn/turn.ts";
import { buildWorkingContext } from "../../../src/events/context.ts";
import { isStub } from "../../../src/steps/view/repair.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk, textOf } from "../../conversation.ts";
import { openGates, summaryOf } from "../../scripted-model.ts";

skipRetryDelays();
afterEach(openGates);

type Part = UIMessage["parts"][number];
type Content = LanguageModelV4GenerateResult["content"];

const usage = {
  inputTokens: { total: 100, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 10, text: undefined, reasoning: undefined },
};

/** Gives one scripted answer per call and records the prompts. */
function scripted(...answers: Content[]) {
  let at = 0;
  const next = () => {
    const content = answers[at++] ?? [{ type: "text" as const, text: "Done." }];
    const calls = content.some(({ type }) => type === "tool-call");
    return { content, finishReason: { unified: calls ? ("tool-calls" as const) : ("stop" as const), raw: undefined } };
  };
  const model = new MockLanguageModelV4({
    modelId: "asker",
    doGenerate: async () => ({ ...next(), usage, warnings: [] }),
    doStream: async () => {
      const { content, finishReason } = next();
      const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
      for (const part of content) {
        if (part.type === "tool-call") parts.push(part);
        if (part.type !== "text") continue;
        parts.push({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: part.text });
        parts.push({ type: "text-end", id: "t" });
      }
      return { stream: convertArrayToReadableStream([...parts, { type: "finish", finishReason, usage }]) };
    },
  });
  const prompts = (): LanguageModelV4Prompt[] =>
    [...model.doStreamCalls, ...model.doGenerateCalls].map((call) => call.prompt);
  return { model, prompts };
}

const deleting: Content = [
  { type: "text", text: "I will delete it." },
  { type: "tool-call", toolCallId: "call-1", toolName: "remove", input: JSON.stringify({ path: "old.txt" }) },
];

/** A tool that a person must allow. What it was run with. */
function dangerous(output: unknown = { removed: true }) {
  const runs: unknown[] = [];
  const tools = {
    remove: tool({
      inputSchema: z.object({ path: z.string() }),
      needsApproval: true,
      execute: async (input) => {
        runs.push(input);
        return output;
      },
    }),
  } satisfies ToolSet;
  return { tools, runs };
}

async function stream(model: MockLanguageModelV4, tools: ToolSet, turn: KeptTurn): Promise<void> {
  let failure: unknown;
  const result = streamText({
    model,
    tools,
    stopWhen: isStepCount(9),
    ...(await turn.prepareStep()),
    ...turn,
    onError: ({ error }) => void (failure ??= error),
  });
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  turn.mustBeKept();
}

/** A question, and a reply whose call waits for a person's word. */
async function ask(session: FullSession, before: readonly UIMessage[] = []): Promise<void> {
  await session.appendAll([...before, say(90), { id: "reply", role: "assistant", parts: [] }]);
  await stream(
    scripted(deleting).model,
    dangerous().tools,
    keepTurn(session, { replyId: "reply", tools: dangerous().tools }),
  );
}

/** Answers as an application does, see docs/views.md. */
async function answer(session: FullSession, approved: boolean, reason?: string): Promise<void> {
  const replyId = "reply";
  const asked = called(await session.getMessage(replyId));
  const approvalId = asked !== undefined && isToolUIPart(asked) ? asked.approval?.id : undefined;
  // example
  const said = reason === undefined ? {} : { reason };
  const reply = await session.getMessage(replyId);
  const parts = (reply?.parts ?? []).map((part): UIMessage["parts"][number] => {
    if (!isToolUIPart(part) || part.state !== "approval-requested" || part.approval.id !== approvalId) return part;
    return { ...part, state: "approval-responded", approval: { ...part.approval, approved, ...said } };
  });
  if (reply !== null) await session.updateMessage({ ...reply, parts });
  // end
}

/** The calls in a prompt, with what the model is told that they came to. */
function told(prompt: LanguageModelV4Prompt | undefined): Record<string, unknown> {
  const results = new Map<string, unknown>();
  for (const { role, content } of prompt ?? []) {
    if (role !== "assistant" && role !== "tool") continue;
    for (const part of content) {
      if (part.type === "tool-call") results.set(part.toolCallId, "open");
      if (part.type === "tool-result") results.set(part.toolCallId, part.output);
    }
  }
  return Object.fromEntries(results);
}

const called = (message: UIMessage | null | undefined): Part | undefined =>
  message?.parts.find((part) => part.type === "tool-remove");

function inSession<T>(sessionId: string, work: (session: FullSession) => Promise<T>): Promise<T> {
  const { stub } = newAgent((prompt) => summaryOf(prompt, "done"));
  return runInDurableObject(stub, (agent) => work(Session.create(agent).forSession(sessionId)));
}

describe("a call that a person must approve", () => {
  test("is stored as such, and every view shows it as it was stored", async () => {
    await inSession("asked!100000", async (session) => {
      await ask(session);
      const stored = called(await session.getMessage("reply"));
      expect(stored).toMatchObject({ state: "approval-requested", approval: { id: expect.any(String) as string } });
      for (const options of [
        undefined,
        { maxTokens: 300 },
        { maxTokens: 64 },
        { truncate: { keepRecent: 0, step: 1 } },
      ]) {
        const { messages } = await session.getView(options);
        expect(called(messages.at(-1)), JSON.stringify(options)).toEqual(stored);
      }
      const context = buildWorkingContext(await session.loadEvents());
      expect(called(context.getMessages().at(-1))).toEqual(stored);
    });
  });

  test.each(["streamText", "generateText"])(
    "runs exactly once when it was approved, and the model is told its output: %s",
    async (how) => {
      await inSession("approved!100000", async (session) => {
        await ask(session);
        await answer(session, true);
        const { tools, runs } = dangerous();
        const { model, prompts } = scripted();
        const turn = keepTurn(session, { replyId: "reply", tools });
        if (how === "streamText") await stream(model, tools, turn);
        else await generateText({ model, tools, stopWhen: isStepCount(9), ...(await turn.prepareStep()), ...turn });
        expect(runs).toEqual([{ path: "old.txt" }]);
        expect(prompts().map(told)).toEqual([{ "call-1": { type: "json", value: { removed: true } } }]);
        const reply = await session.getMessage("reply");
        expect(called(reply)).toMatchObject({
          state: "output-available",
          output: { removed: true },
          approval: { approved: true },
        });
        expect(reply?.parts.at(-1)).toMatchObject({ text: "Done." });

        // A later question does not run it again.
        const again = scripted();
        await stream(again.model, tools, keepTurn(session, { replyId: "reply", tools }));
        await session.appendAll([say(92), { id: "next", role: "assistant", parts: [] }]);
        await stream(again.model, tools, keepTurn(session, { replyId: "next", tools }));
        expect(runs).toHaveLength(1);
      });
    },
  );

  test("is not run when it was denied, and the model is told so, with the reason", async () => {
    await inSession("denied!100000", async (session) => {
      await ask(session);
      await answer(session, false, "Keep that file.");
      const { tools, runs } = dangerous();
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
      expect(runs).toEqual([]);
      expect(prompts().map(told)).toEqual([{ "call-1": { type: "execution-denied", reason: "Keep that file." } }]);
      // And in every later turn.
      await session.appendAll([say(92), { id: "next", role: "assistant", parts: [] }]);
      const later = scripted();
      await stream(later.model, tools, keepTurn(session, { replyId: "next", tools }));
      expect(told(later.prompts()[0])["call-1"]).toMatchObject({ reason: "Keep that file." });
    });
  });

  test("has its output stored before the model is asked: a crash in between does not run it again", async () => {
    await inSession("crashed!100000", async (session) => {
      await ask(session);
      await answer(session, true);
      const { tools, runs } = dangerous();
      const broken = new MockLanguageModelV4({ doStream: async () => Promise.reject(new Error("The process died.")) });
      await expect(stream(broken, tools, keepTurn(session, { replyId: "reply", tools }))).rejects.toThrow("died");
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
      expect(runs).toHaveLength(1);
      expect(told(prompts()[0])).toEqual({ "call-1": { type: "json", value: { removed: true } } });
    });
  });

  test("a compaction between the question and the answer, or between the answer and the run, changes nothing", async () => {
    for (const when of ["before the answer", "after the answer"]) {
      await inSession(`compacted-${when.slice(0, 5)}`, async (session) => {
        await ask(session, talk(0, 14));
        const stored = called(await session.getMessage("reply"));
        if (when === "after the answer") await answer(session, true);
        const { run } = await session.compactNow();
        expect(await session.ended(run.id)).toMatchObject({ outcome: { kind: "applied" } });
        if (when === "before the answer") {
          expect(called((await session.getView()).messages.at(-1))).toEqual(stored);
          await answer(session, true);
        }
        expect((await session.getView()).elements.some(({ kind }) => kind === "overlay")).toBe(true);
        const { tools, runs } = dangerous();
        const { model, prompts } = scripted();
        await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
        expect(runs, when).toEqual([{ path: "old.txt" }]);
        expect(told(prompts()[0])).toEqual({ "call-1": { type: "json", value: { removed: true } } });
        expect((await session.getCompactions()).map(({ state }) => state)).toEqual(["active"]);
      });
    }
  });

  describe.each([
    ["a reply that has nothing in it yet", { id: "behind", role: "assistant", parts: [] }],
    ["data for the page", { id: "behind", role: "user", parts: [{ type: "data-seen", data: { at: 1 } }] }],
    ["an empty text", { id: "behind", role: "assistant", parts: [{ type: "text", text: "" }] }],
  ] as [string, UIMessage][])("behind which stands %s", (_what, behind) => {
    test("stays open in every view, and is run when it was approved", async () => {
      await inSession("behind!100000", async (session) => {
        await ask(session, talk(0, 3));
        await session.appendMessage(behind);
        const stored = called(await session.getMessage("reply"));
        for (const options of [undefined, { maxTokens: 300 }, { truncate: { keepRecent: 0, step: 1 } }]) {
          const { messages } = await session.getView(options);
          expect(
            messages.map(called).find((each) => each !== undefined),
            JSON.stringify(options),
          ).toEqual(stored);
        }
        await answer(session, true);
        const { tools, runs } = dangerous();
        const { model, prompts } = scripted();
        const prepareStep = viewBeforeStep(session, { tools });
        const { messages } = await prepareStep();
        await streamText({ model, tools, messages, prepareStep, stopWhen: isStepCount(9) }).consumeStream();
        expect(runs).toEqual([{ path: "old.txt" }]);
        expect(prompts().map(told)).toEqual([{ "call-1": { type: "json", value: { removed: true } } }]);
      });
    });

    test.each(["reply", "behind"])("is hidden by no summary, by hand up to %s or of a run", async (toId) => {
      await inSession("behind", async (session) => {
        await ask(session, talk(0, 14));
        await session.appendMessage(behind);
        for (const answered of [false, true]) {
          if (answered) await answer(session, true);
          await expect(session.addCompaction("All of it.", "m0", toId)).rejects.toThrow(/\[invalid_range\].*approv/);
        }
        await session.ended((await session.compactNow()).run.id);
        const { elements, messages } = await session.getView();
        expect(elements.map(({ kind }) => kind)).toContain("overlay");
        expect(messages.map(called).find((each) => each !== undefined)).toMatchObject({ state: "approval-responded" });
      });
    });
  });

  test.each([true, false])("is acted on although a context block changed since: approved %s", async (approved) => {
    await inSession(`reminded-${approved}!100000`, async (session) => {
      session.withContext("plan", { description: "What is to be done.", whenChanged: "remind" }).withCachedPrompt();
      await session.freezeSystemPrompt();
      await ask(session);
      await answer(session, approved);
      await session.replaceContextBlock("plan", "Remove the old file.");
      const { tools, runs } = dangerous();
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
      expect(runs).toHaveLength(approved ? 1 : 0);
      expect(prompts()).toHaveLength(1);
      expect(told(prompts()[0])["call-1"]).toMatchObject({ type: approved ? "json" : "execution-denied" });
      expect(JSON.stringify(prompts()[0])).toContain("Remove the old file.");
    });
  });

  test("is run through a view that had to be made to fit with the very input that was approved", async () => {
    await inSession("large!100000", async (session) => {
      const path = "a/long/way/".repeat(400);
      await session.appendAll([...talk(0, 9), { id: "reply", role: "assistant", parts: [] }]);
      const call: Content = [
        { type: "tool-call", toolCallId: "call-1", toolName: "remove", input: JSON.stringify({ path }) },
      ];
      const { tools, runs } = dangerous("z".repeat(9_000));
      const options = { replyId: "reply", tools, maxTokens: 400 };
      await stream(scripted(call).model, tools, keepTurn(session, options));
      await answer(session, true);
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, options));
      expect(runs).toEqual([{ path }]);
      // Once it is answered it is a call like any other, and the model is sent what fits.
      expect(JSON.stringify(prompts()[0]).length).toBeLessThan(4_000);
      expect(Object.keys(told(prompts()[0]))).toEqual(["call-1"]);
    });
  });

  test("one that was not answered when the user went on is closed, and says that it was never answered", async () => {
    await inSession("ignored!100000", async (session) => {
      await ask(session);
      await session.appendAll([say(92), { id: "next", role: "assistant", parts: [] }]);
      const { tools, runs } = dangerous();
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, { replyId: "next", tools }));
      expect(runs).toEqual([]);
      expect(told(prompts()[0])).toEqual({
        "call-1": { type: "error-text", value: expect.stringMatching(/approv.*never answered/i) as string },
      });
      expect(textOf((await session.getView()).messages)).not.toContain("No result was recorded");
      // The stored message is unchanged.
      expect(called(await session.getMessage("reply"))).toMatchObject({ state: "approval-requested" });
    });
  });

  test("one that was approved and never run is closed as that, once the user went on", async () => {
    await inSession("dropped!100000", async (session) => {
      await ask(session);
      await answer(session, true);
      await session.appendAll([say(92)]);
      const { messages } = await session.getView();
      const closed = called(messages[1]);
      expect(closed).toMatchObject({ state: "output-error", errorText: expect.stringMatching(/approved/) as string });
      expect(closed !== undefined && isStub(closed)).toBe(true);
    });
  });
});

function allowedCall(path: string): Part {
  return {
    type: "tool-remove",
    toolCallId: "call-1",
    state: "approval-responded",
    input: { path },
    approval: { id: path, approved: true },
  };
}

/** An earlier call, then two with its id that a person allowed, of which each is to give its own output. */
async function allowTwo(session: FullSession): Promise<void> {
  const earlier: Part = {
    type: "tool-remove",
    toolCallId: "call-1",
    state: "output-available",
    input: { path: "first.txt" },
    output: "first.txt is gone",
  };
  await session.appendAll([
    say(0),
    { id: "before", role: "assistant", parts: [earlier] },
    say(1),
    { id: "reply", role: "assistant", parts: [allowedCall("a.txt"), allowedCall("b.txt")] },
  ]);
}

async function outputsOf(session: FullSession): Promise<unknown[]> {
  const reply = await session.getMessage("reply");
  return (reply?.parts ?? []).flatMap((part) => (part.type === "tool-remove" && "output" in part ? [part.output] : []));
}

describe("two calls with one id", () => {
  test("each get their own result, stored and before the model", async () => {
    await inSession("one-id!100000", async (session) => {
      await allowTwo(session);
      const tools = {
        remove: tool({ inputSchema: z.object({ path: z.string() }), execute: async ({ path }) => `${path} is gone` }),
      } satisfies ToolSet;
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
      expect(await outputsOf(session)).toEqual(["a.txt is gone", "b.txt is gone"]);
      expect(Object.values(told(prompts()[0])).map((output) => (output as { value: unknown }).value)).toEqual([
        "first.txt is gone",
        "a.txt is gone",
        "b.txt is gone",
      ]);
    });
  });

  test("one that is left open takes no result of the other", async () => {
    await inSession("one-left!100000", async (session) => {
      await allowTwo(session);
      const turn = keepTurn(session, { replyId: "reply" });
      const output = { type: "tool-result", output: "b.txt is gone" } as const;
      await turn.onToolExecutionEnd({ toolCall: { toolCallId: "call-1__again3" }, toolOutput: output });
      await turn.onToolExecutionEnd({ toolCall: { toolCallId: "call-1__again3" }, toolOutput: output });
      expect((await session.getMessage("reply"))?.parts.map((part) => "output" in part && part.output)).toEqual([
        false,
        "b.txt is gone",
      ]);
    });
  });

  test("each get their own result, whichever of them ends first", async () => {
    await inSession("one-id-late!100000", async (session) => {
      await allowTwo(session);
      const turn = keepTurn(session, { replyId: "reply" });
      for (const [toolCallId, output] of [
        ["call-1__again3", "b.txt is gone"],
        ["call-1__again2", "a.txt is gone"],
      ] as const) {
        await turn.onToolExecutionEnd({ toolCall: { toolCallId }, toolOutput: { type: "tool-result", output } });
      }
      expect(await outputsOf(session)).toEqual(["a.txt is gone", "b.txt is gone"]);
    });
  });
});

describe("a call that a client is to run", () => {
  const tools = { confirm: tool({ inputSchema: z.object({ n: z.number() }) }) } satisfies ToolSet;
  const confirming: Content = [
    { type: "tool-call", toolCallId: "c1", toolName: "confirm", input: JSON.stringify({ n: 1 }) },
  ];

  test("stays open in the newest message until its output is there", async () => {
    await inSession("client!100000", async (session) => {
      await session.appendAll([say(0), { id: "reply", role: "assistant", parts: [] }]);
      await stream(scripted(confirming).model, tools, keepTurn(session, { replyId: "reply", tools }));
      const { messages } = await session.getView();
      expect(messages.at(-1)?.parts.at(-1)).toMatchObject({ type: "tool-confirm", state: "input-available" });
      expect(told((await convertToModelMessages(messages)) as LanguageModelV4Prompt)).toEqual({ c1: "open" });
      const reply = await session.getMessage("reply");
      const parts = (reply?.parts ?? []).map((part): Part =>
        part.type === "tool-confirm" ? ({ ...part, state: "output-available", output: "yes" } as Part) : part,
      );
      await session.updateMessage({ id: "reply", role: "assistant", parts });
      const { model, prompts } = scripted();
      await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
      expect(told(prompts()[0])).toEqual({ c1: { type: "text", value: "yes" } });
    });
  });

  test("a call of the server's own that a crash cut off is closed when the model is asked on: nobody will run it", async () => {
    await inSession("cut-off!100000", async (session) => {
      const call: Part = { type: "tool-remove", toolCallId: "call-1", state: "input-available", input: { path: "x" } };
      await session.appendAll([say(0), { id: "reply", role: "assistant", parts: [{ type: "step-start" }, call] }]);
      expect(called((await session.getView()).messages.at(-1))).toEqual(call);
      const { model, prompts } = scripted();
      const tools = dangerous().tools;
      await stream(model, tools, keepTurn(session, { replyId: "reply", tools }));
      expect(told(prompts()[0])).toEqual({ "call-1": { type: "error-text", value: expect.any(String) as string } });
    });
  });
});

test("no summary is laid over an approval that is still open, also by hand; what is before it may be summarised", async () => {
  await inSession("by-hand!100000", async (session) => {
    await ask(session, talk(0, 6));
    await expect(session.addCompaction("All of it.", "m0", "reply")).rejects.toThrow(/\[invalid_range\].*approv/);
    await session.addCompaction("All before.", "m0", "m90");
    await answer(session, true);
    await expect(session.addCompaction("All of it.", "m0", "reply")).rejects.toThrow(/\[invalid_range\].*approv/);
    const { tools, runs } = dangerous();
    await stream(scripted().model, tools, keepTurn(session, { replyId: "reply", tools }));
    expect(runs).toHaveLength(1);
    await session.addCompaction("All of it, done.", "m0", "reply");
  });
});
