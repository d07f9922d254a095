/**
 * Whose a block's storage is: one session's, or shared on purpose.
 *
 * S1 rests on this: rows of ours carry the scope's name; a provider object that can be written to belongs to the first
 * session that brings it; and a provider that takes its label from `init` is given one that no other session has.
 */
import { PalimpsestError } from "../errors.ts";
import type { Storage } from "../memory/schema.ts";
import type { BlockProvider } from "./provider.ts";
import type { ContextStatements, Place } from "./statements.ts";

/** What a provider is made for: handed to a provider that is given as a function. */
export interface BlockScope {
  /** Null for a block that sessions share. */
  readonly sessionId: string | null;
  readonly label: string;
  /** Where rows of this block belong. */
  readonly place: Place;
  readonly statements: ContextStatements;
  readonly transactionSync: Storage["transactionSync"];
}

/** The scope of blocks that say `shared: true`. */
export const SHARED_SCOPE = "shared";

/** A prefix keeps a session that is called "shared" apart from what is shared. */
export function sessionScope(sessionId: string): string {
  return `session:${sessionId}`;
}

/** A label that no other session's block has. The default session and shared blocks keep the plain one. */
export function labelFor({ sessionId, label }: BlockScope): string {
  return sessionId === null || sessionId === "" ? label : `${label}@${sessionId}`;
}

const owners = new WeakMap<BlockProvider, string>();

/** Makes the provider this scope's. Throws `invalid_options` when it is another's. */
export function claim(provider: BlockProvider, { place }: BlockScope): void {
  const owner = owners.get(provider) ?? place.scope;
  if (owner !== place.scope) {
    throw new PalimpsestError(
      "invalid_options",
      `Block "${place.label}": this provider object already stores what another session writes. Give a function (scope) => provider to make one per session, or say shared: true in every session that has the block.`,
    );
  }
  owners.set(provider, owner);
}
