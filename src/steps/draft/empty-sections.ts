/**
 * Removes markdown sections that say nothing. Empty sections make a summariser consider each heading, but readers do
 * not need them.
 *
 * Text in, text out. The remaining text keeps its order and words.
 */
import { followFence } from "../text/fences.ts";
import { LIST_MARK, withoutMarkup } from "../text/markdown.ts";

const HEADING = /^#{1,6}[ \t]/;
const GOAL = /^#{1,6}[ \t]+goal/i;
const STATE = /^#{1,6}[ \t]+state[ \t]*$/i;
/** Phrases that stand for an empty section. */
const EMPTY_WORDS =
  /^(?:none|nothing|nil|n\/?a|n a|not applicable|not yet)(?: (?:yet|so far|at (?:this|the) (?:time|moment)|known|noted|recorded|to (?:note|report)|here))?$/i;

/** If every section is empty, the first one stays, because a summary is never blank. */
export function withoutEmptySections(markdown: string): string {
  const sections = markdown.split(/^(?=#{1,6}[ \t])/m);
  const telling = sections.filter((section) =>
    section.split("\n").some((line) => !HEADING.test(line) && !isNothing(line)),
  );
  return (telling.length === 0 ? sections.slice(0, 1) : telling).join("").trimEnd();
}

/**
 * The text without the section on the state of things, for a summary with a later one behind it, whose state holds.
 * Empty if it says nothing else. Unchanged without a heading for a goal, because it follows another template then, where
 * a state may be anything.
 */
export function withoutState(markdown: string): string {
  let [fence, isState]: [string | null, boolean] = [null, false];
  const lasting = markdown.split("\n").filter((line) => {
    if (fence === null && HEADING.test(line)) isState = STATE.test(line);
    fence = followFence(fence, line);
    return !isState;
  });
  if (!lasting.some((line) => GOAL.test(line))) return markdown;
  return lasting.every((line) => HEADING.test(line) || isNothing(line)) ? "" : lasting.join("\n").trimEnd();
}

/** Whether a line tells nothing. It has no word at all, or a phrase such as "None." in any markup. */
export function isNothing(line: string): boolean {
  const words = withoutMarkup(line.trim().replace(LIST_MARK, ""));
  return words === "" || EMPTY_WORDS.test(words);
}
