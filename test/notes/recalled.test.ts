/** Where notes are cut, a line says so and names the query for `recall`, which then answers the whole text. */
import { Session } from "../../src/agent/sessions/session.ts";
import type { FullSession } from "../rooms.ts";
import { runInDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { NOTES_VERSIONS } from "../../src/notes/limits.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { say, talk } from "../conversation.ts";
import { rest, sayAll } from "../noted.ts";
import { summaryOf } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";

skipRetryDelays();

const KEPT = { sectionTokens: 200, maxTokens: 1_000, asBlock: "notes" } as const;

function lines(count: number, what = "line"): string {
  return Array.from({ length: count }, (_, n) => `- ${what} ${n} of what was found out about the parser`).join("\n");
}

/** What the pointers in a text say to ask for. */
function pointersIn(text: string): Record<string, unknown>[] {
  const asked = [...text.matchAll(/recall\(\{ ([^\n]*?) \}\)/g)].map(([, fields = ""]) => `{ ${fields} }`);
  return asked.map((fields) => JSON.parse(fields.replaceAll(/([{,] )(\w+):/g, '$1"$2":')) as Record<string, unknown>);
}

function shownText(messages: readonly UIMessage[]): string {
  return messages.flatMap(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : ""))).join("\n");
}

/** The model's own tool. */
async function ask(session: FullSession, request: Record<string, unknown>): Promise<string> {
  const { recall } = await session.tools();
  return (await recall?.execute?.(request as never, { toolCallId: "c", messages: [], context: {} } as never)) as string;
}

/** Follows the answers' own advice until they give no more. Returns the text without the words around it. */
async function askAll(session: FullSession, request: Record<string, unknown>): Promise<string[]> {
  const answer = await ask(session, request);
  const [next] = pointersIn(answer);
  const body = answer.replace(/^\[[^\n]*\]\n/, "").replace(/\n\n\([^\n]*\)$/, "");
  return next === undefined ? [body] : [body, ...(await askAll(session, next))];
}

function inNoted<T>(work: (session: FullSession, agent: PalimpsestAgent) => Promise<T>): Promise<T> {
  return runInDurableObject(newAgent().stub, (agent: PalimpsestAgent) =>
    work(Session.create(agent).compactAfter(20_000).keepNotes(KEPT), agent),
  );
}

test("the line where a section is cut names what to ask for, and recall reads that section whole", async () => {
  await inNoted(async (session) => {
    const title = 'What "they" said';
    await session.updateNotes({ sections: [{ title, text: lines(60) }] });
    const shown = (await session.getContextBlock("notes"))?.content ?? "";
    expect(shown).toContain("line 3 of");
    expect(shown).not.toContain("line 59 of");
    const [pointer, ...others] = pointersIn(shown);
    expect([pointer, others]).toEqual([{ notes: 1, section: title }, []]);
    expect(await ask(session, pointer ?? {})).toContain(lines(60));
    // Blank fields mean none, also beside it.
    expect(await ask(session, { ...pointer, query: "", ids: [] })).toContain(lines(60));
    expect(await ask(session, { notes: 1 })).toContain(`## ${title}\n${lines(60)}`);
  });
});

test("a text that no answer holds is read in pieces, each of which says how to ask for the next", async () => {
  await inNoted(async (session) => {
    const text = `${lines(600)}\n${"without any break 🦜 ".repeat(3_000)}end\n${lines(3, "last")}`;
    await session.updateNotes({ sections: [{ title: "Worklog", text }] });
    const pieces = await askAll(session, { notes: 1, section: "worklog" });
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join("")).toBe(text.trim());
    for (const piece of pieces) expect(session.countTokens(piece)).toBeLessThanOrEqual(4_000);
  });
});

test("the session's callers are told the same, within the tokens that they name", async () => {
  await inNoted(async (session) => {
    await session.updateNotes({ sections: [{ title: "Worklog", text: lines(200) }] });
    const found = await session.recall({ notes: 1, section: "Worklog", maxTokens: 500 });
    expect(found).toMatchObject({ kind: "found", messages: [], leftOut: null });
    expect(session.countTokens(found.text)).toBeLessThanOrEqual(500);
    expect(await session.recall({ notes: 1, section: "Task" })).toMatchObject({ kind: "found", leftOut: 0 });
  });
});

test("what is not there is answered with what is", async () => {
  await inNoted(async (session) => {
    expect(await ask(session, { notes: 1 })).toContain("There are no notes");
    await session.updateNotes({ sections: [{ title: "Worklog", text: "- one" }] });
    expect(await ask(session, { notes: 7 })).toMatch(/Version 7 .*: 1\./);
    expect(await ask(session, { notes: 1, section: "Nothing of the kind" })).toMatch(/"Worklog"/);
    expect(await session.recall({ notes: 7 })).toMatchObject({ kind: "nothing", reason: "unknown" });
  });
});

