/**
 * Counts the hidden names that came up again, and where the reader could have them from.
 *
 * The words of what a view hides, the texts that it shows and the messages since then in, counts out. It asks no model,
 * and its answer holds no word. A name came up again when a user or the agent wrote it, in a message or as the input of
 * a tool.
 */
import type { UIMessage } from "ai";
import { innerParts, toolName, toolPart, type Part } from "../steps/message/tool-parts.ts";
import { readSayings } from "./gather.ts";
import { isName } from "./names/choose.ts";
import type { Words } from "./names/table.ts";
import { saysWord, wordsIn } from "./words.ts";
import { Pace, type Slices } from "../steps/text/slices.ts";

/** What came of the names that a view hid when an overlay was laid. */
export interface Hindsight {
  /** Messages since then that were read for these counts. */
  readonly messages: number;
  /** Messages of the view that were not read, because a count reads a bounded number of bytes. */
  readonly unread: number;
  /** Hidden names that came up again. The three counts below add up to it. */
  readonly names: number;
  /** Of those, the names that the view showed: in its first or last messages, in a summary, or beside one. */
  readonly inView: number;
  /** Of the others, the names that an answer of `recall` or of a search brought back. */
  readonly recalled: number;
  /** The rest. The reader found them elsewhere, or did without. */
  readonly missed: number;
}

/** Tools by which a model reads what a view hides. */
const RECALL_TOOLS: ReadonlySet<string> = new Set(["recall", "session_search", "search_context"]);

/** Where an answer of those tools repeats what it was asked and did not find, to the end of the line. */
const ECHO = /(?:No message has|Not in this conversation, or deleted from it:|, without ")[^\n]*/g;

/** Characters of text in one piece of work, some milliseconds of it. */
const PIECE_CHARS = 100_000;

/** The messages around one overlay, and the words that its view hid. */
export interface Since {
  /** The words under each overlay of the view. */
  readonly hidden: readonly Words[];
  /** The messages that stood in the view when the overlay was laid. */
  readonly shown: readonly UIMessage[];
  /** The messages since the compaction. */
  readonly later: readonly UIMessage[];
}

type Test = (word: string) => boolean;

/** The hidden names that came up again. {@link countAgain} grades any summary by them. */
export interface NamedAgain {
  readonly names: readonly string[];
  /** Whether a message that stood in the view says a name. */
  readonly inView: Test;
  /** Whether an answer of recall or search says a name. */
  readonly recalled: Test;
}

/** Finds the hidden names that came up again, in pieces. */
export function* findAgain({ hidden, shown, later }: Since): Slices<NamedAgain> {
  const names = new Set(hidden.flatMap(({ rows }) => rows.filter(isName).map(([word]) => word)));
  const pace = new Pace(PIECE_CHARS);
  const again = new Set<string>();
  const recalled = new Set<string>();
  for (const message of later) {
    for (const { by, text } of readSayings(message)) {
      if (by === "output") continue;
      for (const word of wordsIn(text)) if (names.has(word)) again.add(word);
      if (pace.isOver(text.length)) yield;
    }
    for (const word of recalledIn(message)) recalled.add(word);
  }
  const inView = new Set<string>();
  for (const message of again.size === 0 ? [] : shown) {
    for (const { text } of readSayings(message)) {
      for (const word of wordsIn(text)) inView.add(word);
      if (pace.isOver(text.length)) yield;
    }
  }
  return { names: [...again], inView: saysWord(inView), recalled: saysWord(recalled) };
}

/** Counts the names by what showed them. `summaries` holds the texts of the overlays as the view showed them. */
export function countAgain(
  { names, inView, recalled }: NamedAgain,
  summaries: readonly string[],
): Pick<Hindsight, "names" | "inView" | "recalled" | "missed"> {
  const summarised = saysWord(names.length === 0 ? [] : summaries.flatMap(wordsIn));
  const rest = names.filter((name) => !inView(name) && !summarised(name));
  const back = rest.filter(recalled).length;
  return { names: names.length, inView: names.length - rest.length, recalled: back, missed: rest.length - back };
}

/** The words that answers of recall and search brought. A call that failed brought none. */
function recalledIn(message: UIMessage): string[] {
  const parts = message.parts.flatMap((part): readonly Part[] => [part, ...innerParts(part)]);
  const answers = parts.filter((part) => {
    const tool = toolPart(part);
    return tool?.state === "output-available" && RECALL_TOOLS.has(toolName(tool));
  });
  if (answers.length === 0) return [];
  const sayings = readSayings({ ...message, parts: answers });
  return sayings.flatMap(({ by, text }) => (by === "output" ? wordsIn(text.replaceAll(ECHO, "")) : []));
}
