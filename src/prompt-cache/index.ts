/** `palimpsest/prompt-cache`, summaries that continue the prompt which the agent last sent, where that is the cheaper way. */
export { promptCache, type PromptCacheMethods, type PromptCacheOptions, type PromptCacheExtension } from "./room.ts";
export { continuePrompt, type ContinueOptions } from "./continue.ts";
