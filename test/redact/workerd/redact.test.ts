/**
 * Secrets in a conversation. With the option no summariser sees one. Stored messages are unchanged, and an export may leave secrets out.
 */
import { Session } from "../../../src/agent/sessions/session.ts";
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { secretRules } from "../../../src/redact/secret-rules.ts";
import { newAgent, refusalOf, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { noting, sayAll, SESSION } from "../../noted.ts";
import { summaryOf, withInstructions } from "../../scripted-model.ts";
import type { PalimpsestAgent } from "../../worker.ts";

skipRetryDelays();

const SECRET = `ghp_${"aB3dE5fG7h".repeat(4)}`;

async function compactWithSecrets(redact: boolean) {
  const made = newAgent((prompt) => summaryOf(prompt, "what was done"));
  await runInDurableObject(made.stub, async (agent: PalimpsestAgent) => {
    const session = Session.create(agent).compactAfter(2_000);
    await (redact ? session.redactSecrets(secretRules()) : session).status();
  });
  const messages = talk(0, 17).map((each, n) => (n % 4 === 1 ? say(n, `Push with ${SECRET} now. `) : each));
  await made.agent.appendAll({ messages });
  const [run] = await made.agent.runs({});
  const ended = await made.agent.waitForRun({ runId: run?.id ?? "" });
  return { ...made, messages, ended, prompts: JSON.stringify(made.calls) };
}

test("with redactSecrets no prompt holds one, the overlay does not pin one, and every original is as it was (M1)", async () => {
  const { agent, ended, prompts, messages } = await compactWithSecrets(true);
  expect(ended.outcome).toMatchObject({ kind: "applied", degraded: false });
  expect(prompts).toContain("[redacted: repository token]");
  expect(prompts).not.toContain(SECRET);
  expect(JSON.stringify(await agent.getCompactions({}))).not.toContain(SECRET);
  expect(await agent.exportTranscript({})).toBe(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
});

test("without rules the summariser is shown what was said, and an export that is to leave secrets out is refused (M1)", async () => {
  const { agent, prompts, messages } = await compactWithSecrets(false);
  expect(prompts).toContain(SECRET);
  expect(await agent.exportTranscript({})).toBe(messages.map((each) => `${JSON.stringify(each)}\n`).join(""));
  expect(await refusalOf(() => agent.exportTranscript({ redact: true }))).toContain("[not_configured]");
});

test("an export leaves secrets out when it is asked to", async () => {
  const { agent } = await compactWithSecrets(true);
  const clean = await agent.exportTranscript({ redact: true });
  expect(clean).not.toContain(SECRET);
  expect(clean.split("\n")).toHaveLength(18);
});

test("redactSecrets without rules is refused where it is called", async () => {
  const { stub } = newAgent();
  await runInDurableObject(stub, (agent: PalimpsestAgent) => {
    const session = Session.create(agent);
    for (const rules of [undefined, true, {}, { id: "mine" }]) {
      expect(() => session.redactSecrets(rules as never)).toThrow("palimpsest/redact");
    }
  });
});

test("notes are neither made of one nor pin one, whether an update reads what was said or a person claims it", async () => {
  const { agent, stub, calls } = newAgent(noting);
  const secrets = { sessionId: SESSION, messages: [say(0), say(1), say(2, `Never push without ${SECRET} again. `)] };
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance).forSession(SESSION).redactSecrets(secretRules()).status();
  });
  await agent.appendAll(secrets);
  const sections = [{ title: "Task", text: "- the promises are kept" }];
  await agent.updateNotes({ sessionId: SESSION, sections, coveredId: null });
  await sayAll(
    agent,
    talk(3, 20).map((each, n) => (n % 4 === 1 ? say(n + 3, `Push with ${SECRET} now. `) : each)),
  );
  expect(calls.some(({ kind, transcript }) => kind === "notes" && transcript?.includes("[redacted: "))).toBe(true);
  expect(JSON.stringify(calls)).not.toContain(SECRET);
  const overlays = await agent.getCompactions({ sessionId: SESSION });
  expect(overlays.some(({ details }) => details.model === "notes")).toBe(true);
  expect(JSON.stringify(overlays)).toContain("Never push without");
  expect(JSON.stringify(overlays)).not.toContain(SECRET);
});

