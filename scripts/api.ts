/** Writes docs/api.md from the table of calls (`npm run api`). A test compares the page with the table. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";

// A room brings its Workflow's steps along, which nothing here runs.
const NO_WORKFLOWS = new URL("../test/no-workflows.ts", import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workflows" ? { url: NO_WORKFLOWS, shortCircuit: true } : next(specifier, context),
});
const { apiPage } = await import("./api/page.ts");

writeFileSync(resolve(import.meta.dirname, "../docs/api.md"), apiPage());
