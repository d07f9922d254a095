/**
 * The addresses of the agents that the page shows.
 *
 * They begin with the folder of the page's own address. The document names the class of the agents and the first one, because one build
 * serves every Worker.
 */
import { writeAgentName } from "../src/doors/agent-name.ts";

/** The browser. Tests of the page's logic have none. */
const here = globalThis as {
  readonly location?: { readonly pathname: string };
  readonly document?: { querySelector(selector: string): { getAttribute(name: string): string | null } | null };
};

/** The class of the agents, as it stands in a path. */
export const AGENT = inDocument("palimpsest-agent", "palimpsest-agent");

/** The agent that the page opens first. It is the one that `npm run demo` talks to. */
export const FIRST_NAME = inDocument("palimpsest-name", "demo");

/** The path of an agent, without the first slash. */
export function agentPath(name: string): string {
  const folder = (here.location?.pathname ?? "/").replace(/[^/]*$/, "").slice(1);
  return `${folder}agents/${AGENT}/${writeAgentName(name)}`;
}

function inDocument(name: string, otherwise: string): string {
  return here.document?.querySelector(`meta[name="${name}"]`)?.getAttribute("content") ?? otherwise;
}
