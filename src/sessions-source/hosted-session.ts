/**
 * A session whose messages a host keeps. It listens to the host's feed, and its reads may have to wait.
 *
 * Takes each change of the host into the index in the same turn of the event loop, starts due runs, and repairs the index where a change
 * was missed. Knows the port (message-source.ts) and no host.
 *
 * Safe because the platform commits the writes of a synchronous listener together with the host's own write. After a failure nothing more
 * is taken from the feed until the whole path was compared, so nothing builds on a gap. The comparison writes in one transaction, and
 * starts again when the host changed during its reads.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { type Encoded, HostDiffers, isToBeReadAgain, NotAtHand } from "../memory/messages/content.ts";
import type { MessageSource, SourceEvent } from "./message-source.ts";
import { forgetWhatWasSaid } from "../agent/sessions/session-state.ts";
import type { Core } from "../agent/core.ts";
import { HostIndex } from "./host-index.ts";
import { HostedContents } from "./hosted-contents.ts";

/** Most rounds of fetching for one read, and of comparing. More rounds mean that the same messages change all the time. */
const MAX_ROUNDS = 20;

/** The result of a comparison, with every change that makes the index equal to the host's path. */
interface Difference {
  readonly gone: readonly string[];
  /** New messages, each with the one before it on the path. */
  readonly added: readonly { readonly message: Encoded; readonly after: string | null }[];
  readonly changed: readonly UIMessage[];
}

export class HostedSession {
  readonly sessionId: string;
  readonly #core: Core;
  readonly #source: MessageSource;
  readonly #contents: HostedContents;
  readonly #index: HostIndex;
  /** Whether the index equals the host's messages. */
  #isEqual = false;
  /** Whether only a full comparison can repair the index. */
  #isBehind = false;
  #comparing: Promise<void> | null = null;
  /** Counts the changes that the host reports. */
  #changes = 0;
  /** Messages that were found to differ from their rows. */
  readonly #suspects = new Set<string>();
  /** Whether a client posted pruned messages back, in front of its new one. The host prunes as many right after it. */
  #postedBack = false;
  #reads = 0;

