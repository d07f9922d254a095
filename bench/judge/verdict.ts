/**
 * Judges one compaction. Of the facts that the view no longer shows and that matter again later, it counts those that can still be reached.
 *
 * Takes a view and returns a verdict. Pure. Safe for any policy, because it compares text alone. A text that stands unchanged in the view
 * is not replaced, whatever ids a policy gives its messages. A fact is reachable when its characters are.
 */
import type { UIMessage } from "ai";
import type { IdentifierKind } from "../../src/steps/facts/facts.ts";
import type { FactKind } from "../../src/steps/pinned/fact.ts";
import { readSayings } from "../../src/steps/pinned/gather.ts";
import { sayingIn } from "../../src/steps/pinned/said.ts";
import { keyOf, type Conversation, type Name, type Use } from "./conversation.ts";

/** Most messages that may have said a word so far for it to count. A frequent word shows nothing. */
const RARE = 3;

/** One fact that matters after a compaction. */
export interface Judged {
  readonly kind: FactKind | IdentifierKind | "word";
  readonly value: string;
  /** Who says it again. Rules, open tasks and failures count without a repetition. */
  readonly again: Readonly<Record<Use, boolean>>;
  readonly inView: boolean;
  /** Null where recall was not asked for it. */
  readonly recalled: boolean | null;
}

export interface Verdict {
  /** Number of stored messages. */
  readonly stored: number;
  readonly facts: readonly Judged[];
}

const AGAIN = { written: true, anywhere: true } as const;

/** Judges after `stored` messages of the conversation. The model sees `view`. */
export function judgeView(conversation: Conversation, stored: number, view: readonly UIMessage[]): Verdict {
  const sayings = view.flatMap((message) => readSayings(message));
  const says = sayingIn(sayings.map(({ text }) => text).join("\n"));
  const shown = new Set(sayings.map(({ text }) => text));
  const names = replacedNames(conversation, stored, shown).map(({ kind, value, again }): Judged => ({
    kind,
    value,
    again,
    inView: says(value),
    recalled: null,
  }));
  const { rules = [], tasks = [], failures = [] } = conversation.standing[stored - 1] ?? {};
  const rest = [...rules, ...tasks, ...failures].map(({ kind, value }): Judged => ({
    kind,
    value,
    again: AGAIN,
    inView: says(value),
    recalled: null,
  }));
  return { stored, facts: [...rest, ...names] };
}

/** Names in texts that are not shown, each once, that are said again after the stored messages. */
function replacedNames(conversation: Conversation, stored: number, shown: ReadonlySet<string>) {
  const found = new Map<string, Name & Pick<Judged, "again">>();
  for (const texts of conversation.said.slice(0, stored)) {
    for (const name of texts.flatMap(({ text, names }) => (shown.has(text) ? [] : names))) {
      const key = keyOf(name);
      if (found.has(key)) continue;
      const comes = (use: Use): boolean => (conversation.last[use].get(key) ?? 0) >= stored;
      const again = { written: comes("written"), anywhere: comes("anywhere") };
      if (again.anywhere && (name.kind !== "word" || isRare(conversation, key, stored)))
        found.set(key, { ...name, again });
    }
  }
  return [...found.values()];
}

function isRare({ places }: Conversation, key: string, stored: number): boolean {
  return (places.get(key)?.[RARE] ?? Infinity) >= stored;
}

/**
 * Asks recall for each name that is not in view, with the name as the question. At most `most` names are asked for, evenly chosen, and no
 * words.
 */
export async function askFor(
  verdict: Verdict,
  most: number,
  recall: (question: string) => Promise<string>,
): Promise<Verdict> {
  const missing = verdict.facts.filter((fact) => !fact.inView && isName(fact));
  const every = Math.max(1, missing.length / most);
  const asked = new Set(missing.filter((_, at) => Math.floor(at / every) > Math.floor((at - 1) / every)));
  const facts: Judged[] = [];
  for (const fact of verdict.facts) {
    if (!asked.has(fact)) facts.push(fact);
    else facts.push({ ...fact, recalled: sayingIn(await recall(fact.value))(fact.value) });
  }
  return { ...verdict, facts };
}

/** True for a name of any kind that the extractor found. */
export function isName({ kind }: Pick<Judged, "kind">): boolean {
  return kind !== "word" && kind !== "rule" && kind !== "task" && kind !== "failure";
}
