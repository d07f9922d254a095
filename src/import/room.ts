/** The room of transcripts. It imports other tools' conversations into a session and exports a session. */
import type { Core } from "../agent/core.ts";
import type { Extension } from "../agent/extension.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { transcriptCalls } from "./calls.ts";
import type { OpenImports } from "./uploads.ts";
import { SessionTranscripts, type TranscriptMethods } from "./session-transcripts.ts";

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
