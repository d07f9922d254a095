/**
 * `compactAfter("auto")`. Older tool outputs become stubs once carrying them has cost one and a half times as much as the edit. Tests the
 * masks through later changes.
 */
import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { tool, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import type { CompactAfterOptions } from "../../../src/agent/settings.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, textOf } from "../../conversation.ts";
import type { FullManager } from "../../rooms.ts";
import type { PalimpsestAgent, UnboundAgent } from "../../worker.ts";
import { WHOLE_MESSAGE } from "../../../src/steps/plan/outline.ts";
import { secretRules } from "../../../src/redact/secret-rules.ts";
import { seeded } from "../../sim/random.ts";
import { PAID_SHARE } from "../../../src/steps/decide/rent.ts";
import { NAME_CHARS_PER_TOKEN } from "../../../src/facts/keep.ts";
import { renderNames } from "../../../src/facts/render.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { summaryOf } from "../../scripted-model.ts";
import { viewBeforeStep } from "../../../src/turn/turn.ts";
import { inside } from "../inside.ts";

skipRetryDelays();

const WORDS = ["ledger", "fence", "outline", "watchdog", "parser", "scheduler"];
/** So large that no summary is ever due here. */
const CEILING: CompactAfterOptions = { ceiling: 900_000, tailTokenBudget: 2_000 };

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
  test: (
    session: ReturnType<FullManager["getSession"]>,
    parts: { manager: FullManager; agent: PalimpsestAgent; storage: DurableObjectStorage },
  ) => Promise<T>,
  options: CompactAfterOptions = CEILING,
): Promise<T> {
  return inside(newAgent(null), async (manager, agent, storage) => {
    const session = Session.create(agent).compactAfter("auto", options);
    await session.appendMessage(say(0));
    return test(session, { manager, agent, storage });
  });
}

function rows(storage: DurableObjectStorage): number {
  const made = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'palimpsest_masks'").toArray();
  return made.length === 0 ? 0 : storage.sql.exec("SELECT 1 FROM palimpsest_masks").toArray().length;
}

test("older outputs give way to stubs, one row an edit, and between two edits a view begins as it did, byte for byte", async () => {
  await auto(async (session, { storage }) => {
    let [before, edits, largest] = ["", 0, 0];
    for (let n = 1; n <= 120; n++) {
      await session.appendMessage(work(n));
      const { messages, tokens } = await session.getView();
      const now = messages.map((message) => JSON.stringify(message)).join("\n");
      if (rows(storage) === edits) expect(now.startsWith(before)).toBe(true);
      expect(rows(storage) - edits).toBeLessThanOrEqual(1);
      [before, edits, largest] = [now, rows(storage), Math.max(largest, tokens)];
    }
    expect(edits).toBeGreaterThan(1);
    expect(edits).toBeLessThan(30);
    const { masked, rents } = await session.status();
    expect(masked?.tokens).toBeGreaterThan(20_000);
    expect(rents?.mask.paid).toBeLessThan(PAID_SHARE * (rents?.mask.price ?? 0));
    const { messages, tokens } = await session.getView();
    // The stub keeps the call, its input and the place of the whole. The newest outputs stay.
    const stub = JSON.stringify(messages[1]);
    expect(stub).toContain("src/file-1.ts");
    expect(stub).toMatch(/recall @[0-9a-z]{7}/);
    expect(stub).not.toContain("return value * 3");
    expect(textOf(messages.slice(-1))).toContain("return value * 3");
    expect(tokens).toBeLessThan(60_000);
    expect((await session.getMessage("w1")) ?? null).toEqual(work(1));
  });
});

test("a reply that grows by steps keeps its names and stubs from step to step, as messages do", async () => {
  await auto(async (session, { storage }) => {
    let [before, edits]: [readonly string[], number] = [[], 0];
    const parts: UIMessage["parts"] = [];
    await session.appendMessage({ id: "reply", role: "assistant", parts });
    for (let n = 1; n <= 80; n++) {
      parts.push(...work(n).parts);
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
      const { messages } = await session.getView();
      const now = messages.flatMap(({ parts }) => parts.map((part) => JSON.stringify(part)));
      if (rows(storage) === edits) expect(now.slice(0, before.length)).toEqual(before);
      [before, edits] = [now, rows(storage)];
    }
    expect(edits).toBeGreaterThan(1);
    expect(before.join()).toContain("Of1x");
  });
});

test("a step that changes under a mask takes the words of the masked outputs along", async () => {
  await auto(async (session, { storage }) => {
    const grown = (n: number, first: UIMessage = work(1)): UIMessage => ({
      id: "reply",
      role: "assistant",
      parts: [first, ...Array.from({ length: n - 1 }, (_, at) => work(at + 2))].flatMap(({ parts }) => parts),
    });
    await session.appendMessage(grown(1));
    for (let n = 2; n <= 60; n++) await session.updateMessage(grown(n));
    expect(rows(storage)).toBeGreaterThan(0);
    expect(JSON.stringify((await session.getView()).messages)).toContain("Of1x");
    await session.updateMessage(grown(60, work(1, "x".repeat(2_000))));
    expect(JSON.stringify((await session.getView()).messages)).not.toContain("Of1x");
  });
});

