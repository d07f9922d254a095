/**
 * `palimpsest/sessions`, durable compaction for a session of `agents/sessions` that an agent keeps itself.
 *
 * The SDK keeps the messages and the summaries, and goes on reading both. Our index follows its feed, our Workflow makes the summary, and
 * a finished one is written among the SDK's own, so `history()` shows it. An append waits for none of that.
 *
 * Safe because nothing is remembered about what was written: each time, our summaries in force are compared with the SDK's. One that is
 * there is not written again, whatever crashed in between. One is written only after both of its ends were found on the path and no
 * summary of anybody else's came over them meanwhile. The SDK cannot take a summary back.
 */
import type { Session as SdkSession, SessionMessage, StoredCompaction } from "agents/sessions";
import type { AgentCore } from "../agent/agent-core.ts";
import type { Rooms } from "../agent/extension.ts";
import { HostedSession } from "./hosted-session.ts";
import { Session, type CompactionHost, type SessionOf } from "../agent/sessions/session.ts";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import type { History } from "../memory/messages/history.ts";
import { summarySource, type OverlayRecord } from "../memory/overlays/overlay.ts";
import type { EndedRun } from "../memory/runs/runs.ts";
import { WHOLE_MESSAGE, type Span } from "../steps/plan/outline.ts";
import { summaryMessage } from "../facts/render.ts";
import { coreOf, SDK_SUMMARY_PREFIX, mirrorOf, sessionsSource } from "./source.ts";

/** Most rounds of reading before a summary waits for the next occasion. More mean that the session changes all the time. */
const MAX_ROUNDS = 20;

/** Why a summary was not written among the SDK's. */
export type LeftReason =
  /** One of its ends is not on the branch of the newest message. It is written once that branch is the active one again. */
  | "other-branch"
  /** A summary that somebody else stored lies over a part of its messages. Ours was taken back. */
  | "overlapped"
  /** It covers a part of one message only, and the SDK's summaries cover whole messages. */
  | "inside-a-message"
  /** Its messages were changed, deleted or cleared, so that it is not in force any more. */
  | "gone"
  /** The session changed each time that it was read. It is written at the next occasion. */
  | "busy";

/** What became of a finished summary. */
export type WriteBack =
  | { readonly kind: "written"; readonly overlayId: string; readonly compaction: StoredCompaction }
  | { readonly kind: "left"; readonly overlayId: string; readonly reason: LeftReason };

export interface DurableOptions<R extends Rooms = Rooms> {
  /** Settings beside the SDK's `compactAfter`, as in `(session) => session.onCompactionError(report)`. */
  readonly configure?: ((session: SessionOf<R>) => unknown) | undefined;
  /** Told of each summary that was written, or left. Its errors are logged. */
  readonly onWriteBack?: ((result: WriteBack) => void) | undefined;
}

/** What `onCompaction` of the SDK's session takes. */
export type DurableCompaction = (messages: SessionMessage[]) => Promise<null>;

/**
 * For `onCompaction` of a session of `agents/sessions`, in the constructor of an agent made with `withCompaction`:
 * `session.onCompaction(durable(this, session)).compactAfter(80_000)`. From then on `compact()` of that session asks for a run and returns
 * null at once. Throws `invalid_options`, `not_configured`.
 */
export function durable<R extends Rooms>(
  agent: CompactionHost<R>,
  session: SdkSession,
  options: DurableOptions<R> = {},
): DurableCompaction {
  checkFields("durable", options, { configure: true, onWriteBack: true });
  const core = coreOf(agent, "durable(this, session)");
  if (typeof (session as Partial<SdkSession> | undefined)?.mirror !== "function") {
    throw new PalimpsestError(
      "invalid_options",
      "durable takes a session of agents/sessions as its second argument, as in durable(this, session). Its onCompaction gets the result.",
    );
  }
  return new DurableSession(core, session, options).compact;
}

class DurableSession {
  readonly #core: AgentCore;
  readonly #theirs: SdkSession;
  readonly #ours: Session;
  readonly #hosted: HostedSession;
  readonly #options: DurableOptions;
  /** Counts the changes of the SDK's session. */
  #changes = 0;
  /** Whether a summary waits for its branch. */
  #waits = false;
  #newest: string | null = null;
  #working: Promise<void> = Promise.resolve();

