/** Examples are projects of their own that have the package installed. Here they are bundled with its sources instead. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as {
  readonly compilerOptions: { readonly paths: Record<string, readonly [string]> };
};

/** The source file of each subpath of the package. */
export const ALIAS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(compilerOptions.paths).map(([name, [path]]) => [name, join(root, path)]),
);

/** What Think imports for scripts of skills, which no example has. */
export const NO_BASH = { "just-bash": join(root, "test/think/no-bash.ts") };

type Example = "ai-chat" | "chat" | "minimal" | "sessions" | "start" | "think";

/** The path of an example's configuration, unchanged except for its imports, and for its Worker where a test has one of its own. */
export function configOf(
  example: Example,
  {
    main = join(root, "examples", example, example === "start" ? "chat.ts" : "worker.ts"),
    alias = {},
  }: { readonly main?: string; readonly alias?: Readonly<Record<string, string>> } = {},
): string {
  const folder = join(root, "examples", example);
  // Vite says where a page's files are.
  const config = readFileSync(join(folder, "wrangler.jsonc"), "utf8")
    .replace(/^ *"assets":.*\n/m, "")
    .replace(/^ *"ai":.*\n/m, example === "start" ? "" : "$&")
    .replace(
      /"main": "\w+\.ts"/,
      `"main": ${JSON.stringify(main)}, "alias": ${JSON.stringify({ ...ALIAS, ...NO_BASH, ...alias })}`,
    );
  const written = join(root, ".state", `example-${example}-${process.pid}`, "wrangler.jsonc");
  mkdirSync(resolve(written, ".."), { recursive: true });
  writeFileSync(written, config);
  return written;
}
