/** `palimpsest/context` adds context blocks, a system prompt made of them, skills and search to an agent. */
export { context, type ContextExtension, type ContextMethods, type ManagerContextMethods } from "./room.ts";
export type { BlockOptions } from "./declared.ts";
export type { ContextProvider, SearchProvider, SkillProvider, WritableContextProvider } from "./provider.ts";
export { R2SkillProvider, WritableR2SkillProvider } from "./r2-skills.ts";
export type { ContextBlock } from "./render.ts";
export { sqliteBlock, sqliteSearch, type BlockScope } from "./sqlite.ts";
