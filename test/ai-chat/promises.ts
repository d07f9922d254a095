/** What a chat promises whatever keeps its messages, as the model sees it and as the person sees it. Each host's own tests call it. */
import { evictDurableObject } from "cloudflare:test";
import type { UIMessage } from "ai";
import type { Agent } from "agents";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { AgentCore } from "../../src/agent/agent-core.ts";
import type { Session } from "../../src/agent/sessions/session.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { providerOf } from "../prompt-cache/caching-provider.ts";
import type { Script } from "../scripted-model.ts";
import { tries } from "../tries.ts";
import { compactTool } from "../../src/turn/compact-tool.ts";
import { anyTalk, anyTools, asksForSummary, stepAt, summarise, undo } from "../turn/any-talk.ts";
import { judging } from "../turn/judging-model.ts";
import { STOPS, stoppable } from "../turn/stopped-step.ts";
import { expectLooks, until, user, type Person } from "./chat.ts";
import { given, partOf, toolsIn, type Prompt } from "./chat-model.ts";

type Hosted = Agent & {
  readonly palimpsest: AgentCore & { session(): Session };
  readonly messages: readonly UIMessage[];
};

/** A host's chats, and people who speak with them. A chat's name begins with its special setup. */
export interface Host {
  readonly newChat: (kind?: string, script?: Script) => { readonly name: string; readonly stub: DurableObjectStub };
  readonly inside: <T>(name: string, work: (agent: Hosted) => T | Promise<T>) => Promise<T>;
  readonly connect: (name: string) => Promise<Person>;
  readonly messagesOf: (name: string) => Promise<UIMessage[]>;
  readonly ended: (name: string) => Promise<RunRecord[]>;
  readonly talkUntilCompacted: (name: string, says?: number) => Promise<UIMessage[]>;
  /** The index's messages equal the host's. */
  readonly expectEqual: (name: string) => Promise<void>;
  /** Stores messages as they are behind those that the host has. */
  readonly store: (name: string, messages: readonly UIMessage[]) => Promise<void>;
  /** Messages after which a summary that continues the prompt is the cheaper one. */
  readonly longTalk: number;
}

const SUMMARY = "What was said is told here.";

/** As one text, short enough to be printed. */
const told = (value: unknown): string => JSON.stringify(value ?? null).replaceAll("It matters to the ledger. ", "");

const lastPrompt = (name: string): Prompt | undefined => partOf<Hosted>(name).prompts.at(-1);

