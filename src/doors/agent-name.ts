/**
 * An agent's name and its one form in a path.
 *
 * `a@b.com` and `a%40b.com` are one name, so they mean one agent, one ticket and one call of `authorize`. The door, the page and the
 * command line all name agents through this pure module. A written name always reads back as itself, and it is the segment under which the
 * SDK's routing and its client know the agent.
 */

/** Most characters of an agent's name in a path, in its written form. An e-mail address or two ids fit. */
export const MAX_AGENT_NAME_CHARS = 200;

/** Characters that would end the segment or be lost from it. A name with one would reach another agent. */
const OUTSIDE = /[/\\?#\p{Cc}]/u;

/**
 * Accepts one to {@link MAX_AGENT_NAME_CHARS} characters of valid Unicode as written in a path, without `/`, `\`, `?`, `#` and control
 * characters.
 */
export function isAgentName(name: string): boolean {
  if (name === "" || name === "." || name === ".." || OUTSIDE.test(name) || !name.isWellFormed()) return false;
  return writeAgentName(name).length <= MAX_AGENT_NAME_CHARS;
}

/** Returns the name in a segment of a path, or null for an invalid one. */
export function readAgentName(segment: string): string | null {
  try {
    const name = decodeURIComponent(segment);
    return isAgentName(name) ? name : null;
  } catch {
    return null;
  }
}

/** Returns the segment. Only characters that a path cannot hold are encoded. */
export function writeAgentName(name: string): string {
  const url = new URL("http://localhost");
  url.pathname = name.replaceAll("%", "%25");
  return url.pathname.slice(1);
}
