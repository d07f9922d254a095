/** The sessions whose messages a host keeps, by id. A host of many opens one when it is first named. */
import type { HostedReads } from "../core.ts";

export class HostedSessions extends Map<string, HostedReads> {
  /** Adds the session with this id. Null where every one is known from the start. */
  open: ((sessionId: string) => void) | null = null;

  override get(sessionId: string): HostedReads | undefined {
    if (!super.has(sessionId)) this.open?.(sessionId);
    return super.get(sessionId);
  }

  override has(sessionId: string): boolean {
    return this.get(sessionId) !== undefined;
  }
}
