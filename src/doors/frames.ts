/**
 * Reads the frames of a connection before the SDK sees them.
 *
 * A frame is a call of bounded size, or its sender is told the expected form. The guard (guard.ts) decides whether a call may be made.
 */
import type { Connection, WSMessage } from "agents";
import { PalimpsestError, type ErrorCode } from "../errors.ts";
import { MAX_REQUEST_BYTES, MAX_ID_CHARS } from "../limits.ts";

export interface CallFrame {
  readonly id: string;
  readonly method: string;
}

/** WebSocket close codes for a frame that cannot be read. */
const UNREADABLE = 1003;
const TOO_BIG = 1009;

/** A frame of the protocol between the agent's base class and its own clients. */
export interface HostFrame {
  readonly type: string;
}

/** Types of a chat's frames for messages, streams and tools. Frames that set an agent's state are not among them. */
const HOST_FRAME = /^cf_agent_(?:use_chat|chat|stream|tool|message)_[a-z_]+$/;

/** Returns the call in a frame, or a host's frame where the agent has a host (`hosts`). Otherwise tells the sender and returns null. */
export function readFrame(connection: Connection, message: WSMessage, hosts: boolean): CallFrame | HostFrame | null {
  if (typeof message !== "string") {
    connection.close(UNREADABLE, "Send text.");
    return null;
  }
  if (message.length > MAX_REQUEST_BYTES) {
    sendError(
      connection,
      "too_large",
      `A frame is at most ${MAX_REQUEST_BYTES} characters; this one has ${message.length}.`,
    );
    connection.close(TOO_BIG, "The frame is too large.");
    return null;
  }
  const frame = parse(message);
  if (isCall(frame) || (hosts && isHostFrame(frame))) return frame;
  sendError(connection, "invalid_input", 'Send calls: { "type": "rpc", "id": "…", "method": "…", "args": [{ … }] }.');
  return null;
}

export function answerError(
  connection: Connection,
  frame: CallFrame | HostFrame,
  [code, advice]: [ErrorCode, string],
): void {
  if (!("method" in frame)) return sendError(connection, code, advice);
  const { message: error } = new PalimpsestError(code, advice);
  connection.send(JSON.stringify({ type: "rpc", id: frame.id, success: false, error }));
}

/** The call in a frame. Null for anything else. */
export function readCall(message: string): (CallFrame & { readonly args: readonly unknown[] }) | null {
  const frame = parse(message);
  return isCall(frame) ? frame : null;
}

function parse(message: string): unknown {
  try {
    return JSON.parse(message);
  } catch {
    return null;
  }
}

function isCall(frame: unknown): frame is CallFrame & { readonly args: readonly unknown[] } {
  if (typeof frame !== "object" || frame === null) return false;
  const { type, id, method, args } = frame as Record<string, unknown>;
  if (type !== "rpc" || typeof id !== "string" || id.length > MAX_ID_CHARS) return false;
  return typeof method === "string" && method.length <= MAX_ID_CHARS && Array.isArray(args);
}

function isHostFrame(frame: unknown): frame is HostFrame {
  if (typeof frame !== "object" || frame === null) return false;
  const { type } = frame as Record<string, unknown>;
  return typeof type === "string" && HOST_FRAME.test(type);
}

/** Answers a frame that is no call and therefore has no id to reply to. */
function sendError(connection: Connection, code: ErrorCode, advice: string): void {
  const { message: error } = new PalimpsestError(code, advice);
  connection.send(JSON.stringify({ type: "palimpsest:error", error }));
}