test("what a stub left out is read again by the reference that it names", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const { messages } = await session.getView();
    const [reference = ""] = /@[0-9a-z]{7}/.exec(JSON.stringify(messages[1])) ?? [];
    expect(JSON.stringify(await session.recall({ ids: [reference] }))).toContain("return value * 3");
    // A search finds it too, although it is masked and not under a summary.
    expect(JSON.stringify(await session.recall({ query: "watchdogOf1x3" }))).toContain("return value * 3");
  });
});

test("the reference of each stub reads its own output, and no other of the same reply", async () => {
  await auto(async (session) => {
    const parts: UIMessage["parts"] = [];
    await session.appendMessage({ id: "reply", role: "assistant", parts });
    for (let n = 1; n <= 40; n++) {
      parts.push(...work(n).parts);
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
    }
    const shown = textOf((await session.getView()).messages);
    const references = [...shown.matchAll(/recall (@\S+) reads/g)].map(([, reference = ""]) => reference);
    expect(references.length).toBeGreaterThan(10);
    for (const [at, reference] of [...references.entries()].slice(0, 3)) {
      const answer = await session.recall({ ids: [reference], maxTokens: 20_000 });
      expect(answer.kind === "found" && answer.text).toContain(`Of${at + 1}x3(`);
      expect(answer.kind === "found" && answer.text).not.toMatch(new RegExp(`Of(?!${at + 1}x)\\d+x`));
    }
  });
});

test("an agent without the room of recall has stubs that name no tool", async () => {
  const stub = env.UnboundAgent.get(env.UnboundAgent.idFromName("masked"));
  await runInDurableObject(stub, async (agent: UnboundAgent) => {
    const session = Session.create(agent).compactAfter("auto", CEILING);
    await session.appendMessage(say(0));
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const { messages } = await session.getView();
    expect(textOf(messages)).toMatch(/Left out: an output of \d+ characters\.\]/);
    expect(JSON.stringify(messages)).not.toContain("recall");
  });
});

test("under a summary of masked outputs stand the originals, whole", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    expect(JSON.stringify((await session.getView()).messages[1])).toContain("Left out");
    const overlay = await session.addCompaction("## Progress\nRead the files.", "w1", "w20");
    expect(await session.expand(overlay.id)).toEqual(Array.from({ length: 20 }, (_, n) => work(n + 1)));
  });
});

test("errors keep their words, however a tool tells them", async () => {
  await auto(async (session) => {
    const long = "the disk is full ".repeat(60);
    await session.appendMessage(work(1, `Error: ${long}`));
    await session.appendMessage(work(2, { exitCode: 1, stderr: long }));
    await session.appendMessage(work(3, { isError: true, content: long }));
    for (let n = 4; n <= 60; n++) await session.appendMessage(work(n));
    const { messages } = await session.getView();
    for (const at of [1, 2, 3]) expect(messages[at]).toEqual(await session.getMessage(`w${at}`));
    expect(JSON.stringify(messages[4])).toContain("Left out");
  });
});

test("names of what is masked stay in view, within their share", async () => {
  await auto(
    async (session) => {
      for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
      const { messages } = await session.getView();
      const stubs = messages.filter((message) => JSON.stringify(message).includes("Left out"));
      expect(stubs.length).toBeGreaterThan(10);
      expect(textOf(stubs)).toMatch(/\w+Of\d+x\d+/);
      expect(textOf(stubs)).toContain("Words of outputs that were left out");
    },
    { ceiling: 60_000, tailTokenBudget: 2_000, minTailMessages: 2 },
  );
});

test("an edit, a delete and a clear leave no stub of what is gone, and originals are never touched", async () => {
  await auto(async (session, { storage }) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const masked = (await session.status()).masked?.upTo ?? "";
    // The message that holds the line is deleted, and the line moves up.
    await session.deleteMessages([masked]);
    expect((await session.status()).masked?.upTo).toBe(`w${Number(masked.slice(1)) - 1}`);
    expect(textOf((await session.getView()).messages)).not.toContain(`Of${masked.slice(1)}x`);
    await session.updateMessage(work(2, "short now"));
    const { messages } = await session.getView();
    expect(messages[2]).toEqual(work(2, "short now"));
    expect(JSON.stringify(messages[1])).toContain("Left out");
    expect((await session.getMessage("w1")) ?? null).toEqual(work(1));
    await session.clearMessages();
    expect(rows(storage)).toBe(0);
    expect((await session.status()).masked).toBeNull();
  });
});

