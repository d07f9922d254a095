/**
 * What the parts of one session have in common: its id, what its builder was told, and one way to write.
 *
 * A handle, its parts and the rooms that extend it (extension.ts) share one of these. It is cheap: nothing is read until
 * somebody asks.
 */
import type { History } from "../memory/messages/history.ts";
import type { Core, Told } from "./core.ts";
import { startNotesIfDue } from "./notes/trigger.ts";
import { mendIfUncovered } from "./runs/mend.ts";
import { maskIfDue, triggerIfDue } from "./runs/trigger.ts";
import type { SessionSettings } from "./settings.ts";

export interface WriteOptions {
  /** The leaf that is appended to, where that is known. */
  readonly continues?: string | null;
  /** Looks at no threshold: undoing a compaction by hand must not bring it straight back. */
  readonly quiet?: boolean;
}

export class SessionState {
  readonly core: Core;
  id: string;
  #told: Told[] = [];

  constructor(core: Core, id: string) {
    this.core = core;
    this.id = id;
  }

  get settings(): SessionSettings {
    this.apply();
    return this.core.settings.get(this.id);
  }

  get stored(): History {
    this.apply();
    return this.core.memory.session(this.id);
  }

  /** Keeps what a builder was told until the session is used, or until the code that builds it is done. */
  tell(told: Told): void {
    // A session may also be used past this handle, over RPC: what was told must be in force by then.
    if (this.core.pendingSettings.size === 0) queueMicrotask(() => this.#settleAll());
    this.#told.push(told);
    this.core.pendingSettings.add(this.#settle);
  }

  /** Puts into force what builders were told. Throws what was wrong with it, at every use of the session. */
  apply(): void {
    this.#settleAll();
    if (this.core.refused.has(this.id)) throw this.core.refused.get(this.id);
  }

  /** True where a host keeps the messages: reading may wait. */
  get isHosted(): boolean {
    return this.core.hosted.has(this.id);
  }

  /** Reads of the history, once everything that it needs is at hand. */
  async read<T>(work: (history: History) => T): Promise<T> {
    this.apply();
    return this.core.read(this.id, () => work(this.stored));
  }

  /** One transaction: the change and, if it made the view too large, the run that will see to it. */
  write<T>(change: (history: History) => T, options: WriteOptions = {}): T {
    const result = this.core.transaction<{ value: T }>(() => {
      const value = change(this.stored);
      if (options.quiet !== true) triggerIfDue(this.core, this.id, options.continues);
      if (options.quiet !== true) maskIfDue(this.core, this.id, options.continues);
      mendIfUncovered(this.core, this.id);
      if (options.quiet !== true) startNotesIfDue(this.core, this.id);
      return { value };
    });
    return result.value;
  }

  /** Of every handle that was told something: two may be of one session. Never throws: nobody may be there to catch it. */
  #settleAll(): void {
    // In the order of telling: a session that is configured on the way applies what it is told there, not what waits here.
    const pending = [...this.core.pendingSettings];
    this.core.pendingSettings.clear();
    for (const settle of pending) settle();
  }

  readonly #settle = (): void => {
    const told = this.#told.splice(0);
    try {
      const settings = told.reduce((sofar, each) => each.settings?.(sofar) ?? sofar, this.core.settings.get(this.id));
      this.core.settings.set(this.id, settings);
      for (const each of told) each.apply?.(this.id, this.core);
    } catch (error) {
      // Code is what is wrong, so it stays wrong until the object starts with other code.
      this.core.refused.set(this.id, error);
    }
  };
}
