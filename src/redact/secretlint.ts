/**
 * Runs the recommended rules of secretlint on a text.
 *
 * secretlint's own engine is asynchronous and made for files. Its rules are plain functions that report ranges, so they are called
 * directly, and redaction stays synchronous. A rule that reports asynchronously would be missed, so it throws here.
 */
import { rules } from "@secretlint/secretlint-rule-preset-recommend";
import type { SecretLintRuleContext, SecretLintSourceCode } from "@secretlint/types";
import { PalimpsestError } from "../errors.ts";
import type { Finding } from "./keys.ts";

const OF_SECRETLINT = "@secretlint/secretlint-rule-";

/** Rules that are left out, with reasons. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  // A comment in a text switches the search off, so the author of the text would decide its findings.
  "filter-comments",
  // These report more than the secret, such as the whole address with its host or a shifted range. Our rules do not.
  "aws",
  "basicauth",
  "database-connection-string",
  "privatekey",
  // It looks at whole files by their names.
  "gcp",
]);

/** Messages of used rules that are left out. They report up to the end of a line, which in JSON may be the whole document. */
const LEFT_OUT_MESSAGES: ReadonlySet<string> = new Set(["Npmrc_authToken", "PackageJSON_xOauthToken"]);

/** Characters of the shortest secret that any of these rules knows. */
const SHORTEST = 20;

interface Rule {
  readonly name: string;
  find(text: string): readonly Finding[];
}

const RULES: readonly Rule[] = rules
  .map((creator): Rule => {
    const name = creator.meta.id.replace(OF_SECRETLINT, "");
    let found: Finding[] = [];
    const context: SecretLintRuleContext = {
      sharedOptions: {},
      createTranslator: () => (messageId) => ({ messageId: String(messageId), message: "", data: {} }),
      report: ({ message, range: [start, end] }) => {
        if (!LEFT_OUT_MESSAGES.has(message.messageId)) found.push({ start, end, kind: `${name} secret` });
      },
      ignore: () => {},
    };
    const handler = creator.create(context, {});
    return {
      name,
      find: (text) => {
        found = [];
        if (handler.file?.(sourceOf(text)) instanceof Promise) throw notSynchronous(name);
        return found;
      },
    };
  })
  .filter(({ name }) => !LEFT_OUT.has(name));

export function findWithSecretlint(text: string): readonly Finding[] {
  return text.length < SHORTEST ? [] : RULES.flatMap((rule) => rule.find(text));
}

/** A text that came from no file. */
function sourceOf(content: string): SecretLintSourceCode {
  return {
    content,
    hasBOM: false,
    filePath: undefined,
    physicalFilePath: undefined,
    contentType: "text",
    ext: "",
    getFilePath: () => undefined,
    getPhysicalFilePath: () => undefined,
    locationToRange: hasNoLines,
    rangeToLocation: hasNoLines,
    positionToIndex: hasNoLines,
    indexToPosition: hasNoLines,
  };
}

function hasNoLines(): never {
  throw new PalimpsestError(
    "invalid_state",
    "A secretlint rule asked for a line: it needs a file, and is given a text.",
  );
}

function notSynchronous(name: string): PalimpsestError {
  return new PalimpsestError(
    "invalid_state",
    `The secretlint rule "${name}" answers asynchronously. Pin an earlier version of the preset, or leave the rule out.`,
  );
}
