/** Reading a file into a session. Other calls get their turn during the reading, and the file is stored whole or not at all. */
import { errorCode } from "../../src/errors.ts";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { newAgent, refusalOf } from "../agents.ts";
import { say } from "../conversation.ts";
import { inside } from "./inside.ts";

function line(n: number, text = "x".repeat(200)): string {
  const message: UIMessage = { id: `f${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
  return `${JSON.stringify(message)}\n`;
}

/** Long enough that it is read in some twenty pieces. */
const LONG = Array.from({ length: 5_000 }, (_, n) => line(n)).join("");

describe("while a file is read", () => {
  test("an append that comes after it is answered before it, and what was read goes behind it", async () => {
    const { agent } = newAgent();
    const answered: string[] = [];
    const importing = agent.importTranscript({ sessionId: "s!900000", text: LONG }).then(() => answered.push("import"));
    await agent.append({ sessionId: "s!900000", message: say(0) }).then(() => answered.push("append"));
    await importing;
    expect(answered).toEqual(["append", "import"]);
    const path = (await agent.getHistory({ sessionId: "s!900000" })).map(({ id }) => id);
    expect([path.length, path[0], path[1], path.at(-1)]).toEqual([5_001, "m0", "f0", "f4999"]);
  });

  test("calls that follow each other without a gap do not keep it from its end", async () => {
    const { agent } = newAgent();
    const work = { ended: false };
    const text = Array.from({ length: 2_000 }, (_, n) => line(n)).join("");
    const importing = agent.importTranscript({ sessionId: "s!900000", text }).then(() => (work.ended = true));
    let calls = 0;
    for (; !work.ended && calls < 1_000; calls++)
      await agent.append({ sessionId: "other!900000", message: say(calls) });
    expect(work.ended).toBe(true);
    expect(calls).toBeGreaterThan(10);
    await importing;
  });

  test("a bad line at its end leaves nothing of it, and all that was said meanwhile", async () => {
    const { agent } = newAgent();
    const importing = refusalOf(() => agent.importTranscript({ text: `${LONG}{"id":7}` }));
    await agent.append({ message: say(0) });
    expect(await importing).toMatch(/^\[import_failed\] line 5001: /);
    expect((await agent.getHistory({})).map(({ id }) => id)).toEqual(["m0"]);
  });

  test("a message that cannot be stored leaves nothing of it", async () => {
    const { agent } = newAgent();
    const deep = `${'{"a":'.repeat(600)}1${"}".repeat(600)}`;
    const text = `${LONG}{"id":"deep","role":"user","parts":[{"type":"data-x","data":${deep}}]}`;
    expect(await refusalOf(() => agent.importTranscript({ text }))).toContain("[not_serializable]");
    expect(await agent.getHistory({})).toEqual([]);
  });

  test("a session that is deleted meanwhile stays deleted", async () => {
    const { agent } = newAgent();
    const { id: sessionId } = await agent.createSession({});
    const importing = refusalOf(() => agent.importTranscript({ sessionId, text: LONG }));
    await agent.deleteSession({ sessionId });
    expect(await importing).toContain("[unknown_session]");
    expect(await agent.getSessionInfo({ sessionId })).toBeNull();
  });

  test("others are read as far as memory goes, and refused for now beyond", async () => {
    const made = newAgent();
    // Two files of this size with their messages exceed the platform's memory.
    const blank = " ".repeat(12_000_000);
    await inside(made, async (manager) => {
      const session = manager.getSession("s!900000");
      const first = session.importTranscript(`${blank}\n${LONG}`);
      const second = await session.importTranscript(`${blank}\n${LONG}`).catch((error: unknown) => error);
      expect(errorCode(second)).toBe("rate_limited");
      expect((await first).inserted).toBe(5_000);
      expect((await session.importTranscript(`${blank}\n${LONG}`)).inserted).toBe(0);
    });
  });
});

test("an error says where the first bad lines are, and how many more there are", async () => {
  const { agent } = newAgent();
  const text = `${line(0)}${'{"id":7}\n'.repeat(8)}${line(1)}`;
  const said = await refusalOf(() => agent.importTranscript({ text }));
  expect(said).toMatch(/^\[import_failed\] line 2: .*; line 3: .*; line 6: [^;]*; and 3 more$/);
});
