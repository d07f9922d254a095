/** The answers that the door itself gives, and the headers of every answer. */
import { PalimpsestError, type ErrorCode } from "../errors.ts";

/** Only this Worker's own files may run or load. Frames and form targets are forbidden. */
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

/** The answer with the common headers, or a refusal where answering failed. */
export async function orBroken(answer: () => Promise<Response>): Promise<Response> {
  try {
    return secure(await answer());
  } catch (error) {
    console.error("A request was refused because answering it failed:", error);
    return secure(refuse(500, "broken_invariant", "Answering failed. The Worker's log says why."));
  }
}

/** Adds the common headers to an answer. A WebSocket's answer stays unchanged. */
function secure(response: Response): Response {
  if (response.webSocket != null) return response;
  const answer = new Response(response.body, response);
  for (const [name, value] of Object.entries(HEADERS)) answer.headers.set(name, value);
  return answer;
}

/** A refusal as JSON `{ error: { code, message } }`, with the message of a PalimpsestError. */
export function refuse(status: number, code: ErrorCode, advice: string): Response {
  const { message } = new PalimpsestError(code, advice);
  const answer = answerJson({ error: { code, message } }, status);
  if (status === 401) answer.headers.set("WWW-Authenticate", "Bearer");
  if (status === 426) answer.headers.set("Upgrade", "websocket");
  return answer;
}

/** Answers as JSON that no cache may keep, because one caller's answer is not for the next. */
export function answerJson(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: { "Cache-Control": "no-store" } });
}

export function notFound(): Response {
  return refuse(404, "not_found", "There is nothing here, or it is not yours.");
}

export function isUpgrade(request: Request): boolean {
  return request.headers.get("Upgrade")?.toLowerCase() === "websocket";
}