test("a draft that was paid for before the option was set is not shown again: the redacted source is another one (R3)", async () => {
  const { agent, stub, ended, calls } = await compactWithSecrets(false);
  if (ended.outcome?.kind !== "applied") throw new Error("The run laid no overlay.");
  await agent.rollback({ overlayId: ended.outcome.overlayId });
  const paid = calls.length;
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance).compactAfter(2_000).redactSecrets(secretRules()).status();
  });
  await agent.waitForRun({ runId: (await agent.compact({})).run.id });
  expect(calls.length).toBeGreaterThan(paid);
  expect(JSON.stringify(calls.slice(paid))).not.toContain(SECRET);
});

/** Calls that return messages unchanged, for the agent's own model and for readers and exports. */
const AS_SAID = ["getHistory", "getView", "loadEvents", "exportTranscript", "getRecentHistory", "search"];

/** Every call that only reads, with the answer that it gives. */
async function readAll(agent: PalimpsestAgent, sessionId: string): Promise<ReadonlyMap<string, string>> {
  const [run] = await agent.runs({ sessionId });
  const [overlay] = await agent.getCompactions({ sessionId });
  const ofRun = { runId: run?.id };
  const ofOverlay = { sessionId, overlayId: overlay?.id };
  const reads: readonly (readonly [keyof PalimpsestAgent, object])[] = [
    ...(["getHistory", "getView", "loadEvents", "exportTranscript"] as const).map(inSession),
    ["getRecentHistory", { sessionId, maxBytes: 1_000_000 }],
    ...(["status", "plan", "runs", "getCompactions", "getNotes", "notesHistory"] as const).map(inSession),
    ["search", { sessionId, query: "password" }],
    ["listSessions", {}],
    ["liveRuns", {}],
    ["health", {}],
    ["getRun", ofRun],
    ["getProposal", ofRun],
    ...(overlay === undefined
      ? []
      : ([
          ["getProvenance", ofOverlay],
          ["diffCompaction", ofOverlay],
        ] as const)),
  ];
  function inSession<Name extends string>(name: Name) {
    return [name, { sessionId }] as const;
  }
  const answers = new Map<string, string>();
  for (const [name, input] of reads) {
    const calls = agent as unknown as Record<string, (input: object) => Promise<unknown>>;
    answers.set(name, JSON.stringify(await calls[name]?.(input)) ?? "");
  }
  return answers;
}

const PASSWORD = "hunter22x";
const RULE = `Never tell anybody the password ${PASSWORD}, whatever they say. `;

test("a rule that holds a password is pinned without it, and nothing that is kept of a conversation holds one", async () => {
  const standing = ["Never tell anybody the password [redacted: secret], whatever they say."];
  const { agent, stub, calls } = newAgent((prompt) =>
    withInstructions(summaryOf(prompt, `the password is ${PASSWORD}`), { standing }),
  );
  const session = "s";
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const configured = Session.create(instance).forSession(session).withContext("todo", { carry: true });
    await configured.compactAfter(2_000).requireApproval().redactSecrets(secretRules()).status();
    await configured.replaceContextBlock("todo", `- log in, password=${PASSWORD}`);
  });
  const messages = talk(0, 14).map((each, n) => (n === 2 ? say(n, RULE) : each));
  await agent.appendAll({ sessionId: session, messages });
  const { run, joined } = await agent.compact({
    sessionId: session,
    focus: `logging in with password ${PASSWORD}`,
  });
  expect(joined).toBe(false);
  await untilWaiting(agent, run.id);
  expect(leaks(await readAll(agent, session))).toEqual(AS_SAID);
  await agent.approveRun({ runId: run.id });
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  const answers = await readAll(agent, session);
  expect(answers.get("getCompactions")).toContain("Never tell anybody the password [redacted: secret], whatever");
  expect(answers.get("getCompactions")).toContain("- log in, password=[redacted: secret]");
  expect(leaks(answers)).toEqual(["exportTranscript", "search"]);
  expect(JSON.stringify(calls)).not.toContain(PASSWORD);
});

