import { defineConfig } from "tsdown";
import { blanks } from "./scripts/package/blanks.ts";
import { unnamed } from "./scripts/package/unnamed.ts";

const shared = {
  format: "esm",
  target: "es2023",
  tsconfig: "tsconfig.build.json",
  deps: { neverBundle: [/^cloudflare:/, /^node:/, "#page-files"] },
  logLevel: "warn",
} as const;

/** ESM with one bundle of code and one of declarations for each subpath. */
const subpaths = defineConfig({
  ...shared,
  entry: {
    "ai-chat": "src/ai-chat/with-compaction.ts",
    approval: "src/approval/index.ts",
    client: "src/client.ts",
    "_command-line": "scripts/cli/in-package.ts",
    compat: "src/compat/index.ts",
    conformance: "bench/conformance/index.ts",
    index: "src/index.ts",
    context: "src/context/index.ts",
    doors: "src/doors/index.ts",
    embeddings: "src/embeddings/index.ts",
    events: "src/events/index.ts",
    harness: "src/sessions-source/harness.ts",
    import: "src/import/index.ts",
    inspect: "src/inspect/index.ts",
    models: "src/providers/models.ts",
    "openai-compatible": "src/providers/openai-compatible.ts",
    notes: "src/notes/index.ts",
    "own-function": "src/own-function/index.ts",
    page: "src/page/index.ts",
    "prompt-cache": "src/prompt-cache/index.ts",
    react: "src/react/index.ts",
    costs: "src/costs/index.ts",
    recall: "src/recall/index.ts",
    redact: "src/redact/secret-rules.ts",
    sessions: "src/sessions-source/durable.ts",
    testing: "src/testing/index.ts",
    think: "src/think/with-compaction.ts",
    turn: "src/turn/index.ts",
    types: "src/types.ts",
    worker: "src/worker.ts",
    "workers-ai": "src/providers/workers-ai.ts",
  },
  platform: "neutral",
  // A number or a short text takes less than the name of a constant that another file exports.
  inputOptions: { optimization: { inlineConst: { mode: "all" } } },
  plugins: [unnamed(), blanks()],
  dts: true,
  clean: true,
  outDir: "dist/package",
  // Editors read the comments in the declarations. A bundler has no use for them in the code.
  // An underscore keeps the files that subpaths share apart from those that a user imports.
  outputOptions: {
    comments: false,
    chunkFileNames: "_[name].js",
  },
  // Names of classes stay here, because the Agents SDK reads those of some. `unnamed` takes the others away.
  minify: {
    compress: true,
    mangle: { toplevel: true, keepNames: { function: false, class: true } },
    codegen: { removeWhitespace: true },
  },
});

/** What the command line takes from the package. The rules of secrets are read only where they are asked for. */
const IN_THE_PACKAGE = [
  ["/redact/secret-rules.ts", "../package/redact.js"],
  ["/in-package.ts", "../package/_command-line.js"],
] as const;

/** The command line, which Node runs and nobody imports. */
const commandLine = defineConfig({
  ...shared,
  plugins: [
    {
      name: "in the package",
      resolveId: (source) => {
        const [, id] = IN_THE_PACKAGE.find(([file]) => source.endsWith(file)) ?? [];
        return id === undefined ? null : { id, external: "relative" };
      },
    },
  ],
  entry: { palimpsest: "scripts/palimpsest.ts" },
  platform: "node",
  dts: false,
  minify: true,
  outDir: "dist/bin",
  outputOptions: { banner: "#!/usr/bin/env node" },
});

/** The package as it is published. */
export default [subpaths, commandLine];