  constructor(core: AgentCore, theirs: SdkSession, options: DurableOptions) {
    const { sessionId } = theirs;
    if (core.hosted.has(sessionId) || core.memory.isUsed(sessionId)) {
      throw new PalimpsestError(
        "not_configured",
        `Session "${sessionId}" is in use already. Call durable once, in the agent's constructor, for a session that palimpsest does not keep itself.`,
      );
    }
    this.#core = core;
    this.#theirs = theirs;
    this.#options = options;
    this.#ours = Session.create({ palimpsest: core }).forSession(sessionId);
    const feed = mirrorOf(theirs, (event) => {
      this.#changes++;
      if (event.type === "append" && event.inserted) this.#follow(event.message.id, event.parentId);
    });
    const source = sessionsSource(feed, { name: "agents/sessions", sessionId, live: () => [] });
    this.#hosted = new HostedSession(core, sessionId, source);
    core.hosted.set(sessionId, this.#hosted);
    this.#listen();
    core.platform.background(this.#start());
  }

  /** Asks for a run. Waits for no summariser. */
  readonly compact = async (messages: SessionMessage[]): Promise<null> => {
    await this.#hosted.ready();
    const { thresholdTokens } = await this.#ours.status();
    if (thresholdTokens === null) {
      const error = new PalimpsestError(
        "not_configured",
        "Nothing says when to compact: call compactAfter(tokens) behind onCompaction(durable(this, session)), not before it.",
      );
      // The SDK swallows the error.
      console.warn(`[palimpsest] Session "${this.#ours.id}" is not compacted: ${error.message}`);
      throw error;
    }
    const leafId = await this.#leafOf(messages);
    if (leafId !== null) await this.#ours.compact({ leafId });
    return null;
  };

  /** The SDK's threshold becomes ours, so that the SDK does not ask at each append, and a run may be postponed for a reason. */
  #listen(): void {
    const configure = (): void => void this.#options.configure?.(this.#ours);
    configure();
    this.#theirs.compactAfter = (tokens) => {
      this.#ours.compactAfter(tokens);
      // It has the last word.
      configure();
      return this.#theirs;
    };
    this.#core.onRunEnded((run) => {
      const overlayId = run.sessionId === this.#ours.id ? overlayOf(run) : null;
      if (overlayId !== null) this.#soon(overlayId);
    });
  }

  /** A message that does not follow the one before it may have made another branch the active one. */
  #follow(id: string, parentId: string | null | undefined): void {
    if (this.#waits && parentId !== undefined && parentId !== this.#newest) this.#soon();
    this.#newest = id;
  }

  async #start(): Promise<void> {
    try {
      await this.#hosted.ready();
      if (this.#history.overlays.list().length === 0) await this.#takeIn(await this.#theirs.getCompactions());
      this.#soon();
    } catch (error) {
      this.#warn(error);
    }
  }

  get #history(): History {
    return this.#core.memory.session(this.#ours.id);
  }

  /** The end of the branch that the SDK wants compacted. Its last message may be a summary. */
  async #leafOf(messages: readonly SessionMessage[]): Promise<string | null> {
    const last = messages.at(-1)?.id ?? null;
    if (last?.startsWith(SDK_SUMMARY_PREFIX) !== true) return last;
    const theirs = await this.#theirs.getCompactions();
    return theirs.find(({ id }) => `${SDK_SUMMARY_PREFIX}${id}` === last)?.toMessageId ?? null;
  }

  /** One after the other, so that two never write the same summary. */
  #soon(finished: string | null = null): void {
    this.#working = this.#working.then(() => this.#writeAll(finished)).catch((error: unknown) => this.#warn(error));
    this.#core.platform.background(this.#working);
  }

  async #writeAll(finished: string | null): Promise<void> {
    await this.#hosted.ready();
    this.#waits = false;
    const shown = visible(this.#history);
    for (const overlay of shown) await this.#writeOne(overlay);
    if (finished === null || shown.some(({ id }) => id === finished)) return;
    const overlay = this.#history.overlays.get(finished);
    const reason = overlay?.state === "active" ? "other-branch" : "gone";
    this.#waits ||= reason === "other-branch";
    this.#tell({ kind: "left", overlayId: finished, reason });
  }

  async #writeOne(overlay: OverlayRecord): Promise<void> {
    const { id: overlayId } = overlay;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const changes = this.#changes;
      const path = (await this.#theirs.getHistoryRowStats()).map(({ id }) => id);
      const theirs = await this.#theirs.getCompactions();
      if (this.#changes !== changes) continue;
      const now = this.#history.overlays.get(overlayId);
      const found =
        now?.state === "active" ? this.#find(now, path, theirs) : ({ kind: "left", reason: "gone" } as const);
      if (found.kind === "there") return;
      if (found.kind === "left") return this.#leave(overlayId, found.reason, theirs);
      const compaction = await this.#theirs.addCompaction(textOf(overlay), found.from, found.to);
      return this.#tell({ kind: "written", overlayId, compaction });
    }
    this.#waits = true;
    this.#tell({ kind: "left", overlayId, reason: "busy" });
  }

  async #leave(overlayId: string, reason: LeftReason, theirs: readonly StoredCompaction[]): Promise<void> {
    if (reason === "other-branch") this.#waits = true;
    if (reason === "overlapped") {
      // Our view is the SDK's again, and so is what the next plan begins with.
      await this.#ours.rollback(overlayId);
      await this.#takeIn(theirs);
    }
    this.#tell({ kind: "left", overlayId, reason });
  }

  /** The place of a summary among the SDK's, as far as one may be written. */
  #find(overlay: OverlayRecord, path: readonly string[], theirs: readonly StoredCompaction[]): Placement {
    const at = wholeMessages(overlay.span, path);
    if (at === "none") return { kind: "left", reason: "inside-a-message" };
    const from = path[at.first];
    const to = path[at.last];
    if (from === undefined || to === undefined) return { kind: "left", reason: "other-branch" };
    const text = textOf(overlay);
    const isOurs = (each: StoredCompaction): boolean => each.summary === text || each.summary === overlay.summary;
    if (theirs.some((each) => each.fromMessageId === from && each.toMessageId === to && isOurs(each)))
      return { kind: "there" };
    const since = this.#startOf(overlay);
    const own = new Set(this.#history.overlays.list().map(textOf));
    const inTheWay = inForce(theirs, path).some(
      ({ first, last, compaction }) =>
        first <= at.last &&
        last >= at.first &&
        (first < at.first ||
          last > at.last ||
          (!own.has(compaction.summary) && Date.parse(compaction.createdAt) >= since)),
    );
    return inTheWay ? { kind: "left", reason: "overlapped" } : { kind: "free", from, to };
  }

  /** When the run of a summary began to read. Epoch ms. */
  #startOf({ runId, createdAt }: OverlayRecord): number {
    return (runId === null ? null : this.#core.runs.get(runId)?.createdAt) ?? createdAt;
  }

  /** Makes the SDK's own summaries ours, so that a plan builds on them. One that our rules refuse is left out. */
  async #takeIn(theirs: readonly StoredCompaction[]): Promise<void> {
    const path = (await this.#theirs.getHistoryRowStats()).map(({ id }) => id);
    for (const { compaction } of inForce(theirs, path)) {
      const { summary, fromMessageId, toMessageId } = compaction;
      try {
        await this.#ours.addCompaction(summary, fromMessageId, toMessageId);
      } catch (error) {
        if (!(error instanceof PalimpsestError)) throw error;
      }
    }
  }

  #tell(result: WriteBack): void {
    try {
      this.#options.onWriteBack?.(result);
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    console.warn(`[palimpsest] Session "${this.#ours.id}" of agents/sessions: ${why}`);
  }
}