test("a view that is sent back, as a chat sends its messages, takes no output away, and a change beside a stub is kept (M1)", async () => {
  await auto(async (session) => {
    const shaped = { kind: "file", content: [{ type: "text", text: listing(7) }] };
    const stored = [work(1), work(2, shaped), ...Array.from({ length: 58 }, (_, n) => work(n + 3))];
    for (const message of stored) await session.appendMessage(message);
    const { messages } = await session.getView();
    expect(textOf(messages)).toContain("[Left out: an output of ");
    for (const message of messages) await session.upsertMessage(message);
    for (const message of messages) await session.upsertMessage(structuredClone(message));
    expect((await session.getHistory()).slice(1)).toEqual(stored);

    const [, first] = structuredClone(messages);
    const said = { type: "text" as const, text: "Then I went on." };
    await session.updateMessage({ ...work(1), parts: [...(first?.parts ?? []), said] });
    expect(await session.getMessage("w1")).toEqual({ ...work(1), parts: [...work(1).parts, said] });

    // A text that names another size is a caller's own output.
    const own = work(3, "[Left out: an output of 3 characters.] ledger");
    await session.updateMessage(own);
    expect(await session.getMessage("w3")).toEqual(own);
  });
});

test("what a model calls after its masked reply was emptied or cut is shown whole, and masked again in its turn", async () => {
  for (const left of [0, 5]) {
    await auto(async (session, { storage }) => {
      const parts: UIMessage["parts"] = [];
      const take = async (n: number): Promise<void> => {
        parts.push(...work(n).parts);
        await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
      };
      await session.appendMessage({ id: "reply", role: "assistant", parts });
      for (let n = 1; n <= 60; n++) await take(n);
      parts.length = 2 * left;
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
      const edits = rows(storage);
      for (let n = 101; n <= 160; n++) {
        await take(n);
        const shown = (await session.getView()).messages.flatMap((message) => message.parts);
        expect(shown.at(-1)).toEqual(work(n).parts[1]);
        if (rows(storage) === edits) expect(textOf([{ id: "", role: "assistant", parts: shown }])).toContain("Of101x");
        expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
      }
      expect(rows(storage)).toBeGreaterThan(edits);
      expect(textOf((await session.getView()).messages)).toContain("Left out");
    });
  }
});

test("a line whose message is deleted moves to what its new message has now, so what that message does next is shown whole", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const line = Number((await session.status()).masked?.upTo.slice(1));
    await session.deleteMessages(Array.from({ length: 61 - line }, (_, at) => `w${line + at}`));
    const { id, parts } = work(line - 1);
    await session.updateMessage({ id, role: "assistant", parts: [...parts, ...work(300).parts] });
    const shown = (await session.getView()).messages.at(-1)?.parts ?? [];
    expect(JSON.stringify(shown[1])).toContain("Left out");
    expect(shown.at(-1)).toEqual(work(300).parts[1]);
  });
});

/** Like {@link work}. The fifth step asks a person, who has answered where there is an output. */
function asking(n: number, output?: string): UIMessage {
  if (n !== 5) return work(n);
  const asked = { type: "tool-ask", toolCallId: "ask", input: { q: "which?" } } as const;
  const part =
    output === undefined
      ? ({ ...asked, state: "input-available" } as const)
      : ({ ...asked, state: "output-available", output } as const);
  return { id: "w5", role: "assistant", parts: [{ type: "step-start" }, part] };
}

test("an answer to a call that was open before the line is shown whole, and stubs and names stay as they were", async () => {
  const answer = "The person says: use the branch release-7. ".repeat(20);
  for (const isReply of [false, true]) {
    await auto(async (session) => {
      const reply = (n: number, output?: string): UIMessage => ({
        id: "reply",
        role: "assistant",
        parts: Array.from({ length: n }, (_, at) => asking(at + 1, output).parts).flat(),
      });
      if (isReply) await session.appendMessage(reply(1));
      for (let n = 1; n <= 60; n++)
        await (isReply ? session.updateMessage(reply(n)) : session.appendMessage(asking(n)));
      const shown = async (): Promise<string[]> =>
        (await session.getView()).messages.flatMap((message) => message.parts).map((part) => JSON.stringify(part));
      const before = await shown();
      expect(before.join()).toContain("Words of outputs that were left out");
      const at = before.findIndex((part) => part.includes("which?"));
      await session.updateMessage(isReply ? reply(60, answer) : asking(5, answer));
      expect(await shown()).toEqual(before.with(at, JSON.stringify(asking(5, answer).parts[1])));
      // No later edit takes it away, and sizes count it whole.
      for (let n = 61; n <= 100; n++) await session.appendMessage(work(n));
      expect((await shown())[at]).toContain("release-7");
      expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
    });
  }
});

test("a change of a message that gave no words leaves the names of all masks as they are", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const before = textOf((await session.getView()).messages.slice(1));
    await session.updateMessage({ ...say(0), parts: [{ type: "text", text: "another question" }] });
    expect(textOf((await session.getView()).messages.slice(1))).toBe(before);
    expect(before).toContain("Words of outputs that were left out");
  });
});

