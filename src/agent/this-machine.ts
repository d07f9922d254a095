/** Recognises a caller on the machine that runs the Worker, as with `wrangler dev`. */

/** Headers that a proxy or the network in front of a deployed Worker adds. A request with one came from another machine. */
const FROM_ELSEWHERE = ["CF-Ray", "CF-Worker", "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"];

/**
 * True for a caller on this machine. It has a loopback address, asks for a loopback name, and came through no proxy.
 *
 * A deployed Worker never has such callers, because the network sets the address itself and routes no loopback name. Checking the name also
 * refuses a web page whose own name points at this machine.
 */
export function isOnThisMachine(request: Request): boolean {
  if (FROM_ELSEWHERE.some((name) => request.headers.has(name))) return false;
  const { hostname } = new URL(request.url);
  return isLoopbackName(hostname) && isLoopbackAddress(request.headers.get("CF-Connecting-IP") ?? "");
}

function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || isLoopbackAddress(hostname);
}

function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address);
}

/**
 * True for a caller on this machine that no page of another site sent. A browser lets any page open a WebSocket to a loopback name, and
 * says whose page it is.
 */
export function isAtHome(request: Request): boolean {
  const origin = request.headers.get("Origin");
  const isOwn = origin === null || (URL.canParse(origin) && isLoopbackName(new URL(origin).hostname));
  return isOwn && isOnThisMachine(request);
}