function leaks(answers: ReadonlyMap<string, string>): string[] {
  return [...answers].filter(([, answer]) => answer.includes(PASSWORD)).map(([name]) => name);
}

async function untilWaiting(agent: PalimpsestAgent, runId: string): Promise<void> {
  for (;;) {
    const { state, outcome } = await agent.getRun({ runId });
    if (state === "proposed") return;
    expect(outcome).toBeNull();
    await scheduler.wait(1);
  }
}

test("a compaction function of the caller's own is shown none either, and neither what it writes nor throws keeps one", async () => {
  const { agent, stub } = newAgent();
  const seen: string[] = [];
  let fails = true;
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance)
      .compactAfter(2_000)
      .redactSecrets(secretRules())
      .onCompaction(async (messages) => {
        seen.push(JSON.stringify(messages));
        if (fails) throw new Error(`Cannot log in: password=${PASSWORD}`);
        return { summary: `Log in, password=${PASSWORD}`, fromMessageId: "m2", toMessageId: "m9" };
      })
      .status();
  });
  await agent.appendAll({ messages: talk(0, 17).map((each, n) => (n === 2 ? say(n, RULE) : each)) });
  const [failed] = await agent.runs({});
  await agent.waitForRun({ runId: failed?.id ?? "" });
  fails = false;
  const { run } = await agent.compact({});
  expect((await agent.waitForRun({ runId: run.id })).outcome).toMatchObject({ kind: "applied" });
  expect(seen).toHaveLength(2);
  expect(seen.join("")).toContain("[redacted: secret]");
  expect(seen.join("")).not.toContain(PASSWORD);
  const kept = JSON.stringify([await agent.runs({}), await agent.getCompactions({})]);
  expect(kept).toContain("Never tell anybody the password [redacted: secret]");
  expect(kept).not.toContain(PASSWORD);
});

test("a summary that is laid by hand or as an event pins no secret, though its own words stay", async () => {
  const { agent, stub } = newAgent();
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    const session = Session.create(instance).redactSecrets(secretRules());
    await session.appendAll(talk(0, 12).map((each, n) => (n === 2 || n === 7 ? say(n, RULE) : each)));
    await session.addCompaction("What was done first, in short.", "m0", "m4");
  });
  const event = {
    action: "compaction" as const,
    summary: "And then, in short.",
    fromMessageId: "m6",
    toMessageId: "m9",
  };
  await agent.appendEvents({ events: [event] });
  const kept = JSON.stringify(await agent.getCompactions({}));
  expect(kept.match(/Never tell anybody the password \[redacted: secret\]/g)?.length).toBeGreaterThan(0);
  expect(kept).not.toContain(PASSWORD);
});

test("notes that a person wrote stay as they are; the summary that is made of them holds no secret", async () => {
  const { agent, stub } = newAgent(noting);
  await runInDurableObject(stub, async (instance: PalimpsestAgent) => {
    await Session.create(instance).forSession(SESSION).redactSecrets(secretRules()).status();
  });
  await sayAll(agent, talk(0, 11));
  const sections = [{ title: "Learnings", text: `- log in, password=${PASSWORD}` }];
  await agent.updateNotes({ sessionId: SESSION, sections });
  await sayAll(agent, talk(11, 20));
  const overlays = await agent.getCompactions({ sessionId: SESSION });
  expect(overlays.map(({ details }) => details.model)).toContain("notes");
  expect(JSON.stringify(overlays)).toContain("log in, password=[redacted: secret]");
  expect(JSON.stringify(overlays)).not.toContain(PASSWORD);
  expect(JSON.stringify(await agent.getNotes({ sessionId: SESSION }))).toContain(PASSWORD);
});
