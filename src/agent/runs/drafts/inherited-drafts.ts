/**
 * Copies drafts of a deleted session to its children, as far as they hold the drafts' sources themselves (R3).
 *
 * While a session lives, its forks find its drafts there ({@link Drafts.get} keeps the ones that they use). At its end they are copied in
 * advance, because a session is deleted once and forked often. Safe (S2) because a child gets a draft only where its own messages have the
 * digest of the draft's source. So it learns nothing that it does not hold.
 */
import type { Span } from "../../../steps/plan/outline.ts";
import type { Needs } from "../../core.ts";
import { leavesUnder } from "./sources.ts";

/** Call inside the transaction that deletes the session, before the deletion. Reads the sources of its drafts for each child. */
export function inheritDrafts(core: Needs<"memory">, sessionId: string): void {
  const { sessions, statements } = core.memory;
  for (const childId of sessions.childrenOf(sessionId)) {
    const holds = heldBy(core, childId);
    for (let from: string | null = sessionId; from !== null; from = statements.parentSession(from)) {
      for (const { key, source } of madeIn(core, from)) if (holds(source)) core.memory.drafts.get(childId, key);
    }
  }
}

interface Made {
  readonly key: string;
  readonly source: Span & { readonly digest: string };
}

/** The drafts of a session with their sources. A source is a run's whole span, or, once it is applied, a chunk of it. */
function* madeIn(core: Needs<"memory">, sessionId: string): Iterable<Made> {
  const history = core.memory.session(sessionId);
  for (const overlay of history.overlays.list()) {
    for (const leaf of leavesUnder(history, overlay.id))
      if (leaf.draftKey !== null) yield { key: leaf.draftKey, source: leaf };
  }
  for (const { key, source } of core.memory.sessions.draftSources(sessionId))
    if (source !== undefined) yield { key, source };
}

/** Returns a check whether a session's own messages match a digest. Reads each span once. */
function heldBy(core: Needs<"memory">, sessionId: string): (source: Made["source"]) => boolean {
  const history = core.memory.session(sessionId);
  const known = new Map<string, string | null>();
  return ({ fromId, fromStep, toId, toStep, digest }) => {
    const span = { fromId, fromStep, toId, toStep };
    const name = JSON.stringify(span);
    if (!known.has(name)) known.set(name, history.spans.sourceDigest(span));
    return known.get(name) === digest;
  };
}
