/**
 * Passes the Worker's door with this tab's secret, and gets tickets for it.
 *
 * It knows no socket. The secret goes only into a header and this tab's storage, never into a URL. It is forgotten as soon as the Worker
 * refuses it.
 */
import { agentPath } from "./agent-address.ts";

const SECRET_KEY = "palimpsest:secret";

/**
 * The door's answer. `shut` means that nobody answered, or not now. `closed` means that nobody is let in until somebody changes the Worker,
 * such as its secret. `refused` means that the agent is not there, or not for this caller.
 */
export type Admission =
  | { readonly kind: "open"; readonly ticket: string | null }
  | { readonly kind: "locked" | "closed" | "refused" | "shut"; readonly why: string | null };

/** Says why a text cannot be a secret, or returns null when it can. A header holds no other characters, and `fetch` would throw. */
export function findOddSecret(secret: string): string | null {
  const [odd] = /[^!-~]/u.exec(secret) ?? [];
  if (secret !== "" && odd === undefined) return null;
  const it = odd === undefined || odd.trim() === "" ? "a space" : `“${odd}”`;
  return secret === ""
    ? "Give the secret."
    : `This cannot be the secret: it holds ${it}, and a secret is made of ASCII letters, digits and signs. Was it changed on its way here, its quotes perhaps?`;
}

export function keepSecret(secret: string): void {
  sessionStorage.setItem(SECRET_KEY, secret);
}

/** Asks for a ticket and waits at most `ms`. */
export async function askForTicket(agentName: string, ms: number): Promise<Admission> {
  const kept = sessionStorage.getItem(SECRET_KEY);
  const secret = kept !== null && findOddSecret(kept) === null ? kept : null;
  const headers = secret === null ? {} : { Authorization: `Bearer ${secret}` };
  const path = `/${agentPath(agentName)}/ticket`;
  try {
    const answer = await fetch(path, { method: "POST", headers, signal: AbortSignal.timeout(ms) });
    if (answer.ok) return { kind: "open", ticket: (await answer.json<{ ticket: string | null }>()).ticket };
    if (answer.status === 401) {
      sessionStorage.removeItem(SECRET_KEY);
      return { kind: "locked", why: kept === null ? null : "The Worker did not take this secret." };
    }
    const why = await adviceIn(answer);
    if (answer.status === 403) return { kind: "closed", why };
    return { kind: answer.status === 404 ? "refused" : "shut", why };
  } catch {
    return { kind: "shut", why: null };
  }
}

async function adviceIn(answer: Response): Promise<string | null> {
  const body = await answer.json<{ error?: { message?: string } } | null>().catch(() => null);
  return body?.error?.message?.replace(/^\[\w+\] /, "") ?? `The Worker answered with status ${answer.status}.`;
}
