/**
 * The room of context blocks. It adds blocks, the system prompt made of them, and the tools with which a model changes them.
 */
import type { ToolSet } from "ai";
import type { Core } from "../agent/core.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { contextCalls } from "./calls.ts";
import { Contexts, type ContextsOptions } from "./contexts.ts";
import { SessionContext, ManagerContext, type ContextMethods, type ManagerContextMethods } from "./session-context.ts";

/** The room as an agent is declared with it. */
export interface ContextExtension extends Extension<ContextMethods, ManagerContextMethods, typeof contextCalls> {}

/** Adds context blocks to each session, as in `withCompaction(Base, { rooms: [context()] })`. */
export function context(): ContextExtension {
  return { name: "context", calls: contextCalls, install };
}

function install(core: Core): Installed<ContextMethods, ManagerContextMethods> {
  const counterOf: ContextsOptions["counterOf"] = (sessionId) => (text) => core.settings.counterOf(sessionId)(text);
  const contexts = new Contexts(core.db, { agentId: core.platform.agentId, counterOf });
  return {
    // A builder's method returns the handle that it was called on.
    session: (state) => new SessionContext(state, contexts),
    manager: (state) => new ManagerContext(state, contexts),
    cleared: (sessionId) => contexts.forgetLoaded(sessionId),
    deleted: (sessionId) => contexts.forgetSession(sessionId),
    copied: (fromId, toId) => contexts.copySession(fromId, toId),
    // Removes texts that were loaded into the context and unloaded again.
    shown: (sessionId, messages) => contexts.session(sessionId).hideUnloadedSkills(messages),
    leavesOut: (sessionId, behind) => contexts.session(sessionId).skillsNotCarried(behind),
    tools: (sessionId, newest): ToolSet => contexts.session(sessionId).tools(() => contexts.session(newest())),
    reminder: (sessionId) => contexts.session(sessionId).reminder(),
    carriedTexts: (sessionId) => contexts.session(sessionId).carriedTexts(),
    takeText: async (sessionId, label, text) => contexts.session(sessionId).takeText(label, text),
    declareText: (sessionId, label, { description, get }) =>
      void contexts.session(sessionId).withContext(label, { description, provider: { get } }),
  };
}
