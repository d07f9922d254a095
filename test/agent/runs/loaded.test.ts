/** Loaded texts survive any number of compactions word for word, whatever the summariser writes. */
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say } from "../../conversation.ts";
import type { FullSession } from "../../rooms.ts";
import { summaryOf, withInstructions, type AskedPrompt } from "../../scripted-model.ts";
import { withNumbers } from "../runs.ts";

skipRetryDelays();

const DEPTHS = new Set([1, 5, 10, 20]);
const RULES = `# House rules\n\n${Array.from({ length: 20 }, (_, n) => `- Rule ${n}: every ${n}th number has a unit.`).join("\n")}`;
const RULE = "Never touch the billing table";
const LETTERS =
  `Base directory for this skill: /skills/letters\n\n# Letters\n${"Answer each within a day. ".repeat(8)}`.trim();
const SKILL = `---\nname: release\n---\n\n${"Tag it, build it, and tell Ada. ".repeat(8)}`;

function used(id: string, tool: string, input: unknown, output?: unknown): UIMessage {
  const ended = output === undefined ? { state: "input-available" } : { state: "output-available", output };
  return {
    id,
    role: "assistant",
    parts: [
      { type: `tool-${tool}`, toolCallId: `call-${id}`, input, ...ended } as never,
      { type: "text", text: "Done." },
    ],
  };
}

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });
const list = (id: string, status: string): UIMessage =>
  used(id, "TodoWrite", { todos: [{ content: "Mend the lock", status }] }, "ok");

/** A chat that loads everything at its start, and a summariser that mentions none of it. */
async function chat(
  loadedTokens: number,
  look: (session: FullSession, depth: number) => Promise<void>,
): Promise<readonly AskedPrompt[]> {
  const { stub, calls } = newAgent((prompt) =>
    withInstructions(summaryOf(prompt, "Done."), {
      standing: prompt.transcript?.includes(RULE) === true ? [RULE] : [],
    }),
  );
  await runInDurableObject(stub, async (agent) => {
    const made = Session.create(agent).forSession("loaded").compactAfter(12_000, { head: 1, tail: 400 });
    const session = withNumbers(made, { minSpanTokens: 100, loadedTokens });
    await session.appendAll([
      say(0),
      used("old-rules", "read_file", { path: "AGENTS.md" }, `An older version.\n${RULES}`),
      used("rules", "read_file", { path: "AGENTS.md" }, RULES),
      used("skill", "load_skill", { name: "release" }, SKILL),
      used("letters", "Skill", { skill: "team:letters" }, "Launching skill: team:letters"),
      { ...user("letters-text", LETTERS), metadata: { isMeta: true } },
      list("list", "pending"),
      user("ruled", `${RULE}. Thanks for all of it.`),
    ]);
    for (let [depth, n] = [1, 1]; depth <= 20; depth++) {
      await session.appendAll(Array.from({ length: 8 }, () => say(n++)));
      const { run } = await session.compactNow();
      expect((await session.ended(run.id)).outcome?.kind).toBe("applied");
      if (depth === 3) await session.appendAll([list("list-2", "in_progress")]);
      if (DEPTHS.has(depth)) await look(session, depth);
    }
  });
  return calls;
}

async function shown(session: FullSession): Promise<string> {
  const { messages } = await session.getView();
  return messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join("\n");
}

test("instruction files, skills, an instruction and the list of tasks are in view word for word, once, at depth 1, 5, 10 and 20", async () => {
  const asked = await chat(2_000, async (session, depth) => {
    const view = await shown(session);
    for (const text of [RULES, SKILL, LETTERS, `- "${RULE}."`]) {
      expect(view.split(text).length - 1, `depth ${depth}: ${text.slice(0, 20)}`).toBe(1);
    }
    expect(view).not.toContain("An older version.");
    expect(view).toContain(depth < 5 ? "[pending] Mend the lock" : "[in_progress] Mend the lock");
    expect(view.match(/Mend the lock/g)).toHaveLength(1);
  });
  expect(asked.length).toBeGreaterThan(10);
  // The summariser is told so in each prompt, also where they were loaded long before.
  for (const { around } of asked)
    expect(around.kept?.split("\n").toSorted()).toEqual(["- AGENTS.md", "- letters", "- list of tasks", "- release"]);
});

test("without room for them they are lost", async () => {
  await chat(0, async (session) => expect(await shown(session)).not.toContain("every 7th number"));
});

test("S2: an edit of what was loaded leaves nothing of the old text in a view, and neither does a delete or clear", async () => {
  await chat(2_000, async (session, depth) => {
    if (depth !== 5) return;
    await session.updateMessage(used("rules", "read_file", { path: "AGENTS.md" }, "Short."));
    await session.deleteMessages(["old-rules"]);
    expect(await shown(session)).not.toContain("every 7th number");
    await session.clearMessages();
    expect(JSON.stringify(await session.getCompactions())).not.toContain("Tag it");
  });
});
