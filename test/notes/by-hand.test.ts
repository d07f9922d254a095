/**
 * Text that a person writes into the notes. It is kept unchanged, shown within bounds, never overwritten unseen, and withheld with care.
 */
import { Session } from "../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { secretRules } from "../../src/redact/secret-rules.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../noted.ts";
import { openGates } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

const TABLE = "| port | service |\n|---|---|\n| 8787 | ledger |\n| 9229 | debugger |";

function textOf(notes: { sections: readonly { title: string; text: string }[] } | null, title: string): string {
  return notes?.sections.find((section) => section.title === title)?.text ?? "";
}

describe("an update by the offline model", () => {
  test("leaves code, tables and sections of a person's own as they were written", async () => {
    const { agent } = newAgent(null);
    const sections = [
      { title: "House rules", text: "- be kind to the parser" },
      { title: "Workflow and commands", text: "```sh\nnpm test\nnpm run lint\n```" },
      { title: "Learnings", text: TABLE },
    ];
    await agent.updateNotes({ sessionId: SESSION, sections });
    await sayWithNotes(agent);
    const notes = await agent.getNotes({ sessionId: SESSION });
    expect(notes).toMatchObject({ by: "update", covered: { kind: "to" } });
    for (const { title, text } of sections) expect(textOf(notes, title).startsWith(text), title).toBe(true);
    expect(textOf(notes, "House rules")).toBe("- be kind to the parser");
  });

  test("an answer that makes away with them is refused, whichever model gave it: the version before stays", async () => {
    const { agent } = newAgent(() => "## House rules\nNone.");
    const sections = [
      { title: "House rules", text: "- be kind to the ledger" },
      { title: "Learnings", text: TABLE },
    ];
    await agent.updateNotes({ sessionId: SESSION, sections });
    await agent.append({ sessionId: SESSION, message: say(0) });
    await agent.refreshNotes({ sessionId: SESSION });
    const [run] = ofKind(await rest(agent), "notes");
    expect(run?.outcome).toMatchObject({ kind: "failed", reason: expect.stringContaining("no answer could be used") });
    expect(textOf(await agent.getNotes({ sessionId: SESSION }), "House rules")).toBe("- be kind to the ledger");
  });
});

describe("between a person and an update", () => {
  test("what was read and changed is refused once another version is in force, and says what to do", async () => {
    let entries = 0;
    const { agent } = newAgent(() => `## Worklog\n- entry ${++entries}`);
    await sayWithNotes(agent);
    const read = await agent.getNotes({ sessionId: SESSION });
    const edit = { sessionId: SESSION, sections: [{ title: "Worklog", text: "- entry 1\n- by hand" }] };
    await agent.append({ sessionId: SESSION, message: say(20) });
    await agent.refreshNotes({ sessionId: SESSION });
    await rest(agent);
    expect(await refusalOf(() => agent.updateNotes({ ...edit, basedOn: read?.n }))).toMatch(
      /^\[conflict\].*version 1; by now version 2 is.*getNotes.*basedOn/,
    );
    expect((await agent.getNotes({ sessionId: SESSION }))?.n).toBe(2);
    expect(await agent.updateNotes({ ...edit, basedOn: 2 })).toMatchObject({ n: 3, by: "hand" });
    expect(await refusalOf(() => agent.updateNotes({ ...edit, basedOn: 0 }))).toMatch(/^\[conflict\]/);
  });

  test("the first ones may be written as what they are", async () => {
    const { agent } = newAgent();
    const first = { sessionId: SESSION, sections: [{ title: "Task", text: "- a" }], basedOn: 0 };
    expect((await agent.updateNotes(first)).n).toBe(1);
    expect(await refusalOf(() => agent.updateNotes(first))).toMatch(/^\[conflict\]/);
  });
});

describe("what is longer than the budgets", () => {
  test("is kept whole, and every model is shown what fits, and where the rest is", async () => {
    const { agent, stub, calls } = newAgent(noting);
    const long = Array.from({ length: 20_000 }, (_, n) => `- learned thing ${n}`).join("\n");
    await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Learnings", text: long }] });
    expect(textOf(await agent.getNotes({ sessionId: SESSION }), "Learnings")).toBe(long);
    const block = await runInDurableObject(stub, (instance: PalimpsestAgent) =>
      Session.create(instance).forSession(SESSION).getContextBlock("notes"),
    );
    await agent.append({ sessionId: SESSION, message: say(0) });
    await agent.refreshNotes({ sessionId: SESSION });
    await rest(agent);
    const shown = [block?.content ?? "", calls.at(-1)?.previous ?? ""];
    for (const text of shown) {
      expect(text).toContain('[Cut here. The whole section: recall({ notes: 1, section: "Learnings" })]');
      expect(estimateTokens(text)).toBeLessThanOrEqual(600);
    }
    const after = await agent.getNotes({ sessionId: SESSION });
    expect(after).toMatchObject({ n: 2, by: "update" });
    expect(textOf(after, "Learnings")).toBe(long);
  });
});

