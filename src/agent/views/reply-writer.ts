/**
 * The stored reply that a turn's steps are added to, wherever its conversation goes on.
 *
 * Job: add each step whole, follow the conversation when it is split, and keep what can be kept of an output that no message
 * could hold. Boundary: knows no model and no prompt.
 *
 * Why it is safe: an addition is one transaction that finds the very message that the turn began with, or writes nothing:
 * a reply that was deleted, with its session's messages or alone, is not brought back (S2). Whether the session goes on
 * elsewhere is asked in the same breath as the writing, so no step is written to a session that has ended.
 */
import type { UIMessage } from "ai";
import { errorCode, PalimpsestError } from "../../errors.ts";
import { cutMiddle } from "../../steps/draft/render.ts";
import { answerCalls, withoutMark } from "../../steps/view/repair.ts";
import { isSaid, toolPart, type CallResult, type Part } from "../../steps/message/tool-parts.ts";
import { shortenOutput } from "../../steps/view/truncate.ts";
import type { Session } from "../session.ts";
import type { ChangeParts } from "../session-messages.ts";
import type { WriteOptions } from "../session-state.ts";

/** Characters of a tool's output that are kept where a turn's reply has no room for it, tried from the most to the least. */
const KEPT_OUTPUT_CHARS: readonly number[] = [1_000_000, 100_000, 10_000, 1_000];

type Edit = (change: ChangeParts) => void;

/** The threshold is looked at when the step is counted, right after: what it taught must be known by then. */
const UNTIL_COUNTED: WriteOptions = { quiet: true };

const NOT_KEPT = "Too large to be stored: this is all that was kept of it. Run the tool again, asking for less.";

export class ReplyWriter {
  readonly id: string;
  #session: Session;
  #edit: Edit;

  /** Throws `unknown_message`. */
  constructor(session: Session, id: string) {
    const edit = session.editor(id, UNTIL_COUNTED);
    if (edit === null) {
      throw new PalimpsestError(
        "unknown_message",
        `There is no message "${id}" in session "${session.id}". Append the reply first, with no parts: it holds the turn's place.`,
      );
    }
    this.id = id;
    this.#session = session;
    this.#edit = edit;
  }

  /** The session that the reply grows in: once it was split, the one that its conversation goes on in, if the reply is there. */
  get session(): Session {
    const newest = this.#session.newest();
    const edit = newest.id === this.#session.id ? null : newest.editor(this.id, UNTIL_COUNTED);
    if (edit !== null) [this.#session, this.#edit] = [newest, edit];
    return this.#session;
  }

  /**
   * Adds a step's parts to its end. Outputs that are too large are shortened, and say so. Throws `unknown_message` once
   * the reply was deleted, `session_ended` where the reply did not go along, `message_too_large`, `not_serializable`.
   */
  add(parts: UIMessage["parts"]): void {
    void this.session;
    const plain = toPlain(parts);
    keepWhatFits(this.#edit, (limit) => (stored) => [...stored, ...plain.map((part) => shortenTool(part, limit))]);
  }

  /**
   * Stores what became of calls that were open when the turn began: in the reply, or, while that holds nothing, in the message
   * that it follows. Results of other calls are left alone. Throws as {@link add}.
   */
  async answer(given: ReadonlyMap<string, CallResult>): Promise<void> {
    // A view marks the id of a call where an earlier one had it as well: what is stored has no mark (steps/repair.ts).
    const results = new Map([...given].flatMap(([id, result]) => [[withoutMark(id), result] as const, [id, result]]));
    const asking = await this.#newestSaid();
    if (asking === null || answerCalls(asking.parts, results) === asking.parts) return;
    const edit = asking.id === this.id ? this.#edit : this.#session.editor(asking.id, UNTIL_COUNTED);
    if (edit === null) return;
    keepWhatFits(edit, (limit) => (stored) => {
      const answered = answerCalls(stored, results);
      return toPlain(answered.map((part, at) => (part === stored[at] ? part : shortenTool(part, limit))));
    });
  }

  /** The newest message of the turn's branch that says anything. */
  async #newestSaid(): Promise<UIMessage | null> {
    const { session } = this;
    for (let id: string | null = this.id; id !== null; id = await session.getParent(id)) {
      const message = await session.getMessage(id);
      if (message === null || message.parts.some(isSaid)) return message;
    }
    return null;
  }
}

/** Changes a message, with its outputs shortened as far as it takes. */
function keepWhatFits(edit: Edit, changeWithin: (limit: number) => ChangeParts): void {
  for (const limit of [Infinity, ...KEPT_OUTPUT_CHARS]) {
    try {
      return edit(changeWithin(limit));
    } catch (error) {
      if (errorCode(error) !== "message_too_large" || limit === KEPT_OUTPUT_CHARS.at(-1)) throw error;
    }
  }
}

/** As a provider would be sent them: of a date in a tool's output, its text. What has no JSON is left to be refused by name. */
function toPlain(parts: UIMessage["parts"]): UIMessage["parts"] {
  try {
    return JSON.parse(JSON.stringify(parts)) as UIMessage["parts"];
  } catch {
    return parts;
  }
}

function shortenTool(part: Part, limit: number): Part {
  const tool = limit === Infinity ? null : toolPart(part);
  if (tool?.state === "output-available") return { ...tool, output: shortenOutput(tool.output, limit, NOT_KEPT) };
  if (tool?.state !== "output-error" || tool.errorText.length <= limit) return part;
  return { ...tool, errorText: `${cutMiddle(tool.errorText, limit)}\n[${NOT_KEPT}]` };
}
