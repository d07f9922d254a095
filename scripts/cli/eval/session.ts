/** A conversation under exam: where it is cut, and what a compaction may hide of it. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { UIMessage } from "ai";
import type { Conversation, Format } from "../../../src/import/import.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import { estimateTokens, importTranscript, measureMessage } from "../in-package.ts";

/** Where a session is cut unless told, as a share of its messages. */
const CUT_SHARE = 0.8;
/** Messages at the beginning that head and tail keeps. They usually hold the task. */
const HEAD_MESSAGES = 3;
/** Divisor of the threshold that bounds the tail, as the product's own default does. */
const TAIL_SHARE_OF_THRESHOLD = 3;
/** Of the messages before the cut, the last tenth counts as known in any case. */
const TAIL_SHARE_OF_MESSAGES = 10;
const LEAST_TAIL_MESSAGES = 2;
/** Below it, a view has hardly room for a summary. */
export const LEAST_THRESHOLD = 1_000;

/** Places of messages before the cut, from the first to the one behind the last. */
export interface Hidden {
  readonly from: number;
  readonly to: number;
}

export interface EvalSession {
  readonly name: string;
  /** The messages before the cut. */
  readonly messages: readonly UIMessage[];
  /** What really happened next. */
  readonly rest: readonly UIMessage[];
  readonly tokens: number;
  /** What head and tail hides at the largest threshold. */
  readonly hidden: Hidden;
}

export interface Reading {
  readonly format?: Format | undefined;
  readonly index?: number | undefined;
  readonly until?: number | undefined;
  readonly thresholds: readonly number[];
}

/** Reads one file. Throws a {@link CommandFailure} that says what to change. */
export async function readSession(file: string, { format, index, until, thresholds }: Reading): Promise<EvalSession> {
  const conversation = await readConversation(file, { format, index });
  const path = lastPath(conversation);
  const cut = until ?? Math.floor(path.length * CUT_SHARE);
  const name = nameOf(file);
  if (cut > path.length) throw wrong(`${name} has ${path.length} messages: give --until a number up to that.`);
  const messages = path.slice(0, cut);
  const tokens = tokensOf(messages);
  const largest = Math.max(...thresholds);
  const hidden = hiddenBy(messages, largest);
  if (tokens <= largest || hidden.to <= hidden.from) {
    const advice =
      tokens < 3 * LEAST_THRESHOLD
        ? "Give a longer session."
        : `Give --threshold ${Math.floor(tokens / 3)} or less, or a longer session.`;
    throw wrong(
      `${name} is too short: its first ${messages.length} messages hold some ${tokens} tokens, so a threshold of ${largest} hides nothing. ${advice}`,
    );
  }
  return { name, messages, rest: path.slice(cut), tokens, hidden };
}

/** The first messages and the newest ones that fit a third of the threshold. */
export function headAndTail(messages: readonly UIMessage[], threshold: number): UIMessage[] {
  const { head, tail } = boundsOf(messages, threshold);
  return [...messages.slice(0, head), ...messages.slice(tail)];
}

export function tokensOf(messages: readonly UIMessage[]): number {
  return messages.reduce((sum, message) => sum + measureMessage(message, estimateTokens).tokens, 0);
}

function hiddenBy(messages: readonly UIMessage[], threshold: number): Hidden {
  const { head, tail } = boundsOf(messages, threshold);
  return { from: head, to: Math.min(tail, messages.length - Math.ceil(messages.length / TAIL_SHARE_OF_MESSAGES)) };
}

function boundsOf(messages: readonly UIMessage[], threshold: number): { readonly head: number; readonly tail: number } {
  let tail = messages.length;
  let kept = 0;
  for (const message of messages.toReversed()) {
    kept += tokensOf([message]);
    if (kept > threshold / TAIL_SHARE_OF_THRESHOLD && messages.length - tail >= LEAST_TAIL_MESSAGES) break;
    tail -= 1;
  }
  return { head: Math.min(HEAD_MESSAGES, tail), tail };
}

async function readConversation(
  file: string,
  options: { readonly format: Format | undefined; readonly index: number | undefined },
): Promise<Conversation> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw wrong(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  });
  const { format, index } = options;
  const { conversations } = importTranscript(text, {
    ...(format === undefined ? {} : { format }),
    ...(index === undefined ? {} : { index }),
  });
  const [only, ...others] = conversations;
  if (only === undefined || others.length > 0) {
    throw wrong(`${file} holds ${conversations.length} conversations: choose one with --index, from 0 on.`);
  }
  return only;
}

/** The messages from the root to the last one. A source may have branches. */
function lastPath({ messages, branches }: Conversation): UIMessage[] {
  const at = new Map(messages.map(({ id }, index) => [id, index]));
  const path: UIMessage[] = [];
  let index = messages.length - 1;
  for (;;) {
    const message = messages[index];
    if (message === undefined) return path.toReversed();
    path.push(message);
    const parent = branches.get(message.id);
    index = parent === undefined ? index - 1 : parent === null ? -1 : (at.get(parent) ?? -1);
  }
}

function nameOf(file: string): string {
  return basename(file).replace(/\.jsonl?$/, "");
}

function wrong(message: string): CommandFailure {
  return new CommandFailure(EXIT.usage, message, "invalid_input");
}
