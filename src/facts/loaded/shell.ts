/**
 * Reads which files a shell command shows, and which it may change.
 *
 * A command in, names out. A patch or a program in place of a command is read by its lines. Wrong answers are safe: a
 * file that is taken for changed is only named, and only a command that does nothing but show files tells their texts.
 */

/** What a command does with files. */
export interface Command {
  /** The paths of the files that it shows. */
  readonly shows: readonly string[];
  /** Its lines, as the fields of a tool that reads. Null where it does more than show files. */
  readonly lines: Readonly<Record<string, unknown>> | null;
  /** Names of files and folders that it may change, wherever they are, or patterns of them. See {@link matches}. */
  readonly changes: readonly string[];
}

const ABSOLUTE = /^(?:[/~]|\w+:)/;
/** The command that a shell is started for, and errors that are silenced. */
const STARTS_SHELL = /^\s*\S*sh\s+-\w*c\s+(["']?)([^]*)\1\s*$/;
const SILENCED = /\d?>\s*(?:&\d|\/dev\/null)|\|\|\s*true\b/g;
/** The body of a text that is given in place of a file, the changed lines of a patch, and notes. None of them is a step. */
const TEXT = /\b((?:cat|tee|commit|gh)\b[^\n]*<<-?\s*["']?(\w+)[^\n]*)\n[^]*?\n\s*\2\b/g;
const NO_STEP = /^(?:[+-](?!\+\+ |-- )|\s*#).*$/gm;
/** In a longer command texts are read as steps, because the search for their ends would take too long. */
const MAX_TEXT_CHARS = 20_000;
/** A step, and a pipe that takes its output. */
const STEP = /((?:"[^"]*"|'[^']*'|[^\n|;&"']+|["'])+)(\|(?!\|))?/g;
/** What may stand before the command of a step. */
const BEFORE =
  /^(?:\s*(?:[({!]|(?:if|then|elif|else|while|do|sudo|env|time|nohup|command|exec)\s|[A-Za-z_]\w*=\S*\s))*\s*(?:[^\s"'=]*\/(?=git\s))?/;
/** A command whose output is put into another one. */
const INNER = /\$\(([^()]*)\)|`([^`\s]+\s[^`]*)`/g;
const CHANGES_FOLDER = /^\s*cd\s+["']?([^\s"']+)/;
const SHOWS =
  /^\s*(?:cat|nl|sed\s+-n\s+["']?(?<offset>\d+),(?<limit>\d+|\$)p["']?|head\s+-n?\s*(?<head>\d+)|(?<query>tail|less|more|head|sed\s+-n))\s(?<files>[^>]*)$/;
/** Steps that change no file but where they redirect to. An assignment in a program is none. */
const HARMLESS =
  /^\s*(?!(?:sed|awk|sort)\b.*\s-(?:\w*[io]|-in)|.*\s--output)(?:(?:git\s+(?:-\S+\s+\S+\s+)*(?:add|commit|diff|log|show|status|blame|push|ls-files|grep)|gh(?!\s+(?:pr\s+checkout|repo\s+sync))|echo|grep|rg|ls|wc|\w+sum|diff|find(?!.*\s-(?:delete|exec))|fd(?!.*\s-[xX])|bat|cat|nl|sed|head|tail|less|more|awk|sort|cut|jq|stat|test|\[)(?=\s+[^=\s]|\s*$))/i;
/** A step that takes its words from a pipe, steps that change all that they name, also folders, and those that may change every file. */
const FED = /^\s*(?:xargs|parallel)\s+(?:-\S+\s+|\{\}\s+)*/;
const BY_FOLDER =
  /^\s*(?:find|\S*\/?rm|mv|cp|rsync|scp|ln|sed|perl|truncate|git)\s|\s(?:--write|-w)\s|^(?=.*\s--fix\s).*lint/;
const WHOLE_TREE =
  /^\s*(?:git\s+(?:-\S+\s+\S+\s+)*(?:checkout(?!\s+-b\s+\S+\s*$|.*\s--\s)|switch(?!\s+-c\s+\S+\s*$)|pull|bisect|reset\s(?:.*\s)?--[hkm]|stash(?!\s+(?:l|sh|d))|merge(?!-)|rebase|revert|cherry-pick|am\s|clean|apply(?!.*(?:--check|<<))|submodule\s+up)|gh\s|patch\s(?!.*--dry)|tar\s+-?\w*x|tar\s+--ext|unzip\s(?!-l)|fd\s|(?:sed|perl)\s.*(?:\$\(|`))/;
/** A step that changes only what it names last. */
const COPIES = /^\s*(?:cp|rsync|scp)\s[^#]*$/;
const REDIRECTS = /(?<![-=])>([^]*)$/;
/** Names that an instruction file may have. */
const IS_TEXT = /\.mdc?$|(?:rules|hints)$/i;
const MARK = /[*?{[]/;

/** What a command does that starts in `folder`. */
export function readCommand(command: string, folder: string): Command {
  const plain = command.replaceAll(NO_STEP, "");
  const read = (plain.length > MAX_TEXT_CHARS ? plain : plain.replaceAll(TEXT, "$1"))
    .replace(STARTS_SHELL, "$2")
    .replaceAll(SILENCED, "");
  let at = folder;
  const steps = [...read.matchAll(STEP)].flatMap(([, text = "", pipe]) => {
    const to = CHANGES_FOLDER.exec(text)?.[1];
    if (to !== undefined) at = pathOf(to, at);
    if (to !== undefined || text.trim() === "") return [];
    const { files, ...lines } = SHOWS.exec(text)?.groups ?? {};
    const isShow = files !== undefined && pipe === undefined && HARMLESS.test(text);
    const shows = isShow ? wordsIn(files).map((path) => pathOf(path, at)) : [];
    return [{ shows, lines: isShow ? lines : null, changes: changedBy(text) }];
  });
  const inner = [...read.matchAll(INNER)].flatMap(([, one = "", other = one]) => changedBy(other));
  return {
    shows: steps.flatMap((step) => step.shows),
    lines: steps.length === 1 ? (steps[0]?.lines ?? null) : null,
    changes: [...steps.flatMap((step) => step.changes), ...inner],
  };
}

/** The names that a step may change. */
function changedBy(whole: string): string[] {
  const text = whole.replace(BEFORE, "");
  const step = text.replace(FED, "");
  if (HARMLESS.test(step)) return namesIn(REDIRECTS.exec(text)?.[1] ?? "", IS_TEXT);
  return step !== text || WHOLE_TREE.test(text) ? ["*"] : namesIn(text, BY_FOLDER.test(text) ? /^/ : IS_TEXT);
}

/** The last part of each path, with the folder before it where it is a pattern. A path without a name is everything. */
function namesIn(text: string, isName: RegExp): string[] {
  const words = wordsIn(text);
  return (COPIES.test(text) ? words.slice(-1) : words).flatMap((word) => {
    const path = pathOf(word).replace(/\/$/, "");
    const name = baseName(path);
    if (/^[.~:]*$/.test(name)) return isName.test("") ? ["*"] : [];
    const folder = MARK.test(name) ? baseName(path.slice(0, -name.length - 1)) : "";
    return isName.test(name) ? [/^[.~]*$/.test(folder) ? name : `${folder}/${name}`] : [];
  });
}

function wordsIn(text: string): string[] {
  return text.split(/[\s"'<>()=;]+/).filter((word) => !/^(?:-.*|\d*)$/.test(word));
}

/** Whether a name or pattern of {@link Command} is the name of a file or of a folder that it is in. */
export function matches(pattern: string, path: string): boolean {
  const parts = path.split("/");
  const [name = "", folder = "*"] = pattern.split("/").toReversed();
  return parts.some((part, at) => isLike(name, part) && isLike(folder, parts[at - 1] ?? ""));
}

/** What stands between the first and the last mark of a pattern may be anything. */
function isLike(pattern: string, name: string): boolean {
  const first = pattern.search(MARK);
  if (first < 0) return pattern === name;
  const last = Math.max(...["*", "?", "}", "]"].map((mark) => pattern.lastIndexOf(mark)));
  return name.startsWith(pattern.slice(0, first)) && name.endsWith(last < first ? "" : pattern.slice(last + 1));
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
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
