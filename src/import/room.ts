/** The room of transcripts. It imports other tools' conversations into a session and exports a session. */
import type { UIMessage } from "ai";
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import type { Methods, Extension } from "../agent/extension.ts";
import type { Core } from "../agent/core.ts";
import {
  checkGiven,
  flag,
  given,
  id,
  leafId,
  message,
  parentId,
  parseInput,
  sessionId,
  wholeNumber,
  words,
  type FieldsOf,
} from "../agent/inputs.ts";
import { yielderOf } from "../agent/yielder.ts";
import { noRules, redactionOf } from "../agent/redaction.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { MAX_BATCH_MESSAGES, MAX_IMPORTING_CHARS, MAX_NAME_CHARS, MAX_REQUEST_BYTES } from "../limits.ts";
import type { Encoded } from "../memory/messages/content.ts";
import type { History } from "../memory/messages/history.ts";
import { inSlices, type Slices } from "../steps/text/text.ts";
import { chooseConversation, exportJsonl, FORMATS, readTranscript, type Conversation, type Format } from "./import.ts";
import { importPace, timeSaid } from "./items.ts";
import {
  mustHaveRoom,
  PART_CHARS,
  takePart,
  tooLarge,
  type ExportedPart,
  type ExportPartOptions,
  type OpenImports,
  type PartEntry,
  type PartReceipt,
  type SentPart,
} from "./parts.ts";
import { takeIn, type StoredConversation, type TakenIn } from "./stores.ts";

/** How a transcript is read. */
export interface ImportTranscriptOptions {
  /** Skips the detection of the format. */
  readonly format?: Format | undefined;
  /**
   * Takes the conversation at this index, counted from 0, of a text with several. Default: the only one, or the one whose agent started all
   * the others.
   */
  readonly index?: number | undefined;
}

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

const importOptions = {
  format: z.enum(FORMATS).optional(),
  index: wholeNumber.nonnegative().optional(),
} satisfies FieldsOf<ImportTranscriptOptions>;

const partEntry = z.strictObject({ message, parentId, was: id.optional() } satisfies FieldsOf<PartEntry>);

const sentPart = {
  upload: words(MAX_NAME_CHARS).min(1),
  at: wholeNumber.nonnegative(),
  messages: z.array(partEntry).max(MAX_BATCH_MESSAGES),
  last: flag,
} satisfies FieldsOf<SentPart>;

const exportOptions = { redact: flag };

const exportPartOptions = {
  leafId,
  from: wholeNumber.nonnegative().default(0),
  redact: flag,
} satisfies FieldsOf<ExportPartOptions>;

/** Most characters of several imports that an agent reads at the same time, those of the largest frame. A larger one is read alone. */
const MAX_TOGETHER_CHARS = MAX_REQUEST_BYTES;

/** Messages that are read from a host at once. The number needs few calls and fits in memory. */
const HOSTED_PAGE = 50;

class SessionTranscripts {
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
   * Throws `import_failed` naming the first bad lines, `invalid_input` for an index that the file does not have, `rate_limited` while others are
   * being read, and the errors of an append.
   */
  async importTranscript(text: string, options: ImportTranscriptOptions = {}): Promise<ImportReceipt> {
    const checked = parseInput(z.strictObject(importOptions), options);
    const state = this.#state.sameSession;
    const existed = state.core.memory.sessions.get(state.id) !== null;
    const { encoded, conversation, ...read } = await this.#read(state.stored, text, checked);
    const inserted = store(state, existed, { ...conversation, encoded });
    return { ...read, name: conversation.name, messages: conversation.messages.length, inserted };
  }

