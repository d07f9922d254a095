/**
 * Takes out of the package what only takes room: the indentation of declarations and of SQL, type arguments that are defaults, and
 * imports of declarations that bring no name.
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
  return short.replaceAll(DEFAULTS, "");
}

/** A line break of a statement stays, because it may end a comment. */
function statements(code: string): string {
  return code.replaceAll(SQL, (statement) => statement.replaceAll(/\n[ \t]+/g, "\n"));
}