  constructor(core: Core, sessionId: string, source: MessageSource) {
    this.#core = core;
    this.sessionId = sessionId;
    this.#source = source;
    this.#contents = new HostedContents(source);
    this.#index = new HostIndex(core, sessionId);
    core.memory.host(sessionId, this.#contents);
    source.subscribe((event) => this.#hear(event));
  }

  /** Resolves once the index equals the host's messages. Throws the error that prevented it. */
  async ready(): Promise<void> {
    if (this.#isEqual) return;
    this.#comparing ??= this.#compare().finally(() => (this.#comparing = null));
    await this.#comparing;
  }

  /**
   * For the host's start. It joins no running comparison, because that one may be waiting for the start itself. Two at once do no harm,
   * because changes that one has taken in are no changes for the other.
   */
  async start(): Promise<void> {
    await this.#compare();
  }

  /** Repeats a read as often as necessary. It fetches missing messages, and first takes in the changes that the read reveals. */
  async read<T>(work: () => T | Promise<T>): Promise<T> {
    this.#reads++;
    try {
      const fetched = new Set<string>();
      for (let differed = 0; ;) {
        await this.ready();
        try {
          return await work();
        } catch (error) {
          if (!isToBeReadAgain(error)) throw error;
          const isNew = error instanceof NotAtHand && error.ids.some((id) => !fetched.has(id));
          // A read that asks for new messages ends by itself.
          if (!isNew && ++differed > MAX_ROUNDS) throw tooManyChanges(this.#source.name, error);
          if (error instanceof HostDiffers) {
            this.#suspect(error.id);
          } else {
            await this.#contents.fetch(error.ids);
            for (const id of error.ids) fetched.add(id);
          }
        }
      }
    } finally {
      this.#reads--;
      if (this.#reads === 0) this.#contents.forget();
    }
  }

  // --- the feed ------------------------------------------------------------------------------------------------------

  /** Never throws and never waits, because the host must go on in any case. */
  #hear(event: SourceEvent): void {
    this.#changes++;
    this.#contents.forget();
    if (!this.#isEqual) return;
    try {
      const continues = this.#index.leafId();
      const isNew = this.#core.db.transaction(() => this.#take(event));
      const isBeforePruning = this.#postedBack && event.kind !== "delete";
      // A message in another form is none that came or went.
      if (event.kind !== "update" && event.kind !== "rewrite") this.#postedBack = !isNew;
      if (isNew && !isBeforePruning) this.#look(event.kind === "append" ? continues : null);
    } catch (error) {
      this.#fallBehind(error);
    }
  }

  /** Returns whether the conversation has something new, for which a run may be due. */
  #take(event: SourceEvent): boolean {
    const index = this.#index;
    const { thoughts, memory } = this.#core;
    const { sessionId } = this;
    if (event.kind === "append") {
      const isNew = index.append(event.message, event.parentId);
      thoughts.stored(sessionId, event.message, () => event.parentId ?? null);
      return isNew;
    }
    if (event.kind === "update") {
      index.update(event.message);
      thoughts.stored(sessionId, event.message, () => memory.session(sessionId).parentOf(event.message.id));
    } else if (event.kind === "rewrite") {
      index.rewrite(event.message);
    } else if (event.kind === "delete") {
      index.delete(event.ids, event);
      this.#core.trigger.measureAfresh(this.sessionId);
    } else if (event.kind === "clear") {
      index.clear();
      forgetWhatWasSaid(this.#core, this.sessionId);
    } else {
      this.#isEqual = false;
      this.#isBehind = true;
    }
    return true;
  }

  /** Starts due runs. It uses a transaction of its own, so that content that is not at hand does not undo the change. */
  #look(continues: string | null): void {
    const { sessionId } = this;
    const core = this.#core;
    const look = (): void => core.db.transaction(() => core.trigger.changed(sessionId, continues));
    try {
      look();
    } catch (error) {
      if (!isToBeReadAgain(error)) throw error;
      core.platform.background(this.read(look).catch((cause: unknown) => this.#tell(cause)));
    }
  }

  #suspect(id: string): void {
    this.#suspects.add(id);
    this.#isEqual = false;
    this.#isBehind = true;
  }

  #fallBehind(error: unknown): void {
    this.#isEqual = false;
    this.#isBehind = true;
    this.#tell(error);
    this.#catchUp();
  }

  #catchUp(): void {
    const caughtUp = async (): Promise<void> => {
      try {
        await this.ready();
      } catch (error) {
        this.#tell(error);
      }
    };
    this.#core.platform.background(caughtUp());
  }

  #tell(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    console.warn(`[palimpsest] Session "${this.sessionId}" goes on without compaction for now: ${why}`);
  }

  // --- comparing -----------------------------------------------------------------------------------------------------

  async #compare(): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS && !this.#isEqual; round++) {
      const changes = this.#changes;
      const difference = (await this.#looksEqual()) ? null : await this.#differ();
      // The read state may be outdated by now.
      if (this.#changes !== changes) continue;
      if (difference !== null) this.#core.db.transaction(() => this.#apply(difference));
      this.#isEqual = true;
      this.#isBehind = false;
      this.#suspects.clear();
      if (difference !== null) this.#look(null);
    }
    if (this.#isEqual) return;
    throw tooManyChanges(this.#source.name);
  }

  /** A cheap check of a few rows. The newest message is the same, and every message in memory is known. */
  async #looksEqual(): Promise<boolean> {
    if (this.#isBehind) return false;
    const leafId = await this.#source.leafId();
    return leafId === this.#index.leafId() && this.#source.live().every(({ id }) => this.#index.mayHave(id));
  }

  async #differ(): Promise<Difference> {
    const index = this.#index;
    const ids = await this.#source.path();
    const live = new Map(this.#source.live().map((message) => [message.id, message]));
    const added: { message: Encoded; after: string | null }[] = [];
    const changed: UIMessage[] = [];
    let after: string | null = null;
    for (const id of ids) {
      const known = index.digestOf(id);
      const message = live.get(id) ?? (known === null || this.#suspects.has(id) ? await this.#source.get(id) : null);
      // Measured at once, because a whole conversation is not held in memory.
      if (message !== null && known === null) added.push({ message: index.measure(message), after });
      else if (message !== null && known !== this.#contents.digestOf(message)) changed.push(message);
      if (message !== null || known !== null) after = id;
    }
    const onPath = new Set(ids);
    const gone: string[] = [];
    // Messages that the path does not name may be on another branch, or older than the host reads back. So the host is asked for each.
    for (const id of index.unknownTo(onPath)) if ((await this.#source.get(id)) === null) gone.push(id);
    return { gone, added, changed };
  }

  #apply({ gone, added, changed }: Difference): void {
    const index = this.#index;
    if (gone.length > 0) index.delete(gone, { retention: this.#source.prunes() ? () => true : null });
    for (const message of changed) index.update(message);
    for (const { message, after } of added) index.add(message, after);
    this.#core.trigger.measureAfresh(this.sessionId);
  }
}

function tooManyChanges(host: string, cause?: unknown): PalimpsestError {
  return new PalimpsestError(
    "conflict",
    `The messages of ${host} changed each time that they were read. Make the call again once nothing writes them.`,
    { cause },
  );
}
