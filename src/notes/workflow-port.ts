/** What an update of the notes sends through its run's port, and what it gets. */
import type { NotesSection, NotesShape } from "./steps/document.ts";
import type { TranscriptElement } from "../steps/draft/render.ts";
import type { Facts } from "../facts/fact.ts";
import type { SentPrompt } from "../model/chosen.ts";
import type { Askable, ChunkRequest, DraftReceipt, RunEnded } from "../workflows/port.ts";

/** The pinned input of one update of the notes. */
export type NotesPlanned =
  | {
      readonly kind: "notes";
      /** Digest of the version to build on and of the messages to read. */
      readonly digest: string;
      readonly resting: readonly string[];
    }
  | RunEnded;

/** What an update is planned for. */
export interface NotesAsked {
  readonly models: readonly string[];
  readonly windowTokens: number;
}

export interface NotesQuestion {
  readonly model: string;
  /** Set to try again. `rejected` is the refused answer, and `key` is the key of a sound one. */
  readonly again?: { readonly rejected: string; readonly key: string };
  readonly continues?: ChunkRequest["continues"];
}

export type NotesReading =
  | (Askable & {
      readonly kind: "notes";
      readonly key: string;
      /** The current notes, with every section. */
      readonly sections: readonly NotesSection[];
      /** The shape with its budgets as a prompt names them. */
      readonly shape: NotesShape;
      /** The new elements, oldest first. */
      readonly elements: readonly TranscriptElement[];
      /** Facts of each summary among the elements, in their order. */
      readonly overlayFacts: readonly Facts[];
      readonly maxChars: number;
      /** The prompt that the agent last sent. Absent where none is known, and on every try but the first. */
      readonly sent?: SentPrompt;
      /** What was wrong with the refused answer. It may quote the notes. */
      readonly problems: readonly string[];
      /** Text of the refused answer. */
      readonly rejected: string | null;
    })
  | DraftReceipt
  | RunEnded;
