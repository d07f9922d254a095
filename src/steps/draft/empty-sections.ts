/**
 * Markdown without the sections that say nothing: they are there so that a summariser forgets none, and a reader needs none.
 *
 * Boundary: text in, text out; the order and the words of what is left are as they came.
 */
const HEADING = /^#{1,6}[ \t]/;
const LIST_MARK = /^(?:[-*+•]|\d{1,3}[.)])\s+/;
/** What is said where there is nothing to say. */
const EMPTY_WORDS =
  /^(?:none|nothing|nil|n\/?a|n a|not applicable|not yet)(?: (?:yet|so far|at (?:this|the) (?:time|moment)|known|noted|recorded|to (?:note|report)|here))?$/i;
const MARKUP = /[^\p{L}\p{N}/]+/gu;

/** As it came where no section says anything. */
export function withoutEmptySections(markdown: string): string {
  const telling = markdown
    .split(/^(?=#{1,6}[ \t])/m)
    .filter((section) => section.split("\n").some((line) => !HEADING.test(line) && !isNothing(line)));
  return telling.length === 0 ? markdown : telling.join("").trimEnd();
}

/** Whether one line tells nothing: no word at all, or "None." however it is written and dressed. */
export function isNothing(line: string): boolean {
  const words = line.trim().replace(LIST_MARK, "").replaceAll(MARKUP, " ").trim();
  return words === "" || EMPTY_WORDS.test(words);
}
