/** A failing token counter loses no message, because the estimate replaces it. */
import { Session } from "../../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import type { CompactAfterOptions } from "../../../src/agent/settings.ts";
import { newAgent } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";

afterEach(() => void vi.restoreAllMocks());

type Counter = NonNullable<CompactAfterOptions["tokenCounter"]>;

/** Appends ten messages with this counter. Returns how many are stored, their estimate, and the logged warnings. */
async function measured(tokenCounter?: Counter) {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  return runInDurableObject(newAgent().stub, async (agent) => {
    const session = Session.create(agent).forSession("counted").compactAfter(20_000, { tokenCounter });
    await session.appendAll(talk(0, 9));
    await session.appendMessage(say(9));
    const { tokens } = await session.getView({ truncate: { maxTextChars: 200, keepRecent: 1 } });
    const { viewTokens } = await session.status();
    return { stored: await session.getPathLength(), viewTokens, tokens, warnings: warn.mock.calls.map(String) };
  });
}

test.each([
  // What the 0.20 sessions of the SDK call a tokenCounter.
  ["takes something else", ({ messages }: { messages: string[] }) => messages.length * 10],
  [
    "throws",
    () => {
      throw new Error("no tokenizer");
    },
  ],
  [
    "answers later",
    async () => {
      throw new Error("too late");
    },
  ],
  ["answers a text", () => "12"],
  ["answers no number", () => Number.NaN],
  ["answers less than nothing", () => -1],
] as [string, unknown][])(
  "a counter that %s loses no message, counts as the estimate, and is told of once (M1)",
  async (_how, counter) => {
    const { warnings: none, ...estimated } = await measured();
    const { warnings, ...counted } = await measured(counter as Counter);
    expect(counted).toEqual(estimated);
    expect(counted.stored).toBe(10);
    expect(none).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("Give (text) => number")]);
  },
);

test("what is no function is refused where it is given", async () => {
  await expect(measured(7 as never)).rejects.toMatchObject({ code: "invalid_options" });
});

test("a counter that works is the one that counts", async () => {
  expect((await measured((text) => text.length)).viewTokens).toBeGreaterThan(4_000);
});
