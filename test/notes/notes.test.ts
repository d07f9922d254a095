/** The notes as their owner uses them, and what a compaction keeps of them (S1, S2). */
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { afterEach, describe, expect, test } from "vitest";
import { Session, type SessionOf } from "../../src/agent/sessions/session.ts";
import type { AllRooms } from "../../src/rooms.ts";
import { NOTES_VERSIONS } from "../../src/notes/limits.ts";
import { secretRules } from "../../src/redact/secret-rules.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../agents.ts";
import { say, talk, textOf } from "../conversation.ts";
import { noting, ofKind, rest, sayAll, sayWithNotes, SESSION } from "../noted.ts";
import { openGates } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();
afterEach(openGates);

function sectionOf(notes: { sections: readonly { title: string; text: string }[] } | null, title: string): string {
  return notes?.sections.find((section) => section.title === title)?.text ?? "";
}

const section = (title: string, text: string) => ({ sections: [{ title, text }] });

describe("notes by hand", () => {
  test("are read back as they were written, and kept in versions of a bounded number", async () => {
    const { agent } = newAgent(noting);
    expect(await agent.getNotes({ sessionId: SESSION })).toBeNull();
    for (let n = 1; n <= NOTES_VERSIONS + 2; n++) {
      await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "task", text: ` version ${n} ` }] });
    }
    const notes = await agent.getNotes({ sessionId: SESSION });
    expect(notes).toMatchObject({ n: NOTES_VERSIONS + 2, by: "hand", covered: { kind: "none" } });
    expect(notes?.sections.find(({ title }) => title === "Task")?.text).toBe(`version ${NOTES_VERSIONS + 2}`);
    const versions = await agent.notesHistory({ sessionId: SESSION });
    expect(versions.map(({ n }) => n)).toEqual(
      Array.from({ length: NOTES_VERSIONS }, (_, at) => NOTES_VERSIONS + 2 - at),
    );
  });

  test("keep what was covered, and the next update builds on them", async () => {
    const { agent, calls } = newAgent(noting);
    await sayWithNotes(agent);
    const before = await agent.getNotes({ sessionId: SESSION });
    await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "House rules", text: "- be kind" }] });
    expect((await agent.getNotes({ sessionId: SESSION }))?.covered).toEqual(before?.covered);
    await agent.refreshNotes({ sessionId: SESSION });
    await rest(agent);
    expect(calls.at(-1)?.previous).toContain("## House rules\n- be kind");
    expect((await agent.getNotes({ sessionId: SESSION }))?.text).toContain("- be kind");
  });

  test("claimed for everything so far, they cover that and nothing that is said later", async () => {
    const { agent } = newAgent(noting);
    await agent.appendAll({ sessionId: SESSION, messages: talk(0, 4) });
    const sections = [{ title: "Task", text: "- the promises are kept" }];
    await agent.updateNotes({ sessionId: SESSION, sections, coveredId: null });
    await agent.append({ sessionId: SESSION, message: say(4) });
    expect((await agent.getNotes({ sessionId: SESSION }))?.covered).toEqual({ kind: "to", messageId: "m3", step: 0 });
  });

  test("claimed for more, they bring along what the user said in what they now cover", async () => {
    const { agent } = newAgent(noting);
    await agent.appendAll({ sessionId: SESSION, messages: [say(0), say(1), say(2), say(3)] });
    const sections = [{ title: "Task", text: "- the promises are kept" }];
    await agent.updateNotes({ sessionId: SESSION, sections, coveredId: "m3" });
    await sayAll(agent, talk(4, 20));
    const overlay = (await agent.getCompactions({ sessionId: SESSION })).at(-1);
    expect(overlay?.details.model).toBe("notes");
    expect(overlay?.details.facts?.said.map(({ messageId }) => messageId)).toEqual(
      expect.arrayContaining(["m0", "m2"]),
    );
  });

  test("claimed for less, they still go out of use with an edit of what their words tell of (C3)", async () => {
    const { agent } = newAgent(noting);
    await sayWithNotes(agent);
    const { covered } = (await agent.getNotes({ sessionId: SESSION })) ?? {};
    expect(covered).toEqual({ kind: "to", messageId: "m4", step: 0 });
    const sections = [{ title: "Learnings", text: "- patience" }];
    const less = await agent.updateNotes({ sessionId: SESSION, sections, coveredId: "m1" });
    expect(less).toMatchObject({ covered: { messageId: "m1" }, text: expect.stringContaining("keep every") as string });
    await agent.update({ sessionId: SESSION, message: say(3, "edited ") });
    expect(await agent.getNotes({ sessionId: SESSION })).toBeNull();
  });

  test("claimed for much less, what is said since is read again, piece by piece; the words go with what they told of (C3)", async () => {
    const { agent } = newAgent(noting);
    const sessionId = `${SESSION}!40000`;
    await agent.appendAll({ sessionId, messages: talk(0, 40) });
    await rest(agent, sessionId);
    const sections = [{ title: "Learnings", text: "- patience" }];
    const { n: less } = await agent.updateNotes({ sessionId, sections, coveredId: "m1" });
    await agent.append({ sessionId, message: say(40) });
    const runs = ofKind(await rest(agent, sessionId), "notes");
    expect(runs.map(({ outcome }) => outcome?.kind)).toEqual(runs.map(() => "noted"));
    const notes = await agent.getNotes({ sessionId });
    expect(notes).toMatchObject({ by: "update", text: expect.stringContaining("- patience") as string });
    const behind = notes?.covered.kind === "to" ? Number(notes.covered.messageId.slice(1)) : 0;
    expect(behind).toBeGreaterThan(35);
    await agent.update({ sessionId, message: say(35, "edited ") });
    const since = (await agent.notesHistory({ sessionId })).filter(({ n }) => n >= less);
    expect(since.length).toBeGreaterThan(2);
    expect(since.filter(({ standing }) => standing)).toEqual([]);
  });

  test("that could not be told apart, and what is no edit, are refused with what to do before anything is written", async () => {
    const { agent, stub } = newAgent();
    const edits: readonly unknown[] = [
      null,
      {},
      { sections: [] },
      { sections: [null] },
      { sections: ["x"] },
      { sections: [{ title: 1 }] },
      { sections: [{ title: "Task" }] },
      { sections: ["Task", "task"].map((title) => ({ title, text: "a" })) },
      section("a\nb", ""),
      section("# a", ""),
      section("Task", "a\n## Worklog\nb"),
      section("Task", "```sh\nnpm test"),
      section("Task", "a\u2028## Other\u2028planted"),
      section("Task", "a\r## Other"),
      section("Task\u2028## Other", "a"),
      section("Task", "\u202egnp.exe \u{e0041}"),
      section("Task", "é".repeat(300_000)),
    ];
    await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
      const session = Session.create(instance).forSession(SESSION);
      for (const edit of edits) {
        const refusal = await refusalOf(() => session.updateNotes(edit as never));
        expect(refusal, JSON.stringify(edit)).toMatch(/^\[invalid_input\]/);
      }
    });
    expect(await agent.notesHistory({ sessionId: SESSION })).toEqual([]);
  });

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

  test("cannot claim a message that is not on the branch; a session without a policy has none to refresh", async () => {
    const { agent } = newAgent();
    const sections = [{ title: "Task", text: "a" }];
    expect(await refusalOf(() => agent.updateNotes({ sessionId: SESSION, sections, coveredId: "m1" }))).toMatch(
      /^\[unknown_message\]/,
    );
    await agent.append({ message: say(0) });
    expect(await refusalOf(() => agent.refreshNotes({}))).toMatch(/^\[not_configured\].*keepNotes/);
    expect(await refusalOf(() => agent.refreshNotes({ sessionId: SESSION }))).toMatch(/^\[invalid_state\]/);
  });

  test("options that cannot work are refused at once", async () => {
    const { stub } = newAgent();
    await runInDurableObject(stub, (instance: PalimpsestAgent) => {
      for (const bad of [
        { growthTokens: 0 },
        { toolCalls: -1 },
        { waitMs: 1e9 },
        { maxTokens: 0.5 },
        { asBlock: "a:b" },
        { keep: { minTokens: 2, maxTokens: 1 } },
        null,
        { keep: 5 },
        { keep: [] },
        { sections: [{ title: "C" }, { title: "C#" }] },
      ]) {
        const keep = (): unknown => Session.create(instance).keepNotes(bad as never);
        expect(keep, JSON.stringify(bad)).toThrow(/\[invalid_options\]/);
      }
    });
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
    expect(sectionOf(await agent.getNotes({ sessionId: SESSION }), "Learnings")).toBe(long);
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
    expect(sectionOf(after, "Learnings")).toBe(long);
  });

  test("does not keep updates out: one may condense a section that is shown cut", async () => {
    const { agent } = newAgent(noting);
    const long = "- the ledger keeps every promise that was made\n".repeat(4_000);
    await agent.updateNotes({ sessionId: SESSION, sections: [{ title: "Task", text: long }] });
    await sayWithNotes(agent);
    const [update] = ofKind(await rest(agent), "notes");
    expect(update).toMatchObject({ outcome: { kind: "noted" }, modelCalls: 1 });
    expect(sectionOf(await agent.getNotes({ sessionId: SESSION }), "Task")).toContain("the ledger");
  });
});

