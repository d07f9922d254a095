/** A fact and its building blocks, with the same messages and summarisers for every store. */
import type { UIMessage } from "ai";
import { DEFAULT_TEMPLATE } from "../../src/steps/draft/prompt.ts";
import type { Range, Store, Summariser } from "./store.ts";
import type { Weakness } from "./weaknesses.ts";

export interface Fact {
  readonly id: string;
  readonly area: string;
  /** The claim in one sentence. */
  readonly says: string;
  /** The known weakness that a store shows when it fails this fact. */
  readonly shows?: Weakness;
  /** Default 30,000 ms. */
  readonly timeoutMs?: number;
  /** Receives an untouched store. Throws when the fact does not hold. */
  check(store: Store): Promise<void>;
}

/** The facts of one area. The area is the first part of each fact's id. */
export function area(name: string, facts: Readonly<Record<string, Omit<Fact, "id" | "area">>>): Fact[] {
  return Object.entries(facts).map(([id, fact]) => ({ id: `${name}/${id}`, area: name, ...fact }));
}

export function say(id: string, text: string, role: UIMessage["role"] = "user"): UIMessage {
  return { id, role, parts: [{ type: "text", text }] };
}

const FILLER = "The parser keeps a trailing comma in an argument list now, and the test for it passes. ";

/** The marker by which {@link turn} `n` is found in a prompt or a view. */
export function marker(n: number): string {
  return `[turn ${n}]`;
}

/** About 100 tokens. Even numbers are the assistant's. */
export function turn(n: number): UIMessage {
  return say(`m${n}`, `${marker(n)} ${FILLER.repeat(4)}`, n % 2 === 0 ? "assistant" : "user");
}

export function turns(first: number, last: number): UIMessage[] {
  return Array.from({ length: last - first + 1 }, (_, index) => turn(first + index));
}

export function ids(messages: readonly UIMessage[]): string[] {
  return messages.map(({ id }) => id);
}

export function textOf(messages: readonly UIMessage[]): string {
  return JSON.stringify(messages.map(({ parts }) => parts));
}

/** A sound summary with all sections and a mark to find it by. */
export function goodSummary(mark: string): string {
  return DEFAULT_TEMPLATE.sections
    .map(
      ({ title }) =>
        `## ${title}\n- ${mark}, as ${title.toLowerCase()}: the quay was counted and nothing else was asked for.`,
    )
    .join("\n\n");
}

/** Summarises the named range, after an optional action in the meantime. */
export function choose(fromMessageId: string, toMessageId: string, meanwhile?: () => Promise<unknown>): Summariser {
  return {
    choose: async (): Promise<Range> => {
      await meanwhile?.();
      return { summary: "In short: it went well.", fromMessageId, toMessageId };
    },
  };
}

/** Answers every prompt with the same text and records the prompts. */
export function answering(text: string | (() => Promise<string>), keepTokens = 500) {
  const prompts: string[] = [];
  const model = async (prompt: string): Promise<string> => {
    prompts.push(prompt);
    return typeof text === "string" ? text : text();
  };
  return { prompts, summariser: { model, keepTokens } };
}

/** Counts the turns from `first` to `last` that are neither visible nor in any prompt of a summariser. */
export async function lost(store: Store, range: { first: number; last: number; prompts: readonly string[] }) {
  const seen = textOf(await store.history()) + range.prompts.join("\n");
  return turns(range.first, range.last).filter((_, index) => !seen.includes(marker(range.first + index))).length;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
