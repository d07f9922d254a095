/**
 * The first block of code of each page, as a reader who pastes it has it: one Worker of all the agents that they declare, each woken and asked.
 * test/scripts/docs/snippets.test.ts compiles them.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { ALIAS, NO_BASH } from "./config.ts";

const root = resolve(import.meta.dirname, "../..");

/** Pages that begin with something else than an agent, and what tries them. */
const OTHERS: Readonly<Record<string, string>> = {
  "deploy.md": "the deployable Worker, which most tests talk to",
  "models.md": "a Workflow's model",
  "operations.md": "a client's script, which is compiled",
  "react.md": "a component, which is compiled",
  "testing.md": "test/bench/store-facts.test.ts",
};

interface Block {
  readonly page: string;
  readonly agent: string;
  readonly code: string;
}

const pages = ["../README.md", ...readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"))];
const blocks: Block[] = pages.flatMap((page) => {
  const text = readFileSync(join(root, "docs", page), "utf8");
  const [, code = ""] = /^```tsx?\n([\s\S]*?)^```$/m.exec(text) ?? [];
  // The last class of a block is the agent. What it extends may be a class above it.
  const agent = [...code.matchAll(/^(?:export )?class (\w+) extends (?:withCompaction\(|Base\b)/gm)].at(-1)?.[1];
  return agent === undefined || page in OTHERS ? [] : [{ page, agent, code }];
});

const CONFIG = {
  name: "first-blocks",
  main: "worker.ts",
  compatibility_date: "2026-05-01",
  compatibility_flags: ["nodejs_compat"],
  durable_objects: { bindings: blocks.map((_, n) => ({ name: `Page${n}`, class_name: `Page${n}` })) },
  migrations: [{ tag: "v1", new_sqlite_classes: blocks.map((_, n) => `Page${n}`) }],
  workflows: [{ name: "first-blocks", binding: "COMPACTION_WORKFLOW", class_name: "CompactionWorkflow" }],
  // There is no Workers AI on this machine, and nobody is asked anything.
  vars: { AI: { run: "nobody" } },
  alias: { ...ALIAS, ...NO_BASH },
};

let server: ReturnType<typeof createTestHarness>;
let origin: string;
beforeAll(async () => {
  const folder = join(root, ".state", `first-blocks-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  for (const [n, { agent, code }] of blocks.entries()) {
    const exported = new RegExp(`^export class ${agent}\\b`, "m").test(code) ? "" : `export { ${agent} };\n`;
    writeFileSync(join(folder, `page${n}.ts`), code + exported);
  }
  const worker = [
    ...blocks.map(
      ({ agent }, n) => `import { ${agent} as P${n} } from "./page${n}.ts";\nexport class Page${n} extends P${n} {}`,
    ),
    'export { CompactionWorkflow } from "palimpsest";',
    'import { getAgentByName } from "agents";',
    "export default { fetch: async (request, env) => {",
    '  const stub = await getAgentByName(env[new URL(request.url).pathname.slice(1)], "ada");',
    "  return Response.json(await stub.status({}));",
    "} };",
  ];
  writeFileSync(join(folder, "worker.ts"), worker.join("\n"));
  writeFileSync(join(folder, "wrangler.jsonc"), JSON.stringify(CONFIG));
  server = createTestHarness({ workers: [{ configPath: join(folder, "wrangler.jsonc") }] });
  ({ origin } = (await server.listen()).url);
});
afterAll(() => server.close());

test("every page begins with an agent, or with what is tried elsewhere", () => {
  const told = new Set([...blocks.map(({ page }) => page), ...Object.keys(OTHERS)]);
  const withCode = pages.filter((page) => /^```tsx?$/m.test(readFileSync(join(root, "docs", page), "utf8")));
  expect(withCode.filter((page) => !told.has(page))).toEqual([]);
  expect(blocks.length).toBeGreaterThan(15);
});

test.each(blocks.map(({ page }, n) => [page, n] as const))(
  "the first block of %s starts, and says its status",
  async (_, n) => {
    const answer = await fetch(`${origin}/Page${n}`);
    expect(answer.status, await answer.clone().text()).toBe(200);
    expect(await answer.json()).toMatchObject({ viewTokens: 0 });
  },
);
