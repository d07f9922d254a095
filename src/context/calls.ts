/** The calls that the room of context blocks adds, for admins. */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import {
  type FieldsOf,
  flag,
  isWellFormed,
  label,
  NOT_WELL_FORMED,
  ofSession,
  sessionId,
  wholeNumber,
  words,
} from "../agent/inputs.ts";
import { MAX_ENTRY_KEY_CHARS } from "../limits.ts";
import type { BlockOptions } from "./declared.ts";
import type { ContextMethods } from "./room.ts";

const call = callOf<ContextMethods>();
/** A block's text. The block decides its largest size. */
const content = z.string().refine(isWellFormed, NOT_WELL_FORMED);

/** Characters of a description, which is one line of the prompt. */
const MAX_DESCRIPTION_CHARS = 1_000;

const withContent = z.strictObject({ sessionId, label, content });

/** Fields of a block that is kept in SQLite. A provider is code, so a caller brings none. */
const declared = {
  description: words(MAX_DESCRIPTION_CHARS).optional(),
  maxTokens: wholeNumber.positive().optional(),
  whenChanged: z.enum(["wait", "remind"]).optional(),
  defaultContent: content.optional(),
  readonly: flag,
  shared: flag,
} satisfies FieldsOf<Omit<BlockOptions, "provider">>;

export const contextCalls = {
  addContext: call({
    group: "admin",
    does: "Declares a context block that is kept in SQLite, until the agent is evicted.",
    input: z.strictObject({ sessionId, label, ...declared }),
    run: ({ session }, { sessionId, label, ...options }) => session(sessionId).addContext(label, options),
  }),
  removeContext: call({
    group: "admin",
    does: "Removes a context block from the prompt and the tools, and keeps its stored text.",
    input: z.strictObject({ sessionId, label }),
    run: ({ session }, { sessionId, label }) => session(sessionId).removeContext(label),
  }),
  unloadSkill: call({
    group: "admin",
    does: "Removes a loaded skill's text from the model's context.",
    input: z.strictObject({ sessionId, label, key: words(MAX_ENTRY_KEY_CHARS).min(1) }),
    run: ({ session }, { sessionId, label, key }) => session(sessionId).unloadSkill(label, key),
  }),
  getLoadedSkillKeys: call({
    group: "admin",
    does: "Lists the loaded skills, each as its block's label and its key.",
    input: ofSession,
    run: async ({ session }, { sessionId }) => [...(await session(sessionId).getLoadedSkillKeys())],
  }),
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
