/**
 * An agent's name, and the one way in which it stands in a path.
 *
 * Job: `a@b.com` and `a%40b.com` are one name, so one agent, one ticket and one question to whoever authorizes. Boundary:
 * pure; the door, the page and the command line all name agents through here. Safe because what is written is what
 * is read back, and is the segment under which the SDK's own routing and its client know the agent.
 */

/** Characters of an agent's name in a path, as it stands there: long enough for an e-mail address or two ids. */
export const MAX_AGENT_NAME_CHARS = 200;

/** What would end the segment, or be lost from it: such a name would reach another agent. */
const OUTSIDE = /[/\\?#\p{Cc}]/u;

/** One to {@link MAX_AGENT_NAME_CHARS} characters as they stand in a path, of valid Unicode, without `/`, `\`, `?`, `#` and control characters. */
export function isAgentName(name: string): boolean {
  if (name === "" || name === "." || name === ".." || OUTSIDE.test(name) || !name.isWellFormed()) return false;
  return writeAgentName(name).length <= MAX_AGENT_NAME_CHARS;
}

/** The name that a segment of a path stands for; null for none. */
export function readAgentName(segment: string): string | null {
  try {
    const name = decodeURIComponent(segment);
    return isAgentName(name) ? name : null;
  } catch {
    return null;
  }
}

/** The segment: encoded is what a path cannot hold, and nothing else. */
export function writeAgentName(name: string): string {
  const url = new URL("http://localhost");
  url.pathname = name.replaceAll("%", "%25");
  return url.pathname.slice(1);
}
