/** Indents the package's declarations by tabs, and leaves out type arguments that are defaults. Both only take room. */
import type { Rolldown } from "tsdown";

const DEFAULTS = /(?<=\bUIMessage)<unknown, import\("ai"\)\.UIDataTypes, import\("ai"\)\.UITools>/g;

export function tabs(): Rolldown.Plugin {
  return {
    name: "tabs",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk" || !file.fileName.endsWith(".d.ts")) continue;
        const indented = file.code.replaceAll(/^(?: {2})+/gm, (blanks) => "\t".repeat(blanks.length / 2));
        file.code = indented.replaceAll(DEFAULTS, "");
      }
    },
  };
}
