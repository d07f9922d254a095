/** Indents the package's declarations by tabs, which take half of the bytes that blanks do. */
import type { Rolldown } from "tsdown";

export function tabs(): Rolldown.Plugin {
  return {
    name: "tabs",
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk" || !file.fileName.endsWith(".d.ts")) continue;
        file.code = file.code.replaceAll(/^(?: {2})+/gm, (blanks) => "\t".repeat(blanks.length / 2));
      }
    },
  };
}
