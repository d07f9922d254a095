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
import { errorCode, PalimpsestError } from "../errors.ts";
import { KEPT_OUTPUT_CHARS } from "../limits.ts";
import { cutMiddle } from "../steps/render.ts";
import { toolPart, type Part } from "../steps/tool-parts.ts";
import { shortenOutput } from "../steps/truncate.ts";
import type { Session } from "./session.ts";
import type { WriteOptions } from "./session-history.ts";

type Extend = (parts: UIMessage["parts"]) => void;

/** The threshold is looked at when the step is counted, right after: what it taught must be known by then. */
const UNTIL_COUNTED: WriteOptions = { quiet: true };

const NOT_KEPT = "Too large to be stored: this is all that was kept of it. Run the tool again, asking for less.";

export class KeptReply {
  readonly id: string;
  #session: Session;
  #extend: Extend;

  /** Throws `unknown_message`. */
  constructor(session: Session, id: string) {
    const extend = session.extender(id, UNTIL_COUNTED);
    if (extend === null) {
      throw new PalimpsestError(
        "unknown_message",
        `There is no message "${id}" in session "${session.id}". Append the reply first, with no parts: it holds the turn's place.`,
      );
    }
    this.id = id;
    this.#session = session;
    this.#extend = extend;
  }

  /** The session that the reply grows in: once it was split, the one that its conversation goes on in, if the reply is there. */
  get session(): Session {
    const newest = this.#session.newest();
    const extend = newest.id === this.#session.id ? null : newest.extender(this.id, UNTIL_COUNTED);
    if (extend !== null) [this.#session, this.#extend] = [newest, extend];
    return this.#session;
  }

  /**
   * Adds a step's parts to its end. Outputs that are too large are shortened, and say so. Throws `unknown_message` once
   * the reply was deleted, `session_ended` where the reply did not go along, `message_too_large`, `not_serializable`.
   */
  add(parts: UIMessage["parts"]): void {
    void this.session;
    const plain = toPlain(parts);
    for (const limit of [Infinity, ...KEPT_OUTPUT_CHARS]) {
      try {
        return this.#extend(plain.map((part) => shortenTool(part, limit)));
      } catch (error) {
        if (errorCode(error) !== "message_too_large" || limit === KEPT_OUTPUT_CHARS.at(-1)) throw error;
      }
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
