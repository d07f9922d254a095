/**
 * Code in the pages, copied out of them. Every snippet with its own imports compiles unchanged, under the name that its page gives it. So
 * does every class, with imports of the names that its page spoke of before.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verbsModule } from "../../verbs.ts";

const root = resolve(import.meta.dirname, "../../..");
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
declare const session: import("palimpsest").SessionOf<[ReturnType<typeof import("palimpsest/import").transcripts>]>;
declare const text: string;
declare function write(line: string): void;
`;

/** Where a class without imports takes its names from. */
const IMPORTS = {
  Agent: "agents",
  Session: "palimpsest",
  transcripts: "palimpsest/import",
  withCompaction: "palimpsest",
};

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
      .flatMap(({ code, ...named }) => {
        const whole = wholeOf(code);
        return whole === null ? [] : [{ ...named, code: whole }];
      });
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

/** A snippet as it compiles. Null for one that is a part of something. */
function wholeOf(code: string): string | null {
  if (/^(?:import|export \{)/m.test(code)) return code;
  if (!/^(?:export )?class /m.test(code)) return null;
  const used = Object.entries(IMPORTS).filter(([name]) => new RegExp(`\\b${name}\\b`).test(code));
  const classes = [...code.matchAll(/^class (\w+)/gm)].map(([, name]) => name);
  return [
    ...used.map(([name, from]) => `import { ${name} } from "${from}";`),
    code,
    `export { ${classes.join()} };`,
  ].join("\n");
}

/** Does not compile, because the compiler then writes a type as an editor does. */
const TYPES = `
import { Agent } from "agents";
import { Session, withCompaction } from "palimpsest";
import { notes } from "palimpsest/notes";
import { recall } from "palimpsest/recall";
class Chat extends withCompaction(Agent, { rooms: [notes(), recall()] }) {
  session = Session.create(this).compactAfter(60_000);
}
export const wrong = (chat: Chat): never => chat.session;
`;

/** The compiler's lines on the snippets, and on {@link TYPES}. */
let said: { readonly snippets: string; readonly types: string };

beforeAll(() => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "prelude.d.ts"), PRELUDE);
  writeFileSync(join(folder, "types.ts"), TYPES);
  writeFileSync(join(folder, "verbs.ts"), verbsModule());
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
  const { true: types = [], false: others = [] } = Object.groupBy(compile(folder).split("\n"), (line) =>
    String(line.includes(`snippets-${process.pid}/types.ts`)),
  );
  said = { snippets: others.join("\n"), types: types.join("\n") };
}, 180_000);

test("whole snippets and classes of the pages, and the examples at the verbs, compile", () => {
  expect(snippets.length).toBeGreaterThan(8);
  expect(said.snippets).toBe("");
});

/** A component runs in a browser, so it compiles as the page does. */
test("components of the pages compile", () => {
  const components = pages
    .filter((page) => page.endsWith(".md"))
    .flatMap((page) => [...readFileSync(join(root, page), "utf8").matchAll(/^```tsx\n([\s\S]*?)^```$/gm)]);
  expect(components.length).toBeGreaterThan(0);
  const ofBrowser = `${folder}-tsx`;
  mkdirSync(ofBrowser, { recursive: true });
  for (const [n, [, code = ""]] of components.entries()) writeFileSync(join(ofBrowser, `${n}.tsx`), code);
  const config = {
    extends: join(root, "dashboard/tsconfig.json"),
    include: ["*.tsx"],
    compilerOptions: { rootDir: root },
  };
  writeFileSync(join(ofBrowser, "tsconfig.json"), JSON.stringify(config));
  expect(compile(ofBrowser)).toBe("");
  rmSync(ofBrowser, { recursive: true });
}, 180_000);

test("every subpath of the package is named in a page", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly exports: object };
  const told = pages
    .filter((page) => page.endsWith(".md"))
    .map((page) => readFileSync(join(root, page), "utf8"))
    .join("\n");
  const names = Object.keys(exports).filter((path) => path !== "./package.json");
  expect(names.filter((path) => !new RegExp(`palimpsest${path.slice(1)}["\`]`).test(told))).toEqual([]);
});

test("an editor shows a session with the names of its agent's rooms", () => {
  expect(said.types).toContain("Type 'SessionOf<readonly [NotesExtension, RecallExtension]>' is not assignable");
});

function compile(project: string): string {
  try {
    return execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", project], { encoding: "utf8" });
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}