describe("what notes hold for", () => {
  test("of a resumed session they serve at once, and keep what the minimums ask for", async () => {
    const { agent, calls } = newAgent(noting);
    const sections = [{ title: "Task", text: "- the promises are kept, file by file, as src/parser-0.ts shows" }];
    await agent.updateNotes({ sessionId: SESSION, sections, coveredId: null });
    await agent.appendAll({ sessionId: SESSION, messages: talk(0, 17) });
    const [run] = ofKind(await rest(agent), "compaction");
    expect(run).toMatchObject({ path: "notes", outcome: { kind: "applied" } });
    const [overlay] = await agent.getCompactions({ sessionId: SESSION });
    expect(overlay?.summary).toContain("the promises are kept");
    expect(overlay?.details.pinned.said.length).toBeGreaterThan(0);
    expect(calls.filter(({ kind }) => kind !== "notes")).toEqual([]);
  });

  test("that cover a last message of the user larger than what is to be kept do not hide it", async () => {
    const { agent } = newAgent(noting);
    const sessionId = `${SESSION}!8000`;
    const paste = say(20, "What is wrong with this log? ".repeat(600));
    await agent.appendAll({ sessionId, messages: [...talk(0, 20), paste] });
    await rest(agent, sessionId);
    const sections = [{ title: "Task", text: "- the promises are kept, file by file, as src/parser-0.ts shows" }];
    await agent.updateNotes({ sessionId, sections, coveredId: null });
    const { run } = await agent.compact({ sessionId });
    expect(await agent.waitForRun({ runId: run.id })).toMatchObject({ path: "notes", outcome: { kind: "applied" } });
    const { messages } = await agent.getView({ sessionId });
    expect(messages.slice(-2)).toEqual([say(19), paste]);
  });

  test("over their budget they are cut section by section, and say where the rest is", async () => {
    const { agent } = newAgent(noting);
    const sessionId = `${SESSION}!4000`;
    await sayAll(agent, talk(0, 30), sessionId);
    const long = Array.from({ length: 200 }, (_, n) => `- learned thing ${n}`).join("\n");
    await agent.updateNotes({ sessionId, sections: [{ title: "Learnings", text: long }] });
    await agent.appendAll({ sessionId, messages: talk(30, 36) });
    const [run] = ofKind(await rest(agent, sessionId), "compaction");
    expect(run?.whyModel).toBeUndefined();
    const [overlay] = await agent.getCompactions({ sessionId });
    expect(overlay?.summary).toMatch(/learned thing 3\n[^]*\[Cut here. The whole section: recall\({ notes: \d+,/);
    expect(overlay?.summary).not.toContain("learned thing 199");
    expect((await agent.notesHistory({ sessionId })).some(({ text }) => text.includes("learned thing 199"))).toBe(true);
  });

  test("notes of one branch are not used on another, where an older version holds", async () => {
    const { agent } = newAgent(
      (prompt) => `## Worklog\n- ${prompt.transcript?.includes("Message 9") ? "nine" : "before"}`,
    );
    await sayAll(agent, talk(0, 12));
    expect((await agent.getNotes({ sessionId: SESSION }))?.text).toContain("nine");
    await agent.append({ sessionId: SESSION, message: say(50, "another way. "), parentId: "m5" });
    const other = await agent.getNotes({ sessionId: SESSION });
    expect(other?.text).toContain("before");
    expect(other?.text).not.toContain("nine");
  });

  test("C3: an edit or a deletion of what they cover takes them out of use in the same moment", async () => {
    for (const change of ["edit", "deletion"]) {
      const { agent, stub } = newAgent(noting);
      await sayWithNotes(agent);
      if (change === "edit") await agent.update({ sessionId: SESSION, message: say(1, "secret-free ") });
      else await agent.deleteMessages({ sessionId: SESSION, ids: ["m1"] });
      expect(await agent.getNotes({ sessionId: SESSION })).toBeNull();
      const block = await runInDurableObject(stub, (instance: PalimpsestAgent) =>
        Session.create(instance).forSession(SESSION).getContextBlock("notes"),
      );
      expect(block?.content).toBe("");
    }
  });

  test("S1, B3: a fork has those of its path and no later ones; what is written there stays there", async () => {
    const { agent } = newAgent(
      (prompt) => `## Worklog\n- ${prompt.transcript?.includes("Message 9") ? "nine" : "before"}`,
    );
    await sayAll(agent, talk(0, 12));
    const { id: early } = await agent.forkSession({ sessionId: SESSION, atMessageId: "m6" });
    expect((await agent.getNotes({ sessionId: early }))?.text).toContain("before");
    expect(JSON.stringify(await agent.notesHistory({ sessionId: early }))).not.toContain("nine");
    await agent.updateNotes({ sessionId: early, sections: [{ title: "Task", text: "of the fork" }] });
    expect((await agent.getNotes({ sessionId: SESSION }))?.text).not.toContain("of the fork");
  });

  test("a split passes them on, and may take its summary from them", async () => {
    const { agent, calls } = newAgent(noting);
    await sayAll(agent, talk(0, 14));
    const { run } = await agent.compactAndSplit({ sessionId: SESSION });
    const ended = await agent.waitForRun({ runId: run.id });
    expect(ended).toMatchObject({ path: "notes", outcome: { kind: "split" } });
    const childId = ended.outcome?.kind === "split" ? ended.outcome.childId : "";
    const notes = await agent.getNotes({ sessionId: childId });
    const before = await agent.getNotes({ sessionId: SESSION });
    expect(notes).toMatchObject({ n: before?.n, text: before?.text, covered: { kind: "to" } });
    expect(calls.every(({ kind }) => kind === "notes")).toBe(true);
    expect(textOf((await agent.getView({ sessionId: childId })).messages)).toContain("keep every promise");
  });
});

describe("across the boundary", () => {
  test("the overlay notes what asked for it, how large the view was, and what was kept", async () => {
    const { agent } = newAgent(noting);
    const look: UIMessage["parts"][number] = {
      type: "dynamic-tool",
      toolName: "look",
      toolCallId: "c1",
      state: "output-error",
      input: {},
      errorText: "There is nothing.",
    };
    await sayAll(
      agent,
      talk(0, 18).map((message, n) => (n === 1 ? { ...message, parts: [...message.parts, look] } : message)),
    );
    const [overlay] = await agent.getCompactions({ sessionId: SESSION });
    const [run] = ofKind(await rest(agent), "compaction");
    expect(overlay?.details.boundary).toMatchObject({
      trigger: "threshold",
      tokensBefore: run?.tokensBefore,
      lastMessageId: run?.leafId,
      tools: ["look"],
    });
    const kept = overlay?.details.boundary?.kept;
    const view = await agent.getView({ sessionId: SESSION });
    const at = view.elements.findIndex(({ kind }) => kind === "overlay");
    expect(view.elements[at + 1]).toMatchObject({ id: kept?.fromId });
  });

  test("a list of tasks is shown behind the summary, on either path, as it was then", async () => {
    for (const focus of [undefined, "the ledger"]) {
      const { agent, stub } = newAgent(noting);
      await sayAll(agent, talk(0, 12));
      const asNow = (text: string): Promise<unknown> =>
        runInDurableObject(stub, (instance: PalimpsestAgent) =>
          Session.create(instance).forSession(SESSION).replaceContextBlock("todo", text),
        );
      await asNow("- write the docs");
      const { run } = await agent.compact({ sessionId: SESSION, ...(focus === undefined ? {} : { focus }) });
      expect(await agent.waitForRun({ runId: run.id })).toMatchObject({
        path: focus === undefined ? "notes" : "model",
      });
      await asNow("- done");
      const shown = textOf((await agent.getView({ sessionId: SESSION })).messages);
      expect(shown).toContain("## todo, as it was\\n- write the docs");
      expect(shown).not.toContain("- done");
    }
  });

  test("as a block the model sees the notes all the time; an untouched template is nothing to see", async () => {
    const { agent, stub } = newAgent(noting);
    const prompt = (): Promise<string> =>
      runInDurableObject(stub, (instance: PalimpsestAgent) =>
        SessionManager.create(instance).getSession(SESSION).refreshSystemPrompt(),
      );
    expect(await prompt()).not.toContain("## Task");
    await sayWithNotes(agent);
    expect(await prompt()).toContain("## Task\n- keep every promise");
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
  expect(sectionOf(await agent.getNotes({ sessionId: SESSION }), "Learnings")).toContain(secret);
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
  expect(sectionOf(versions[0] ?? null, "House rules")).toBe("- be kind");
  expect(sectionOf(versions[0] ?? null, "Worklog")).toBe("- checked by hand");
});

/** The agent of docs/notes.md, without a Worker around it. */
function declare(agent: PalimpsestAgent): SessionOf<AllRooms> {
  return new (class {
    readonly palimpsest = agent.palimpsest;
    // example
    session = Session.create(this)
      .withContext("todo", { description: "What is left to do", carry: true })
      .compactAfter(60_000)
      .keepNotes()
      .onAfterCompaction(({ overlay }) => `Compacted ${overlay.spanMessages} messages.`);
    // end
  })().session;
}

test("the example of docs/notes.md runs", async () => {
  const { agent: made, stub } = newAgent(noting);
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const session = declare(agent);
    await session.appendAll(talk(0, 4));
    // example
    const notes = await session.getNotes(); // the newest version that holds for the active branch, or null
    if (notes !== null) console.log(notes.n, notes.tokens, notes.covered, notes.text);

    await session.updateNotes({ sections: [{ title: "User rules", text: "- Never touch `main`." }] }); // by hand
    const { run } = await session.refreshNotes(); // bring them up to date now
    await session.ended(run.id);
    const versions = await session.notesHistory(); // the last ten, newest first
    // end
    expect(versions.map(({ by }) => by)).toEqual(["update", "hand"]);
    expect(versions[0]?.text).toContain("Never touch `main`");
  });
  expect(await made.getNotes({})).toMatchObject({ n: 2 });
});
