/**
 * Takes out of the package what only takes room: the indentation of declarations and of SQL, type arguments that are defaults, and
 * imports of declarations that bring no name. A line of a declaration needs no semicolon at its end, and one of a comment no asterisk.
 */
import type { Rolldown } from "tsdown";

const DEFAULTS = /(?<=\bUIMessage)<unknown, import\("ai"\)\.UIDataTypes, import\("ai"\)\.UITools>/g;
const SQL = /`\s*(?:SELECT|INSERT|CREATE|UPDATE|DELETE|WITH)\b[^`]*`/g;

export function blanks(): Rolldown.Plugin {
  return {
    name: "blanks",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue;
        file.code = file.fileName.endsWith(".d.ts") ? declarations(file.code) : statements(file.code);
      }
    },
  };
}

function declarations(code: string): string {
  const flat = code.replaceAll(/^(?: {2})+/gm, "").replaceAll(/^import "[^"]+";\n/gm, "");
  const short = flat.replaceAll(/\/\*\*\n \* (.*)\n \*\//g, "/** $1 */");
  const plain = short.replaceAll(/\/\*\*\n(?: \*.*\n)+ \*\//g, (comment) =>
    comment.replaceAll(/\n \*(?: (?! )|(?=\n))/g, "\n"),
  );
  return plain.replaceAll(/;$/gm, "").replaceAll(DEFAULTS, "");
}

/** A line break of a statement stays, because it may end a comment. */
function statements(code: string): string {
  return code.replaceAll(SQL, (statement) => statement.replaceAll(/\n[ \t]+/g, "\n"));
}
