/**
 * Tracks code fences as CommonMark defines them. A fence is closed only by a line of at least as many of the same sign.
 * Pure.
 */

/** The fence that is open after a line, given the fence that was open before it. Null for none. */
export function followFence(open: string | null, line: string): string | null {
  const [, mark = "", rest = ""] = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))(.*)$/.exec(line) ?? [];
  if (mark === "") return open;
  if (open === null) return mark.startsWith("`") && rest.includes("`") ? null : mark;
  return mark.startsWith(open) && rest.trim() === "" ? null : open;
}

/** The fence that a text leaves open at its end. Null for none. */
export function findOpenFence(text: string): string | null {
  return text.split("\n").reduce(followFence, null as string | null);
}
