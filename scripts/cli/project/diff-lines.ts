/** Lines that a change adds and removes, with some unchanged ones around them. */

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly line: string;
}

/** Unchanged lines that are shown before and behind a changed one. */
const AROUND = 2;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  // The length of the longest common rest, from each pair of lines on.
  const rest = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number): number => rest[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      (rest[i] as Uint32Array)[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", line: a[i] ?? "" });
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", line: a[i++] ?? "" });
    } else {
      lines.push({ kind: "added", line: b[j++] ?? "" });
    }
  }
  return lines.filter((_, n) =>
    lines.slice(Math.max(0, n - AROUND), n + AROUND + 1).some(({ kind }) => kind !== "same"),
  );
}
