/** Compares two versions of a session's notes by section and line. Pure. */
export interface NotesSectionText {
  readonly title: string;
  readonly text: string;
}

export interface DiffLine {
  readonly kind: "kept" | "added" | "dropped";
  readonly text: string;
}

export interface SectionDiff {
  readonly title: string;
  /** Lines in reading order. Of changed lines, the dropped ones come first. */
  readonly lines: readonly DiffLine[];
}

/** Most pairs of lines that are compared for one section. Beyond that, all differing lines count as dropped and added. */
const MAX_PAIRS = 1_000_000;

/** Returns the sections in the newer version's order, then the removed ones. A section without a line in either version is left out. */
export function diffNotes(older: readonly NotesSectionText[], newer: readonly NotesSectionText[]): SectionDiff[] {
  const before = new Map(older.map(({ title, text }) => [title, readLines(text)]));
  const after = new Map(newer.map(({ title, text }) => [title, readLines(text)]));
  const titles = [...after.keys(), ...[...before.keys()].filter((title) => !after.has(title))];
  const sections = titles.map((title) => ({
    title,
    lines: diffLines(before.get(title) ?? [], after.get(title) ?? []),
  }));
  return sections.filter(({ lines }) => lines.length > 0);
}

function readLines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function diffLines(older: readonly string[], newer: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < older.length && start < newer.length && older[start] === newer[start]) start++;
  let end = 0;
  const most = Math.min(older.length, newer.length) - start;
  while (end < most && older.at(-1 - end) === newer.at(-1 - end)) end++;
  return [
    ...mark("kept", newer.slice(0, start)),
    ...diffMiddle(older.slice(start, older.length - end), newer.slice(start, newer.length - end)),
    ...mark("kept", newer.slice(newer.length - end)),
  ];
}

/** Keeps as many lines as possible in their order. */
function diffMiddle(older: readonly string[], newer: readonly string[]): DiffLine[] {
  if (older.length * newer.length > MAX_PAIRS) return [...mark("dropped", older), ...mark("added", newer)];
  const kept = countKept(older, newer);
  const lines: DiffLine[] = [];
  let [from, to] = [0, 0];
  while (from < older.length || to < newer.length) {
    const [was, is] = [older[from], newer[to]];
    if (was !== undefined && was === is) {
      lines.push({ kind: "kept", text: was });
      [from, to] = [from + 1, to + 1];
    } else if (was !== undefined && (is === undefined || (kept[from + 1]?.[to] ?? 0) >= (kept[from]?.[to + 1] ?? 0))) {
      lines.push({ kind: "dropped", text: was });
      from++;
    } else {
      lines.push({ kind: "added", text: is ?? "" });
      to++;
    }
  }
  return lines;
}

/** Returns for each pair of positions how many lines can be kept from there on. */
function countKept(older: readonly string[], newer: readonly string[]): readonly (readonly number[])[] {
  const table = Array.from({ length: older.length + 1 }, () => Array<number>(newer.length + 1).fill(0));
  for (let from = older.length - 1; from >= 0; from--) {
    for (let to = newer.length - 1; to >= 0; to--) {
      const row = table[from] ?? [];
      const below = table[from + 1] ?? [];
      row[to] = older[from] === newer[to] ? 1 + (below[to + 1] ?? 0) : Math.max(below[to] ?? 0, row[to + 1] ?? 0);
    }
  }
  return table;
}

function mark(kind: DiffLine["kind"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}