test("a summary's pointer leads to its version however many came since", async () => {
  const { agent, stub } = newAgent((prompt) =>
    prompt.kind === "notes" ? "## Worklog\n- the parser was changed" : summaryOf(prompt, "summarised"),
  );
  const session = await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const keep = { minTokens: 300, minTextBlockMessages: 2, maxTokens: 1_200 };
    const made = Session.create(agent)
      .compactAfter(2_000)
      .keepNotes({ sectionTokens: 150, maxTokens: 600, growthTokens: 600, toolCalls: 0, keep });
    await made.status();
    await made.updateNotes({ sections: [{ title: "Key results", text: lines(60) }] });
    return made;
  });
  await sayAll(agent, talk(0, 20), "");
  await rest(agent, "");
  const [pointer] = pointersIn(shownText((await agent.getView({})).messages));
  expect(pointer).toMatchObject({ section: "Key results" });
  for (let n = 0; n < NOTES_VERSIONS + 3; n++) {
    await agent.updateNotes({ sections: [{ title: "Key results", text: `- only this now, ${n}` }] });
  }
  expect((await agent.notesHistory({})).map(({ n }) => n)).not.toContain(pointer?.["notes"]);
  await runInDurableObject(stub, async () => expect(await ask(session, pointer ?? {})).toContain(lines(60)));
});

test("a pointer that a split took along leads to what it meant, whatever the new session has noted since", async () => {
  const { agent, stub } = newAgent(() => "## Worklog\n- the parser was changed");
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    const keep = { minTokens: 300, minTextBlockMessages: 2, maxTokens: 1_200 };
    const made = Session.create(agent).compactAfter(20_000);
    made.keepNotes({ sectionTokens: 150, maxTokens: 600, growthTokens: 600, toolCalls: 0, keep });
    await made.updateNotes({ sections: [{ title: "Task", text: "- before" }] });
    await made.updateNotes({ sections: [{ title: "Key results", text: lines(60) }] });
  });
  await sayAll(agent, talk(0, 16), "");
  await rest(agent, "");
  const { run } = await agent.compactAndSplit({});
  const { outcome, path } = await agent.waitForRun({ runId: run.id });
  expect(path).toBe("notes");
  const sessionId = outcome?.kind === "split" ? outcome.childId : "";
  const { messages } = await agent.getView({ sessionId });
  const [pointer] = pointersIn(shownText(messages));
  expect(pointer).toMatchObject({ section: "Key results" });
  for (let n = 0; n < NOTES_VERSIONS + 3; n++) {
    await agent.updateNotes({ sessionId, sections: [{ title: "Key results", text: `- there, ${n}` }] });
    expect((await agent.recall({ sessionId, ...pointer })).text).toContain(lines(60));
  }
});

test("a version stays as long as a newer one carries a pointer to it on", async () => {
  await inNoted(async (session) => {
    await session.updateNotes({ sections: [{ title: "Worklog", text: lines(60) }] });
    const shown = /## Worklog\n([^]*?)(?=\n\n## |$)/.exec((await session.getContextBlock("notes"))?.content ?? "")?.[1];
    const [pointer] = pointersIn(shown ?? "");
    await session.updateNotes({ sections: [{ title: "Worklog", text: shown ?? "" }] });
    for (let n = 0; n < 2 * NOTES_VERSIONS; n++) {
      await session.updateNotes({ sections: [{ title: "Task", text: `- task ${n}` }] });
    }
    expect(await ask(session, pointer ?? {})).toContain(lines(60));
    await session.updateNotes({ sections: [{ title: "Worklog", text: "- all of it is done" }] });
    for (let n = 0; n < NOTES_VERSIONS; n++)
      await session.updateNotes({ sections: [{ title: "Task", text: `- ${n}` }] });
    expect(await ask(session, pointer ?? {})).toContain("Version 1 of the notes is not kept");
  });
});

test("of a version whose messages were edited since, only what a person wrote is read", async () => {
  const { agent, stub } = newAgent(() => "## Worklog\n- said by the model");
  await runInDurableObject(stub, async (agent: PalimpsestAgent) => {
    await Session.create(agent).compactAfter(20_000).keepNotes({ growthTokens: 300, toolCalls: 0 }).status();
  });
  await sayAll(agent, talk(0, 6), "");
  await rest(agent, "");
  const notes = await agent.updateNotes({ sections: [{ title: "Learnings", text: "- said by me" }] });
  await agent.update({ message: say(0, "Changed. ") });
  const { text } = await agent.recall({ notes: notes.n });
  expect(text).toContain("- said by me");
  expect(text).not.toContain("- said by the model");
});
