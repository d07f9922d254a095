/**
 * The page's state in its address, as in `#session?agent=demo&id=…`. A reload, a bookmark and the back button therefore lead to the same
 * place.
 *
 * It turns a text into a route and back. Any text gives some route.
 */
import { FIRST_NAME } from "./agent-address.ts";

export type Route =
  | { readonly page: "sessions"; readonly agent: string; readonly query: string }
  | {
      readonly page: "session";
      readonly agent: string;
      readonly id: string;
      /** A message on the branch to read, which is read to its newest leaf. Null for the active branch. */
      readonly branch: string | null;
      /** The message to scroll to. */
      readonly at: string | null;
      /** The overlay that is open. */
      readonly overlay: string | null;
      /** The overlay after which the view is shown. Null for the current view. */
      readonly asOf: string | null;
      readonly reading: "person" | "model" | "both";
    }
  | { readonly page: "runs"; readonly agent: string; readonly id: string; readonly run: string | null }
  | { readonly page: "health"; readonly agent: string };

export type SessionRoute = Extract<Route, { page: "session" }>;

export function parseRoute(hash: string): Route {
  const [page = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s, 2);
  const fields = new URLSearchParams(query);
  const agent = fields.get("agent") || FIRST_NAME;
  const id = fields.get("id") ?? "";
  const reading = fields.get("reading");
  switch (page) {
    case "session":
      return {
        page,
        agent,
        id,
        branch: fields.get("branch"),
        at: fields.get("at"),
        overlay: fields.get("overlay"),
        asOf: fields.get("asOf"),
        reading: reading === "model" || reading === "both" ? reading : "person",
      };
    case "runs":
      return { page, agent, id, run: fields.get("run") };
    case "health":
      return { page, agent };
    default:
      return { page: "sessions", agent, query: fields.get("query") ?? "" };
  }
}

/** Formats a route so that {@link parseRoute} reads it back. */
export function formatRoute(route: Route): string {
  const { page, ...fields } = route;
  const shown = Object.entries(fields).filter(([name, value]) => name === "id" || (value !== null && value !== ""));
  const query = new URLSearchParams(shown.map(([name, value]) => [name, value ?? ""]));
  if (page === "session" && route.reading === "person") query.delete("reading");
  return `#${page}?${query}`;
}

/** Returns the route of a session in its current state, on its active branch. */
export function toSession(agent: string, id: string, more: Partial<SessionRoute> = {}): SessionRoute {
  return { page: "session", agent, id, branch: null, at: null, overlay: null, asOf: null, reading: "person", ...more };
}
