/**
 * Decides which tool outputs may be replaced by a stub, what stays of an output's shape, and how many tokens a stub
 * counts.
 *
 * One part in, an answer out. mask.ts writes the text of the stubs. These stay whole: errors in any form, outputs that
 * the provider produced, because it checks those when they come back, outputs that are not final yet, and instruction
 * files, skills and plans, because no overlay carries them while their message is in view.
 *
 * A tool's own `toModelOutput` reads the output, and throws where a field is missing. So a stub keeps the shape of an
 * object as far as that is small: its keys, numbers and short texts. The text of the stub stands in the place of the
 * longest text, or as the only part of a list of contents. So whoever reads the output as before finds it. Bytes of a
 * file have no such place, because a provider refuses a text as a file. An object that holds some stays whole.
 */
import { ENCODED_OUTPUT_CHARS } from "../../limits.ts";
import { contentOf, tellsError } from "../message/output.ts";
import { jsonText, toolPart, type Part } from "../message/tool-parts.ts";
import { showsLoaded } from "../../facts/loaded.ts";
import { isEncoded } from "../text/encoded.ts";

/** The beginning of each stub. */
export const STUB_START = "[Left out: an output of ";

/** The beginning of the stub for an output, by its whole text. */
export function stubStart(text: string): string {
  return `${STUB_START}${text.length} characters.`;
}

/**
 * An output of fewer characters stays, because a stub would be as long. This is about a hundred tokens of Latin text.
 * The limit uses the length, so that no view has to count tokens.
 */
export const LEAST_MASKED_CHARS = 350;
/** Tokens that a stub counts for its sentence and its words. The shape around them comes on top. */
export const STUB_TOKENS = 70;
/** Most characters of the JSON that stays around the text of a stub. About sixty tokens. */
const SHAPE_CHARS = 200;
/** What stays beside the text, most first: levels of objects with their keys, and characters of one text. */
const SHAPES = [
  { levels: 4, chars: 80 },
  { levels: 2, chars: 20 },
  { levels: 1, chars: 20 },
  { levels: 1, chars: 0 },
  { levels: 0, chars: 0 },
] as const;
/** An output that may be masked. */
export interface Maskable {
  /** All of it, as JSON unless it is a text. */
  readonly text: string;
  /** The JSON that stays around the text of its stub. Empty for a text. */
  readonly shape: string;
}

/** What may be masked of a part. Null where it stays whole. */
export function maskableOutput(part: Part): Maskable | null {
  const tool = toolPart(part);
  if (tool?.state !== "output-available" || tool.providerExecuted === true || tool.preliminary === true) return null;
  const { output } = tool;
  if (tellsError(output) || showsLoaded(tool)) return null;
  const text = jsonText(output);
  if (text.length < LEAST_MASKED_CHARS) return null;
  if (typeof output === "string") return { text, shape: "" };
  const path = findTextPath(output);
  if (path === null) return null;
  const shape = jsonText(withText(output, path, ""));
  return text.length - shape.length < LEAST_MASKED_CHARS ? null : { text, shape };
}

/** Puts a text into the place of what a part's output says. */
export function withOutput(part: Part, text: string): Part {
  const tool = toolPart(part);
  if (tool?.state !== "output-available") return part;
  const path = typeof tool.output === "string" ? null : findTextPath(tool.output);
  return { ...tool, output: path === null ? text : withText(tool.output, path, text) };
}

/** Marks the part of a stub. A symbol is lost where a message is stored or sent, so no tool can write one. */
const STUB = Symbol("stub");

export interface Stub {
  readonly text: string;
  /** The output that it replaces. */
  readonly output: unknown;
}

/** The part with a stub in the place of its output. */
export function stubOf(part: Part, text: string): Part {
  const output = stubIn(part)?.output ?? toolPart(part)?.output;
  return Object.assign({ ...withOutput(part, text) }, { [STUB]: { text, output } satisfies Stub });
}

/** The stub that a part of a view is. Null for any other part, whatever its output says. */
export function stubIn(part: object): Stub | null {
  return (part as { readonly [STUB]?: Stub })[STUB] ?? null;
}

/** The text of {@link stubIn}. */
export function readStub(part: object): string | null {
  return stubIn(part)?.text ?? null;
}

/** Where the text of a stub stands in an object: the keys that lead there, and whether that is a list of contents. */
interface TextPath {
  readonly keys: readonly string[];
  readonly isContent: boolean;
}

/** Null where the object holds bytes of a file. */
function findTextPath(output: unknown): TextPath | null {
  const content = typeof output === "object" && output !== null ? contentOf(output) : null;
  if (content !== null) return { keys: content.key === null ? [] : [content.key], isContent: true };
  const longest: Longest = { keys: null, chars: -1 };
  if (!seekLongest(output, [], longest)) return null;
  return { keys: longest.keys ?? pathBeside(output), isContent: false };
}

interface Longest {
  /** The keys that lead to the text. Null where no text was met. */
  keys: readonly string[] | null;
  chars: number;
}

/** Finds the longest text of a value. Returns false where one of its texts is bytes of a file. */
function seekLongest(value: unknown, keys: string[], longest: Longest): boolean {
  if (typeof value === "string") {
    if (value.length > longest.chars) [longest.keys, longest.chars] = [[...keys], value.length];
    return !isEncoded(value, ENCODED_OUTPUT_CHARS);
  }
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, each]) => {
    keys.push(key);
    const isText = seekLongest(each, keys, longest);
    keys.pop();
    return isText;
  });
}

/** A new field of the outermost object, for an output without any text. */
function pathBeside(output: unknown): string[] {
  const keys: string[] = [];
  let inner = output;
  for (; Array.isArray(inner); inner = inner[0]) keys.push("0");
  return typeof inner === "object" && inner !== null ? [...keys, "leftOut"] : keys;
}

function withText(output: unknown, { keys, isContent }: TextPath, text: string): unknown {
  const shown = isContent ? [{ type: "text", text }] : text;
  const budget = SHAPE_CHARS + jsonText(shown).length;
  let shaped: unknown = shown;
  for (const limits of SHAPES) {
    shaped = shapeOf(output, { keys, shown, ...limits });
    if (jsonText(shaped).length <= budget) break;
  }
  return shaped;
}

interface Shaping {
  /** The keys that lead to the text from here. Null beside that way. */
  readonly keys: readonly string[] | null;
  readonly shown: unknown;
  readonly levels: number;
  readonly chars: number;
}

/** A value with its keys, numbers and short texts. Of a list only the item with the text stays. */
function shapeOf(value: unknown, { keys, levels, ...rest }: Shaping): unknown {
  const [key, ...inner] = keys ?? [];
  if (keys !== null && key === undefined) return rest.shown;
  if (typeof value === "string") return value.length <= rest.chars ? value : "";
  if (typeof value !== "object" || value === null) return value;
  const shape = (each: unknown, way: readonly string[] | null): unknown =>
    shapeOf(each, { ...rest, keys: way, levels: levels - 1 });
  if (Array.isArray(value)) return key === undefined ? [] : [shape(value[Number(key)], inner)];
  const entries = Object.entries(value).flatMap(([own, each]) =>
    own === key ? [[own, shape(each, inner)]] : levels > 0 ? [[own, shape(each, null)]] : [],
  );
  if (key !== undefined && !Object.hasOwn(value, key)) entries.push([key, rest.shown]);
  return Object.fromEntries(entries) as unknown;
}
