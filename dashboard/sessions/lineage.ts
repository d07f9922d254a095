/** Sessions in the order of a family tree: what was forked or split from one stands under it. Pure. */
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";

export interface Kin {
  readonly session: SessionInfo;
  /** 0 for one that came from none of the list. */
  readonly depth: number;
  /** How it came to be; `continued` goes on from the one above it, which was split. */
  readonly kind: "begun" | "forked" | "continued";
}

/** The newest family first, by its newest member; within one, children by age. Each session once, whatever the links say. */
export function orderByLineage(sessions: readonly SessionInfo[]): Kin[] {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  const children = Map.groupBy(sessions, (session) => parentOf(session, byId));
  const placed = new Set<string>();
  const family = (session: SessionInfo, depth: number): Kin[] => {
    if (placed.has(session.id)) return [];
    placed.add(session.id);
    const kind =
      depth === 0
        ? "begun"
        : byId.get(session.parentSessionId ?? "")?.continuedBy === session.id
          ? "continued"
          : "forked";
    const under = (children.get(session.id) ?? []).toSorted((a, b) => a.createdAt - b.createdAt);
    return [{ session, depth, kind }, ...under.flatMap((child) => family(child, depth + 1))];
  };
  // Links that run in a circle have no first: whoever is left begins a family.
  const roots = [...(children.get(null) ?? []), ...sessions];
  const families = roots.map((root) => family(root, 0)).filter((each) => each.length > 0);
  return families.toSorted((a, b) => newest(b) - newest(a)).flat();
}

function parentOf({ id, parentSessionId }: SessionInfo, byId: ReadonlyMap<string, SessionInfo>): string | null {
  return parentSessionId !== null && parentSessionId !== id && byId.has(parentSessionId) ? parentSessionId : null;
}

function newest(family: readonly Kin[]): number {
  return Math.max(...family.map(({ session }) => session.lastMessageAt ?? session.createdAt));
}

/** What a session is called: its name, or what stands for one. */
export function nameOf({ id, name }: Pick<SessionInfo, "id" | "name">): string {
  return name ?? (id === "" ? "The default session" : "Nothing said yet");
}