test("the size of a view is right after its masked leaf is deleted or changed", async () => {
  await auto(async (session) => {
    const parts: UIMessage["parts"] = [];
    await session.appendMessage({ id: "reply", role: "assistant", parts });
    const before = (await session.status()).viewTokens;
    for (let n = 1; n <= 60; n++) {
      parts.push(...work(n).parts);
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
    }
    const changed = {
      id: "reply",
      role: "assistant",
      parts: parts.with(1, { type: "text", text: "nothing" }),
    } as const;
    await session.updateMessage(changed);
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
    await session.deleteMessages(["reply"]);
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
    expect((await session.status()).viewTokens).toBeLessThan(before);
    await session.appendMessage(say(1));
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
});

test("a branch that left before the line is not masked, and a fork has the line that its path has", async () => {
  await auto(async (session, { manager }) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const masked = (await session.status()).masked?.upTo ?? "";
    const fork = await manager.fork(session.id, "w60", "copy");
    expect(
      textOf(
        await manager
          .getSession(fork.id)
          .getView()
          .then(({ messages }) => messages),
      ),
    ).toBe(textOf((await session.getView()).messages));
    await session.appendMessage({ ...say(1), id: "aside" }, "w3");
    const view = await session.getView("aside");
    expect(textOf(view.messages)).not.toContain("Left out");
    expect(masked).not.toBe("");
    expect(textOf((await session.getView("w60")).messages)).toContain("Left out");
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
      const { rents, viewTokens } = await session.status();
      expect(viewTokens).toBeLessThan(10_000);
      expect(rents?.summary.paid).toBeLessThan(1_000);
    },
    {
      ceiling: 900_000,
      tailTokenBudget: 2_000,
      stackTokens: 2_000,
      summaryTokens: 400,
      minSpanTokens: 500,
      protectHead: 1,
    },
  );
});

test("a first summary that its rent has not paid for has half of the room for names, the next one all of it, by the session's own count", async () => {
  const stackTokens = 3_000;
  const options = { ceiling: 12_000, tailTokenBudget: 1_000, protectHead: 0, stackTokens, summaryTokens: 400 };
  const lengths = await inside(
    newAgent((prompt) => summaryOf(prompt, "done")),
    async (_, agent) => {
      const session = Session.create(agent).compactAfter("auto", options);
      const named: number[] = [];
      for (const n of [1, 2]) {
        // One huge output brings the view over its ceiling before its rent has come to anything.
        const huge = Array.from({ length: 40 }, (_, at) => listing(100 * n + at)).join("");
        await session.appendAll([say(10 * n), work(n, huge), say(10 * n + 1), say(10 * n + 2)]);
        const [runId = ""] = (await session.status()).liveRunIds;
        const { trigger, outcome } = await session.ended(runId);
        expect({ trigger, kind: outcome?.kind }).toEqual({ trigger: "threshold", kind: "applied" });
        const names = (await session.getCompactions()).at(-1)?.details.pinned.names ?? [];
        named.push(names.join(" ").length);
        expect(estimateTokens(renderNames(names))).toBeLessThanOrEqual((stackTokens * n) / 2);
      }
      return named;
    },
  );
  const half = (stackTokens / 2) * NAME_CHARS_PER_TOKEN;
  expect(lengths[0]).toBeLessThanOrEqual(half);
  expect(lengths[0]).toBeGreaterThan(half / 3);
  expect(lengths[1]).toBeGreaterThan(1.3 * (lengths[0] ?? 0));
});

test("names that a summary hid stand beside a stub that it left from its commit on, so the next request is written once", async () => {
  await auto(
    async (session) => {
      for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
      const { outcome } = await session.ended((await session.compact()).run.id);
      expect(outcome?.kind).toBe("applied");
      const flat = async () =>
        (await session.getView({ apart: true })).messages.map((message) => JSON.stringify(message)).join("\n");
      const sent = await flat();
      expect(sent).toContain("Left out");
      expect(sent).toContain("Words of outputs that were left out");
      expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
      await session.appendMessage(say(2));
      expect((await flat()).startsWith(sent)).toBe(true);
    },
    { ...CEILING, stackTokens: 2_000, summaryTokens: 400, protectHead: 2 },
  );
});

test("the price of a summary has the messages that it would keep, and what it frees does not, however large they are", async () => {
  const options = { ...CEILING, stackTokens: 2_000, summaryTokens: 400 };
  await auto(async (session) => {
    for (let n = 1; n <= 40; n++) await session.appendMessage(work(n));
    const before = (await session.status()).rents?.summary;
    await session.appendMessage(large(100, 60));
    const huge = (await session.status()).viewTokens - (await session.getView("w40")).tokens;
    const beside = (await session.status()).rents?.summary;
    expect(huge).toBeGreaterThan(20_000);
    // Its 2,000 tokens of other messages are no longer in the tail.
    expect(beside?.freedTokens).toBeLessThanOrEqual((before?.freedTokens ?? 0) + 2_000);
    expect(beside?.price).toBeGreaterThan((before?.price ?? 0) + 1.1 * (huge - 2_000));
    // Two messages later it is no part of the tail.
    for (const n of [101, 102]) await session.appendMessage(work(n));
    const behind = (await session.status()).rents?.summary;
    expect(behind?.freedTokens).toBeGreaterThan((before?.freedTokens ?? 0) + huge - 2_000);
    expect(behind?.price).toBeLessThan(beside?.price ?? 0);
  }, options);
});

test("plan() tells both rents, what is masked and what an edit would save", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const { rents, masked, lines } = await session.plan();
    expect(rents?.mask.price).toBeGreaterThan(0);
    expect(masked?.upTo).toMatch(/^w\d+$/);
    expect(lines.join("\n")).toContain("Older tool outputs are masked up to message");
    expect(lines.join("\n")).toMatch(/Masking would save \d+ tokens a call/);
  });
});

