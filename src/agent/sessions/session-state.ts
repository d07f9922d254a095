/**
 * The shared state of one session's parts, with its id, its builder calls, and one way to write.
 *
 * A handle, its parts and the rooms that extend it (extension.ts) share one instance. It is cheap, because nothing is read before its use.
 */
import { PalimpsestError } from "../../errors.ts";
import type { History } from "../../memory/messages/history.ts";
import type { Core, Needs } from "../core.ts";
import type { SessionSettings, BuilderCall } from "../settings.ts";
import type { Policy } from "../../steps/plan/policy.ts";

export interface WriteOptions {
  /** The leaf that is appended to, where that is known. */
  readonly continues?: string | null;
  /** Skips the threshold check, because undoing a compaction by hand must not bring it straight back. */
  readonly quiet?: boolean;
}

export class SessionState {
  /** @internal */
  readonly core: Core;
  id: string;

  /** @internal */
  constructor(core: Core, id: string) {
    this.core = core;
    this.id = id;
  }

  /** The same session in a work that waits, because the handle may name another one meanwhile (S1). @internal */
  get sameSession(): SessionState {
    return new SessionState(this.core, this.id);
  }

  /** @internal */
  get settings(): SessionSettings {
    this.apply();
    return this.core.settings.get(this.id);
  }

  /** @internal */
  get stored(): History {
    this.apply();
    return this.core.memory.session(this.id);
  }

  /** Throws `not_configured`. @internal */
  mustHavePolicy(): Policy {
    this.apply();
    return this.core.settings.mustHavePolicy(this.id);
  }

  /** The error for a session without messages. @internal */
  empty(): PalimpsestError {
    return new PalimpsestError(
      "invalid_state",
      `Session "${this.id}" has no messages yet: there is nothing to compact.`,
    );
  }

  /** Keeps a builder call until the session is used, or until the present code has run. @internal */
  collect(call: BuilderCall): void {
    this.core.settings.collect(this, call);
  }

  /** Applies pending builder calls. At every use of the session it throws the error that one of them caused. */
  apply(): void {
    this.core.uses.count();
    this.core.settings.apply(this.id);
  }

  /** True where a host keeps the messages, so that reading may wait. */
  get isHosted(): boolean {
    return this.core.hosted.has(this.id);
  }

  /** Reads the history, once everything that the read needs is at hand. @internal */
  async read<T>(work: (history: History) => T): Promise<T> {
    const { sameSession } = this;
    this.apply();
    return this.core.read(this.id, () => work(sameSession.stored));
  }

  /** One transaction with the change and, if the view is now too large, the ledger row of its run. @internal */
  write<T>(change: (history: History) => T, { continues, quiet = false }: WriteOptions = {}): T {
    const result = this.core.db.transaction<{ value: T }>(() => {
      const value = change(this.stored);
      if (quiet) this.core.trigger.mendIfUncovered(this.id);
      else this.core.trigger.changed(this.id, continues);
      return { value };
    });
    return result.value;
  }
}

/**
 * Ends live runs as `stale`, and removes words of the conversation that are stored beside the messages (S2). Call inside the transaction.
 */
export function forgetWhatWasSaid(
  core: Needs<"endRun" | "hookOutbox" | "rooms" | "runs" | "thoughts" | "trigger">,
  sessionId: string,
): void {
  const { runs, rooms, hookOutbox } = core;
  for (const run of runs.live(sessionId)) core.endRun(run, { kind: "stale", reason: "gone" });
  runs.forgetWords(sessionId);
  rooms.cleared?.(sessionId);
  hookOutbox.removeSession(sessionId);
  core.thoughts.delete(sessionId);
  core.trigger.measureAfresh(sessionId);
}
