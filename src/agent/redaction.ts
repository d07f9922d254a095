/**
 * Applies a session's redaction rules to texts that leave a conversation or are stored about it. Without rules texts stay unchanged.
 *
 * Redaction is an optional room, so this is the only place in the agent that asks whether there are rules.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import type { Carried } from "../facts/fact.ts";
import type { SecretRules } from "../redact/secret-rules.ts";
import type { Facts } from "../facts/fact.ts";
import type { SessionSettings } from "./settings.ts";

export interface Redaction {
  /** Part of the key of everything made of redacted text, because other rules give other text. Empty without rules. */
  readonly names: readonly string[];
  readonly text: (text: string) => string;
  readonly message: (message: UIMessage) => UIMessage;
  readonly facts: (facts: Facts) => Facts;
  readonly carried: (carried: readonly Carried[]) => readonly Carried[];
}

export function redactionOf({ secretRules }: Pick<SessionSettings, "secretRules">): Redaction {
  return secretRules === null ? AS_IT_CAME : redactWith(secretRules);
}

/** Throws `invalid_options`. */
export function checkRules(rules: SecretRules): SecretRules {
  const given: Partial<SecretRules> | undefined = rules;
  const isSound =
    typeof given?.id === "string" &&
    typeof given.redactText === "function" &&
    typeof given.redactMessage === "function";
  if (isSound) return rules;
  throw new PalimpsestError("invalid_options", `redactSecrets needs its rules. ${HOW_TO}`);
}

export function noRules(sessionId: string): PalimpsestError {
  return new PalimpsestError("not_configured", `Session "${sessionId}" has no rules to redact by. ${HOW_TO}`);
}

const HOW_TO =
  'Pass them on, where the session is created or in configureSession(): `import { secretRules } from "palimpsest/redact"` and `session.redactSecrets(secretRules())`.';

const AS_IT_CAME: Redaction = {
  names: [],
  text: (text) => text,
  message: (message) => message,
  facts: (facts) => facts,
  carried: (carried) => carried,
};

function redactWith(rules: SecretRules): Redaction {
  const text = (given: string): string => rules.redactText(given);
  return {
    names: ["redacted", rules.id],
    text,
    message: (message) => rules.redactMessage(message),
    facts: ({ instructions, ended, said, loaded }) => ({
      instructions: instructions.map((each) => ({ ...each, quote: text(each.quote) })),
      ended: ended.map((each) => ({
        ...each,
        quote: text(each.quote),
        by: { ...each.by, quote: text(each.by.quote) },
      })),
      said: said.map((each) => ({ ...each, text: text(each.text) })),
      loaded: loaded.map(({ edits, tasks, ...each }) => ({
        ...each,
        name: text(each.name),
        text: text(each.text),
        ...(edits && { edits: edits.map((edit) => ({ ...edit, from: text(edit.from), to: text(edit.to) })) }),
        ...(tasks && { tasks: tasks.map((task) => ({ ...task, text: text(task.text) })) }),
      })),
    }),
    carried: (carried) => carried.map((each) => ({ ...each, text: text(each.text) })),
  };
}