describe("sections", () => {
  test("of the configuration are those that the first edit by hand finds", async () => {
    const { stub } = newAgent();
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const session = Session.create(instance).forSession("custom").compactAfter(2_000);
      session.keepNotes({ sections: [{ title: "Alpha" }, { title: "Beta" }] });
      const notes = await session.updateNotes({ sections: [{ title: "alpha", text: "- a" }] });
      expect(notes.sections).toEqual([
        { title: "Alpha", text: "- a" },
        { title: "Beta", text: "" },
      ]);
    });
  });

  test("that could not be told apart, and what is no edit and no option, are refused with what to do", async () => {
    const { stub } = newAgent();
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const session = Session.create(instance).forSession("custom").compactAfter(2_000).keepNotes();
      const badEdits: unknown[] = [null, {}, { sections: [null] }, { sections: ["x"] }, { sections: [{ title: 1 }] }];
      badEdits.push({ sections: [{ title: "Task", text: "```sh\nnpm test" }] });
      for (const bad of badEdits) {
        const refusal = await refusalOf(() => session.updateNotes(bad as never));
        expect(refusal, JSON.stringify(bad)).toMatch(/^\[invalid_input\]/);
      }
      const badOptions: unknown[] = [null, { keep: 5 }, { keep: [] }, { sections: [{ title: "C" }, { title: "C#" }] }];
      for (const bad of badOptions) {
        expect(() => Session.create(instance).keepNotes(bad as never), JSON.stringify(bad)).toThrow(
          /\[invalid_options\]/,
        );
      }
      expect(await session.notesHistory()).toEqual([]);
    });
  });
});

test("what a heading asks for is no content: a model that only repeats it leaves the compaction to a model", async () => {
  const { agent } = newAgent((prompt, call, runId) =>
    prompt.kind === "notes"
      ? prompt.sections.map(({ title, hint }) => `## ${title}\n${hint}`).join("\n\n")
      : noting(prompt, call, runId),
  );
  await sayAll(agent, talk(0, 18));
  const [run] = ofKind(await rest(agent), "compaction");
  expect(run).toMatchObject({ path: "model", whyModel: { reason: "no-notes" } });
});

test("with redactSecrets no summariser is shown a secret that a person wrote into the notes", async () => {
  const { agent, stub, calls } = newAgent(noting);
  const secret = `ghp_${"aB3dE5fG7h".repeat(4)}`;
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance).forSession(SESSION).redactSecrets(secretRules()).status();
  });
  const sections = [{ title: "Learnings", text: `- push with ${secret}` }];
  await agent.updateNotes({ sessionId: SESSION, sections });
  await sayAll(agent, talk(0, 18));
  expect(calls.some(({ previous }) => previous?.includes("push with [redacted: "))).toBe(true);
  await agent.compact({ sessionId: SESSION, focus: "the ledger" });
  await rest(agent);
  expect(calls.some(({ kind }) => kind !== "notes")).toBe(true);
  expect(JSON.stringify(calls)).not.toContain(secret);
  expect(textOf(await agent.getNotes({ sessionId: SESSION }), "Learnings")).toContain(secret);
});

test("of versions that an edit took back only a person's words are shown: the others tell of what was edited (C3)", async () => {
  const { agent } = newAgent(() => "## Worklog\n- the code word is banana");
  await sayWithNotes(agent);
  await agent.updateNotes({
    sessionId: SESSION,
    sections: [
      { title: "House rules", text: "- be kind" },
      { title: "Worklog", text: "- the code word is banana\n- checked by hand" },
    ],
  });
  await agent.update({ sessionId: SESSION, message: say(3, "edited ") });
  const versions = await agent.notesHistory({ sessionId: SESSION });
  expect(versions.map(({ n, withheld }) => [n, withheld])).toEqual([
    [2, true],
    [1, true],
  ]);
  expect(JSON.stringify(versions)).not.toContain("banana");
  expect(textOf(versions[0] ?? null, "House rules")).toBe("- be kind");
  expect(textOf(versions[0] ?? null, "Worklog")).toBe("- checked by hand");
});