type Placement =
  | { readonly kind: "there" }
  | { readonly kind: "free"; readonly from: string; readonly to: string }
  | { readonly kind: "left"; readonly reason: LeftReason };

/** A summary of the SDK's that its reads show, with its place on the path. */
interface InForce {
  readonly first: number;
  readonly last: number;
  readonly compaction: StoredCompaction;
}

/** The summaries that the SDK shows on this path. Where several begin at one message it takes the newest, and skips what that covers. */
function inForce(theirs: readonly StoredCompaction[], path: readonly string[]): InForce[] {
  const places = new Map(path.map((id, index) => [id, index]));
  const begins = new Map<string, InForce>();
  for (const compaction of theirs) {
    const first = places.get(compaction.fromMessageId) ?? Infinity;
    const last = places.get(compaction.toMessageId) ?? -1;
    if (last >= first) begins.set(compaction.fromMessageId, { first, last, compaction });
  }
  const shown: InForce[] = [];
  for (const each of [...begins.values()].toSorted((a, b) => a.first - b.first)) {
    if (each.first > (shown.at(-1)?.last ?? -1)) shown.push(each);
  }
  return shown;
}

/**
 * The whole messages that a span covers, as places on the path. A message that it begins in is covered whole, because the summary before it
 * tells the rest. One that it ends in stays. Places that the path does not have are -1.
 */
function wholeMessages(span: Span, path: readonly string[]): { first: number; last: number } | "none" {
  const first = path.indexOf(span.fromId);
  const end = path.lastIndexOf(span.toId);
  if (first === -1 || end === -1) return { first: -1, last: -1 };
  const last = span.toStep === WHOLE_MESSAGE ? end : end - 1;
  return last < first ? "none" : { first, last };
}

/** The summaries that our view of the active branch shows, oldest first. */
function visible(history: History): OverlayRecord[] {
  const rows = history.outline()?.rows ?? [];
  return rows.flatMap(({ kind, id }) => (kind === "overlay" ? (history.overlays.get(id) ?? []) : []));
}

function textOf(overlay: OverlayRecord): string {
  const [part] = summaryMessage(summarySource({ ...overlay, overlayId: overlay.id })).parts;
  return part?.type === "text" ? part.text : overlay.summary;
}

function overlayOf({ outcome }: EndedRun): string | null {
  return outcome.kind === "applied" ? outcome.overlayId : null;
}
