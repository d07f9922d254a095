/**
 * A hundred thousand requests to a provider that binds each thought to all before it, through the prompts of turns over a session in memory:
 * summaries, shortened and fitted views, reminders, edits, and other tools, instructions and models, also in the middle of a turn. None is refused.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { tool, type StepResult, type ToolSet, type UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Session } from "../../../src/agent/sessions/session.ts";
import { summaryMessage } from "../../../src/facts/render.ts";
import { fitView } from "../../../src/fit/fit-view.ts";
import { truncateOlderMessages } from "../../../src/fit/truncate.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { repairMessages } from "../../../src/steps/view/repair.ts";
import { Prompts } from "../../../src/turn/prompts.ts";
import { everything } from "../../tries.ts";
import { signing } from "../signing-provider.ts";

const REQUESTS = everything ? 100_000 : 3_000;

const CHANGES = ["summary", "undo", "edit", "fit", "whole", "shorten", "tools", "instructions", "remind"] as const;
/** The first two sign their thoughts, and the others make none. */
const MODELS = [
  { provider: "anthropic.messages", modelId: "claude-opus-5" },
  { provider: "anthropic.messages", modelId: "claude-sonnet-5" },
  { provider: "mistral.chat", modelId: "mistral-large-latest" },
  { provider: "openai.responses", modelId: "gpt-5" },
] as const;

type Change = "nothing" | "model" | (typeof CHANGES)[number];

interface Turn {
  readonly steps: number;
  readonly before: Change;
  readonly middle: Change;
  readonly at: number;
}

/** What prompts read of a session, without a store. */
class InMemory {
  readonly path: UIMessage[] = [];
  readonly countTokens = estimateTokens;
  readonly turnTokens = undefined;
  readonly #notes = new Map<string, string>();
  readonly thoughtNotes = {
    prefixes: (marks: readonly string[]) => new Map([...this.#notes].filter(([mark]) => marks.includes(mark))),
    keep: (prefixes: ReadonlyMap<string, string>) => prefixes.forEach((prefix, mark) => this.#notes.set(mark, prefix)),
  };
  hidden = 0;
  summaries = 0;

  messageRoom(limit: number): number {
    return limit;
  }

  async viewWith(
    { maxTokens, truncate }: { maxTokens?: number; truncate?: boolean },
    {
      arrange,
    }: { arrange: (messages: UIMessage[]) => Promise<{ messages: UIMessage[]; tokens: number; reserved: number }> },
  ) {
    const rest = this.path.slice(this.hidden);
    const summary = summaryMessage({
      overlayId: `o${this.summaries}`,
      summary: `Until ${this.summaries}.`,
      spanMessages: 2,
    });
    const view = repairMessages(this.hidden === 0 ? rest : [summary, ...rest]);
    const shown = await arrange(view);
    const messages = truncate === true ? truncateOlderMessages(shown.messages, { keepRecent: 2 }) : shown.messages;
    if (maxTokens === undefined) return { messages, tokens: 0 };
    return fitView(messages, { budget: Math.max(64, maxTokens - shown.reserved), countTokens: estimateTokens });
  }
}

/** A conversation. Returns what the provider saw. */
async function converse(turns: readonly Turn[]) {
  const session = new InMemory();
  const { model: signed, told, steps } = signing(0);
  let [asked, model, description, instructions, board] = [0, 0, "Looks.", "You keep a ledger.", ""];
  let [isFitted, wasShortened, isShortened, plain] = [false, false, false, 0];
  const change = (what: Change): void => {
    const { path } = session;
    const [first] = path;
    if (what === "summary" && path.length > session.hidden + 4) {
      session.hidden = path.length - 3;
      session.summaries++;
    }
    if (what === "undo") session.hidden = 0;
    if (what === "edit" && first !== undefined)
      path[0] = { ...first, parts: [{ type: "text", text: `Edited ${asked}.` }] };
    if (what === "fit" || what === "whole") isFitted = what === "fit";
    if (what === "shorten") isShortened = !isShortened;
    if (what === "tools") description = `Looks again ${asked}.`;
    if (what === "instructions") instructions = `You keep ledger ${asked}.`;
    if (what === "remind") board = `Note ${asked}.`;
    if (what === "model") model = (model + 1 + (asked % (MODELS.length - 1))) % MODELS.length;
    wasShortened ||= isFitted || isShortened;
  };
  for (const { steps: many, before, middle, at } of turns) {
    change(before);
    const n = asked++;
    session.path.push({ id: `q${n}`, role: "user", parts: [{ type: "text", text: `Question ${n}.` }] });
    const reply: UIMessage = { id: `reply${n}`, role: "assistant", parts: [] };
    session.path.push(reply);
    const prompts = new Prompts(session as unknown as Session, {
      ...(isFitted && { maxTokens: 700 }),
      truncate: isShortened,
    });
    steps(many);
    for (let step = 0; step <= many; step++) {
      if (step === at) change(middle);
      const tools: ToolSet = { look: tool({ description, inputSchema: z.object({ n: z.number() }) }) };
      const { messages } = await prompts.next({
        session: session as unknown as Session,
        leafId: reply.id,
        reminder: board === "" ? null : board,
        step: { model: MODELS[model], instructions },
        around: { tools },
      });
      const prompt = [{ role: "system", content: instructions }, ...messages];
      const content =
        model < 2
          ? (await signed.doGenerate({ prompt, tools: description } as unknown as LanguageModelV4CallOptions)).content
          : [
              step < many
                ? { type: "tool-call", toolCallId: `p${plain++}`, toolName: "look", input: '{"n":1}' }
                : { type: "text", text: `Plain ${plain++}.` },
            ];
      prompts.made(content as StepResult<ToolSet>["content"]);
      reply.parts.push({ type: "step-start" });
      for (const part of content as readonly Record<string, unknown>[]) {
        reply.parts.push(
          (part["type"] === "tool-call"
            ? {
                type: "tool-look",
                toolCallId: part["toolCallId"],
                state: "output-available",
                input: { n: step },
                output: { entry: step, text: "The ledger keeps its promise. ".repeat(4) },
              }
            : part) as UIMessage["parts"][number],
        );
      }
      // Another model answers from here on, as where a step's model is chosen by its task.
      if (model >= 2 && step < many) steps(many - step - 1);
    }
  }
  return { ...told, wasShortened, made: told.made + plain };
}

const change = fc.constantFrom<Change>("nothing", "nothing", "nothing", "model", "model", ...CHANGES);
const turn = fc.record({ steps: fc.nat(4), before: change, middle: change, at: fc.nat(3) });

test(`${REQUESTS} requests: none refused, and no thought left out without need`, { timeout: 1_200_000 }, async () => {
  const counted = { requests: 0, sent: 0, signed: 0 };
  for (let seed = 1; counted.requests < REQUESTS; seed++) {
    for (const turns of fc.sample(fc.array(turn, { minLength: 2, maxLength: 7 }), { numRuns: 100, seed })) {
      const { refused, needless, made, sent, wasShortened } = await converse(turns);
      expect({ refused, needless: wasShortened ? 0 : needless, turns }).toEqual({ refused: 0, needless: 0, turns });
      counted.requests += made;
      counted.sent += sent;
    }
  }
  expect(counted.sent).toBeGreaterThan(counted.requests / 2);
});
