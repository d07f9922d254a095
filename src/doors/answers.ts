/** What the door itself answers, and the headers that every answer leaves with. */
import { PalimpsestError, type ErrorCode } from "../errors.ts";

/** Nothing but what this Worker serves may run or be loaded, nothing is framed, and no form goes anywhere. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
} as const;

/** The answer with the headers of every answer. A WebSocket's is left as it is. */
export function secure(response: Response): Response {
  if (response.webSocket != null) return response;
  const answer = new Response(response.body, response);
  for (const [name, value] of Object.entries(HEADERS)) answer.headers.set(name, value);
  return answer;
}

/** A refusal as JSON: `{ error: { code, message } }`, the message as a PalimpsestError has it. */
export function refuse(status: number, code: ErrorCode, advice: string): Response {
  const { message } = new PalimpsestError(code, advice);
  const answer = answerJson({ error: { code, message } }, status);
  if (status === 401) answer.headers.set("WWW-Authenticate", "Bearer");
  if (status === 426) answer.headers.set("Upgrade", "websocket");
  return answer;
}

/** Never kept by a cache: what one caller is told is not for the next. */
export function answerJson(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { "Cache-Control": "no-store" } });
}
