/**
 * Makes each function of a source say that it ran.
 *
 * Takes text and returns text. Code outside functions stays as it is, because loading a module is not executing it.
 */
import { parse, visit, type Node } from "../mutate/syntax.ts";

/** The property of `globalThis` with the set of files that ran. Nothing is recorded while it is undefined. */
export const RAN = "palimpsestRan";

/** The source, whose every function begins by adding `fileName` to the set. */
export function instrument(fileName: string, source: string): string {
  const note = `globalThis.${RAN}?.add(${JSON.stringify(fileName)})`;
  const inserts: { readonly at: number; readonly text: string }[] = [];
  visit(parse(fileName, source), (node) => {
    if (!/Function/.test(node.type)) return;
    const body = node["body"] as Node | null;
    if (body == null) return;
    if (body.type === "BlockStatement") inserts.push({ at: afterDirectives(body), text: ` ${note};` });
    else inserts.push({ at: body.start, text: `(${note}, ` }, { at: body.end, text: ")" });
  });
  // From the last to the first, so that the offsets of the others stay right.
  return inserts
    .toSorted((one, other) => other.at - one.at)
    .reduce((text, { at, text: added }) => text.slice(0, at) + added + text.slice(at), source);
}

/** Where the first statement of a body may begin. A directive such as "use strict" stays the first one. */
function afterDirectives(body: Node): number {
  const directives = (body["body"] as readonly Node[]).filter((statement) => statement["directive"] != null);
  return directives.at(-1)?.end ?? body.start + 1;
}
