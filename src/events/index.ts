/** `palimpsest/events` offers a session as an event log, working contexts, and adapters to the formats of providers. */
export { events, type EventMethods, type EventsExtension } from "./room.ts";
export {
  aiSdkAdapter,
  anthropicAdapter,
  openAiAdapter,
  workersAiAdapter,
  type AnthropicPrompt,
  type ModelFormatAdapter,
} from "./formats.ts";
export {
  buildWorkingContext,
  type ContextMessage,
  type WorkingContext,
  type WorkingContextOptions,
} from "./context.ts";
export type { LoadEventsOptions, NewEvent, PersistedTurn, Turn } from "./log.ts";
export {
  dehydrateEvent,
  eventsToMessages,
  eventToMessage,
  hydrateEvent,
  messageToEvent,
  messageToEvents,
  type ConversationEvent,
  type EventAction,
  type EventRecord,
} from "./event.ts";
