/**
 * Messages in the user's role that a coding agent's harness wrote itself, such as the output of a command, a notice, or the instruction file.
 *
 * They stay in the history, because the model was sent them. Their metadata says that no word of them is the user's. Only a message that
 * consists of such text as a whole is marked. Where the user wrote anything beside it, the message is the user's.
 */
import type { ImportedTurn } from "../turns.ts";

/** Elements that harnesses put around their own text. */
const ENVELOPES: ReadonlySet<string> = new Set([
  "bash-input",
  "bash-stderr",
  "bash-stdout",
  "command-args",
  "command-contents",
  "command-message",
  "command-name",
  "environment_context",
  "ide_opened_file",
  "ide_selection",
  "INSTRUCTIONS",
  "local-command-caveat",
  "local-command-stderr",
  "local-command-stdout",
  "skill",
  "subagent_notification",
  "system-reminder",
  "task-notification",
  "teammate-message",
  "turn_aborted",
  "user-prompt-submit-hook",
  "user_instructions",
  "user_shell_command",
]);

/** The user's own words behind the name of a command. */
const ARGUMENTS = "command-args";
const OPENING_TAG = /^<([A-Za-z][\w-]*)(?:\s[^<>]*)?>/;
/** The blanks before the tag are read once, on the heading's line or below it. */
const FILE_HEADING = /^# AGENTS\.md(?:[^\n<]*|[^\n]*\n\s*)(?=<INSTRUCTIONS>)/;
/** Envelopes that one message may consist of. Each round copies the rest, and no harness wraps more. */
const MOST_ENVELOPES = 100;
const INTERRUPTED = /^\[Request interrupted by user[^\]\n]*\]$/;

/** Returns the turn, marked where a harness wrote all of it. */
export function markHarness(turn: ImportedTurn): ImportedTurn {
  if (turn.role !== "user" || turn.metadata.isCompactSummary === true) return turn;
  const isMeta = turn.pieces.every((piece) => piece.type === "text" && isHarness(piece.text));
  if (turn.pieces.length === 0 || !isMeta) return turn;
  return { ...turn, metadata: { ...turn.metadata, isMeta: true } };
}

/** True where harnesses wrote all of a text. */
export function isHarness(text: string): boolean {
  let rest = text.trim();
  if (INTERRUPTED.test(rest)) return true;
  for (let at = 0; rest !== ""; at++) {
    rest = rest.replace(FILE_HEADING, "");
    const [tag, name] = OPENING_TAG.exec(rest) ?? [];
    if (tag === undefined || name === undefined || !ENVELOPES.has(name)) return false;
    const closing = `</${name}>`;
    const end = rest.indexOf(closing, tag.length);
    if (end < 0) return false;
    if (name === ARGUMENTS && rest.slice(tag.length, end).trim() !== "") return false;
    rest = rest.slice(end + closing.length).trimStart();
    if (at === MOST_ENVELOPES) return false;
  }
  return text.trim() !== "";
}
