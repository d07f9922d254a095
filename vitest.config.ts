import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/** One command: pure code in plain Node, everything durable in workerd, and the real Worker killed from outside. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "pure",
          environment: "node",
          include: ["test/{steps,import,model,scripts,{context,events}/pure}/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./test/wrangler.jsonc" },
            remoteBindings: false,
          }),
        ],
        test: {
          name: "workerd",
          include: ["test/{memory,agent,workflows,{context,events}/workerd}/**/*.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "bundle",
          environment: "node",
          include: ["test/{kill,examples}/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
        },
      },
    ],
  },
});
