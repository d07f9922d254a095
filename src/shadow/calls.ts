/** The calls that the room of shadows adds. */
import { callOf } from "../agent/calls.ts";
import { compareInSession, shadowsInSession } from "./inputs.ts";
import type { ShadowMethods } from "./room.ts";

const call = callOf<ShadowMethods>();

export const shadowCalls = {
  compareShadows: call({
    group: "read",
    does: "Tells what each shadow would have kept beside the real summaries, and what it cost, without a word of the conversation.",
    input: compareInSession,
    run: ({ session }, { sessionId, limit }) => session(sessionId).compareShadows({ limit }),
  }),
  getShadows: call({
    group: "read",
    does: "Reads the summaries of the shadows beside one overlay.",
    input: shadowsInSession,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).getShadows(overlayId),
  }),
};
