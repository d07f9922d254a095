/** The calls that the room of shadows adds. */
import { callOf } from "../agent/calls.ts";
import { compareInSession, shadowsInSession } from "./inputs.ts";
import type { ShadowMethods } from "./session-shadows.ts";

const call = callOf<ShadowMethods>();

export const shadowCalls = {
  /** Tells what each shadow would have kept beside the real summaries, and what it cost, without a word of the conversation. */
  compareShadows: call({
    group: "read",
    input: compareInSession,
    run: ({ session }, { sessionId, limit }) => session(sessionId).compareShadows({ limit }),
  }),
  /** Reads the summaries of the shadows beside one overlay. */
  getShadows: call({
    group: "read",
    input: shadowsInSession,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).getShadows(overlayId),
  }),
};
