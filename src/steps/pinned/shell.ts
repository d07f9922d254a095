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
  /^\s*(?:git\s+(?:-\S+\s+\S+\s+)*(?:add|commit|diff|log|show|status|blame|push)|gh|echo|printf|grep|rg|ls|wc|diff|find(?!.*\s-(?:delete|exec))|stat|test|\[|#|(?:cat|bat|nl|type|get-content|sed\s+-n|head|tail|less|more)\s)/i;
const REDIRECTS = /(?<![-=])>([^]*)$/;
const COPIES = /^\s*(?:sudo\s+)?(?:cp|mv|ln)\s/;
/** The body of a text that a shell is given in place of a file, and the lines of a patch that name files. */
const TEXT = /\b((?:cat|tee|git|gh)\b[^\n]*<<-?\s*["']?(\w+)[^\n]*)\n[^]*?\n\s*\2\b/g;
const PATCHED = /^(?:\*\*\*|\+\+\+)[ \t].*$/gm;
/** In a longer command texts are read as steps, because the search for their ends would take too long. */
const MAX_TEXT_CHARS = 20_000;

/** The steps of a command that starts in `folder`, and whether it may have shown only some of its files. */
export function readCommand(command: string, folder: string): { readonly steps: Step[]; readonly isOneOf: boolean } {
  let at = folder;
  const given =
    command.match(PATCHED)?.join("\n").replaceAll("+++ b/", "") ??
    (command.length > MAX_TEXT_CHARS ? command : command.replaceAll(TEXT, "$1"));
  const told = given.replace(STARTS_SHELL, "$2");
  const heard = told.replaceAll(SILENCED, "");
  const steps = [...heard.matchAll(STEP)].flatMap(([, text = "", pipe]) => {
    const to = CHANGES_FOLDER.exec(text)?.[1];
    if (to !== undefined) at = pathOf(to, at);
    if (to !== undefined || text.trim() === "") return [];
    const { files, ...lines } = SHOWS.exec(text)?.groups ?? {};
    const shown = files === undefined || pipe !== undefined ? null : { paths: pathsIn(files, at), lines };
    return [{ shown, changed: changedBy(text, at) }];
  });
  const files = steps.flatMap(({ shown }) => shown?.paths ?? []);
  return { steps, isOneOf: heard.includes("||") || (files.length > 1 && heard !== told) };
}

/** A copy may change files of the same names in its last path. */
function changedBy(text: string, folder: string): string[] {
  if (HARMLESS.test(text)) return pathsIn(REDIRECTS.exec(text)?.[1] ?? "", folder);
  const paths = pathsIn(text, folder);
  const last = paths.at(-1) ?? "";
  if (!COPIES.test(text) || /\.\w+$/.test(last)) return paths;
  return [...paths, ...paths.map((path) => pathOf(path.replace(/.*\//, ""), last))];
}

function pathsIn(words: string, folder: string): string[] {
  return words
    .split(/[\s"'<>(){}[\]=,;]+/)
    .flatMap((word) => (/^(?:-.*|\d*)$/.test(word) ? [] : [pathOf(word, folder)]));
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
