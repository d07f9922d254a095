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
import type { ContextMethods } from "./session-context.ts";

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
  carry: flag,
} satisfies FieldsOf<Omit<BlockOptions, "provider">>;

export const contextCalls = {
  /** Declares a context block that is kept in SQLite, until the agent is evicted. */
  addContext: call({
    group: "admin",
    input: z.strictObject({ sessionId, label, ...declared }),
    run: ({ session }, { sessionId, label, ...options }) => session(sessionId).addContext(label, options),
  }),
  /** Removes a context block from the prompt and the tools, and keeps its stored text. */
  removeContext: call({
    group: "admin",
    input: z.strictObject({ sessionId, label }),
    run: ({ session }, { sessionId, label }) => session(sessionId).removeContext(label),
  }),
  /** Removes a loaded skill's text from the model's context. */
  unloadSkill: call({
    group: "admin",
    input: z.strictObject({ sessionId, label, key: words(MAX_ENTRY_KEY_CHARS).min(1) }),
    run: ({ session }, { sessionId, label, key }) => session(sessionId).unloadSkill(label, key),
  }),
  /** Lists the loaded skills, each as its block's label and its key. */
  getLoadedSkillKeys: call({
    group: "admin",
    input: ofSession,
    run: async ({ session }, { sessionId }) => [...(await session(sessionId).getLoadedSkillKeys())],
  }),
  /** Reads the context blocks of the system prompt. */
  getContextBlocks: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getContextBlocks(),
  }),
  /** Reads one context block, or null when none of this label is declared. */
  getContextBlock: call({
    group: "admin",
    input: z.strictObject({ sessionId, label }),
    run: ({ session }, { sessionId, label }) => session(sessionId).getContextBlock(label),
  }),
  /** Replaces the text of a context block. */
  replaceContextBlock: call({
    group: "admin",
    input: withContent,
    run: ({ session }, { sessionId, label, content }) => session(sessionId).replaceContextBlock(label, content),
  }),
  /** Adds to the end of a context block. */
  appendContextBlock: call({
    group: "admin",
    input: withContent,
    run: ({ session }, { sessionId, label, content }) => session(sessionId).appendContextBlock(label, content),
  }),
  /** Reads the system prompt, which is the same string at every call until it is refreshed. */
  freezeSystemPrompt: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).freezeSystemPrompt(),
  }),
  /** Rebuilds the system prompt from the present context blocks. */
  refreshSystemPrompt: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).refreshSystemPrompt(),
  }),
  /** Reads the changes since the system prompt was frozen, or null when there are none. */
  reminder: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).reminder(),
  }),
};