export function promisesOf(host: Host): void {
  const { newChat, inside, connect, messagesOf, ended, talkUntilCompacted, expectEqual, store } = host;
  test(
    "any conversation, through each provider's package: the provider takes every request",
    { timeout: 480_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(anyTalk, async (talk) => {
          const { name } = newChat("idle");
          const { model, refused, bodies } = judging(talk.provider, (request) => stepAt(talk, request));
          const session = {
            addCompaction: async (...args: Parameters<Session["addCompaction"]>) =>
              inside(name, ({ palimpsest }) => palimpsest.session().addCompaction(...args)),
          };
          given.set(name, { model, tools: anyTools(() => summarise(session, talk, talk.middle)) });
          await store(name, talk.messages.slice(0, -1));
          await summarise(session, talk, talk.summary);
          const person = await connect(name);
          await person.say(talk.messages.at(-1) as UIMessage);
          if (talk.between === "undo") await inside(name, ({ palimpsest }) => undo(palimpsest.session()));
          if (talk.between === "branch")
            await person.submit((await messagesOf(name)).slice(0, -1), "regenerate-message");
          // A fork is none of theirs: these hosts keep one conversation, and ours of it are refused (conformance.test.ts).
          else await person.say(user("again", "And now?"));
          expect([refused, bodies.length >= 2]).toEqual([[], true]);
        }),
        { numRuns: tries(200) },
      );
    },
  );

  test("the agent may ask for a summary itself: a run starts with its focus, and it is answered at once", async () => {
    const { name } = newChat();
    const person = await connect(name);
    for (let n = 0; n < 7; n++) await person.say(user(`u${n}`));
    const { model, refused, bodies } = judging("anthropic", asksForSummary);
    const compact = await inside(name, ({ palimpsest }) => compactTool(palimpsest.session()));
    given.set(name, { model, tools: { compact } });
    await person.say(user("ask", "Count the shelves."));
    expect([refused, told(bodies[1])]).toEqual([[], expect.stringContaining("A summary is being made.")]);
    expect(await ended(name)).toMatchObject([{ trigger: "manual", focus: "The shelves." }]);
  });

  test.each(STOPS)(
    "a turn that is stopped %s: what was said and done is stored, and known to the next prompt",
    async (stop) => {
      const { name } = newChat("idle");
      const { model, tools, reached, expectKnown } = stoppable(stop);
      given.set(name, { model, tools });
      const person = await connect(name);
      const id = person.request([user("u0", "Pay invoice 7, then read the log.")]);
      await reached();
      person.send({ type: "cf_agent_chat_request_cancel", id });
      await person.finished(id);
      await person.say(user("u1", "What now?"));
      expectKnown();
      const stored = JSON.stringify(await messagesOf(name));
      if (stop !== "while the model thinks") expect(stored).toContain("I pay the invoice");
    },
  );

  test("the model is sent the summary and the recent messages; the person sees everything, before and after eviction", async () => {
    const { name, stub } = newChat();
    const seen = await talkUntilCompacted(name);
    expect((await ended(name))[0]?.outcome).toMatchObject({ kind: "applied" });
    const whole = await (await connect(name)).say(user("last", "And now?"));
    expect(told(whole.slice(0, seen.length))).toBe(told(seen));
    expect(whole).toHaveLength(seen.length + 2);
    expect(told(lastPrompt(name))).toContain(SUMMARY);
    expect(told(lastPrompt(name))).not.toContain("Please look at u4.");
    expect(told(lastPrompt(name))).toContain("And now?");
    await evictDurableObject(stub);
    expect(told(await messagesOf(name))).toBe(told(whole));
    expect(told(await inside(name, ({ messages }) => messages))).toBe(told(whole));
    await (await connect(name)).say(user("later", "And after a sleep?"));
    expect(told(lastPrompt(name))).toContain(SUMMARY);
    expect(told(lastPrompt(name))).not.toContain("Please look at u4.");
    await expectEqual(name);
  });

  test("a bound on messages compacts the view by their number, and the person sees everything", async () => {
    const { name } = newChat("counted");
    const person = await connect(name);
    for (let n = 0; n < 7; n++) await person.say(user(`u${n}`));
    expect((await ended(name))[0]).toMatchObject({ trigger: "messages", outcome: { kind: "applied" } });
    expect(await person.say(user("last", "And now?"))).toHaveLength(16);
    expect(told(lastPrompt(name))).toContain(SUMMARY);
    const status = await inside(name, async ({ palimpsest }) => palimpsest.session().status());
    expect(status.viewMessages).toBeLessThanOrEqual(12);
    expect(status.maxMessages).toBe(12);
  });

  test("no append waits for a summariser", async () => {
    const { name } = newChat(undefined, () => new Promise(() => undefined));
    const person = await connect(name);
    for (let n = 0; n < 14; n++) await person.say(user(`u${n}`));
    expect(await messagesOf(name)).toHaveLength(28);
    await inside(name, ({ palimpsest }) => expect(palimpsest.runs.live("")).toHaveLength(1));
  });

  test("tool loop: each step is sent the view and all that the turn has brought; a summary that lands in the middle is used by the next step", async () => {
    const { name } = newChat("idle");
    const part = partOf<Hosted>(name);
    const person = await connect(name);
    for (let n = 0; n < 5; n++) await person.say(user(`u${n}`));
    const from = part.prompts.length;
    part.script = async (_prompt, call, { palimpsest }) => {
      const step = call - from;
      if (step === 2) await palimpsest.session().addCompaction("They looked at five things.", "u0", "u3");
      return step < 4 ? { tool: "look", id: `look-${step}`, input: { n: step } } : "Done.";
    };
    const after = await person.say(user("loop", "Look around."));
    expectLooks(part.prompts.slice(from));
    expect(after.filter(({ role }) => role === "assistant")).toHaveLength(6);
    expect(told(after)).not.toContain("They looked at five things.");
    await expectEqual(name);
  });

  test("approval: a call that a person allows is run once, and stands once in the prompt", async () => {
    const { name } = newChat();
    await talkUntilCompacted(name);
    const person = await connect(name);
    partOf<Hosted>(name).script = (prompt) =>
      toolsIn(prompt).results.includes("pay-1") ? "It is paid." : { tool: "pay", id: "pay-1", input: { n: 7 } };
    await person.say(user("pay", "Pay it."));
    person.send({ type: "cf_agent_tool_approval", toolCallId: "pay-1", approved: true, autoContinue: true });
    await until(async () => (told((await messagesOf(name)).at(-1)).includes("It is paid.") ? true : undefined));
    expect(toolsIn(lastPrompt(name))).toEqual({ calls: ["pay-1"], results: ["pay-1"] });
    expect(told(lastPrompt(name))).toContain("Paid 7.");
    expect(told(lastPrompt(name))).toContain(SUMMARY);
    await expectEqual(name);
  });

  test("behind a guard a chat goes on: its frames are counted as calls are, and one too many is answered", async () => {
    const { name } = newChat("guarded");
    const person = await connect(name);
    await person.submit([user("u0", "Hello?")]);
    expect(await messagesOf(name)).toHaveLength(2);
    person.send({ type: "cf_agent_state", state: { mine: true } });
    for (let n = 0; n < 80; n++) person.send({ type: "cf_agent_stream_resume_request" });
    await until(() => person.heard.find((frame) => String(frame["error"]).includes("rate_limited")));
    const refused = person.heard.find((frame) => String(frame["error"]).includes("invalid_input"));
    expect(refused).toMatchObject({ type: "palimpsest:error" });
    expect((await inside(name, ({ state }) => state as object | undefined)) ?? {}).not.toMatchObject({ mine: true });
  });

  test("a summary continues the prompt that the chat last sent, and the provider reads that prompt from its cache", async () => {
    const { name } = newChat("cached-own");
    await talkUntilCompacted(name, host.longTalk);
    // On a busy machine, a run that finds nothing to do may follow the one that summarises.
    expect((await ended(name)).map(({ outcome }) => outcome?.kind)).toContain("applied");
    const { asked } = providerOf(name);
    const at = asked.findIndex(({ summary }) => summary !== null);
    expect(asked[at]?.summary?.kind).toBe("continue");
    expect(asked[at]?.cachedTokens).toBeGreaterThan(1_000);
    const turn = asked.slice(0, at).findLast(({ options }) => options.prompt.at(-1)?.role === "user");
    const begun = asked[at]?.options.prompt.slice(0, -1) ?? [];
    expect(begun).toEqual(turn?.options.prompt.slice(0, begun.length));
  });
}
