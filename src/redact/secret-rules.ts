/**
 * Rules that find secrets in messages and blank them.
 *
 * This room is optional. `redactSecrets` and its exports take the rules as an argument, so a Worker that never imports this file bundles
 * neither the rules nor their library. Nothing here reads a clock, waits or draws a number, so the same text always gives the same result.
 */
import type { UIMessage } from "ai";
import { findCredentials } from "./credentials.ts";
import type { Finding } from "./finding.ts";
import { blankMembers } from "./members.ts";
import { findInTables } from "./tables.ts";
import { findNamed } from "./named.ts";
import { findPrivateKeys } from "./private-keys.ts";
import { findWithSecretlint } from "./secretlint.ts";
import { findShaped } from "./shapes.ts";

/** The rules that `redactSecrets` takes. Both functions leave earlier replacements unchanged. */
export interface SecretRules {
  /** Names the rules. A draft that was made under other rules is not used again. */
  readonly id: string;
  /** Returns the text with each secret replaced by `[redacted: <kind>]`. */
  readonly redactText: (text: string) => string;
  /** Returns the message with every text in its parts and metadata redacted, arguments and results of tools included. Ids stay. */
  readonly redactMessage: (message: UIMessage) => UIMessage;
}

/** Raise this when a change of the rules finds more. Drafts that older rules let through are then made anew. */
const RULES_ID = "palimpsest-4+secretlint-13.0.7";

/** The order decides the kind. Of findings with the same start, the first one names it. */
const OWN_FINDERS: readonly ((text: string) => Iterable<Finding>)[] = [
  findPrivateKeys,
  findShaped,
  findCredentials,
  findNamed,
  findInTables,
];

/** Blanking one secret may expose the next, such as a value behind a value. Real text needs two passes at most. */
const MAX_PASSES = 5;

/** Returns the rules of this library together with the recommended rules of secretlint. */
export function secretRules(): SecretRules {
  return { id: RULES_ID, redactText, redactMessage };
}

function redactText(text: string): string {
  let clean = text;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const next = blank(clean, findSecrets(clean));
    if (next === clean) return clean;
    clean = next;
  }
  return clean;
}

/** Where secretlint reports a whole address and we its secret alone, our finding suffices, because the rest may be useful. */
function findSecrets(text: string): readonly Finding[] {
  const own = OWN_FINDERS.flatMap((find) => [...find(text)]).toSorted((a, b) => a.start - b.start);
  const more = findWithSecretlint(text).toSorted((a, b) => a.start - b.start);
  let at = 0;
  const others = more.filter(({ start, end }) => {
    while ((own[at]?.start ?? Infinity) < start) at++;
    return (own[at]?.end ?? Infinity) > end;
  });
  return [...own, ...others];
}

function redactMessage(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) => blankMembers(part, redactText) as typeof part);
  if (message.metadata === undefined) return { ...message, parts };
  return { ...message, parts, metadata: blankMembers(message.metadata, redactText) };
}

/** Overlapping findings are blanked as one. */
function blank(text: string, findings: readonly Finding[]): string {
  const ordered = findings.toSorted((a, b) => a.start - b.start);
  const pieces: string[] = [];
  let written = 0;
  for (let at = 0; at < ordered.length; at++) {
    const { start, kind, end: ownEnd } = ordered[at] ?? { start: 0, end: 0, kind: "" };
    let end = ownEnd;
    for (let next = ordered[at + 1]; next !== undefined && next.start < end; next = ordered[at + 1]) {
      end = Math.max(end, next.end);
      at++;
    }
    pieces.push(text.slice(written, start), `[redacted: ${kind}]`);
    written = end;
  }
  return written === 0 ? text : pieces.join("") + text.slice(written);
}
