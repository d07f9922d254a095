/** Orders sessions as a family tree, with forked and split sessions under their parent. Pure. */
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";

export interface Kin {
  readonly session: SessionInfo;
  /** 0 for a session without a parent in the list. */
  readonly depth: number;
  /** Origin of the session. A `continued` one goes on from its parent, which was split. */
  readonly kind: "begun" | "forked" | "continued";
}

/**
 * The newest family comes first, judged by its newest member. Within a family, children are ordered by age. Each session appears once for
 * any links.
 */
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
  // A circle of links has no root, so each session that is left begins a family.
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

/** Returns a session's name, or a substitute for a missing one. */
export function nameOf({ id, name }: Pick<SessionInfo, "id" | "name">): string {
  return name ?? (id === "" ? "The default session" : "Nothing said yet");
}