test("auto needs a bound, a number takes none, and nothing is stored before that is said", async () => {
  await inside(newAgent(null), async (_, agent) => {
    const told = (threshold: number | "auto", options: CompactAfterOptions) => () =>
      Session.create(agent).compactAfter(threshold, options);
    const refused = expect.objectContaining({ code: "invalid_options" });
    expect(told("auto", {})).toThrow(refused);
    expect(told("auto", { ceiling: 0.5 })).toThrow(refused);
    expect(told("auto", { ceiling: 200_000, windowTokens: 100_000 })).toThrow(refused);
    expect(told(60_000, { ceiling: 60_000 })).toThrow(refused);
    expect(told("auto", { windowTokens: 200_000 })).not.toThrow();
    expect((await Session.create(agent).status()).thresholdTokens).toBe(160_000);
  });
});

test("while the summariser is down outputs are masked all the same, and no run is begun for a view that is only dear", async () => {
  const options = {
    ...CEILING,
    stackTokens: 2_000,
    summaryTokens: 400,
    minSpanTokens: 500,
    protectHead: 1,
    model: "down",
  } as const;
  await auto(async (session, { agent, storage }) => {
    const { health, platform } = agent.palimpsest;
    for (let n = 1; n <= 120; n++) {
      health.noteFailure("down", "auth", platform.now());
      await session.appendMessage(work(n));
    }
    expect(rows(storage)).toBeGreaterThan(1);
    const { rents, liveRunIds } = await session.status();
    expect(rents?.summary.isDue).toBe(true);
    expect(liveRunIds).toEqual([]);
    expect(agent.palimpsest.runs.list(session.id, { limit: 5 })).toEqual([]);
    expect(JSON.stringify((await session.getView()).messages[1])).toContain("Left out");
  }, options);
});

test("what stands beside a span is read as a model is shown it, so names of masked outputs do not count as shown", async () => {
  await auto(async (session, { agent }) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const shown = new Map((await session.getView()).messages.map((message) => [message.id, message]));
    const history = agent.palimpsest.memory.session(session.id);
    const span = { fromId: "w20", fromStep: 0, toId: "w22", toStep: WHOLE_MESSAGE };
    const beside = history.surroundings(span, { leafId: "w60", maxBytes: 1_000_000 });
    const read = [...(beside?.before.messages ?? []), ...(beside?.behind.messages ?? [])];
    expect(read).toHaveLength(58);
    expect(textOf(read).includes("Left out")).toBe(true);
    for (const message of read) expect(message).toEqual(shown.get(message.id));
  });
});

test("whatever sizes come: one row an edit, and between two edits a view begins as it did, byte for byte", async () => {
  for (const seed of [1, 2, 3]) {
    const random = seeded(seed);
    await auto(async (session, { storage }) => {
      let [before, edits] = ["", 0];
      for (let n = 1; n <= 90; n++) {
        const lines = 1 + random.below(60);
        const output = Array.from({ length: lines }, (_, at) => `line ${at} of ${n}: ${WORDS[random.below(6)]}\n`).join(
          "",
        );
        await session.appendMessage(random.chance(0.2) ? say(n) : work(n, output));
        const now = (await session.getView({ apart: true })).messages
          .map((message) => JSON.stringify(message))
          .join("\n");
        expect(rows(storage) - edits).toBeLessThanOrEqual(1);
        if (rows(storage) === edits) expect(now.startsWith(before)).toBe(true);
        [before, edits] = [now, rows(storage)];
      }
      expect(edits).toBeGreaterThan(0);
    });
  }
});

/** Options under which a view is soon over its ceiling, and far under its hard line. */
const LOW: CompactAfterOptions = {
  ceiling: 12_000,
  hardTokens: 40_000,
  tailTokenBudget: 1_000,
  stackTokens: 1_000,
  summaryTokens: 400,
};

/** Starts a run of the session that waits, because no instance can be made for it. */
async function startWaitingRun(session: Session, agent: PalimpsestAgent): Promise<void> {
  const { platform, runs } = agent.palimpsest;
  platform.createInstance = () => Promise.reject(new Error("The engine is away."));
  for (let n = 1; n <= 6; n++) await session.appendMessage(large(n, 5));
  const [runId = ""] = (await session.status()).liveRunIds;
  runs.change(runId, { state: "waiting" });
}

function large(n: number, lists: number): UIMessage {
  return work(n, Array.from({ length: lists }, (_, at) => listing(100 * n + at)).join(""));
}

test("over the ceiling outputs are masked at once, while no summariser may be asked", async () => {
  await auto(
    async (session, { agent, storage }) => {
      const { health, platform } = agent.palimpsest;
      for (let n = 0; n < 5; n++) health.noteFailure("down", "auth", platform.now());
      let before = await session.status();
      for (let n = 1; rows(storage) === 0; n++) {
        before = await session.status();
        await session.appendMessage(large(n, 5));
      }
      const { viewTokens, liveRunIds, masked, rents } = await session.status();
      expect(before.rents?.mask).toMatchObject({ isDue: false, freedTokens: expect.any(Number) });
      expect(before.viewTokens).toBeLessThanOrEqual(12_000);
      expect(viewTokens + (masked?.tokens ?? 0)).toBeGreaterThan(12_000);
      expect(viewTokens).toBeLessThan(12_000);
      expect({ liveRunIds, left: rents?.mask.freedTokens }).toEqual({ liveRunIds: [], left: 0 });
    },
    { ...LOW, model: "down" },
  );
});

