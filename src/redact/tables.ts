/**
 * Finds passwords in the columns of tables, as Markdown, consoles and databases draw them.
 *
 * Each line is split once. A header names a column, and the rows below it are read until a line has no such column.
 */
import type { Finding } from "./finding.ts";
import { STRONG } from "./names.ts";

const HEADER = new RegExp(String.raw`^[*_\x60\s]{0,5}(?:[\w-]{1,20}[ _-]){0,2}(?:${STRONG})s?[*_\x60\s]{0,5}$`, "iu");
const EDGE = /[|│┃]/;
const RULE = /^[\s|│┃+:=\-─━┼├┤]{3,}$/;
/** Most characters of a line that is read as a row. */
const MAX_ROW_CHARS = 2_000;
/** One word with a digit or a sign. Any other cell is a type, a rule or a word about a password. */
const SECRET = /^(?=.{0,200}[\d!#$%&*+?@^~])[^\s[\]<>{}()]{4,200}$/;
const STAND_IN = /^(?:\*{3}|•|\$|\.{3}$|[a-z_]+\?$)|:$|^(?:v?\d+(?:\.\d+)*|\d+%?)$/i;

interface TableCell {
  readonly start: number;
  readonly text: string;
}

export function* findInTables(text: string): Iterable<Finding> {
  let columns: readonly number[] = [];
  for (let from = 0; from < text.length;) {
    const newline = text.indexOf("\n", from);
    const end = newline < 0 ? text.length : newline;
    if (end - from > MAX_ROW_CHARS || !EDGE.test(text.slice(from, end))) {
      // A border of plus and minus signs belongs to the table.
      if (end - from > MAX_ROW_CHARS || !RULE.test(text.slice(from, end))) columns = [];
    } else {
      const cells = cellsOf(text.slice(from, end), from);
      const named = cells.flatMap((cell, at) => (HEADER.test(cell.text) ? [at] : []));
      if (named.length > 0) columns = named;
      else for (const at of columns) yield* secretIn(cells[at]);
    }
    from = end + 1;
  }
}

function cellsOf(line: string, from: number): TableCell[] {
  let start = from;
  return line.split(EDGE).map((text) => {
    const cell = { start, text };
    start += text.length + 1;
    return cell;
  });
}

function* secretIn(cell: TableCell | undefined): Iterable<Finding> {
  if (cell === undefined) return;
  // One after the other, because one expression for all three would try every way to part a row of stars.
  const before = /^[\s`*"']{0,50}/.exec(cell.text)?.[0] ?? "";
  const word = /^[^\s`"']{0,300}/.exec(cell.text.slice(before.length))?.[0] ?? "";
  const isAlone = /^[\s`*"']{0,1950}$/.test(cell.text.slice(before.length + word.length));
  if (!isAlone || !SECRET.test(word) || STAND_IN.test(word)) return;
  const start = cell.start + before.length;
  yield { start, end: start + word.length, kind: "secret" };
}
