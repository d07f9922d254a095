/**
 * Finds the lines of pasted diffs in a text, which nobody says.
 *
 * Lines in, their numbers out. It reads unified diffs, combined ones of a merge, and diffs that a terminal shows with
 * line numbers. What people write behind a diff is theirs, so a hunk ends where its head says, or with a line that no
 * hunk has. Its time is linear in the text.
 */

/** The head of a hunk, with a range for each old text and one for the new text. A merge rarely has more than two parents. */
const HEAD = /^(@@+) ((?:-\d+(?:,\d+)? ){1,8})\+\d+(?:,(\d+))? @@/;
const RANGE = /-\d+(?:,(\d+))?/g;
const MARKS = /^[ +-]*$/;
/** A changed line with its number, as terminals show it. Only an added one is surely no item of a list. */
const NUMBERED = /^\s*\d+ +[+-] /;
const NUMBERED_ADDED = /^\s*\d+ +\+ /;

/** The places of all lines of diffs, from 0. */
export function findDiffLines(lines: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  const numbered = lines.some((line) => NUMBERED_ADDED.test(line));
  let end = 0;
  for (const [at, line] of lines.entries()) {
    if (at >= end) end = endOfHunk(lines, at);
    if (at < end || (numbered && NUMBERED.test(line))) found.add(at);
  }
  return found;
}

/**
 * The place behind the hunk whose head stands at `at`, or `at` where there is no head. An empty line may be one of the
 * hunk that lost its blank. It is taken for one only where the hunk then ends exactly as its head says, because people
 * paste a part of a hunk, too.
 */
function endOfHunk(lines: readonly string[], at: number): number {
  const [, signs = "", before = "", after = "1"] = HEAD.exec(lines[at] ?? "") ?? [];
  if (signs === "") return at;
  const olds = [...before.matchAll(RANGE)].map(([, length = "1"]) => Number(length));
  const whole = readHunk(lines, at + 1, [...olds, Number(after)], true);
  return whole ?? readHunk(lines, at + 1, [...olds, Number(after)], false) ?? at + 1;
}

/** The place behind the hunk's lines. Null where an exact end was wanted and is not there. */
function readHunk(lines: readonly string[], from: number, left: number[], exact: boolean): number | null {
  const columns = left.length - 1;
  for (let at = from; ; at++) {
    const line = lines[at];
    if (line?.startsWith("\\") === true) continue;
    const over = left.every((each) => each <= 0);
    if (over) return exact && left.some((each) => each < 0) ? null : at;
    const marks = line === "" && exact ? " ".repeat(columns) : (line ?? "").slice(0, columns);
    if (marks.length < columns || !MARKS.test(marks)) return exact ? null : at;
    const removed = marks.includes("-");
    for (let column = 0; column < columns; column++)
      if (marks[column] === (removed ? "-" : " ")) left[column] = (left[column] ?? 0) - 1;
    if (!removed) left[columns] = (left[columns] ?? 0) - 1;
  }
}