test("over the ceiling one small output is masked as well, where that brings the view back under it", async () => {
  await auto(
    async (session, { agent, storage }) => {
      const { health, platform } = agent.palimpsest;
      for (let n = 0; n < 5; n++) health.noteFailure("down", "auth", platform.now());
      await session.appendMessage(work(1));
      for (let n = 1; rows(storage) === 0; n++) {
        await session.appendMessage({ ...say(n), parts: [{ type: "text", text: "please go on ".repeat(40) }] });
        expect((await session.status()).viewTokens).toBeLessThanOrEqual(12_000);
      }
      expect(textOf((await session.getView()).messages)).toContain("Left out");
    },
    { ...LOW, model: "down" },
  );
});

test("masks go on beside a run that waits for a person, or that the engine does not take, and stop while one is at work", async () => {
  for (const waits of ["pending", "waiting", "paused"] as const) {
    await auto(async (session, { agent, storage }) => {
      const { platform, runs } = agent.palimpsest;
      platform.createInstance = () => Promise.reject(new Error("The engine is away."));
      for (let n = 1; n <= 5; n++) await session.appendMessage(large(n, 5));
      await session.appendMessage(large(6, 5));
      const [runId = ""] = (await session.status()).liveRunIds;
      expect({ runs: runId !== "", rows: rows(storage) }).toEqual({ runs: true, rows: 0 });
      runs.change(runId, { state: "running" });
      await session.appendMessage(large(7, 5));
      expect(rows(storage)).toBe(0);
      runs.change(runId, { state: waits });
      const now = platform.now();
      if (waits === "pending") {
        await session.appendMessage(large(8, 5));
        expect(rows(storage)).toBe(0);
        platform.now = () => now + 60_000;
      }
      await session.appendMessage(large(9, 5));
      expect(rows(storage)).toBe(1);
      expect((await session.status()).masked?.tokens).toBeGreaterThan(5_000);
    }, LOW);
  }
});

test("names never take more than an edit frees, so a mask makes a view smaller whatever its outputs are", async () => {
  const options = { ...LOW, stackTokens: 8_000, prices: { cacheRead: 1, cacheWrite: 1 } };
  await auto(async (session, { storage }) => {
    const random = seeded(7);
    const numbers = (): string =>
      Array.from({ length: 30 }, () => `id${random.below(1e9)}x${random.below(1e9)}`).join(" ");
    let edits = 0;
    for (let n = 1; n <= 40; n++) {
      const before = (await session.getView()).tokens;
      const added = work(n, numbers());
      await session.appendMessage(added);
      const { tokens } = await session.getView();
      if (rows(storage) === edits) continue;
      expect(tokens).toBeLessThan(before + session.countTokens(JSON.stringify(added.parts)) + 200);
      const masked = (await session.getView()).messages;
      expect(session.countTokens(JSON.stringify(masked))).toBeLessThan(
        session.countTokens(JSON.stringify(await session.getHistory())),
      );
      edits = rows(storage);
    }
    expect(edits).toBeGreaterThan(3);
  }, options);
});

