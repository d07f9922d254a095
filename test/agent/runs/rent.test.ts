/** `compactAfter("auto")`. A view is summarised once carrying it has cost one and a half times as much as the summary. */
import type { UIMessage } from "ai";
import { expect, test, vi } from "vitest";
import type { CompactAfterOptions, Threshold } from "../../../src/agent/settings.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import type { Policy } from "../../../src/steps/plan/policy.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say } from "../../conversation.ts";
import type { FullManager } from "../../rooms.ts";
import { summaryOf } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { inside } from "../inside.ts";
import { withNumbers } from "../runs.ts";

skipRetryDelays();

const WORDS = ["ledger", "fence", "outline", "watchdog", "parser", "scheduler"];
/** So large that no summary is ever due here. */
const CEILING: CompactAfterOptions = { ceiling: 900_000, tail: 2_000 };

const SMALL = { stackTokens: 2_000, summaryTokens: 400 };

/** A step of an agent, with a call and some four hundred tokens of output. */
function work(n: number, output: unknown = listing(n)): UIMessage {
  const call = { toolCallId: `c${n}`, input: { path: `src/file-${n}.ts` } } as const;
  return {
    id: `w${n}`,
    role: "assistant",
    parts: [{ type: "step-start" }, { type: "tool-read", state: "output-available", output, ...call }],
  };
}

function listing(n: number): string {
  const line = (at: number): string =>
    `export function ${WORDS[at % 6]}Of${n}x${at}(value: number): number { return value * ${at}; }\n`;
  return Array.from({ length: 24 }, (_, at) => line(at)).join("");
}

async function auto<T>(
  test: (session: ReturnType<FullManager["getSession"]>, agent: PalimpsestAgent) => Promise<T>,
  options: CompactAfterOptions = CEILING,
  numbers: Partial<Policy> = {},
): Promise<T> {
  return inside(newAgent(null), async (_, agent) => {
    const session = withNumbers(Session.create(agent).compactAfter("auto", options), numbers);
    await session.appendMessage(say(0));
    return test(session, agent);
  });
}

function large(n: number, lists: number): UIMessage {
  return work(n, Array.from({ length: lists }, (_, at) => listing(100 * n + at)).join(""));
}

test("the size of a view is right after its leaf grows, changes, and is deleted", async () => {
  await auto(async (session) => {
    const parts: UIMessage["parts"] = [];
    const isRight = async () => expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
    await session.appendMessage({ id: "reply", role: "assistant", parts });
    const before = (await session.status()).viewTokens;
    for (let n = 1; n <= 20; n++) {
      parts.push(...work(n).parts);
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
      await isRight();
    }
    const changed = parts.with(1, { type: "text", text: "nothing" });
    await session.updateMessage({ id: "reply", role: "assistant", parts: changed });
    await isRight();
    await session.deleteMessages(["reply"]);
    await isRight();
    expect((await session.status()).viewTokens).toBeLessThan(before);
    await session.appendMessage(say(1));
    await isRight();
  });
});

test("a view that is due for its rent is summarised under its ceiling, and rents start anew", async () => {
  await auto(
    async (session) => {
      const asked: number[] = [];
      (session as never as { onCompaction(work: (messages: UIMessage[]) => unknown): unknown }).onCompaction(
        (messages) => {
          asked.push(messages.length);
          const [first, last] = [messages[1], messages.at(-4)];
          return { summary: "All of it was read.", fromMessageId: first?.id ?? "", toMessageId: last?.id ?? "" };
        },
      );
      for (let n = 1; n <= 300 && asked.length === 0; n++) {
        await session.appendMessage({ ...say(n), role: "assistant" });
        const { liveRunIds } = await session.status();
        for (const id of liveRunIds) await session.ended(id);
      }
      expect(asked).toHaveLength(1);
      const { rent, viewTokens } = await session.status();
      expect(viewTokens).toBeLessThan(10_000);
      expect(rent?.paid).toBeLessThan(1_000);
    },
    { ...CEILING, head: 1 },
    { ...SMALL, minSpanTokens: 500 },
  );
});

test("the price of a summary has the messages that it would keep, and what it frees does not, however large they are", async () => {
  await auto(
    async (session) => {
      for (let n = 1; n <= 40; n++) await session.appendMessage(work(n));
      const before = (await session.status()).rent;
      await session.appendMessage(large(100, 60));
      const huge = (await session.status()).viewTokens - (await session.getView("w40")).tokens;
      const beside = (await session.status()).rent;
      expect(huge).toBeGreaterThan(20_000);
      // Its 2,000 tokens of other messages are no longer in the tail.
      expect(beside?.freedTokens).toBeLessThanOrEqual((before?.freedTokens ?? 0) + 2_000);
      expect(beside?.price).toBeGreaterThan((before?.price ?? 0) + 1.1 * (huge - 2_000));
      // Two messages later it is no part of the tail.
      for (const n of [101, 102]) await session.appendMessage(work(n));
      const behind = (await session.status()).rent;
      expect(behind?.freedTokens).toBeGreaterThan((before?.freedTokens ?? 0) + huge - 2_000);
      expect(behind?.price).toBeLessThan(beside?.price ?? 0);
    },
    CEILING,
    SMALL,
  );
});

