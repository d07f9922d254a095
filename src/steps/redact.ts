/**
 * Secrets in what was said, blanked before it goes elsewhere: to a summariser, or into an export.
 *
 * Job: find what is a secret by its shape (keys that say what they are) or by its place (after `password=` and the like).
 * Boundary: what is stored stays as it came. Safe because it errs towards blanking, and each pattern looks at a character a
 * bounded number of times. What has neither shape nor place is not found: see SECURITY.md.
 */
import type { UIMessage } from "ai";

interface Pattern {
  readonly kind: string;
  readonly shape: RegExp;
}

/** Where a token may begin: not in the middle of another one. */
const PATTERNS: readonly Pattern[] = [
  {
    kind: "private key",
    shape: /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\w+/=\s\\]{0,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?/g,
  },
  { kind: "cloud key", shape: /(?<!\w)(?:AKIA|ASIA)[0-9A-Z]{16}(?!\w)/g },
  { kind: "cloud key", shape: /(?<![\w-])AIza[\w-]{35}(?![\w-])/g },
  { kind: "repository token", shape: /(?<!\w)(?:gh[opsru]_|github_pat_|glpat-)[\w-]{20,}/g },
  { kind: "model key", shape: /(?<![\w-])sk-[\w-]{20,}/g },
  { kind: "payment key", shape: /(?<!\w)(?:sk|rk|whsec)_(?:live_|test_)?[0-9A-Za-z]{20,}/g },
  { kind: "chat token", shape: /(?<![\w-])xox[a-z]-[\w-]{10,}/g },
  { kind: "signed token", shape: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g },
  { kind: "credentials", shape: /(?<=\b(?:Bearer|Basic) {1,3})[\w.~+/-]{16,}={0,2}/gi },
  { kind: "credentials", shape: /(?<=:\/\/)[^\s/:@"'<>]{1,100}:[^\s/@"'<>]{1,200}(?=@)/g },
  {
    kind: "secret",
    shape:
      /(?<=(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)["']?\s{0,3}[:=]\s{0,3}["']?)(?=[^\s"'`,;]{0,60}\d)[^\s"'`,;[\]]{8,200}/gi,
  },
];

/** The text with each secret replaced by `[redacted: <kind>]`. */
export function redactText(text: string): string {
  return PATTERNS.reduce((clean, { kind, shape }) => clean.replace(shape, `[redacted: ${kind}]`), text);
}

/** The message with every text of its parts and metadata redacted, arguments and results of tools included. Ids stay. */
export function redactMessage(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) => redactValue(part) as typeof part);
  if (message.metadata === undefined) return { ...message, parts };
  return { ...message, parts, metadata: redactValue(message.metadata) };
}

function redactValue(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, redactMember(key, each)]));
}

/** A member's own name may say that its text is a secret: `{ "password": "…" }`. What joins a call to its result stays. */
function redactMember(key: string, value: unknown): unknown {
  if (key === "toolCallId" || key === "type") return value;
  const secret =
    typeof value === "string" && /^(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)$/i.test(key);
  return secret && value !== "" ? "[redacted: secret]" : redactValue(value);
}