test("names that an edit or a regeneration takes stand there again before the next request", async () => {
  await auto(async (session, { storage }) => {
    const named = async () => /Words of outputs[^"]*/.exec(textOf((await session.getView()).messages))?.[0] ?? "";
    for (let n = 1; n <= 40; n++) await session.appendMessage(work(n));
    await session.appendMessage(say(1));
    const parts: UIMessage["parts"] = [];
    await session.appendMessage({ id: "reply", role: "assistant", parts });
    const before = rows(storage);
    for (let n = 101; n <= 160; n++) {
      parts.push(...work(n).parts);
      await session.updateMessage({ id: "reply", role: "assistant", parts: [...parts] });
    }
    expect(rows(storage)).toBeGreaterThan(before);
    const [all, edits] = [await named(), rows(storage)];
    await session.updateMessage(work(3, "x".repeat(500)));
    expect(await named()).toContain("Of1x");
    expect(await named()).not.toContain("Of3x");
    await session.deleteMessages(["reply"]);
    expect(await named()).toContain("Of1x");
    expect(await named()).not.toContain("Of101x");
    expect(all.length).toBeGreaterThan(1_000);
    expect(rows(storage)).toBeLessThanOrEqual(edits);
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
});

test("where a prompt has no cache, an edit frees at least half of the protected end, and comes no more often", async () => {
  const options = { ...CEILING, tailTokenBudget: 4_000, prices: { cacheRead: 1, cacheWrite: 1 } };
  await auto(async (session, { storage }) => {
    let [edits, masked] = [0, 0];
    for (let n = 1; n <= 120; n++) {
      await session.appendMessage(work(n));
      if (rows(storage) === edits) continue;
      edits = rows(storage);
      const tokens = (await session.status()).masked?.tokens ?? 0;
      expect(tokens - masked).toBeGreaterThanOrEqual(2_000);
      masked = tokens;
    }
    // An output has some five hundred tokens.
    expect(edits).toBeGreaterThan(10);
    expect(edits).toBeLessThanOrEqual(120 / 4);
  }, options);
});

/** An output with a secret of its own. */
function leak(n: number): string {
  return `aws_access_key_id = AKIA${String(n).padStart(4, "0")}QZ7XKPLMW3RT\n${listing(n)}`;
}

test("no word beside a stub is of a secret, where a session removes them", async () => {
  await auto(async (session) => {
    const stubs = async () => (await session.getView()).messages.filter((each) => textOf([each]).includes("Left out"));
    session.redactSecrets(secretRules());
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n, leak(n)));
    expect((await stubs()).length).toBeGreaterThan(10);
    expect(textOf(await stubs())).toMatch(/Of1x/);
    expect(textOf(await stubs())).not.toContain("AKIA");
  });
});

test("over the ceiling or the hard line beside a run that waits, large outputs make few edits as well, until they together bring the view back", async () => {
  await auto(async (session, { agent, storage }) => {
    await startWaitingRun(session, agent);
    await session.appendMessage({ ...say(1), id: "long", parts: [{ type: "text", text: "a plan ".repeat(8_000) }] });
    const count = async (from: number, to: number): Promise<number> => {
      const before = rows(storage);
      for (let n = from; n < to; n++) await session.appendMessage(large(n, 3));
      return rows(storage) - before;
    };
    const few = await count(10, 30);
    expect(few).toBeGreaterThan(0);
    expect(few).toBeLessThan(12);
    expect((await session.status()).viewTokens).toBeGreaterThan(12_000);
    await session.appendMessage({ ...say(2), id: "more", parts: [{ type: "text", text: "a plan ".repeat(20_000) }] });
    expect((await session.status()).viewTokens).toBeGreaterThan(40_000);
    expect(await count(30, 40)).toBeLessThan(6);
    // The long text goes, and what was not masked yet is enough.
    await session.deleteMessages(["more"]);
    await count(40, 41);
    expect((await session.status()).viewTokens).toBeLessThan(40_000);
  }, LOW);
});

test("an edit of metadata leaves stubs, their words and the names as they are", async () => {
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const before = (await session.getView()).messages.map(({ parts }) => JSON.stringify(parts));
    expect(before.join()).toContain("Words of outputs");
    await session.updateMessage({ ...work(3), metadata: { seen: true } });
    const after = (await session.getView()).messages;
    expect(after.map(({ parts }) => JSON.stringify(parts))).toEqual(before);
    expect(after[3]?.metadata).toEqual({ seen: true });
  });
});

test("after a change to a number the view begins as it did, and nothing more is masked", async () => {
  await auto(async (session, { agent, storage }) => {
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    const before = (await session.getView()).messages.map((message) => JSON.stringify(message));
    const edits = rows(storage);
    const numbered = Session.create(agent).compactAfter(900_000);
    for (let n = 61; n <= 200; n++) await numbered.appendMessage(work(n));
    const after = (await numbered.getView()).messages.map((message) => JSON.stringify(message));
    expect(after.slice(0, before.length)).toEqual(before);
    expect(rows(storage)).toBe(edits);
    expect(edits).toBeGreaterThan(0);
  });
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
    expect(told("often")).toMatch(/invalid_options.*write a number of tokens, or "auto"/);
    expect(told(undefined)).toMatch(/invalid_options.*compactAfter\(undefined\)/);
  });
});

test("a session's own function reads masked outputs whole", async () => {
  await auto(async (session) => {
    const seen: (readonly UIMessage[])[] = [];
    session.onCompaction((messages) => {
      seen.push(messages);
      return { summary: "All of it was read.", fromMessageId: "w1", toMessageId: "w20" };
    });
    for (let n = 1; n <= 60; n++) await session.appendMessage(work(n));
    expect(JSON.stringify((await session.getView()).messages)).toContain("Left out");
    const { run } = await session.compact();
    expect((await session.ended(run.id)).outcome?.kind).toBe("applied");
    expect(seen).toEqual([[say(0), ...Array.from({ length: 60 }, (_, n) => work(n + 1))]]);
  });
});

const customers = (n: number) => Array.from({ length: 24 }, (_, at) => ({ mail: `hidden${n}x${at}@example.org` }));

function searched(n: number): UIMessage {
  const call = { toolCallId: `s${n}`, input: { n }, state: "output-available", output: listing(n) } as const;
  return { id: `s${n}`, role: "assistant", parts: [{ type: "step-start" }, { type: "tool-search", ...call }] };
}

