/** `palimpsest/events` offers a session as an event log, working contexts, and adapters to the formats of providers. */
export { events, type EventsExtension } from "./room.ts";
export type { EventMethods } from "./session-events.ts";
export type { ModelFormatAdapter } from "./adapters/adapter.ts";
export { aiSdkAdapter } from "./adapters/ai-sdk.ts";
export { anthropicAdapter, type AnthropicPrompt } from "./adapters/anthropic.ts";
export { openAiAdapter, workersAiAdapter } from "./adapters/chat-completions.ts";
export {
  buildWorkingContext,
  type ContextMessage,
  type WorkingContext,
  type WorkingContextOptions,
} from "./context.ts";
export { dehydrateEvent, hydrateEvent, type ConversationEvent, type EventAction, type EventRecord } from "./event.ts";
export type { LoadEventsOptions, NewEvent } from "./log.ts";
export type { PersistedTurn, Turn } from "./persist.ts";
export { eventsToMessages, eventToMessage, messageToEvent, messageToEvents } from "./project.ts";
