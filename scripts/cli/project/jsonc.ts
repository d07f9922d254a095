/** JSON with comments and trailing commas, as wrangler reads it: parsed with its places, so that it is changed without losing a comment. */

/** A value with its place in the text. */
export interface Node {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Of an object, by key. */
  readonly members?: ReadonlyMap<string, Node>;
  /** Of an array. */
  readonly items?: readonly Node[];
}

const SPACE = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const SCALAR = /"(?:[^"\\\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;

/** Throws a `SyntaxError` that names the line. */
export function parseJsonc(text: string): Node {
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const [found] = pattern.exec(text) ?? [];
    if (found === undefined) return null;
    at += found.length;
    return found;
  };
  const skip = (): void => void take(SPACE);
  const fail = (): never => {
    throw new SyntaxError(`Line ${text.slice(0, at).split("\n").length} is no JSON.`);
  };
  const each = (close: string, read: () => void): void => {
    at++;
    for (skip(); text[at] !== close; skip()) {
      read();
      skip();
      if (text[at] === ",") at++;
      else if (text[at] !== close) fail();
    }
    at++;
  };
  const read = (): Node => {
    skip();
    const start = at;
    if (text[at] === "{") {
      const members = new Map<string, Node>();
      each("}", () => {
        const key = JSON.parse(take(SCALAR) ?? fail()) as string;
        skip();
        if (text[at++] !== ":") fail();
        members.set(key, read());
      });
      const value = Object.fromEntries([...members].map(([key, node]) => [key, node.value]));
      return { start, end: at, value, members };
    }
    if (text[at] === "[") {
      const items: Node[] = [];
      each("]", () => void items.push(read()));
      return { start, end: at, value: items.map((node) => node.value), items };
    }
    const value: unknown = JSON.parse(take(SCALAR) ?? fail());
    return { start, end: at, value };
  };
  const whole = read();
  skip();
  return at === text.length ? whole : fail();
}

/** The text with a member behind the last one of the object at its top. */
export function addMember(text: string, key: string, value: unknown): string {
  const { members, end } = parseJsonc(text);
  return insert(text, [...(members?.values() ?? [])], { end, code: `${JSON.stringify(key)}: ${write(value)}` });
}

/** The text with an item behind the last one of the array under a key at its top. Adds the array where there is none. */
export function addItem(text: string, key: string, item: unknown): string {
  const array = parseJsonc(text).members?.get(key);
  if (array?.items === undefined) return addMember(text, key, [item]);
  return insert(text, array.items, { end: array.end, code: write(item) });
}

function insert(text: string, nodes: readonly Node[], { end, code }: { end: number; code: string }): string {
  const last = nodes.at(-1);
  // On a line of its own where the others are.
  const [, indent = null] = /\n([ \t]*)[^\n]*$/.exec(text.slice(0, last?.start ?? 0)) ?? [];
  const isOwnLine = indent !== null && text.slice(0, end).lastIndexOf("\n") >= (last?.end ?? 0);
  if (last === undefined) return `${text.slice(0, end - 1)}${code}${text.slice(end - 1)}`;
  const comma = /^\s*,/.exec(text.slice(last.end))?.[0] ?? "";
  const after = last.end + comma.length;
  // A comment on the line belongs to what stands before it.
  const [comment = ""] = isOwnLine ? (/^[ \t]*(?:\/\/[^\n]*|\/\*[^\n]*?\*\/)/.exec(text.slice(after)) ?? []) : [];
  const at = after + comment.length;
  const next = `${isOwnLine ? `\n${indent}` : " "}${code}${comma !== "" && isOwnLine ? "," : ""}`;
  return `${text.slice(0, last.end)}${comma === "" ? "," : comma}${comment}${next}${text.slice(at)}`;
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${write(each)}`);
  return `{ ${members.join(", ")} }`;
}
