/** The calls that the room of context blocks adds, for admins. */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import { isWellFormed, label, NOT_WELL_FORMED, ofSession, sessionId } from "../agent/inputs.ts";
import type { ContextMethods } from "./room.ts";

const call = callOf<ContextMethods>();
/** A block's text. The block decides its largest size. */
const content = z.string().refine(isWellFormed, NOT_WELL_FORMED);

const withContent = z.strictObject({ sessionId, label, content });

export const contextCalls = {
  getContextBlocks: call({
    group: "admin",
    does: "Reads the context blocks of the system prompt.",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getContextBlocks(),
  }),
  getContextBlock: call({
    group: "admin",
    does: "Reads one context block, or null when none of this label is declared.",
    input: z.strictObject({ sessionId, label }),
    run: ({ session }, { sessionId, label }) => session(sessionId).getContextBlock(label),
  }),
  replaceContextBlock: call({
    group: "admin",
    does: "Replaces the text of a context block.",
    input: withContent,
    run: ({ session }, { sessionId, label, content }) => session(sessionId).replaceContextBlock(label, content),
  }),
  appendContextBlock: call({
    group: "admin",
    does: "Adds to the end of a context block.",
    input: withContent,
    run: ({ session }, { sessionId, label, content }) => session(sessionId).appendContextBlock(label, content),
  }),
  freezeSystemPrompt: call({
    group: "admin",
    does: "Reads the system prompt, which is the same string at every call until it is refreshed.",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).freezeSystemPrompt(),
  }),
  refreshSystemPrompt: call({
    group: "admin",
    does: "Rebuilds the system prompt from the present context blocks.",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).refreshSystemPrompt(),
  }),
  reminder: call({
    group: "admin",
    does: "Reads the changes since the system prompt was frozen, or null when there are none.",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).reminder(),
  }),
};
