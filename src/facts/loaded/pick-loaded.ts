/**
 * Chooses which loaded texts a view quotes, and which it only names.
 *
 * Loaded texts and a budget in, a choice out. The budget holds because the rendering itself is measured.
 */
import type { CountTokens } from "../../steps/message/measure.ts";
import { byImportance, isGone, isReplaced, keyOf, mergeLoaded, type Loaded } from "../loaded.ts";
import { leftOut, renderLoaded, type PinnedLoaded } from "./render-loaded.ts";

/** The most texts that are only named. The newest are preferred. */
const MAX_NAMED = 12;

/** The plan and open calls come first, then files and skills, the newest first. `omit` stands elsewhere. A text that does not fit is only named, or counted. */
export function pickLoaded(
  loaded: readonly Loaded[],
  { budgetTokens, countTokens, omit }: { budgetTokens: number; countTokens: CountTokens; omit: readonly Loaded[] },
): readonly PinnedLoaded[] {
  const omitted = new Set(omit.map(keyOf));
  const present = mergeLoaded(loaded, omit).filter((each) => !isGone(each) && !omitted.has(keyOf(each)));
  // Two paths may lead to one text or one file, so each is shown once, where it stands last.
  const last = new Map(present.map((each) => [`${each.kind} ${each.text}`, each]));
  const wanted = present.flatMap((each) => {
    if (each.doubted || each.edits)
      return present.some((other) => isReplaced(each, other)) ? [] : [{ ...each, text: "" }];
    return each.text === "" || each.kind === "call" || last.get(`${each.kind} ${each.text}`) === each ? [each] : [];
  });
  if (budgetTokens <= 0 || wanted.length === 0) return [];
  const queue = byImportance(wanted);
  const whole = new Set<Loaded>();
  let names = MAX_NAMED;
  const shown = (): PinnedLoaded[] => {
    const others = queue.filter((each) => !whole.has(each));
    const named = new Set(others.slice(0, names));
    const pinned = wanted.flatMap((each) =>
      whole.has(each) || named.has(each) ? [pin(each, whole.has(each) ? each.text : "")] : [],
    );
    const left = others.length - named.size;
    return left === 0 ? pinned : [...pinned, leftOut(left)];
  };
  const fits = (): boolean => countTokens(renderLoaded(shown())) <= budgetTokens;
  while (names > 0 && !fits()) names--;
  for (const each of queue) {
    if (each.text === "") continue;
    whole.add(each);
    if (!fits()) whole.delete(each);
  }
  return fits() ? shown() : [];
}

/** Without a number of characters where the text may have changed. */
function pin({ kind, name, characters, messageId, doubted, edits = [] }: Loaded, text: string): PinnedLoaded {
  const isKnown = !doubted && edits.every(({ to }) => to === undefined);
  return { kind, name, text, characters: isKnown ? characters : 0, messageId };
}
