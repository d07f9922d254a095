/**
 * The stored reply to which a turn's steps are added, in any session that continues its conversation.
 *
 * Adds each step whole, follows the conversation through a split, and keeps as much as possible of an output that no message could hold.
 * Knows no model and no prompt.
 *
 * Safe because an addition is one transaction that requires the very message that the turn began with. Without it nothing is written, so a
 * deleted reply is not restored (S2). The same synchronous step looks for a child session and writes, so no step is written to a session
 * that has ended.
 */
import type { UIMessage } from "ai";
import { errorCode, PalimpsestError } from "../errors.ts";
import { cutMiddle } from "../steps/draft/render.ts";
import { callKey } from "../steps/view/accepted.ts";
import { answerCalls, openCall } from "./call-results.ts";
import { plain } from "./plain.ts";
import { isSaid, toolPart, type GivenResult, type Part, type ToolPart } from "../steps/message/message.ts";
import { shortenOutput } from "../fit/truncate.ts";
import { partsWithinBytes } from "../fit/within-bytes.ts";
import { MAX_FILE_CHARS } from "../limits.ts";
import type { Session } from "../agent/sessions/session.ts";
import type { ChangeParts } from "../agent/sessions/session.ts";
import type { WriteOptions } from "../agent/sessions/session-state.ts";

/** Characters of a tool's output that are kept where the reply has no room for the whole, tried from the largest down. */
const KEPT_OUTPUT_CHARS: readonly number[] = [1_000_000, 100_000, 10_000, 1_000];

/** Characters of the files in a reply that has no room for more. The step that took the newest one sees it whole. */
const KEPT_FILE_CHARS = MAX_FILE_CHARS / 2;

type Edit = (change: ChangeParts) => void;

/** Postpones the threshold check until the step's usage is recorded, right after the write, so that the check uses the new calibration. */
const UNTIL_COUNTED: WriteOptions = { quiet: true };

const NOT_KEPT = "Too large to be stored: this is all that was kept of it. Run the tool again, asking for less.";

export class ReplyWriter {
  readonly id: string;
  #session: Session;
  #edit: Edit;
  #answering: Promise<void> = Promise.resolve();

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

  /** The session that holds the reply. After a split it is the one that continues the conversation, if the reply is there. */
  get session(): Session {
    const newest = this.#session.newest();
    const edit = newest.id === this.#session.id ? null : newest.editor(this.id, UNTIL_COUNTED);
    if (edit !== null) [this.#session, this.#edit] = [newest, edit];
    return this.#session;
  }

  /**
   * Adds a step's parts at its end. Outputs that are too large are shortened, and say so. Throws `unknown_message` once the reply was
   * deleted, `session_ended` where the reply did not move to the child, `message_too_large`.
   */
  add(parts: UIMessage["parts"]): void {
    void this.session;
    const plain = toPlain(parts);
    keepWhatFits(this.#edit, (limit) => (stored) => [...stored, ...plain.map((part) => shortenTool(part, limit))]);
  }

  /**
   * Stores the results of calls that were open when the turn began. They go into the reply, or, while it is empty, into the message that it
   * follows. Results of other calls are ignored. Throws like {@link add}.
   */
  async answer(given: ReadonlyMap<string, GivenResult>): Promise<void> {
    // One after the other, because each is told by its place among the calls that are open.
    const answering = this.#answering.then(() => this.#answer(given));
    this.#answering = answering.catch(() => undefined);
    return answering;
  }

  async #answer(given: ReadonlyMap<string, GivenResult>): Promise<void> {
    const asking = await this.#newestSaid();
    if (asking === null) return;
    // A view may show a call under another id than the stored one (steps/view/accepted.ts).
    const results = new Map([...given].flatMap(([id, result]) => [[callKey(id), result] as const, [id, result]]));
    const shown = await this.#idsInView(asking);
    const resultFor = ({ toolCallId }: ToolPart, n: number): GivenResult | undefined =>
      shown === null
        ? (results.get(toolCallId) ?? results.get(callKey(toolCallId)))
        : given.get(shown[n] ?? toolCallId);
    if (answerCalls(asking.parts, resultFor) === asking.parts) return;
    const edit = asking.id === this.id ? this.#edit : this.#session.editor(asking.id, UNTIL_COUNTED);
    if (edit === null) return;
    keepWhatFits(edit, (limit) => (stored) => {
      const answered = answerCalls(stored, resultFor);
      return toPlain(answered.map((part, at) => (part === stored[at] ? part : shortenTool(part, limit))));
    });
  }

  /** The ids that the open calls of the newest message have in the view, where two of them were stored with one id. Otherwise null. */
  async #idsInView({ parts }: UIMessage): Promise<readonly string[] | null> {
    const open = idsOfOpen(parts);
    const ids = parts.flatMap((part) => toolPart(part)?.toolCallId ?? []);
    if (new Set(ids).size === ids.length) return null;
    const { messages } = await this.#session.getView({ leafId: this.id });
    return idsOfOpen(messages.flatMap((message) => message.parts)).slice(-open.length);
  }

  /** The newest message of the turn's branch with content. */
  async #newestSaid(): Promise<UIMessage | null> {
    const { session } = this;
    for (let id: string | null = this.id; id !== null; id = await session.getParent(id)) {
      const message = await session.getMessage(id);
      if (message === null || message.parts.some(isSaid)) return message;
    }
    return null;
  }
}

function idsOfOpen(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => openCall(part)?.toolCallId ?? []);
}

/** Changes a message, without its oldest files and with its outputs shortened, as far as necessary. */
function keepWhatFits(edit: Edit, changeWithin: (limit: number) => ChangeParts): void {
  const newestFiles = (limit: number): ChangeParts => {
    const change = changeWithin(limit);
    return (stored) => partsWithinBytes(change(stored), KEPT_FILE_CHARS);
  };
  for (const change of [changeWithin(Infinity), newestFiles(Infinity), ...KEPT_OUTPUT_CHARS.map(newestFiles)]) {
    try {
      return edit(change);
    } catch (error) {
      if (errorCode(error) !== "message_too_large") throw error;
    }
  }
  edit(newestFiles(KEPT_OUTPUT_CHARS.at(-1) ?? 0));
}

/** Parts as JSON, as a provider would get them (plain.ts). */
function toPlain(parts: UIMessage["parts"]): UIMessage["parts"] {
  return plain(parts) as unknown as UIMessage["parts"];
}

function shortenTool(part: Part, limit: number): Part {
  const tool = limit === Infinity ? null : toolPart(part);
  if (tool?.state === "output-available") return { ...tool, output: shortenOutput(tool.output, limit, NOT_KEPT) };
  if (tool?.state !== "output-error" || tool.errorText.length <= limit) return part;
  return { ...tool, errorText: `${cutMiddle(tool.errorText, limit)}\n[${NOT_KEPT}]` };
}
