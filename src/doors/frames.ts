/**
 * What comes over a connection, looked at before the SDK sees it.
 *
 * Job: let calls of listed methods through, at a bounded size and rate, and answer everything else with a typed error.
 * So no frame sets the agent's state, reaches a method that is not listed, or keeps the object busy for others. Boundary:
 * knows nothing of what a call means; its input is checked where it is parsed (agent/inputs.ts).
 */
import type { Agent, Connection, WSMessage } from "agents";
import { PalimpsestError, type ErrorCode } from "../errors.ts";
import { CALLS_IN_A_ROW, CALLS_PER_SECOND, MAX_REQUEST_BYTES, MAX_ID_CHARS } from "../limits.ts";
import { fullBucket, takeToken, type Bucket, type Rate } from "./bucket.ts";

/** What of a Worker's environment bounds its connections. */
export interface FrameEnv {
  /** Calls per second that one connection may make in the long run, five times as many in a row. Default 200. */
  readonly PALIMPSEST_CALLS_PER_SECOND?: string;
}

interface Call {
  readonly id: string;
  readonly method: string;
}

/** Closes a connection whose frame cannot even be read: codes of the WebSocket protocol. */
const UNREADABLE = 1003;
const TOO_BIG = 1009;

/** Guards every connection of an agent. Call it at the end of the agent's constructor. */
export function guardFrames(agent: Agent, env: FrameEnv): void {
  const rate = readRate(env);
  // Connections are made anew when the object wakes: a bucket that is forgotten then had long been full again.
  const buckets = new Map<string, Bucket>();
  const pass = agent.onMessage.bind(agent);
  const forget = agent.onClose.bind(agent);
  agent.onMessage = async (connection, message) => {
    const now = Date.now();
    const { taken, bucket } = takeToken(buckets.get(connection.id) ?? fullBucket(rate, now), rate, now);
    buckets.set(connection.id, bucket);
    const call = readCall(connection, message);
    if (call === null) return;
    if (!taken) {
      const advice = `At most ${rate.perSecond} calls a second. Wait a moment and call again.`;
      return answerError(connection, call, ["rate_limited", advice]);
    }
    if (!agent.getCallableMethods().has(call.method)) {
      return answerError(connection, call, [
        "invalid_input",
        `There is no method ${JSON.stringify(call.method)} to call.`,
      ]);
    }
    await pass(connection, message);
  };
  agent.onClose = async (connection, code, ...rest) => {
    buckets.delete(connection.id);
    await forget(connection, code, ...rest);
  };
}

/** The call that a frame is; null when it is none, and its sender was told. */
function readCall(connection: Connection, message: WSMessage): Call | null {
  if (typeof message !== "string") {
    connection.close(UNREADABLE, "Send text.");
    return null;
  }
  if (message.length > MAX_REQUEST_BYTES) {
    tell(
      connection,
      "too_large",
      `A frame is at most ${MAX_REQUEST_BYTES} characters; this one has ${message.length}.`,
    );
    connection.close(TOO_BIG, "The frame is too large.");
    return null;
  }
  const frame = parse(message);
  if (isCall(frame)) return frame;
  tell(connection, "invalid_input", 'Send calls: { "type": "rpc", "id": "…", "method": "…", "args": [{ … }] }.');
  return null;
}

function parse(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return null;
  }
}

function isCall(frame: unknown): frame is Call {
  if (typeof frame !== "object" || frame === null) return false;
  const { type, id, method, args } = frame as Record<string, unknown>;
  if (type !== "rpc" || typeof id !== "string" || id.length > MAX_ID_CHARS) return false;
  return typeof method === "string" && method.length <= MAX_ID_CHARS && Array.isArray(args);
}

function answerError(connection: Connection, { id }: Call, [code, advice]: [ErrorCode, string]): void {
  const { message: error } = new PalimpsestError(code, advice);
  connection.send(JSON.stringify({ type: "rpc", id, success: false, error }));
}

/** For what is no call, and so has no id to be answered by. */
function tell(connection: Connection, code: ErrorCode, advice: string): void {
  const { message: error } = new PalimpsestError(code, advice);
  connection.send(JSON.stringify({ type: "palimpsest:error", error }));
}

function readRate({ PALIMPSEST_CALLS_PER_SECOND: raw }: FrameEnv): Rate {
  if (raw === undefined || raw === "") return { burst: CALLS_IN_A_ROW, perSecond: CALLS_PER_SECOND };
  const perSecond = Number(raw);
  if (Number.isSafeInteger(perSecond) && perSecond > 0) {
    return { burst: (perSecond * CALLS_IN_A_ROW) / CALLS_PER_SECOND, perSecond };
  }
  throw new PalimpsestError(
    "invalid_options",
    `PALIMPSEST_CALLS_PER_SECOND must be a whole number of at least 1, or be left out; it is ${JSON.stringify(raw)}.`,
  );
}
