/** `palimpsest/turn`: turns of a model that are stored in a session, and a tool with which the model asks for a summary. */
export { compactTool } from "./compact-tool.ts";
export type { ViewOptions } from "./prompts.ts";
export { forModel } from "./readable.ts";
export { retryRefused } from "./refused.ts";
export { keepTurn, usageOf, viewBeforeStep, type KeptTurn, type TurnOptions } from "./turn.ts";
