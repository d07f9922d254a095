/**
 * Base classes that agents are declared with. Those that keep their messages themselves are told by their methods, because their code is
 * not imported here.
 */
import { Agent } from "agents";
import { PalimpsestError } from "../errors.ts";

interface KnownHost {
  readonly name: string;
  /** The subpath with its `withCompaction`. */
  readonly door: string;
  /** Methods that identify it. It must have all of them. */
  readonly methods: readonly string[];
}

export const AI_CHAT: KnownHost = {
  name: "AIChatAgent",
  door: "palimpsest/ai-chat",
  methods: ["onChatMessage", "persistMessages", "saveMessages"],
};

export const THINK: KnownHost = {
  name: "Think",
  door: "palimpsest/think",
  methods: ["getModel", "configureSession", "beforeTurn", "beforeStep"],
};

export function isHost(base: unknown, { methods }: KnownHost): boolean {
  const prototype: unknown = typeof base === "function" ? base.prototype : null;
  return typeof prototype === "object" && prototype !== null && methods.every((name) => name in prototype);
}

/**
 * Throws `invalid_options` for a class that is no Agent, for an Agent that would not know our callable methods, and for one that has
 * compaction, because two of them would each keep caches of one storage.
 */
function assertAgent(base: unknown): void {
  const prototype: unknown = typeof base === "function" ? base.prototype : null;
  if (base === Agent || prototype instanceof Agent) {
    if (!("compactionStep" in (prototype as object))) return;
    throw new PalimpsestError(
      "invalid_options",
      "This class has compaction already. Give rooms and clients where it is declared.",
    );
  }
  const isCopy = typeof prototype === "object" && prototype !== null && "getCallableMethods" in prototype;
  throw new PalimpsestError(
    "invalid_options",
    isCopy
      ? 'This Agent is from another copy of "agents" than palimpsest imports, so it would refuse each call. Bring `npm ls agents` to one version.'
      : 'withCompaction takes Agent of "agents", or a class that extends it.',
  );
}

/** Throws `invalid_options` for a base class that is no Agent, or keeps its messages, because compaction would never see them. */
export function assertKeepsNoMessages(base: unknown): void {
  assertAgent(base);
  assertNoKnownHost(base);
}

function assertNoKnownHost(base: unknown): void {
  const host = [AI_CHAT, THINK].find((each) => isHost(base, each));
  if (host === undefined) return;
  throw new PalimpsestError(
    "invalid_options",
    `${host.name} keeps its messages itself. Import withCompaction from "${host.door}" for it.`,
  );
}

/** Throws `invalid_options` for a base class that is not this host, or one that lacks a required method. */
export function assertHost(base: unknown, host: KnownHost, from: string): void {
  if (isHost(base, host)) return assertAgent(base);
  assertNoKnownHost(base);
  const prototype: unknown = typeof base === "function" ? base.prototype : null;
  const missing = host.methods.filter((name) => typeof prototype !== "object" || !(name in (prototype ?? {})));
  const advice =
    missing.length < host.methods.length
      ? `This ${host.name} has no ${missing.join(", ")}: ${from} has changed. Install the version before it, or a later palimpsest.`
      : `withCompaction of ${host.door} takes ${host.name} of ${from}, or a class that extends it. For another Agent use withCompaction of palimpsest.`;
  throw new PalimpsestError("invalid_options", advice);
}
