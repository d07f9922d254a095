/**
 * Whose a block's storage is: one session's, or shared on purpose.
 *
 * S1 rests on this: rows of ours carry the scope's name; a provider object that can be written to belongs to the first
 * session of the first agent that brings it (agents share an isolate, and with it what a module holds); and a provider
 * that takes its label from `init` is given one that no other session has.
 */
import { PalimpsestError } from "../errors.ts";
import type { BlockProvider } from "./provider.ts";
import type { ContextStatements, Place } from "./statements.ts";

/** What a provider is made for: handed to a provider that is given as a function. */
export interface BlockScope {
  /** Of the agent's Durable Object: for what is stored outside of it. */
  readonly agentId: string;
  /** Null for a block that sessions share. */
  readonly sessionId: string | null;
  readonly label: string;
  /** Where rows of this block belong. */
  readonly place: Place;
  readonly statements: ContextStatements;
  readonly transaction: <T>(work: () => T) => T;
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

/** Whose a provider is, and in how many declarations it stands. */
const owners = new WeakMap<BlockProvider, { readonly owner: string; readonly claims: number }>();

/** Makes the provider this scope's. Throws `invalid_options` when it is another's. */
export function claim(provider: BlockProvider, { agentId, sessionId, place }: BlockScope): void {
  const owner = JSON.stringify(sessionId === null ? [place.scope] : [agentId, place.scope]);
  const known = owners.get(provider);
  if (known !== undefined && known.owner !== owner) {
    throw new PalimpsestError(
      "invalid_options",
      `Block "${place.label}": this provider object already stores what another session writes, of this agent or another. Give a function (scope) => provider to make one per session, or say shared: true in every session that has the block.`,
    );
  }
  owners.set(provider, { owner, claims: (known?.claims ?? 0) + 1 });
}

/** Takes a claim back whose declaration came to nothing. The last one sets the provider free. */
export function release(provider: BlockProvider): void {
  const known = owners.get(provider);
  if (known === undefined || known.claims <= 1) owners.delete(provider);
  else owners.set(provider, { ...known, claims: known.claims - 1 });
}
