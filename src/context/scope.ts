/**
 * The scope of a block's storage, which is one session or shared on purpose.
 *
 * S1 rests on three rules. Our rows carry the scope's name. A writable provider object belongs to the first session of the first agent that
 * brings it, because agents in one isolate share the values of a module. A provider that takes its label from `init` gets one that no other
 * session has.
 */
import { PalimpsestError } from "../errors.ts";
import type { BlockProvider } from "./provider.ts";
import type { ContextStatements, BlockId } from "./statements.ts";

/** The block for which a provider is made. A provider function receives it. */
export interface BlockScope {
  /** Id of the agent's Durable Object, for providers that store elsewhere. */
  readonly agentId: string;
  /** Null for a block that sessions share. */
  readonly sessionId: string | null;
  readonly label: string;
  /**
   * Names this block's rows.
   * @internal
   */
  readonly blockId: BlockId;
  /** @internal */
  readonly statements: ContextStatements;
  readonly transaction: <T>(work: () => T) => T;
}

/** The scope of blocks with `shared: true`. */
export const SHARED_SCOPE = "shared";

/** Returns a label that no other session's block has. The default session and shared blocks keep the plain one. */
export function labelFor({ sessionId, label }: BlockScope): string {
  return sessionId === null || sessionId === "" ? label : `${label}@${sessionId}`;
}

/** Owner of each provider, with the number of its declarations. */
const owners = new WeakMap<BlockProvider, { readonly owner: string; readonly claims: number }>();

/** Claims the provider for this scope. Throws `invalid_options` when another scope owns it. */
export function claim(provider: BlockProvider, { agentId, sessionId, blockId }: BlockScope): void {
  const owner = JSON.stringify(sessionId === null ? [blockId.scope] : [agentId, blockId.scope]);
  const known = owners.get(provider);
  if (known !== undefined && known.owner !== owner) {
    throw new PalimpsestError(
      "invalid_options",
      `Block "${blockId.label}": this provider object already stores what another session writes, of this agent or another. Give a function (scope) => provider to make one per session, or say shared: true in every session that has the block.`,
    );
  }
  owners.set(provider, { owner, claims: (known?.claims ?? 0) + 1 });
}

/** Releases the claim of a failed declaration. The last release frees the provider. */
export function release(provider: BlockProvider): void {
  const known = owners.get(provider);
  if (known === undefined || known.claims <= 1) owners.delete(provider);
  else owners.set(provider, { ...known, claims: known.claims - 1 });
}
