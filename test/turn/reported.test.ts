/** Situations that people reported of other agents, through a turn of ours and each provider's package: the provider takes every request. */
import { generateText, isStepCount, type UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import { keepTurn } from "../../src/turn/turn.ts";
import type { Part } from "../../src/steps/message/message.ts";
import { inside } from "../agent/inside.ts";
import { newAgent } from "../agents.ts";
import { say, stepStart, text } from "../steps/conversations.ts";
import { providers, type Provider } from "../steps/view/providers/bodies.ts";
import { anyTools } from "./any-talk.ts";
import { judging } from "./judging-model.ts";

const file = (mediaType: string, filename: string): Part => ({
  type: "file",
  mediaType,
  filename,
  url: `data:${mediaType};base64,JVBERi0xLjQKJcOk`,
});
const start = {
  type: "custom",
  kind: "anthropic.message_start",
  providerMetadata: { anthropic: { id: "m", model: "claude-sonnet-4-5" } },
} as unknown as Part;
const call = (fields: object): Part =>
  ({ type: "tool-read", toolCallId: "c1", input: {}, ...fields }) as unknown as Part;
const searched = (fields: object): Part =>
  call({ type: "tool-web_search", toolCallId: "srvtoolu_1", providerExecuted: true, input: { query: "x" }, ...fields });
const asked = (id: string, ...parts: Part[]): UIMessage => say(id, "user", ...parts, text("Go on."));
const answered = (id: string, ...parts: Part[]): UIMessage => say(id, "assistant", stepStart, ...parts);

interface Reported {
  readonly messages: readonly UIMessage[];
  /** What the reply already says. */
  readonly reply?: readonly Part[];
  /** The first and the last message that a summary hides. */
  readonly hides?: readonly [string, string];
}

async function bodies(provider: Provider, { messages, reply = [], hides }: Reported) {
  return inside(newAgent(), async (manager) => {
    const session = manager.getSession("x!1000000");
    await session.appendAll([...messages]);
    if (hides !== undefined) await session.addCompaction("## State\n- Done.", ...hides);
    await session.appendMessage({ id: "reply", role: "assistant", parts: [...reply] });
    const judged = judging(provider, (request) =>
      request === 0
        ? [{ type: "tool-call", toolCallId: "c9", toolName: "read", input: "{}" }]
        : [{ type: "text", text: "Done." }],
    );
    const tools = anyTools(async () => undefined);
    const kept = keepTurn(session, { replyId: "reply", tools });
    const base = { model: judged.model, tools, maxRetries: 0, stopWhen: isStepCount(4) };
    await generateText({ ...base, ...(await kept.prepareStep()), ...kept });
    kept.mustBeKept();
    return judged;
  });
}

const long = "It matters to the ledger. ".repeat(60);
const REPORTED: Readonly<Record<string, Reported>> = {
  "a search of the provider that was cut off before its result": {
    messages: [asked("u"), answered("a", text("I search."), searched({ state: "input-available" })), asked("u2")],
  },
  "the same while its input streamed": {
    messages: [asked("u"), answered("a", text("I search."), searched({ state: "input-streaming" })), asked("u2")],
  },
  "a reply that goes on behind its own words": { messages: [asked("u")], reply: [stepStart, text("Half an ans  ")] },
  "two questions behind a summary": {
    messages: [asked("u", text(long)), answered("a", text(long)), asked("u2"), asked("u3")],
    hides: ["u", "a"],
  },
  "two documents of one name": {
    messages: [
      asked("u", file("application/pdf", "report.pdf")),
      answered("a", text("Read.")),
      asked("u2", file("application/pdf", "report.pdf")),
    ],
  },
  "an archive, a sound and a film that another model took": {
    messages: [asked("u", file("application/zip", "a.zip"), file("audio/wav", "a.wav"), file("video/mp4", "a.mp4"))],
  },
  "pictures of kinds that few providers read": {
    messages: [asked("u", file("image/svg+xml", "a.svg"), file("image/heic", "a.heic"))],
  },
  "a result beside the user's text, whose call a summary hides": {
    messages: [
      asked("u", text(long)),
      answered("a", call({ state: "input-available" }), text(long)),
      say("u2", "user", call({ state: "output-available", output: "found" }), text("Go on.")),
    ],
    hides: ["u", "a"],
  },
  "steps of another model without a thought, in the turn of one that signs its calls": {
    messages: [asked("u")],
    reply: [stepStart, call({ state: "output-available", output: "found" })],
  },
  "one of two calls of a step was answered before the history was cut": {
    messages: [
      asked("u"),
      answered(
        "a",
        call({ state: "output-available", output: "x" }),
        call({ toolCallId: "c2", state: "input-available" }),
      ),
      asked("u2"),
    ],
  },
  "a call whose tool returned nothing": {
    messages: [asked("u"), answered("a", call({ state: "output-available", output: "" })), asked("u2")],
  },
  "an answer that Claude streamed": { messages: [asked("u"), answered("a", start, text("Seen.")), asked("u2")] },
  "an empty answer that Claude streamed behind a call": {
    messages: [
      asked("u"),
      answered("a", start, call({ state: "output-available", output: "x" }), stepStart, start),
      asked("u2"),
    ],
  },
  "a stream of Claude that was stopped at its start": {
    messages: [asked("u"), answered("a", start), asked("u2")],
    reply: [stepStart, start],
  },
  "an answer of blanks between two questions": { messages: [asked("u"), answered("a", text("  \n")), asked("u2")] },
};

describe.each(Object.entries(REPORTED))("%s", (_name, reported) => {
  test.each(providers)("%s", async (provider) => {
    const { refused, bodies: sent } = await bodies(provider, reported);
    expect([refused, sent.length]).toEqual([[], 2]);
  });
});
