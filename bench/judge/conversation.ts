/**
 * Indexes a conversation for judging compactions. It holds the names of each message, which of them are said again later, and which rules
 * and tasks stand after each message.
 *
 * Pure, and read once for all verdicts. The project's own extractor finds names, rules and tasks, and it could favour the project's own
 * pinning. Words answer that doubt, because rarity alone selects them.
 */
import type { UIMessage } from "ai";
import { extractIdentifiers, type IdentifierKind } from "../../src/steps/facts/facts.ts";
import { gatherFacts, readSayings } from "../../src/steps/pinned/gather.ts";
import { NO_WORDS } from "../../src/steps/salience/table.ts";
import { mergeFacts } from "../../src/steps/pinned/merge.ts";
import { NO_FACTS, type Fact, type Facts } from "../../src/steps/pinned/fact.ts";

/** Who says a name again. `written` counts user and agent, calls included. `anywhere` counts tool outputs too. */
export type Use = "written" | "anywhere";

export interface Name {
  readonly kind: IdentifierKind | "word";
  readonly value: string;
}

/** One text of a message, as a view must hold it to show it, and the names in it that are said again. */
export interface Said {
  readonly text: string;
  readonly names: readonly Name[];
}

export interface Conversation {
  readonly messages: readonly UIMessage[];
  /** The texts of each message. */
  readonly said: readonly (readonly Said[])[];
  /** The positions of messages that say a name, in order, as far as they are needed. Keyed by {@link keyOf}. */
  readonly places: ReadonlyMap<string, readonly number[]>;
  /** The last message that says a name again. */
  readonly last: Readonly<Record<Use, ReadonlyMap<string, number>>>;
  /** After each message, the user's rules that nobody took back, and the open tasks and failures. */
  readonly standing: readonly Pick<Facts, "rules" | "tasks" | "failures">[];
}

const WORD = /\p{L}[\p{L}\p{N}_-]{5,}/gu;

/** Reads the whole conversation. Takes some seconds for a few megabytes. */
export function readConversation(messages: readonly UIMessage[]): Conversation {
  const last: Record<Use, Map<string, number>> = { written: new Map(), anywhere: new Map() };
  const read = messages.map((message, at) =>
    readSayings(message).map(({ by, text }) => {
      const names: Name[] = extractIdentifiers(text).map(({ kind, value }) => ({ kind, value }));
      const words = wordsOf(text);
      for (const name of by === "output" ? names : [...names, ...words]) {
        last.anywhere.set(keyOf(name), at);
        if (by !== "output") last.written.set(keyOf(name), at);
      }
      return { text, names: [...names, ...words] };
    }),
  );
  const said = read.map((texts, at) =>
    texts.map(({ text, names }) => ({
      text,
      names: names.filter((name) => (last.anywhere.get(keyOf(name)) ?? 0) > at),
    })),
  );
  return { messages, said, places: placesOf(said), last, standing: standingAfter(messages) };
}

/** Identifies a name by its value, because the same value may be found as two kinds. A word has a key of its own, because it is no name. */
export function keyOf({ kind, value }: Name): string {
  return kind === "word" ? `word ${value}` : value;
}

function wordsOf(text: string): Name[] {
  return [...new Set(text.toLowerCase().match(WORD))].map((value) => ({ kind: "word", value }));
}

function placesOf(said: Conversation["said"]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  said.forEach((texts, at) => {
    for (const key of new Set(texts.flatMap(({ names }) => names.map(keyOf)))) {
      const known = places.get(key);
      if (known === undefined) places.set(key, [at]);
      else known.push(at);
    }
  });
  return places;
}

function standingAfter(messages: readonly UIMessage[]): Conversation["standing"] {
  let facts = NO_FACTS;
  return messages.map((message) => {
    // Leaves out names, which are not needed here. Merging them for each message would take most of the time.
    facts = mergeFacts([facts, { ...gatherFacts([message]), words: NO_WORDS }]);
    const { rules, tasks, failures }: Readonly<Record<"rules" | "tasks" | "failures", readonly Fact[]>> = facts;
    return { rules, tasks, failures };
  });
}
