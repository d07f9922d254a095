import { defineConfig } from "tsdown";

/** The package as it is published: ESM with one bundle of code and one of declarations for each subpath. */
export default defineConfig({
  entry: {
    "ai-chat": "src/ai-chat/with-compaction.ts",
    client: "src/client.ts",
    index: "src/index.ts",
    context: "src/context/index.ts",
    doors: "src/doors/index.ts",
    events: "src/events/index.ts",
    import: "src/import/index.ts",
    models: "src/models.ts",
    "openai-compatible": "src/model/openai-compatible.ts",
    redact: "src/redact/secret-rules.ts",
    turn: "src/agent/views/turn.ts",
    worker: "src/worker.ts",
    "workers-ai": "src/model/workers-ai.ts",
  },
  format: "esm",
  platform: "neutral",
  target: "es2023",
  tsconfig: "tsconfig.build.json",
  dts: true,
  clean: true,
  outDir: "dist/package",
  deps: { neverBundle: [/^cloudflare:/, /^node:/] },
  // Editors read the comments in the declarations; a bundler has no use for them in the code.
  outputOptions: { comments: false },
  logLevel: "warn",
});
