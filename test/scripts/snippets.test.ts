/** Code in the pages, copied out of them. Every snippet with its own imports compiles unchanged, under the name that its page gives it. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, ".state", `snippets-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pages = ["README.md", "SECURITY.md", ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`)];

/** What pages call by a name that says enough, and what `wrangler types` writes for a binding or a line of .dev.vars that they name. */
const PRELUDE = `
declare namespace Cloudflare {
  interface Env { AI: Ai; ChatAgent: DurableObjectNamespace; PAGE_SECRET: string }
}
interface Env extends Cloudflare.Env {}
declare function userOf(request: Request, env: Env): Promise<string | null>;
`;

interface Snippet {
  readonly page: string;
  readonly file: string;
  readonly code: string;
}

const snippets: Snippet[] = pages
  .filter((page) => page.endsWith(".md"))
  .flatMap((page) => {
    const text = readFileSync(join(root, page), "utf8");
    return [...text.matchAll(/(?:^`([\w-]+\.ts)`:\n\n)?^```ts\n([\s\S]*?)^```$/gm)]
      .map(([, name, code = ""], index) => ({ page, code, file: name ?? `${index}.ts` }))
      .filter(({ code }) => /^(?:import|export \{)/m.test(code));
  });

/** A whole `wrangler.jsonc`, as far as an agent needs it. */
interface Configuration {
  readonly main: string;
  readonly durable_objects: { readonly bindings: readonly { readonly class_name: string }[] };
  readonly migrations: readonly { readonly new_sqlite_classes: readonly string[] }[];
  readonly workflows: readonly { readonly binding: string; readonly class_name: string }[];
  readonly ai?: { readonly binding: string };
}

test.each(["README.md", "docs/ai-chat.md", "docs/think.md"])(
  "%s shows a whole Worker, and a configuration that has all that it needs",
  (page) => {
    const text = readFileSync(join(root, page), "utf8");
    const worker = snippets.find((each) => each.page === page && each.file === "worker.ts")?.code ?? "";
    const jsonc = /^`wrangler\.jsonc`:\n\n```jsonc\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? "";
    const json = jsonc.replaceAll(/^ *\/\/.*$/gm, "").replaceAll(/,(?=\s*[}\]])/g, "");
    const { main, durable_objects, migrations, workflows, ai } = JSON.parse(json) as Configuration;
    const agents = [...worker.matchAll(/export class (\w+)/g)].map(([, name]) => name);
    expect(main).toBe("worker.ts");
    expect(durable_objects.bindings.map((binding) => binding.class_name)).toEqual(agents);
    expect(migrations.flatMap((each) => each.new_sqlite_classes)).toEqual(agents);
    expect(workflows).toMatchObject([{ binding: "COMPACTION_WORKFLOW", class_name: "CompactionWorkflow" }]);
    expect(worker).toMatch(/^export \{ CompactionWorkflow \}/m);
    expect(worker).toContain("routeAgentRequest(request, env)");
    expect(ai?.binding).toBe(worker.includes("@cf/") ? "AI" : undefined);
  },
);

test("whole snippets of the pages compile", () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "prelude.d.ts"), PRELUDE);
  for (const { page, file, code } of snippets) {
    const ofPage = join(folder, page.replaceAll(/\W/g, "-"));
    mkdirSync(ofPage, { recursive: true });
    writeFileSync(join(ofPage, file), code);
  }
  const config = {
    extends: join(root, "tsconfig.json"),
    // A snippet that mounts the page imports the files of the page, which only the build writes.
    include: ["**/*.ts", join(root, "src/page/page-files.d.ts")],
    exclude: [],
    compilerOptions: { rootDir: root },
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  expect(snippets.length).toBeGreaterThan(5);
  expect(compile()).toBe("");
});

function compile(): string {
  try {
    return execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", folder], { encoding: "utf8" });
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}
