/** Reading a file into a session. Other calls get their turn during the reading, and the file is stored whole or not at all. */
import { errorCode } from "../../src/errors.ts";
import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { partsOf, PART_CHARS, type ExportedPart } from "../../src/import/parts.ts";
import { MAX_REQUEST_BYTES } from "../../src/limits.ts";
import { newAgent, refusalOf } from "../agents.ts";
import { say } from "../conversation.ts";
import { inside } from "./inside.ts";

function line(n: number, text = "x".repeat(200)): string {
  const message: UIMessage = { id: `f${n}`, role: n % 2 === 0 ? "user" : "assistant", parts: [{ type: "text", text }] };
  return `${JSON.stringify(message)}\n`;
}

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
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

  test("nor do the steps of a run that follow each other without a gap", async () => {
    const { agent } = newAgent();
    await agent.importTranscript({ text: Array.from({ length: 2_000 }, (_, n) => line(n, "y".repeat(900))).join("") });
    const nested = Array.from({ length: 1_000 }, () => `${"[".repeat(50)}${"]".repeat(50)}`).join("\n");
    expect(await refusalOf(() => agent.importTranscript({ text: nested }))).toMatch(/^\[import_failed\]/);
    expect(await agent.getCompactions({})).toEqual([]);
    // Its other steps would hold up the next test.
    for (const { id } of await agent.runs({})) await agent.cancelRun({ runId: id });
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
    const text = `${LONG}{"id":"deep","role":"user","parts":[{"type":"data-x","data":${nested(600)}}]}`;
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

  test("a file is refused for now where the parts of others take the memory that it needs", async () => {
    const made = newAgent();
    await inside(made, async (manager) => {
      const session = manager.getSession("s!900001");
      const message = JSON.parse(line(1, "x".repeat(400_000))) as UIMessage;
      await session.importPart({ upload: "u", at: 0, messages: [{ message }], last: false });
      const file = `${" ".repeat(MAX_REQUEST_BYTES - 300_000)}\n${line(0)}`;
      const refused = await session.importTranscript(file).catch((error: unknown) => error);
      expect(errorCode(refused)).toBe("rate_limited");
      expect((await session.importTranscript(line(0))).inserted).toBe(1);
    });
  });
});

describe("a conversation that comes in parts", () => {
  const talk = Array.from({ length: 2_500 }, (_, n): UIMessage => JSON.parse(line(n, "x".repeat(600))) as UIMessage);
  const whole = { messages: talk, branches: new Map([["f7", "f3"]]), disowned: new Map(), name: "", isSubAgent: false };

  test("is stored with its last part, in no call more than a part's characters, and comes out in parts again (M1)", async () => {
    const { agent } = newAgent();
    const parts = partsOf(whole);
    expect(parts.length).toBeGreaterThan(3);
    for (const part of parts) {
      expect(JSON.stringify(part.messages).length).toBeLessThan(PART_CHARS * 1.1);
      expect(await agent.getHistory({})).toEqual([]);
      const sent = await agent.importPart({ upload: "u", ...part, messages: [...part.messages] });
      expect(sent.inserted).toBe(part.last ? talk.length : null);
    }
    expect(await agent.getParent({ id: "f7" })).toBe("f3");
    const found: string[] = [];
    for (let from: number | null = 0, leafId: string | undefined; from !== null;) {
      const part: ExportedPart = await agent.exportPart({ from, ...(leafId !== undefined && { leafId }) });
      if (found.length === 0) await agent.append({ message: say(0) });
      expect(part.text.length).toBeLessThan(PART_CHARS * 1.1);
      found.push(part.text);
      [from, leafId] = [part.next, part.leafId ?? undefined];
    }
    const path = talk.filter((_, n) => n < 4 || n > 6);
    expect(found.length).toBeGreaterThan(1);
    expect(found.join("")).toBe(path.map((message) => `${JSON.stringify(message)}\n`).join(""));
  });

  test("that breaks off leaves nothing, and what comes behind a lost part is refused", async () => {
    const { agent } = newAgent();
    const [first, second] = partsOf(whole);
    const send = (part = first, upload = "u") =>
      agent.importPart({ upload, at: part?.at ?? 0, messages: [...(part?.messages ?? [])], last: false });
    await send();
    expect(await refusalOf(() => send(second, "other"))).toMatch(/import_failed.*and 0 are here.*send the file again/);
    const deep = { id: "deep", role: "user", parts: [{ type: "data-x", data: JSON.parse(nested(600)) as unknown }] };
    const at = second?.at ?? 0;
    const bad = { upload: "u", at, messages: [{ message: deep as unknown as UIMessage }], last: true };
    expect(await refusalOf(() => agent.importPart(bad))).toContain("[not_serializable]");
    expect(await refusalOf(() => send(second))).toContain("[import_failed]");
    expect(await agent.getHistory({})).toEqual([]);
  });

  test("is refused where it is larger than an import may be, before anything is sent", () => {
    const large = Array.from(
      { length: 40 },
      (_, n): UIMessage => JSON.parse(line(n, "x".repeat(1_000_000))) as UIMessage,
    );
    expect(() => partsOf({ ...whole, messages: large })).toThrow(/import_failed.*one import takes 35554432/);
  });

  test("a session that is deleted meanwhile stays deleted", async () => {
    const { agent } = newAgent();
    const { id: sessionId } = await agent.createSession({});
    const part = { upload: "u", at: 0, messages: [{ message: say(0) }], last: false };
    await agent.importPart({ sessionId, ...part });
    await agent.deleteSession({ sessionId });
    const last = { ...part, at: 1, messages: [{ message: say(1) }], last: true };
    expect(await refusalOf(() => agent.importPart({ sessionId, ...last }))).toContain("[unknown_session]");
  });
});

/** Two lines of a Claude Code session, of the main agent or of a sub-agent. */
const claudeLines = (side: boolean) =>
  [0, 1].map((n) => ({
    type: n === 0 ? "user" : "assistant",
    uuid: `${side}${n}`,
    parentUuid: n === 0 ? null : `${side}0`,
    isSidechain: side,
    ...(side && { agentId: "one" }),
    message: { role: n === 0 ? "user" : "assistant", content: "Bind it." },
  }));

test("of a file with sub-agents the conversation that started them is taken, and a note counts the others", async () => {
  const { agent } = newAgent();
  const text = [...claudeLines(false), ...claudeLines(true)].map((each) => JSON.stringify(each)).join("\n");
  expect(await agent.importTranscript({ text })).toMatchObject({
    name: "claude-code",
    messages: 2,
    notes: ["messages of 1 sub-agents left out (index 1 to 1 takes one): 2"],
  });
  expect(await agent.importTranscript({ sessionId: "one", text, index: 1 })).toMatchObject({
    name: "claude-code/one",
    notes: [],
  });
  const two = JSON.stringify([
    { messages: [{ role: "user", content: "a" }] },
    { messages: [{ role: "user", content: "b" }] },
  ]);
  expect(await refusalOf(() => agent.importTranscript({ text: two }))).toContain("holds 2 conversations. Pass index");
});

test("an error says where the first bad lines are, and how many more there are", async () => {
  const { agent } = newAgent();
  const text = `${line(0)}${'{"id":7}\n'.repeat(8)}${line(1)}`;
  const said = await refusalOf(() => agent.importTranscript({ text }));
  expect(said).toMatch(/^\[import_failed\] line 2: .*; line 3: .*; line 6: [^;]*; and 3 more$/);
});