  async #read(history: History, text: string, options: ImportTranscriptOptions): Promise<ReadFile> {
    const reading = this.#reading;
    if (text.length > MAX_IMPORTING_CHARS) throw tooLarge(text.length);
    // Each file takes memory while it is read, with the messages that are made of it.
    mustHaveRoom({ reading, now: this.#state.core.platform.now() }, MAX_TOGETHER_CHARS - text.length);
    reading.chars += text.length;
    try {
      return await inSlices(readFile(history, text, options), yielderOf(reading));
    } finally {
      reading.chars -= text.length;
    }
  }

  /**
   * Takes a part of a conversation that its sender read from a file, for a conversation that no single call carries. The parts of an upload come
   * in order, and the last one stores it, all or nothing, behind all messages that came meanwhile. `palimpsest import` sends every file so.
   *
   * Throws `import_failed` where earlier parts are no longer here, `rate_limited` while others are being read, and the errors of an append.
   */
  async importPart(part: SentPart): Promise<PartReceipt> {
    const checked = parseInput(z.strictObject(sentPart), part);
    const state = this.#state.sameSession;
    state.stored.assertOwnsMessages();
    const receiver = {
      reading: this.#reading,
      history: state.stored,
      sessionId: state.id,
      existed: state.core.memory.sessions.get(state.id) !== null,
      now: state.core.platform.now(),
    };
    const upload = takePart(receiver, checked);
    const inserted = checked.last ? store(state, upload.existed, upload) : null;
    return { received: upload.messages.length, inserted };
  }

  /**
   * Takes over a conversation from another store of this object with its branches and summaries, as in `importFrom(fromSessions(…))` or
   * `importFrom(fromLegacyTables(…))`. The other store does not change. Repeating an interrupted call continues it, and repeating a
   * finished one changes nothing.
   *
   * Throws `host_owns_messages`, and `import_failed` where the session was used before all messages were there.
   */
  async importFrom(source: StoredConversation): Promise<TakenIn> {
    return takeIn(this.#state.sameSession, source);
  }

  /**
   * Yields the stored path as JSONL, one `UIMessage` a line. With `redact` it leaves out the secrets that the session's rules find. Throws
   * `not_configured` where the session has no rules.
   */
  async *exportTranscript(leafId?: string, options: { redact?: boolean } = {}): AsyncGenerator<string> {
    checkGiven(given.leaf, { leafId });
    const shown = this.#shown(parseInput(z.strictObject(exportOptions), options).redact);
    const state = this.#state.sameSession;
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
    const { leafId, from, redact } = parseInput(z.strictObject(exportPartOptions), options);
    const shown = this.#shown(redact);
    const state = this.#state.sameSession;
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

interface ReadFile {
  readonly format: Format;
  readonly notes: readonly string[];
  readonly conversation: Conversation;
  /** The conversation's messages in the form and order in which they will be stored. */
  readonly encoded: readonly Encoded[];
}

function* readFile(history: History, text: string, { format, index }: ImportTranscriptOptions): Slices<ReadFile> {
  const read = yield* readTranscript(text, format === undefined ? {} : { format });
  const { conversation, notes } = chooseConversation(read, index);
  const pace = importPace();
  const encoded: Encoded[] = [];
  for (const message of conversation.messages) {
    const each = history.encode(message);
    encoded.push(each);
    if (pace.isOverEntry(each.bytes)) yield;
  }
  return { format: read.format, notes, conversation, encoded };
}

type Whole = Pick<Conversation, "messages" | "branches" | "disowned"> & Pick<ReadFile, "encoded">;

/** Stores a conversation in one transaction. Returns the number of new messages. One that the session already holds is not changed. */
function store(state: SessionState, existed: boolean, { messages, branches, disowned, encoded }: Whole): number {
  // The session may have been deleted meanwhile, and an import must not create it again.
  if (existed) state.core.memory.sessions.mustGet(state.id);
  const now = state.core.platform.now();
  const isNew = (history: History) => (message: UIMessage, at: number) => {
    // A summary of the session's own has another id in the file than the message made from it.
    const own = disowned.get(message.id);
    if (own !== undefined && history.has(own)) return false;
    const saidAt = timeSaid(message.metadata, now);
    return history.append(message, branches.get(message.id), encoded[at], saidAt).inserted;
  };
  return state.write((history) => messages.filter(isNew(history)).length);
}

/** The methods that the room adds to a session. */
export interface TranscriptMethods extends Methods<SessionTranscripts> {}

const call = callOf<TranscriptMethods>();

export const transcriptCalls = {
  /** Writes a whole branch as JSON lines, up to some 10 MB, beyond which `Session.exportTranscript` streams it. */
  exportTranscript: call({
    group: "read",
    input: z.strictObject({ sessionId, leafId, ...exportOptions }),
    run: async ({ session }, { sessionId, leafId, redact }) =>
      (await Array.fromAsync(session(sessionId).exportTranscript(leafId, { redact }))).join(""),
  }),
  /** Writes the next part of a branch as JSON lines, for a branch of any length. */
  exportPart: call({
    group: "read",
    input: z.strictObject({ sessionId, ...exportPartOptions }),
    run: ({ session }, { sessionId, ...options }) => session(sessionId).exportPart(options),
  }),
  /** Appends a transcript file's conversation with its branches, all or nothing. */
  importTranscript: call({
    group: "write",
    input: z.strictObject({ sessionId, text: z.string(), ...importOptions }),
    run: ({ session }, { sessionId, text, ...options }) => session(sessionId).importTranscript(text, options),
  }),
  /** Takes a part of a conversation that is too large for one call, and stores all of it with the last part. */
  importPart: call({
    group: "write",
    input: z.strictObject({ sessionId, ...sentPart }),
    run: ({ session }, { sessionId, ...part }) => session(sessionId).importPart(part),
  }),
};

/** The room as an agent is declared with it. */
export interface TranscriptsExtension extends Extension<TranscriptMethods, object, typeof transcriptCalls> {}

/** Imports and exports transcript files, as in `withCompaction(Base, { rooms: [transcripts()] })`. */
export function transcripts(): TranscriptsExtension {
  return {
    name: "transcripts",
    calls: transcriptCalls,
    install: ({ uses }: Core) => {
      const reading: OpenImports = { chars: 0, uploads: new Map(), uses };
      return { session: (state: SessionState) => new SessionTranscripts(state, reading) };
    },
  };
}
