/** Code fences, as CommonMark has them: where one begins, only as many of the same sign, alone on a line, end it. Pure. */

/** The fence that is open behind a line, given the one that was before it; null for none. */
export function followFence(open: string | null, line: string): string | null {
  const [, mark = "", rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (mark === "") return open;
  if (open === null) return mark.startsWith("`") && rest.includes("`") ? null : mark;
  return mark.startsWith(open) && rest.trim() === "" ? null : open;
}

/** The fence that a text leaves open at its end; null for none. */
export function findOpenFence(text: string): string | null {
  return text.split("\n").reduce(followFence, null as string | null);
}
