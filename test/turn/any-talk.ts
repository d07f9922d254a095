/** Any conversation, what the model says in the next turns, and what happens to the session before, in the middle of and between them. */
import type { LanguageModelV4Content } from "@ai-sdk/provider";
import { jsonSchema, tool, type ToolSet, type UIMessage } from "ai";
import * as fc from "fast-check";
import type { Session } from "../../src/agent/sessions/session.ts";
import { anyConversation, anyStep } from "../steps/view/any-conversation.ts";
import { providers, type Provider } from "../steps/view/providers/bodies.ts";

export type Between = "nothing" | "undo" | "branch" | "fork";

export interface Talk {
  readonly messages: readonly UIMessage[];
  readonly steps: readonly LanguageModelV4Content[][];
  readonly summary: readonly [number, number] | null;
  /** A summary that lands while a tool runs. */
  readonly middle: readonly [number, number] | null;
  /** What comes before the second turn. */
  readonly between: Between;
  readonly maxTokens: number | undefined;
  readonly provider: Provider;
}

const ends = fc.option(fc.tuple(fc.nat(8), fc.nat(8)), { freq: 1 });

export const anyTalk: fc.Arbitrary<Talk> = fc.record({
  messages: anyConversation.map((all) => all.filter(({ id }) => !id.startsWith("palimpsest"))),
  steps: fc.array(anyStep, { maxLength: 4 }),
  summary: ends,
  middle: ends,
  between: fc.constantFrom<Between>("nothing", "undo", "branch", "fork"),
  maxTokens: fc.constantFrom(undefined, undefined, 200, 800),
  provider: fc.constantFrom(...providers),
});

type Summarised = Pick<Session, "addCompaction">;

/** Lays a summary over some of the messages, where one may lie there. */
export async function summarise(session: Summarised, { messages }: Talk, at: Talk["summary"]): Promise<void> {
  if (at === null) return;
  const [from, to] = at.map((n) => messages[n % Math.max(1, messages.length - 1)]?.id ?? "") as [string, string];
  await session.addCompaction("## State\n- Done.", from, to).catch(() => undefined);
}

/** Takes the newest summary back. */
export async function undo(session: Pick<Session, "getCompactions" | "rollback">): Promise<void> {
  const [newest] = (await session.getCompactions()).filter(({ state }) => state === "active").toReversed();
  if (newest !== undefined) await session.rollback(newest.id);
}

/** The tools of a turn. `onRun` is called while one runs. */
export function anyTools(onRun: () => Promise<void>): ToolSet {
  const any = (name: string): ToolSet[string] =>
    tool({
      description: name,
      inputSchema: jsonSchema({ type: "object" }),
      execute: async () => {
        await onRun();
        return name === "read" ? { content: [{ type: "text", text: "found" }] } : "found";
      },
    });
  return { read: any("read"), grep: any("grep") };
}

/** What the model says to a request: the steps of the talk, and then a last word. */
export const stepAt = ({ steps }: Talk, request: number): LanguageModelV4Content[] =>
  steps[request] ?? [{ type: "text", text: "Done." }];

/** What a model says that asks for a summary first. */
export const asksForSummary = (request: number): LanguageModelV4Content[] =>
  request > 0
    ? [{ type: "text", text: "Done." }]
    : [{ type: "tool-call", toolCallId: "toolu_1", toolName: "compact", input: '{"focus":"The shelves."}' }];
