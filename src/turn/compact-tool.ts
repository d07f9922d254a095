/**
 * `compact` as a model's tool: the agent itself asks for a summary of the conversation so far. It is opened by name, among the caller's tools.
 *
 * Answers at once, because a turn must not wait for a summary. Every expected failure is an answer with advice.
 */
import { tool, type Tool } from "ai";
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { NOT_DONE } from "../facts/loaded.ts";
import { MAX_FOCUS_CHARS, MAX_REASON_CHARS } from "../limits.ts";
import type { Session } from "../agent/sessions/session.ts";

const WHEN =
  "Has the earlier part of this conversation summarised, so that your context gets smaller. Nothing is lost. Call it when a part of the work is " +
  "done and you no longer need its details, or before a long new part begins. Not in a short conversation, and not again while a summary is being made.";

const LATER =
  "Your context will show it in place of the earlier messages, from a later step on. Go on with the task now.";

const input = z.object({
  focus: z
    .string()
    .max(MAX_FOCUS_CHARS)
    .optional()
    .describe("What the summary must keep in detail because you still need it."),
  reason: z.string().max(MAX_REASON_CHARS).optional().describe("Why now, in one line. It stays in the transcript."),
});

/** The tool for turns of this session, and of the session that continues it after a split. */
export function compactTool(session: Session): Tool<z.infer<typeof input>, string> {
  const asked = session.sameSession;
  return tool({
    description: WHEN,
    inputSchema: input,
    execute: async ({ focus = "" }) => {
      try {
        const { run, joined } = await asked
          .newest()
          .compact(focus.trim() === "" ? {} : { focus: focus.toWellFormed() });
        if (joined) return `A summary is being made already. ${LATER}`;
        if (run.outcome?.kind === "nothing") return `${NOT_DONE}${run.outcome.detail}`;
        return `A summary is being made. ${LATER}`;
      } catch (error) {
        if (!(error instanceof PalimpsestError)) throw error;
        return NOT_DONE + error.message.replace(`[${error.code}] `, "");
      }
    },
  });
}
