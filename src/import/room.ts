/** The room of transcripts: other tools' conversations come into a session, and one leaves it. */
import type { UIMessage } from "ai";
import type { Methods } from "../agent/compose.ts";
import type { Extension } from "../agent/extension.ts";
import { noRules, redactionOf } from "../agent/redaction.ts";
import { parseInput } from "../agent/inputs.ts";
import type { SessionState } from "../agent/session-state.ts";
import { transcriptCalls, transcriptInputs } from "./calls.ts";
import { exportJsonl } from "./export.ts";
import type { Format } from "./import.ts";
import { readFile, storeFile, type ImportTranscriptOptions, type Reading } from "./into-session.ts";

export interface ImportReceipt {
  readonly format: Format;
  readonly name: string;
  readonly messages: number;
  /** How many were new: messages whose ids the session knew already were left alone. */
  readonly inserted: number;
  /** What was left out, in words. */
  readonly notes: readonly string[];
}

/** Messages that a host is asked for together: enough to need few turns, few enough to hold in memory. */
const HOSTED_PAGE = 50;

class SessionTranscripts {
  readonly #state: SessionState;
  readonly #reading: Reading;

  constructor(state: SessionState, reading: Reading) {
    this.#state = state;
    this.#reading = reading;
  }

  /**
   * Appends a transcript file's conversation, its branches included, all or nothing: read in pieces, between which others
   * are answered, and stored in one transaction behind what they said. A file that holds several needs `index`, from 0.
   * Throws `import_failed` naming the first bad lines, `rate_limited` while others are being read, and what appending throws.
   */
  async importTranscript(text: string, options: ImportTranscriptOptions = {}): Promise<ImportReceipt> {
    const checked = parseInput(transcriptInputs.importTranscript, options);
    const { sessions } = this.#state.core.memory;
    const existed = sessions.get(this.#state.id) !== null;
    const { encoded, conversation, ...read } = await readFile(this.#reading, this.#state.stored, { text, ...checked });
    // It may have been deleted meanwhile: then nothing brings it back.
    if (existed) sessions.mustGet(this.#state.id);
    const inserted = this.#state.write((history) => storeFile(history, conversation, encoded));
    return { ...read, name: conversation.name, messages: conversation.messages.length, inserted };
  }

  /**
   * The path as it was stored, a JSON `UIMessage` a line; with `redact`, without what the session's rules take for a secret.
   * Throws `not_configured` where it has none.
   */
  async *exportTranscript(leafId?: string, options: { redact?: boolean } = {}): AsyncGenerator<string> {
    const { redact } = parseInput(transcriptInputs.exportTranscript, options);
    const { secretRules } = this.#state.settings;
    if (redact && secretRules === null) throw noRules(this.#state.id);
    const shown = redact ? redactionOf({ secretRules }).message : (message: UIMessage): UIMessage => message;
    if (!this.#state.isHosted) {
      yield* exportJsonl(this.#state.stored.originals(leafId).map(shown));
      return;
    }
    const numbers = await this.#state.read((history) => history.pathNumbers(leafId));
    for (let at = 0; at < numbers.length; at += HOSTED_PAGE) {
      const page = numbers.slice(at, at + HOSTED_PAGE);
      yield* exportJsonl((await this.#state.read((history) => history.originalsAt(page))).map(shown));
    }
  }
}

/** What the room adds to a session. */
export interface TranscriptMethods extends Methods<SessionTranscripts> {}

/** Transcript files in and out: `withCompaction(Base, { rooms: [transcripts()] })`. */
export function transcripts(): Extension<TranscriptMethods, object, typeof transcriptCalls> {
  return {
    name: "transcripts",
    calls: transcriptCalls,
    install: () => {
      const reading: Reading = { chars: 0 };
      return { session: (state) => new SessionTranscripts(state, reading) };
    },
  };
}
