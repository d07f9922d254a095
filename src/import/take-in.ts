/**
 * Takes over a conversation from another store, first its messages in pages, then its summaries and its context blocks.
 *
 * A page is one transaction, and a message that the session already has is not changed. Repeating an interrupted call therefore continues
 * it, and repeating a finished one changes nothing. The call is refused if the session goes on behind the store's messages and lacks some
 * of them.
 */
import type { UIMessage } from "ai";
import { errorCode, PalimpsestError, type ErrorCode } from "../errors.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { AppendResult, History } from "../memory/messages/history.ts";
import { WHOLE_MESSAGE, type Span } from "../steps/plan/outline.ts";
import type { StoredConversation, StoredPlace, StoredSummary } from "./store.ts";

/** Messages of one transaction. The number needs few transactions and fits in memory. */
const PAGE_MESSAGES = 100;

/** What came of taking in a stored conversation. */
export interface TakenIn {
  /** Number of messages in the store. */
  readonly messages: number;
  /** Number of messages that were new. */
  readonly inserted: number;
  /** Number of summaries that are in force now and were not before. */
  readonly summaries: number;
  /** Number of context blocks whose texts the session's blocks hold now. */
  readonly blocks: number;
  /** Describes what was left out. */
  readonly notes: readonly string[];
}

export async function takeIn(state: SessionState, source: StoredConversation): Promise<TakenIn> {
  state.stored.mustKeepMessages();
  const places = await source.places();
  mustHaveNothingElse(state, source, places);
  const notes: string[] = [];
  /** New parent for the children of each message that was left out. */
  const instead = new Map<string, string | null>();
  let inserted = 0;
  for (let at = 0; at < places.length; at += PAGE_MESSAGES) {
    inserted += await takePage(state, { source, page: places.slice(at, at + PAGE_MESSAGES), instead, notes });
  }
  const summaries = takeSummaries(state, { summaries: await source.summaries(), places, notes });
  // Checks the threshold once, after all messages are stored.
  if (inserted > 0) state.write(() => undefined);
  const blocks = await takeBlocks(state, source, notes);
  return { messages: places.length, inserted, summaries, blocks, notes };
}

/** A block that has a text of its own keeps it, so a repeated call undoes nothing that the model wrote since. */
async function takeBlocks(state: SessionState, source: StoredConversation, notes: string[]): Promise<number> {
  const found = await source.blocks?.();
  if (found === undefined) return 0;
  notes.push(...found.notes);
  const { takeText } = state.core.rooms;
  // Reading the settings first declares the session's blocks.
  void state.settings;
  let taken = 0;
  for (const { label, content } of found.blocks) {
    const why = takeText === undefined ? "the agent has no room context()" : await takeText(state.id, label, content);
    if (why === null) taken++;
    else notes.push(`The context block "${label}" (${content.length} characters) was left out: ${why}.`);
  }
  return taken;
}

function mustHaveNothingElse(state: SessionState, { name }: StoredConversation, places: readonly StoredPlace[]): void {
  const { stored } = state;
  const leafId = stored.leafId();
  const isMissing = places.some(({ id }) => !stored.has(id));
  if (leafId === null || !isMissing || places.some(({ id }) => id === leafId)) return;
  throw new PalimpsestError(
    "import_failed",
    `Session "${state.id}" goes on behind what ${name} has, and does not have all of it. Take a conversation in before anything is said in the session, such as in onStart, or into a session of its own.`,
  );
}

interface Page {
  readonly source: StoredConversation;
  readonly page: readonly StoredPlace[];
  readonly instead: Map<string, string | null>;
  readonly notes: string[];
}

async function takePage(state: SessionState, { source, page, instead, notes }: Page): Promise<number> {
  const read: { readonly place: StoredPlace; readonly message: UIMessage | null }[] = [];
  for (const place of page) {
    read.push({ place, message: state.stored.has(place.id) ? null : await source.message(place.id) });
  }
  const take = (history: History): number => {
    let inserted = 0;
    for (const { place, message } of read) {
      if (history.has(place.id)) continue;
      const parentId =
        place.parentId !== null && instead.has(place.parentId) ? (instead.get(place.parentId) ?? null) : place.parentId;
      const why = message === null ? "it cannot be read" : tryAppend(() => history.append(message, parentId));
      if (why === null) inserted++;
      else {
        instead.set(place.id, parentId);
        notes.push(`Message "${place.id}" was left out: ${why}.`);
      }
    }
    return inserted;
  };
  return state.write(take, { quiet: true });
}

/** The errors of an append that are about the message itself. Any other ends the call. */
const REFUSED: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "invalid_message",
  "message_too_large",
  "not_serializable",
  "reserved_id",
  "reserved_metadata",
]);

/** Returns null, or the reason for a refusal. Each append is a transaction within the page's, so a refused message leaves nothing. */
function tryAppend(append: () => AppendResult): string | null {
  try {
    return append().synthetic ? "it is a summary or a part of a message in a view, and nobody's own" : null;
  } catch (error) {
    if (REFUSED.has(errorCode(error))) return String(error);
    throw error;
  }
}

interface Summaries {
  readonly summaries: readonly StoredSummary[];
  readonly places: readonly StoredPlace[];
  readonly notes: string[];
}

/** Of overlapping summaries only the latest is taken, because it was the one in force. */
function takeSummaries(state: SessionState, { summaries, places, notes }: Summaries): number {
  if (summaries.length === 0) return 0;
  const parents = new Map(places.map(({ id, parentId }) => [id, parentId]));
  const covered = new Set<string>();
  const kept: StoredSummary[] = [];
  for (const each of summaries.toReversed()) {
    const span = idsOf(each, parents);
    if (span === null)
      notes.push(`A summary from "${each.fromMessageId}" was left out: its messages are not on one path.`);
    else if (!span.some((id) => covered.has(id))) {
      kept.unshift(each);
      for (const id of span) covered.add(id);
    }
  }
  const known = new Set(state.stored.overlays.list().map(({ span }) => `${span.fromId} ${span.toId}`));
  return kept.filter((each) => {
    if (known.has(`${each.fromMessageId} ${each.toMessageId}`)) return false;
    const why = lay(state, each);
    if (why !== null) notes.push(`A summary from "${each.fromMessageId}" was left out: ${why}.`);
    return why === null;
  }).length;
}

/** Returns the ids of the messages under a summary, or null where its ends are not on one path. */
function idsOf(
  { fromMessageId, toMessageId }: StoredSummary,
  parents: ReadonlyMap<string, string | null>,
): string[] | null {
  const ids: string[] = [];
  for (let id: string | null = toMessageId; id !== null && parents.has(id); id = parents.get(id) ?? null) {
    ids.push(id);
    if (id === fromMessageId) return ids;
  }
  return null;
}

function lay(state: SessionState, { summary, fromMessageId, toMessageId }: StoredSummary): string | null {
  const span: Span = { fromId: fromMessageId, fromStep: 0, toId: toMessageId, toStep: WHOLE_MESSAGE };
  const { pinnedTokens } = state.settings.policy ?? {};
  try {
    const commit = state.write((history) => history.overlays.add({ span, summary, pinnedTokens }), {
      quiet: true,
    });
    return commit.kind === "stale" ? `it does not fit there (${commit.reason})` : null;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return String(error);
  }
}
