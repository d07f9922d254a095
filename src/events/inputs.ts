/** Schemas of what the calls and methods of the room of events take. */
import { z } from "zod";
import { id, leafId, message, messages, page, type FieldsOf } from "../agent/inputs.ts";
import type { LoadEventsOptions, NewEvent } from "./log.ts";
import type { Turn } from "./persist.ts";

/** The schema of events (event.ts) checks the fields of an event. */
export const event = z.custom<NewEvent>(
  (value) => typeof value === "object" && value !== null,
  "expected an event object",
);

/** Fields of a turn. The messages are checked where they are stored. */
export const turn = {
  leafId: id.nullable(),
  messages,
} satisfies FieldsOf<Turn>;

export const eventOptions = {
  limit: page.optional(),
  before: id.optional(),
  leafId,
  under: id.optional(),
} satisfies FieldsOf<LoadEventsOptions>;

/** Schemas of the objects that a session's methods take. */
export const eventInputs = {
  loadEvents: z.strictObject(eventOptions),
  persistTurn: z.strictObject({ ...turn, messages: z.array(message) }),
};
