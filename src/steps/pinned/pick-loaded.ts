/**
 * Chooses which loaded texts a view quotes, and which it only names.
 *
 * Loaded texts and a budget in, a choice out. The budget holds because the rendering itself is measured.
 */
import type { CountTokens } from "../message/measure.ts";
import { keyOf, type Loaded } from "./loaded.ts";
import { renderLoaded, type PinnedLoaded } from "./render-loaded.ts";

/** The most texts that are only named. The newest are preferred. */
const MAX_NAMED = 12;

/** The plan and open calls come first, then documents, the newest first. A text without room is only named. */
export function pickLoaded(
  loaded: readonly Loaded[],
  { budgetTokens, countTokens, omit }: { budgetTokens: number; countTokens: CountTokens; omit: ReadonlySet<string> },
): readonly PinnedLoaded[] {
  const wanted = loaded.filter((each) => !omit.has(keyOf(each)));
  if (budgetTokens <= 0 || wanted.length === 0) return [];
  const newest = wanted.toReversed();
  const queue = [
    ...newest.filter(({ kind }) => kind !== "document"),
    ...newest.filter(({ kind }) => kind === "document"),
  ];
  const whole = new Set<Loaded>();
  const shown = (): PinnedLoaded[] => {
    const named = new Set(queue.filter((each) => !whole.has(each)).slice(0, MAX_NAMED));
    return wanted.flatMap((each) =>
      whole.has(each) || named.has(each) ? [pin(each, whole.has(each) ? each.text : "")] : [],
    );
  };
  for (const each of queue) {
    if (each.text === "") continue;
    whole.add(each);
    if (countTokens(renderLoaded(shown())) > budgetTokens) whole.delete(each);
  }
  const chosen = shown();
  while (chosen.length > 0 && countTokens(renderLoaded(chosen)) > budgetTokens) {
    chosen.splice(
      Math.max(
        0,
        chosen.findIndex(({ text }) => text === ""),
      ),
      1,
    );
  }
  return chosen;
}

function pin({ kind, name, characters, messageId }: Loaded, text: string): PinnedLoaded {
  return { kind, name, text, characters, messageId };
}