test("plan() tells the rent, and what a summary would save", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const { rent, lines } = await session.plan();
    expect(rent?.price).toBeGreaterThan(0);
    expect(lines.join("\n")).toMatch(/A summary would save (?:\d+ tokens a call|nothing now)/);
  });
});

test("without a number it takes the window of the model, or says once which it assumed, and status tells it", async () => {
  const info = vi.spyOn(console, "info").mockImplementation(() => undefined);
  const tells: unknown[] = [];
  const thresholds = async (sessionId: string, tell: (session: Session) => unknown): Promise<void> => {
    await inside(newAgent(null), async (_, agent) => {
      const session = Session.create(agent).forSession(sessionId);
      tell(session);
      const { thresholdTokens, windowTokens } = await session.status();
      tells.push([thresholdTokens, windowTokens]);
    });
  };
  await thresholds("a", (session) => session.compactAfter({ windowTokens: 200_000 }));
  expect(info).not.toHaveBeenCalled();
  await thresholds("b", (session) => session.compactAfter());
  await thresholds("c", (session) => session.compactAfter("auto"));
  await thresholds("d", (session) => session.compactAfter(undefined, { windowTokens: 32_000 }));
  await thresholds("e", (session) => session.compactAfter(60_000));
  expect(tells).toEqual([
    [160_000, 200_000],
    [102_400, 128_000],
    [102_400, 128_000],
    [25_600, 32_000],
    [60_000, null],
  ]);
  expect(info.mock.calls).toEqual([[expect.stringContaining("assumes a window of 128000 tokens")]]);
  info.mockRestore();
});

test("a ceiling over the window, and one beside a number, are refused before anything is stored", async () => {
  await inside(newAgent(null), async (_, agent) => {
    const told = (threshold: Threshold, options: CompactAfterOptions) => () =>
      Session.create(agent).compactAfter(threshold, options);
    const refused = expect.objectContaining({ code: "invalid_options" });
    expect(told("auto", { ceiling: 0.5 })).toThrow(refused);
    expect(told("auto", { ceiling: 200_000, windowTokens: 100_000 })).toThrow(refused);
    expect(told(60_000, { ceiling: 60_000 })).toThrow(refused);
    expect(told({ windowTokens: 0 }, {})).toThrow(refused);
    expect(told({} as never, {})).toThrow(refused);
  });
});

test("while the summariser is down no run is begun for a view that is only dear", async () => {
  const options = { ...CEILING, head: 1, model: "down" };
  await auto(
    async (session, agent) => {
      const { health, platform } = agent.palimpsest;
      for (let n = 1; n <= 120; n++) {
        health.noteFailure("down", "auth", platform.now());
        await session.appendMessage(work(n));
      }
      const { rent, liveRunIds } = await session.status();
      expect(rent?.isDue).toBe(true);
      expect(liveRunIds).toEqual([]);
      expect(agent.palimpsest.runs.list(session.id, { limit: 5 })).toEqual([]);
    },
    options,
    { ...SMALL, minSpanTokens: 500 },
  );
});

test("a threshold that is a text is refused with what to write instead", async () => {
  await inside(newAgent(null), async (_, agent) => {
    const told = (threshold: unknown): string => {
      try {
        Session.create(agent).compactAfter(threshold as number, { windowTokens: 200_000 });
        return "";
      } catch (error) {
        return String(error);
      }
    };
    expect(told("Auto")).toMatch(/invalid_options.*write compactAfter\("auto"\)/);
    expect(told("60000")).toMatch(/invalid_options.*write compactAfter\(60000\)/);
    expect(told("often")).toMatch(/invalid_options.*write a number of tokens, "auto"/);
    expect(told(null)).toMatch(/invalid_options.*compactAfter\(null\)/);
  });
});

function withApproval(agent: PalimpsestAgent) {
  return Session.create(agent).compactAfter("auto", { ceiling: 60_000 }).requireApproval({});
}

test("what a person approves is applied, whatever was said while they thought", async () => {
  const made = newAgent((prompt) => summaryOf(prompt, "what was done"));
  let [runId, n] = ["", 1];
  await inside(made, async (_, agent) => {
    const session = withApproval(agent);
    await session.appendMessage(say(0));
    for (; n < 400 && runId === ""; n++) {
      await session.appendMessage(large(n, 5));
      [runId = ""] = (await session.status()).liveRunIds;
    }
  });
  while ((await made.agent.getRun({ runId })).state !== "proposed") await scheduler.wait(1);
  await inside(made, async (_, agent) => {
    const session = withApproval(agent);
    for (const end = n + 30; n < end; n++) await session.appendMessage(large(n, 5));
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
  await made.agent.approveRun({ runId });
  expect((await made.agent.waitForRun({ runId })).outcome?.kind).toBe("applied");
});
