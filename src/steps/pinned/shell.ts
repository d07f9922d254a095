/**
 * Reads which files a shell command shows, and which it may change.
 *
 * A command in, its steps out. A patch or a program in place of a command is read by its lines. Wrong answers are safe:
 * a file that is taken for changed is only named, and a caller asks for whole texts only where all steps show files.
 */

/** One step of a command. */
export interface Step {
  /** The files that it shows, and its lines as the fields of a tool that reads. Null for a step that does something else. */
  readonly shown: { readonly paths: readonly string[]; readonly lines: Readonly<Record<string, unknown>> } | null;
  /** The paths that it may change. */
  readonly changed: readonly string[];
  /** Patterns of paths and folders in which it may change anything. */
  readonly covers: readonly string[];
}

const ABSOLUTE = /^(?:[/~]|\w+:)/;
/** The command that a shell is started for, and errors that are silenced. */
const STARTS_SHELL = /^\s*\S*sh\s+-\w*c\s+(["']?)([^]*)\1\s*$/;
const SILENCED = /\d?>\s*(?:&\d|\/dev\/null)|\|\|\s*true\b/g;
/** A step, and a pipe that takes its output. */
const STEP = /((?:"[^"]*"|'[^']*'|[^\n|;&"']+|["'])+)(\|(?!\|))?/g;
const CHANGES_FOLDER = /^\s*cd\s+["']?([^\s"']+)/;
const SHOWS =
  /^\s*(?:cat|bat|nl|type|Get-Content|sed\s+-n\s+["']?(?<offset>\d+),(?<limit>\d+|\$)p["']?|head\s+-n?\s*(?<head>\d+)|(?<query>tail|less|more|head|sed\s+-n))\s(?<files>[^>]*)$/;
/** Steps that change no file but where they redirect to. Any other may change the files that it names. */
const HARMLESS =
  /^\s*(?!sed\b.*\s-(?:\w*i|-in)|.*\s--output)(?:#|(?:git\s+(?:-\S+\s+\S+\s+)*(?:add|commit|diff|log|show|status|blame|push|ls-files)|gh|echo|printf|grep|rg|ls|wc|\w+sum|file|diff|find(?!.*\s-(?:delete|exec))|stat|test|\[|cat|bat|nl|type|get-content|sed\s+-n|head|tail|less|more)(?=\s|$))/i;
/** Steps that hand on what a pipe names, and the marks of steps that change files which they do not name one by one. */
const FEEDS = /^\s*xargs\s+(?:-\S+\s+|\{\}\s+)*/;
const WHOLE_TREE =
  /^\s*git\s+(?:-\S+\s+\S+\s+)*(?:checkout(?!\s+-b|.*\s--\s)|switch(?!\s+-c)|pull|reset\s+--hard|stash(?!\s+(?:list|show|push\s))|merge|rebase)\b/;
const FOLDERS = /^\s*(?:sudo\s+)?(?:xargs|\S*\/?rm|mv|git\s+(?:rm|mv))\s|\s--write\s/;
const PATTERNS = /^\s*(?:sudo\s+)?(?:xargs|\S*\/?rm|mv|cp|ln|sed|perl|truncate|git|npx)\s/;
const REDIRECTS = /(?<![-=])>([^]*)$/;
const COPIES = /^\s*(?:sudo\s+)?(?:cp|mv|ln)\s/;
/** The body of a text that a shell is given in place of a file, and the lines of a patch that name files. */
const TEXT = /\b((?:cat|tee|git|gh)\b[^\n]*<<-?\s*["']?(\w+)[^\n]*)\n[^]*?\n\s*\2\b/g;
const PATCHED =
  /^(\*\*\* (?:Begin|End|Add|Update|Delete|Move) .*|--- .*\n\+\+\+ .*)(?:\n(?!--- .*\n\+\+\+ )(?:[ +@\\-].*|$))*/gm;
const SIDE = /^(---|\+\+\+) [ab]\//gm;
/** A pattern with more marks covers everything, because a search for it could take too long. */
const MAX_MARKS = 4;
/** The last words of a pipe that a step may be fed with. */
const MAX_PIPED = 20;
/** In a longer command texts are read as steps, because the search for their ends would take too long. */
const MAX_TEXT_CHARS = 20_000;

/** The steps of a command that starts in `folder`, and whether it may have shown only some of its files. */
export function readCommand(command: string, folder: string): { readonly steps: Step[]; readonly isOneOf: boolean } {
  let at = folder;
  let piped: readonly string[] = [];
  const named = [...command.matchAll(PATCHED)].map(([, names = ""]) => names.replaceAll(SIDE, "$1 "));
  const rest = command.replaceAll(PATCHED, "");
  const given = [rest.length > MAX_TEXT_CHARS ? rest : rest.replaceAll(TEXT, "$1"), ...named].join("\n");
  const told = given.replace(STARTS_SHELL, "$2");
  const heard = told.replaceAll(SILENCED, "");
  const steps = [...heard.matchAll(STEP)].flatMap(([, text = "", pipe]) => {
    const to = CHANGES_FOLDER.exec(text)?.[1];
    if (to !== undefined) at = pathOf(to, at);
    if (to !== undefined || text.trim() === "") return [];
    const { files, ...lines } = SHOWS.exec(text)?.groups ?? {};
    const shown =
      files === undefined || pipe !== undefined || !HARMLESS.test(text) ? null : { paths: pathsIn(files, at), lines };
    const [before, isFed] = [piped, FEEDS.test(text)];
    piped = pipe === undefined ? [] : [...new Set([...before, ...wordsIn(text).slice(-MAX_PIPED)])].slice(-MAX_PIPED);
    return [{ shown, ...changedBy(isFed ? `${text} ${before.join(" ")}` : text, at) }];
  });
  const files = steps.flatMap(({ shown }) => shown?.paths ?? []);
  return { steps, isOneOf: heard.includes("||") || (files.length > 1 && heard !== told) };
}

/** A copy may change files of the same names in its last path. */
function changedBy(text: string, folder: string): Omit<Step, "shown"> {
  if (HARMLESS.test(text.replace(FEEDS, "")))
    return { changed: pathsIn(REDIRECTS.exec(text)?.[1] ?? "", folder), covers: [] };
  const isCopy = COPIES.test(text);
  const words = wordsIn(text).map((word) => pathOf(word, folder));
  const last = words.at(-1) ?? "";
  const into = isCopy && !/\.\w+$/.test(last) ? words.map((path) => pathOf(path.replace(/.*\//, ""), last)) : [];
  const patterns = PATTERNS.test(text) ? [...words, ...into].filter((word) => /[*?{]/.test(word)) : [];
  const folders = FOLDERS.test(text)
    ? words.slice(1, isCopy ? -1 : undefined).filter((word) => !/\.\w+$/.test(word))
    : [];
  return {
    changed: [...pathsIn(text, folder), ...into],
    covers: WHOLE_TREE.test(text) ? [""] : [...patterns, ...folders],
  };
}

function pathsIn(words: string, folder: string): string[] {
  return wordsIn(words.replaceAll(/[{}[\],]/g, " ")).map((word) => pathOf(word, folder));
}

function wordsIn(text: string): string[] {
  return text.split(/[\s"'<>()=;]+/).filter((word) => !/^(?:-.*|\d*)$/.test(word));
}

/** Whether a file may be in a folder, or have a name, that a pattern of {@link Step} covers. An absolute one may be the same as a relative one. */
export function covers(pattern: string, path: string): boolean {
  const isNear = isAbsolute(path) || !isAbsolute(pattern);
  const near = isNear ? pattern : pattern.replace(/.*\//, "");
  if (near === "" || near === "." || (near.match(/[*?{]/g) ?? []).length > MAX_MARKS) return true;
  const source = near
    .replaceAll(/[.+^$()|[\]\\]/g, "\\$&")
    .replaceAll(/\*+|\?|\{([^{}]*)\}|[{}]/g, (mark, list?: string) => {
      if (list !== undefined) return `(?:${list.replaceAll(",", "|").replaceAll(/[*?]/g, "[^/]*")})`;
      return mark === "**" ? ".*" : mark.startsWith("*") || mark === "?" ? "[^/]*" : `\\${mark}`;
    });
  return new RegExp(`^${isAbsolute(near) ? "" : "(?:.*/)?"}${source}(?:$|/)`).test(path);
}

/** A path in one spelling: with slashes, without steps up, and behind the folder where it is not absolute. */
export function pathOf(path: string, folder = ""): string {
  const plain = path.replace(/^file:\/\//, "").replaceAll("\\", "/");
  const parts: string[] = [];
  for (const part of (folder === "" || isAbsolute(plain) ? plain : `${folder}/${plain}`).split("/")) {
    if (part === ".." && /[^.]/.test(parts.at(-1) ?? "")) parts.pop();
    else if (part !== "." && (part !== "" || parts.length === 0)) parts.push(part);
  }
  return parts.join("/");
}

export function isAbsolute(path: string): boolean {
  return ABSOLUTE.test(path);
}
