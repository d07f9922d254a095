/** The methods that the room of transcripts adds to a session. */
import type { UIMessage } from "ai";
import type { Methods } from "../agent/compose.ts";
import { noRules, redactionOf } from "../agent/redaction.ts";
import { checkGiven, given, parseInput } from "../agent/inputs.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { History } from "../memory/messages/history.ts";
import { transcriptInputs } from "./inputs.ts";
import { exportJsonl } from "./export.ts";
import type { Format } from "./import.ts";
import { readFile, storeFile, type ImportTranscriptOptions } from "./into-session.ts";
import type { StoredConversation } from "./store.ts";
import { PART_CHARS, type ExportedPart, type ExportPartOptions } from "./parts.ts";
import { takeIn, type TakenIn } from "./take-in.ts";
import { takePart, type OpenImports, type PartReceipt, type SentPart } from "./uploads.ts";

/** What came of an import. */
export interface ImportReceipt {
  /** The format that was read. */
  readonly format: Format;
  /** The name of the conversation in the file. */
  readonly name: string;
  /** Number of messages in it. */
  readonly messages: number;
  /** Number of new messages. Messages whose ids the session already had are not changed. */
  readonly inserted: number;
  /** Describes what was left out. */
  readonly notes: readonly string[];
}

/** Messages that are read from a host at once. The number needs few calls and fits in memory. */
const HOSTED_PAGE = 50;

export class SessionTranscripts {
  readonly #state: SessionState;
  readonly #reading: OpenImports;

  /** @internal */
  constructor(state: SessionState, reading: OpenImports) {
    this.#state = state;
    this.#reading = reading;
  }

  /**
   * Appends the conversation of a transcript file, with its branches, all or nothing. The file is read in pieces, between which the agent
   * answers others. One transaction then stores it behind all messages that came meanwhile. A file with several conversations needs
   * `index`, counted from 0.
   *
   * Throws `import_failed` naming the first bad lines, `rate_limited` while others are being read, and the errors of an append.
   */
  async importTranscript(text: string, options: ImportTranscriptOptions = {}): Promise<ImportReceipt> {
    const checked = parseInput(transcriptInputs.importTranscript, options);
    const state = this.#state.fixed;
    const { sessions } = state.core.memory;
    const existed = sessions.get(state.id) !== null;
    const { encoded, conversation, ...read } = await readFile(this.#reading, state.stored, { text, ...checked });
    // The session may have been deleted meanwhile, and an import must not create it again.
    if (existed) sessions.mustGet(state.id);
    const inserted = state.write((history) => storeFile(history, conversation, encoded));
    return { ...read, name: conversation.name, messages: conversation.messages.length, inserted };
  }

  /**
   * Takes a part of a conversation that its sender read from a file, for a conversation that no single call carries. The parts of an upload come
   * in order, and the last one stores it, all or nothing, behind all messages that came meanwhile. `palimpsest import` sends every file so.
   *
   * Throws `import_failed` where earlier parts are no longer here, `rate_limited` while others are being read, and the errors of an append.
   */
  async importPart(part: SentPart): Promise<PartReceipt> {
    const { messages, ...checked } = parseInput(transcriptInputs.importPart, part);
    const state = this.#state.fixed;
    const { sessions } = state.core.memory;
    state.stored.mustKeepMessages();
    const receiver = {
      reading: this.#reading,
      history: state.stored,
      sessionId: state.id,
      existed: sessions.get(state.id) !== null,
      now: state.core.platform.now(),
    };
    const taken = takePart(receiver, { ...checked, messages });
    if (typeof taken === "number") return { received: taken, inserted: null };
    const { conversation, encoded, existed } = taken;
    // The session may have been deleted meanwhile, and an import must not create it again.
    if (existed) sessions.mustGet(state.id);
    const inserted = state.write((history) => storeFile(history, conversation, encoded));
    return { received: conversation.messages.length, inserted };
  }

  /**
   * Takes over a conversation from another store of this object with its branches and summaries, as in `importFrom(fromSessions(…))` or
   * `importFrom(fromLegacyTables(…))`. The other store does not change. Repeating an interrupted call continues it, and repeating a
   * finished one changes nothing.
   *
   * Throws `host_owns_messages`, and `import_failed` where the session was used before all messages were there.
   */
  async importFrom(source: StoredConversation): Promise<TakenIn> {
    return takeIn(this.#state.fixed, source);
  }

  /**
   * Yields the stored path as JSONL, one `UIMessage` a line. With `redact` it leaves out the secrets that the session's rules find. Throws
   * `not_configured` where the session has no rules.
   */
  async *exportTranscript(leafId?: string, options: { redact?: boolean } = {}): AsyncGenerator<string> {
    checkGiven(given.leaf, { leafId });
    const shown = this.#shown(parseInput(transcriptInputs.exportTranscript, options).redact);
    const state = this.#state.fixed;
    if (!state.isHosted) {
      yield* exportJsonl(state.stored.originals(leafId).map(shown));
      return;
    }
    const numbers = await state.read((history) => history.pathNumbers(leafId));
    for (let at = 0; at < numbers.length; at += HOSTED_PAGE) {
      const page = numbers.slice(at, at + HOSTED_PAGE);
      yield* exportJsonl((await state.read((history) => history.originalsAt(page))).map(shown));
    }
  }

  /**
   * Returns the next part of what {@link exportTranscript} yields, for a caller that is not in the agent. Pass the `leafId` and the `next` of
   * each part to get the one behind it.
   */
  async exportPart(options: ExportPartOptions = {}): Promise<ExportedPart> {
    const { leafId, from, redact } = parseInput(transcriptInputs.exportPart, options);
    const shown = this.#shown(redact);
    const state = this.#state.fixed;
    const leaf = leafId ?? (await state.read((history) => history.leafId()));
    if (leaf === null) return { text: "", leafId: null, next: null };
    const numbers = await state.read((history) => history.pathNumbers(leaf));
    const line = (history: History, seq: number): string =>
      [...exportJsonl(history.originalsAt([seq]).map(shown))].join("");
    let [text, at] = ["", from];
    // One message is read at a time, because each may be large. Only a host's may have to be waited for.
    for (; at < numbers.length && text.length < PART_CHARS; at++) {
      const seq = numbers[at] ?? 0;
      text += state.isHosted ? await state.read((history) => line(history, seq)) : line(state.stored, seq);
    }
    return { text, leafId: leaf, next: at < numbers.length ? at : null };
  }

  #shown(redact: boolean): (message: UIMessage) => UIMessage {
    const { secretRules } = this.#state.settings;
    if (!redact) return (message) => message;
    if (secretRules === null) throw noRules(this.#state.id);
    return redactionOf({ secretRules }).message;
  }
}

/** The methods that the room adds to a session. */
export interface TranscriptMethods extends Methods<SessionTranscripts> {}
