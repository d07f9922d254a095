/** `palimpsest/prompt-cache`, summaries that continue the prompt which the agent last sent, where that is the cheaper way. */
export { promptCache, type PromptCacheExtension, type PromptCacheMethods } from "./remember.ts";
export { continuePrompt, native, type ContinueOptions } from "./continue.ts";