test("in a turn no stub tells what a tool's own toModelOutput left out, and other tools' stubs keep their words", async () => {
  const read = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => path,
    toModelOutput: ({ output }) => ({
      type: "text",
      value: `Found ${(output as unknown as readonly unknown[]).length} customers.`,
    }),
  });
  await auto(async (session) => {
    for (let n = 1; n <= 40; n++) await session.appendAll([work(n, customers(n)), searched(n)]);
    expect(JSON.stringify((await session.getView()).messages)).toContain("hidden");
    const sent = JSON.stringify((await viewBeforeStep(session, { tools: { read } })()).messages);
    expect(sent).not.toContain("hidden");
    // So short an answer stays, as any other.
    expect(sent.split("Found 24 customers.")).toHaveLength(41);
    expect(sent).toMatch(/reads it again\.\] \w+Of\d+x/);
  });
});

test("in a turn a stub tells the size that a tool's own toModelOutput showed, which is asked about whole outputs alone", async () => {
  const found = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => path,
    toModelOutput: ({ output }) => {
      const { hits } = JSON.parse(output) as { hits: readonly string[] };
      return { type: "text", value: `${hits.length} hits: ${hits.join(" ")}` };
    },
  });
  await auto(async (session) => {
    for (let n = 1; n <= 60; n++)
      await session.appendMessage(work(n, JSON.stringify({ hits: listing(n).split("\n") })));
    const { messages } = await viewBeforeStep(session, { tools: { read: found } })();
    const sent = messages.flatMap(({ role, content }) => (role === "tool" ? [JSON.stringify(content)] : []));
    expect(sent).toHaveLength(60);
    const shown = `25 hits: ${listing(1).split("\n").join(" ")}`;
    expect(sent[0]).toContain(`{"type":"text","value":"[Left out: an output of ${shown.length} characters. recall @`);
    expect(sent[0]).toMatch(/reads it again\.\]"/);
    expect(sent.at(-1)).toContain("25 hits: export function");
    expect(sent.filter((each) => each.includes("25 hits"))).toHaveLength(
      sent.filter((each) => !each.includes("Left out")).length,
    );
  });
});

test.for([
  { ceiling: 60_000, told: "what was done", isKept: false },
  // Stubs would leave less of the span than this summary takes, so its outputs stay, and those behind it are masked.
  { ...LOW, summaryTokens: 1_000, stackTokens: 2_000, told: "what was done ".repeat(150), isKept: true },
])("what a person approves is applied, whatever was said and masked while they thought", async (asked) => {
  const { told, isKept, ...options } = asked;
  const made = newAgent((prompt) => summaryOf(prompt, told));
  const set = (agent: PalimpsestAgent) => Session.create(agent).compactAfter("auto", options).requireApproval({});
  let [runId, n] = ["", 1];
  await inside(made, async (_manager, agent) => {
    const session = set(agent);
    await session.appendMessage(say(0));
    for (; n < 400 && runId === ""; n++) {
      await session.appendMessage(large(n, 5));
      [runId = ""] = (await session.status()).liveRunIds;
    }
  });
  while ((await made.agent.getRun({ runId })).state !== "waiting") await scheduler.wait(1);
  await inside(made, async (_manager, agent, storage) => {
    const session = set(agent);
    const before = rows(storage);
    const shown = new Map((await session.getView()).messages.map((message) => [message.id, message]));
    const last = Number(agent.palimpsest.runs.mustGet(runId).plan?.span.toId.slice(1));
    const begun = n;
    for (const end = n + 30; n < end; n++) await session.appendMessage(large(n, 5));
    expect(rows(storage)).toBeGreaterThan(before);
    const now = (await session.getView()).messages;
    const isSame = (at: number): boolean => textOf(now.slice(at, at + 1)) === textOf([shown.get(`w${at}`) ?? say(0)]);
    expect(now.slice(1, last + 1).every((_, at) => isSame(at + 1))).toBe(isKept);
    expect(textOf(now.slice(begun, begun + 5))).toContain("Left out");
    expect((await session.status()).viewTokens).toBe((await session.getView()).tokens);
  });
  await made.agent.approveRun({ runId });
  expect((await made.agent.waitForRun({ runId })).outcome?.kind).toBe("applied");
});

test("in a turn a tool's own toModelOutput is asked about an output that quotes a stub", async () => {
  const read = tool({
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => ({ shown: path }),
    toModelOutput: ({ output }) => ({ type: "text", value: `Shown: ${output.shown}` }),
  });
  await auto(async (session) => {
    const hidden = "[Left out: an output of 9 characters. recall @0a1b2c3 reads it again.] hidden";
    await session.appendMessage(work(1, { shown: "title", lines: [hidden] }));
    const { messages } = await viewBeforeStep(session, { tools: { read } })();
    expect(JSON.stringify(messages.at(-1))).toContain("Shown: title");
    expect(JSON.stringify(messages)).not.toContain("hidden");
  });
});

test("over the ceiling beside a run that waits, edits stay few", async () => {
  await auto(async (session, { agent, storage }) => {
    await startWaitingRun(session, agent);
    await session.appendMessage({
      ...say(1),
      id: "long",
      parts: [{ type: "text", text: "a plan of words ".repeat(4_000) }],
    });
    const before = rows(storage);
    for (let n = 10; n < 70; n++) await session.appendMessage(work(n));
    expect(rows(storage) - before).toBeGreaterThan(1);
    expect(rows(storage) - before).toBeLessThan(30);
  }, LOW);
});
