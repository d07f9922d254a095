/**
 * Tries the packed package in projects of others, installed beside their own tools.
 *
 * Each project is `examples/minimal`. It must type-check without an error under several sets of compiler options and versions of
 * TypeScript, and bundle with wrangler and with Vite. A conversation with it over the SDK's own client must be compacted. All of it runs at
 * the newest and at the oldest versions of the peer dependencies. The same project behind Hono, one installed by pnpm, where a package
 * reaches only what it declares, and a Worker of several agents (`consumers/family`) are talked to as well. The examples on other base
 * classes are installed and talked to as they stand, with the newest and the oldest versions of their hosts.
 *
 *     npm run consumers [-- --keep --only starter]
 *
 * keep leaves the temporary folder and says where it is. only tries one part: examples, sixth or starter.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { inParallel } from "../src/workflows/parallel.ts";

const ROOT = join(import.meta.dirname, "..");
const EXAMPLE = join(ROOT, "examples/minimal");
const FILES = ["worker.ts", "hello.ts", "wrangler.jsonc"] as const;

const ENV = { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" };
const VITE_PLUGIN = "1.64.0";
const HONO = { hono: "4.13.19", "hono-agents": "3.0.12" } as const;
const PNPM = "10.34.8";
/** Think imports it for scripts of skills. */
const JUST_BASH = "^3.0.1";
/** Most bytes of the unpacked package without its Markdown files, their pictures, the examples and the page, and of the page's files. */
const MOST_BYTES = 1_095_000;
const MOST_PAGE_BYTES = 1_200_000;
/** Longest time of one command (ms). A machine that runs other work is slow. */
const MOST_MS = 300_000;

/** The versions of TypeScript, each under the name that it is installed by. */
const COMPILERS = { typescript57: "5.7.3", typescript59: "5.9.3", typescript6: "6.0.3", typescript7: "7.0.2" } as const;

/** The one subpath that has types alone: its module exists and is empty. */
const TYPES = "palimpsest/types";

interface Project {
  readonly name: string;
  readonly tsconfig: object;
  /** False where declarations of other packages have errors under these options. Then only errors of this package count. */
  readonly whole: boolean;
}

const WORKER_TYPES = "./worker-configuration.d.ts";

const PROJECTS: readonly Project[] = [
  {
    name: "create-cloudflare",
    whole: true,
    tsconfig: {
      compilerOptions: {
        target: "es2024",
        lib: ["es2024"],
        jsx: "react-jsx",
        module: "es2022",
        moduleResolution: "bundler",
        resolveJsonModule: true,
        allowJs: true,
        checkJs: false,
        noEmit: true,
        allowImportingTsExtensions: true,
        isolatedModules: true,
        allowSyntheticDefaultImports: true,
        forceConsistentCasingInFileNames: true,
        strict: true,
        skipLibCheck: true,
        types: [WORKER_TYPES, "node"],
      },
      include: ["worker.ts", "hello.ts", "worker-configuration.d.ts"],
    },
  },
  {
    name: "agents-tsconfig",
    whole: true,
    tsconfig: {
      extends: "agents/tsconfig",
      compilerOptions: { types: ["node", WORKER_TYPES], allowImportingTsExtensions: true, noEmit: true },
      include: ["worker.ts", "hello.ts", "worker-configuration.d.ts"],
    },
  },
  {
    name: "strictest",
    whole: false,
    tsconfig: {
      compilerOptions: {
        target: "es2022",
        lib: ["es2022"],
        module: "esnext",
        moduleResolution: "bundler",
        noEmit: true,
        allowImportingTsExtensions: true,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        noImplicitOverride: true,
        noImplicitReturns: true,
        noFallthroughCasesInSwitch: true,
        noPropertyAccessFromIndexSignature: true,
        noUnusedLocals: true,
        noUnusedParameters: true,
        allowUnreachableCode: false,
        verbatimModuleSyntax: true,
        isolatedModules: true,
        skipLibCheck: false,
        types: [WORKER_TYPES, "node"],
      },
      include: ["worker.ts", "hello.ts", "worker-configuration.d.ts"],
    },
  },
  {
    name: "node16",
    whole: true,
    tsconfig: {
      compilerOptions: {
        target: "es2022",
        module: "node16",
        moduleResolution: "node16",
        noEmit: true,
        allowImportingTsExtensions: true,
        strict: true,
        skipLibCheck: true,
        types: [WORKER_TYPES, "node"],
      },
      include: ["worker.ts", "hello.ts", "worker-configuration.d.ts"],
    },
  },
];

/** The oldest supported versions. The newest ones are the devDependencies. */
const OLDEST = { agents: "0.24.0", ai: "6.0.0", zod: "4.1.8", typescript59: "5.9.3" } as const;

/** The oldest versions that Think and the providers work with, which need the AI SDK 7. */
const OLDEST_HOSTS = {
  "@ai-sdk/openai-compatible": "3.0.0",
  "@cloudflare/ai-chat": "0.12.0",
  "@cloudflare/think": "0.19.0",
  agents: OLDEST.agents,
  ai: "7.0.0",
  react: "19.0.0",
  "workers-ai-provider": "4.0.0",
  zod: OLDEST.zod,
} as const;

/** Where Cloudflare's starter has its files. They are kept as it has them, but for the page, of which only the chat's hook is left. */
const STARTER = {
  "package.json": "package.json.txt",
  "tsconfig.json": "tsconfig.json.txt",
  "wrangler.jsonc": "wrangler.jsonc.txt",
  "src/server.ts": "server.ts.txt",
  "src/client.tsx": "client.tsx.txt",
} as const;

/** What the starter's lock has of the AI SDK. */
const STARTER_LOCKS = "ai@6.0.233";

/** A project of the AI SDK 6 with providers for it. */
const SIXTH = {
  "@ai-sdk/openai-compatible": "^2.0.0",
  agents: OLDEST.agents,
  ai: "^6.0.0",
  "workers-ai-provider": "^3.0.0",
  zod: "^4.1.8",
} as const;

/** A model that answers at once, in the place of a provider's. */
const SIXTH_MODEL = `
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export class ChatAgent extends Helper {
  model = new MockLanguageModelV3({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start", id: "t" },
          { type: "text-delta", id: "t", delta: "So it is." },
          { type: "text-end", id: "t" },
          { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
        ],
      }),
    }),
  });
}
`;

/** All peer dependencies, the optional ones included. */
const EVERY_PEER = [
  "@ai-sdk/openai-compatible",
  "@cloudflare/ai-chat",
  "@cloudflare/think",
  "agents",
  "ai",
  "react",
  "workers-ai-provider",
  "zod",
] as const;

/** The configuration of a Worker that imports every subpath. */
const EVERY_EXPORT = {
  name: "palimpsest-every-export",
  main: "worker.ts",
  compatibility_date: "2026-08-01",
  compatibility_flags: ["nodejs_compat"],
};

interface Host {
  readonly example: string;
  readonly name: string;
  /** Versions to replace. */
  readonly at: Readonly<Record<string, string>>;
  /** True for version 6 of the AI SDK, which the provider of Workers AI that the example uses does not take. */
  readonly sixth?: boolean;
}

/**
 * Examples on other base classes, each installed by its own package.json, with the newest of a host and with the oldest that the peer
 * dependencies allow.
 */
const HOSTS: readonly Host[] = [
  { example: "sessions", name: "sessions", at: {} },
  { example: "think", name: "think", at: {} },
  { example: "think", name: "oldest think", at: { "@cloudflare/think": "0.19.0", agents: "0.24.0" } },
  { example: "ai-chat", name: "ai-chat", at: {} },
  { example: "ai-chat", name: "oldest ai-chat", at: { "@cloudflare/ai-chat": "0.12.0", agents: "0.24.0" } },
  {
    example: "ai-chat",
    name: "ai-chat on AI SDK 6",
    at: {
      "@cloudflare/ai-chat": "0.12.0",
      agents: "0.24.0",
      // Each version of @ai-sdk/react takes one version of the AI SDK.
      ai: "6.0.324",
      "@ai-sdk/react": "3.0.327",
      "@ai-sdk/provider": "^3.0.0",
    },
    sixth: true,
  },
];

const results: { readonly what: string; readonly errors: readonly string[] }[] = [];
const folder = await mkdtemp(join(tmpdir(), "palimpsest-consumers-"));
const started = performance.now();
try {
  const tarball = await pack();
  const only = process.argv[process.argv.indexOf("--only") + 1];
  const isTried = (name: string): boolean => !process.argv.includes("--only") || only === name;
  if (isTried("examples")) await tryExamples(tarball);
  if (isTried("sixth")) await trySixth(tarball);
  if (isTried("starter")) await tryStarter(tarball);
} finally {
  if (process.argv.includes("--keep")) console.log(`kept: ${folder}`);
  else await rm(folder, { recursive: true, force: true });
}

const failed = results.filter(({ errors }) => errors.length > 0).length;
console.log(`${Math.round((performance.now() - started) / 1000)} s`);
console.log(`Consumers: ${results.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** The project's own examples, at both ends of what the package stands on, beside the tools of others. */
async function tryExamples(tarball: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    readonly devDependencies: Record<string, string>;
    readonly exports: Record<string, unknown>;
  };
  const version = (name: string): string => manifest.devDependencies[name] ?? "latest";
  const pick = (...names: string[]) => Object.fromEntries(names.map((name) => [name, version(name)]));

  const newest = join(folder, "newest");
  const compilers = Object.fromEntries(Object.entries(COMPILERS).map(([name, at]) => [name, `npm:typescript@${at}`]));
  await install(newest, {
    dependencies: { palimpsest: tarball, ...HONO, ...pick("agents", "ai", "zod") },
    devDependencies: {
      ...compilers,
      "@cloudflare/vite-plugin": VITE_PLUGIN,
      ...pick(
        "@types/node",
        "vite",
        "wrangler",
        "@ai-sdk/openai-compatible",
        "@ai-sdk/provider",
        "workers-ai-provider",
      ),
    },
  });
  for (const project of PROJECTS) await makeProject(newest, project);
  const checks = PROJECTS.flatMap((project) => Object.keys(COMPILERS).map((compiler) => ({ project, compiler })));
  await inParallel(availableParallelism(), checks, ({ project, compiler }) => check(newest, project, compiler));
  await tryChat(newest);
  await tryVite(join(newest, "create-cloudflare"));
  await tryWrangler(join(newest, "create-cloudflare"), "newest");
  await tryPage(newest);
  await tryDeclarations(newest);
  await tryHono(newest);
  await tryFamily(newest);
  await tryPnpm({
    dependencies: { palimpsest: tarball, ...pick("agents", "ai", "zod") },
    devDependencies: { typescript59: compilers["typescript59"], ...pick("@types/node", "wrangler") },
  });

  const every = join(folder, "every");
  await install(every, {
    dependencies: { palimpsest: tarball, "just-bash": JUST_BASH, ...pick(...EVERY_PEER) },
    devDependencies: { ...compilers, ...pick("@types/node", "@types/react", "@ai-sdk/provider", "wrangler") },
  });
  await tryExports(every, Object.keys(manifest.exports));

  const oldest = join(folder, "oldest");
  const { typescript59, ...peers } = OLDEST;
  await install(oldest, {
    dependencies: { palimpsest: tarball, ...peers },
    devDependencies: { typescript59: `npm:typescript@${typescript59}`, ...pick("@types/node", "wrangler") },
  });
  const strictest = { ...projectOf("strictest"), name: "strict" };
  await makeProject(oldest, strictest);
  await check(oldest, strictest, "typescript59");
  await tryWrangler(join(oldest, "strict"), "oldest");

  const oldestHosts = join(folder, "oldest-hosts");
  await install(oldestHosts, {
    dependencies: { palimpsest: tarball, "just-bash": JUST_BASH, ...OLDEST_HOSTS },
    devDependencies: {
      typescript59: `npm:typescript@${typescript59}`,
      ...pick("@types/node", "@types/react", "wrangler"),
    },
  });
  // ThinkHarness came with agents 0.32.
  const old = Object.keys(manifest.exports).filter((path) => path !== "./harness");
  await tryExports(oldestHosts, old, { projects: [projectOf("strictest")], compilers: ["typescript59"] });

  for (const host of HOSTS) await tryHost(host, tarball);
}

function report(what: string, errors: readonly string[]): void {
  results.push({ what, errors });
  console.log(`${errors.length === 0 ? "ok    " : "FAILED"} ${what}`);
  for (const error of errors.slice(0, 10)) console.log(`         ${error}`);
}

/** The last lines of a command that failed. */
function failure({ code, output }: Ran): string[] {
  return code === 0 ? [] : output.trim().split("\n").slice(-10);
}

/** Packs the package as it would be published and returns the tarball's path. Other tools check that tarball too. */
async function pack(): Promise<string> {
  const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], ROOT);
  const tarball = /palimpsest-[\w.-]+\.tgz/.exec(packed.output)?.[0];
  if (packed.code !== 0 || tarball === undefined) throw new Error(`The package cannot be packed: ${packed.output}`);
  const path = join(folder, tarball);
  const unpacked = await run("tar", ["-xzf", path], folder);
  const page = await bytesOf("package/dist/page");
  const bytes = (await bytesOf("package")) - page;
  const within = unpacked.code === 0 && bytes <= MOST_BYTES;
  report(
    `${bytes} bytes unpacked, docs, examples and page not counted`,
    within ? [] : [`It should be at most ${MOST_BYTES}.`],
  );
  const fits = page > 0 && page <= MOST_PAGE_BYTES;
  report(
    `${page} bytes of the page's files`,
    fits ? [] : [`It should be at most ${MOST_PAGE_BYTES}, and more than none.`],
  );
  report("publint", failure(await run(bin("publint"), ["--strict", path], ROOT)));
  report("attw", failure(await run(bin("attw"), [path, "--profile", "esm-only", "--quiet"], ROOT)));
  return `file:${path}`;
}

/** Of a folder of the unpacked package, without Markdown, docs and examples. */
async function bytesOf(path: string): Promise<number> {
  const notDocs = ["!", "-name", "*.md", "!", "-path", "*/docs/*", "!", "-path", "*/examples/*"];
  const { output } = await run("find", [path, "-type", "f", ...notDocs, "-printf", "%s\\n"], folder);
  return output
    .trim()
    .split("\n")
    .reduce((sum, each) => sum + Number(each), 0);
}

function bin(name: string): string {
  return join(ROOT, "node_modules/.bin", name);
}

/** Installs one set of packages for all projects, which are folders below it. */
async function install(into: string, manifest: object): Promise<void> {
  await mkdir(into);
  const whole = { name: "consumers", private: true, type: "module", ...manifest };
  await writeFile(join(into, "package.json"), JSON.stringify(whole, null, 2));
  const installed = await run("npm", ["install", "--no-audit", "--no-fund"], into);
  report(`npm install: ${into.split("/").at(-1)}`, failure(installed));
  const copies = await run("npm", ["ls", "agents", "ai", "zod", "--all", "--parseable"], into);
  const second = copies.output.split("\n").filter((line) => /palimpsest\/node_modules\/(?:agents|ai|zod)$/.test(line));
  report("one copy of agents, ai and zod", second);
}

async function makeProject(home: string, { name, tsconfig }: Project, from = EXAMPLE): Promise<void> {
  const project = join(home, name);
  await mkdir(project);
  for (const file of FILES) await cp(join(from, file), join(project, file));
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(tsconfig, null, 2));
  const typed = await run(process.execPath, [wranglerOf(home), "types"], project);
  if (typed.code !== 0) report(`${name}: wrangler types`, failure(typed));
}

async function check(home: string, { name, whole }: Project, compiler: string): Promise<void> {
  const tsc = join(home, "node_modules", compiler, "bin/tsc");
  const checked = await run(process.execPath, [tsc, "-p", "."], join(home, name));
  const errors = checked.output.split("\n").filter((line) => line.includes("error TS"));
  const ours = errors.filter((line) => /^(?:worker|hello)\.ts|node_modules\/palimpsest\//.test(line));
  const counted = whole ? errors : ours;
  const broke = checked.code !== 0 && errors.length === 0 ? failure(checked) : [];
  report(`${name}: ${compiler}`, [...counted, ...broke]);
}

/** Imports every subpath of the package into one Worker, which says what it got. So no subpath is published that nobody ever imported. */
async function tryExports(
  home: string,
  paths: readonly string[],
  { projects = PROJECTS, compilers = Object.keys(COMPILERS) } = {},
): Promise<void> {
  const names = paths.filter((path) => path !== "./package.json").map((path) => `palimpsest${path.slice(1)}`);
  const code = [
    ...names.map((name, n) => `import * as s${n} from ${JSON.stringify(name)};`),
    `const subpaths = { ${names.map((name, n) => `${JSON.stringify(name)}: s${n}`).join(", ")} };`,
    "const got = Object.entries(subpaths).filter(([, subpath]) => Object.keys(subpath).length > 0);",
    "export default { fetch: (): Response => Response.json(got.map(([name]) => name)) };",
    `export type { View } from ${JSON.stringify(TYPES)};`,
  ];
  for (const { name, ...project } of projects) {
    await makeProject(home, { name, ...project });
    await writeFile(join(home, name, "worker.ts"), code.join("\n"));
    await writeFile(join(home, name, "hello.ts"), "export {};\n");
    await writeFile(join(home, name, "wrangler.jsonc"), JSON.stringify(EVERY_EXPORT));
  }
  // Declarations of hosts have errors of their own under some options. Only ours count.
  const checks = projects.flatMap((project) => compilers.map((compiler) => ({ project, compiler })));
  await inParallel(availableParallelism(), checks, ({ project, compiler }) =>
    check(home, { ...project, whole: false }, compiler),
  );
  await withWorker(join(home, "strictest"), wranglerOf(home), async (origin) => {
    const got = await (await fetch(origin)).json<readonly string[]>();
    report(
      `${names.length} subpaths are imported by a Worker`,
      names.filter((name) => got.includes(name) === (name === TYPES)),
    );
  });
}

/** Checks the larger example as it stands. */
async function tryChat(home: string): Promise<void> {
  const project = join(home, "chat");
  await cp(join(ROOT, "examples/chat"), project, { recursive: true });
  await run(process.execPath, [wranglerOf(home), "types"], project);
  await check(home, { name: "chat", tsconfig: {}, whole: true }, "typescript59");
  const dry = await run(process.execPath, [wranglerOf(home), "deploy", "--dry-run", "--outdir", "out"], project);
  report("chat: wrangler bundles it", failure(dry));
}

/** The chat that docs/chat.md has for the AI SDK 6, beside providers of that generation. */
async function trySixth(palimpsest: string): Promise<void> {
  const home = join(folder, "sixth");
  const tools = {
    typescript59: `npm:typescript@${COMPILERS.typescript59}`,
    "@types/node": "^24.0.0",
    wrangler: "^4.113.0",
  };
  await install(home, { dependencies: { palimpsest, ...SIXTH }, devDependencies: tools });
  const project = { ...projectOf("strictest"), name: "chat" };
  await makeProject(home, project);
  const page = await readFile(join(ROOT, "docs/chat.md"), "utf8");
  const [, chat = ""] = /^## With the AI SDK 6$[\s\S]*?^```ts\n([\s\S]*?)^```$/m.exec(page) ?? [];
  await writeFile(join(home, "chat/worker.ts"), chat + SIXTH_MODEL);
  await check(home, project, "typescript59");
  await tryWrangler(join(home, "chat"), "AI SDK 6");
}

/** Takes Cloudflare's starter by each way that docs/ai-chat.md has for it to a chat that compiles, with its page. */
async function tryStarter(palimpsest: string): Promise<void> {
  const fresh = join(folder, "starter");
  await mkdir(join(fresh, "src"), { recursive: true });
  for (const [path, kept] of Object.entries(STARTER)) {
    await cp(join(ROOT, "scripts/consumers/starter", kept), join(fresh, path));
  }
  const html = '<!doctype html><div id="root"></div><script type="module" src="/src/client.tsx"></script>';
  await writeFile(join(fresh, "index.html"), html);
  const plugins = ["agents/vite", "@vitejs/plugin-react", "@cloudflare/vite-plugin"];
  const config = [
    ...["agents", "react", "{ cloudflare }"].map((name, n) => `import ${name} from "${plugins[n]}";`),
    "export default { plugins: [agents(), react(), cloudflare()] };",
  ];
  await writeFile(join(fresh, "vite.config.ts"), config.join("\n"));
  // The starter's own lock keeps the AI SDK at an older version than the newest, and npm moves nothing that a lock keeps.
  for (const names of [[], [STARTER_LOCKS]]) {
    const args = ["install", "--no-audit", "--no-fund", ...names];
    report(`npm ${args.join(" ")}: the starter`, failure(await run("npm", args, fresh)));
  }
  const page = await readFile(join(ROOT, "docs/ai-chat.md"), "utf8");
  const [, section = ""] = /^## Into Cloudflare's starter$([\s\S]*?)^## /m.exec(page) ?? [];
  const ways = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, lines = ""]) => lines.trim().split("\n"));
  report("docs/ai-chat.md has two ways into the starter", ways.length === 2 ? [] : [`${ways.length}`]);
  for (const [n, lines] of ways.entries()) await tryWay(n + 1, lines, { fresh, palimpsest });
}

async function tryWay(
  n: number,
  lines: readonly string[],
  { fresh, palimpsest }: { readonly fresh: string; readonly palimpsest: string },
): Promise<void> {
  const project = `${fresh}-${n}`;
  await cp(fresh, project, { recursive: true, verbatimSymlinks: true });
  for (const line of lines) {
    const command = line.startsWith("npm install") ? line.replace(" palimpsest", ` ${palimpsest}`) : line;
    report(`starter, way ${n}: ${line}`, failure(await run("sh", ["-c", command], project)));
  }
  const server = join(project, "src/server.ts");
  await writeFile(server, sendingTheView(await readFile(server, "utf8")));
  const command = (name: string, ...args: readonly string[]) =>
    run(join(project, "node_modules/.bin", name), args, project);
  const steps = [
    ["palimpsest", "doctor"],
    ["wrangler", "types", "env.d.ts"],
    ["tsc", "--noEmit"],
    ["vite", "build"],
  ] as const;
  for (const [name, ...args] of steps) {
    report(`starter, way ${n}: ${[name, ...args].join(" ")}`, failure(await command(name, ...args)));
  }
}

/** The starter's chat with the change that the page shows. */
function sendingTheView(server: string): string {
  const [tools = ""] = /^ {6}tools: \{[\s\S]*?^ {6}\},\n/m.exec(server) ?? [];
  return server
    .replace(/^ {2}chatRecovery = true;\n/m, "")
    .replace(/^ {2}convertToModelMessages,\n {2}pruneMessages,\n/m, "")
    .replace(/^ {6}\/\/ Prune old tool calls[^\n]*\n {6}messages: pruneMessages\([\s\S]*?^ {6}\}\),\n/m, "")
    .replace(tools, () => "      tools,\n      ...(await this.compacted({ tools })),\n")
    .replace(
      /^ {4}const result = /m,
      () => `    const tools = ${tools.trim().slice("tools: ".length, -1)};\n    const result = `,
    );
}

/** Installs, checks and starts an example as its reader does, and talks to it until its conversation is compacted. */
async function tryHost({ example, name, at, sixth = false }: Host, palimpsest: string): Promise<void> {
  const project = join(folder, name.replaceAll(" ", "-"));
  await cp(join(ROOT, "examples", example), project, { recursive: true });
  const manifest = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as {
    readonly dependencies: Record<string, string>;
    readonly devDependencies: Record<string, string>;
  };
  const dependencies: Record<string, string> = { ...replaced(manifest.dependencies, at), palimpsest };
  const devDependencies = replaced(manifest.devDependencies, at);
  if (sixth) {
    delete dependencies["workers-ai-provider"];
    const worker = await readFile(join(project, "worker.ts"), "utf8");
    await writeFile(join(project, "worker.ts"), onVersion6(worker));
  }
  await writeFile(
    join(project, "package.json"),
    JSON.stringify({ ...manifest, dependencies, devDependencies }, null, 2),
  );
  const installed = await run("npm", ["install", "--no-audit", "--no-fund"], project);
  report(`npm install: ${name}`, failure(installed));
  if (installed.code !== 0) return;
  await run(process.execPath, [wranglerOf(project), "types"], project);
  report(`${name}: it type-checks`, failure(await run(join(project, "node_modules/.bin/tsc"), [], project)));
  if (example === "ai-chat") {
    report(`${name}: Vite bundles it`, failure(await run(join(project, "node_modules/.bin/vite"), ["build"], project)));
    // Vite says where the page's files are. The conversation is the same as with Think.
    const config = await readFile(join(project, "wrangler.jsonc"), "utf8");
    await writeFile(join(project, "wrangler.jsonc"), config.replace(/^ *"assets":.*\n/m, ""));
    await cp(join(ROOT, "examples/think/hello.ts"), join(project, "hello.ts"));
    // The build left a pointer to its own configuration.
    await rm(join(project, ".wrangler"), { recursive: true, force: true });
  }
  await tryWrangler(project, name, project);
}

/** Mounts the page in the example's Worker, as docs/page.md says, bundles it both ways, and asks for its files. */
async function tryPage(home: string): Promise<void> {
  const project = { ...projectOf("create-cloudflare"), name: "page" };
  await makeProject(home, project);
  const page = await readFile(join(ROOT, "docs/page.md"), "utf8");
  const worker = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].find(([, code]) => code?.includes("createPage"))?.[1];
  // The conversation with it needs the example's `say`.
  const say = /^ {2}\/\*\*[\s\S]*?^ {2}\}\n/m.exec(await readFile(join(EXAMPLE, "worker.ts"), "utf8"))?.[0] ?? "";
  const code = (worker ?? "")
    .replace("import { Agent, routeAgentRequest }", "import { Agent, callable, routeAgentRequest }")
    .replace("compactAfter(60_000);\n", `compactAfter(60_000);\n\n${say}`);
  await writeFile(join(home, "page/worker.ts"), code);
  await check(home, project, "typescript59");
  await tryVite(join(home, "page"));
  // The build left a pointer to its own configuration.
  await rm(join(home, "page/.wrangler"), { recursive: true, force: true });
  await tryWrangler(join(home, "page"), "page", home, async (origin) => {
    const html = await (await fetch(`${origin}/palimpsest/`)).text();
    const script = /src="\.\/([^"]+)"/.exec(html)?.[1] ?? "";
    const { status } = await fetch(`${origin}/palimpsest/${script}`);
    const locked = (await fetch(`${origin}/palimpsest/agents/chat-agent/a/ticket`, { method: "POST" })).status;
    const answered = [script !== "", html.includes('content="chat-agent"'), status === 200, locked === 403];
    report("page: it is served, and locked", answered.every(Boolean) ? [] : [`${answered.join(", ")}: ${html}`]);
  });
}

/** Emits the declarations of exported agents, as a project does that another one refers to. Each type in them must have a name to import by. */
async function tryDeclarations(home: string): Promise<void> {
  const { tsconfig, ...project } = projectOf("strictest");
  const compilerOptions = {
    ...("compilerOptions" in tsconfig ? (tsconfig.compilerOptions as object) : {}),
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    outDir: "out",
  };
  const name = "declarations";
  await makeProject(home, { ...project, name, tsconfig: { ...tsconfig, compilerOptions } });
  await writeFile(join(home, name, "hello.ts"), "export {};\n");
  await cp(join(ROOT, "scripts/consumers/declarations/worker.ts"), join(home, name, "worker.ts"));
  for (const compiler of Object.keys(COMPILERS)) await check(home, { ...project, name, tsconfig: {} }, compiler);
}

/** Puts the example's agent behind the middleware of a Hono app. */
async function tryHono(home: string): Promise<void> {
  const project = { ...projectOf("create-cloudflare"), name: "hono" };
  await makeProject(home, project);
  const path = join(home, "hono/worker.ts");
  const [agent = ""] = (await readFile(path, "utf8")).split("export default");
  const imports = 'import { Hono } from "hono";\nimport { agentsMiddleware } from "hono-agents";\n';
  const app = 'const app = new Hono();\napp.use("*", agentsMiddleware());\nexport default app;\n';
  await writeFile(path, imports + agent.replace("callable, routeAgentRequest", "callable") + app);
  await check(home, project, "typescript59");
  await tryWrangler(join(home, "hono"), "hono");
}

/** Two kinds of agents in one Worker, with schedules, a start and an alarm of their own, and a sub-agent. */
async function tryFamily(home: string): Promise<void> {
  const project = { ...projectOf("strictest"), name: "family" };
  await makeProject(home, project, join(ROOT, "scripts/consumers/family"));
  await check(home, project, "typescript59");
  await tryWrangler(join(home, "family"), "family");
}

/** The example in a project of pnpm. There a package reaches its declared dependencies only. */
async function tryPnpm(manifest: object): Promise<void> {
  const home = join(folder, "pnpm");
  await mkdir(home);
  const pnpm = { onlyBuiltDependencies: ["esbuild", "workerd"] };
  await writeFile(
    join(home, "package.json"),
    JSON.stringify({ name: "consumers", private: true, type: "module", ...manifest, pnpm }, null, 2),
  );
  const installed = await run("npm", ["exec", "--yes", "--", `pnpm@${PNPM}`, "install"], home);
  report("pnpm install", failure(installed));
  if (installed.code !== 0) return;
  const project = { ...projectOf("strictest"), name: "isolated" };
  await makeProject(home, project);
  await check(home, project, "typescript59");
  await tryWrangler(join(home, "isolated"), "pnpm");
}

function projectOf(name: string): Project {
  const found = PROJECTS.find((project) => project.name === name);
  if (found === undefined) throw new Error(`There is no project "${name}".`);
  return found;
}

function replaced(
  wanted: Readonly<Record<string, string>>,
  at: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).map(([name, version]) => [name, at[name] ?? version]));
}

/** Version 6 has another name for the end of a tool loop. The offline model takes the place of the provider. */
function onVersion6(worker: string): string {
  return worker
    .replace(/^import \{ createWorkersAI.*\n/m, "")
    .replaceAll("createWorkersAI({ binding })(MODEL)", "offlineModel()")
    .replaceAll("isStepCount", "stepCountIs");
}

async function tryVite(project: string): Promise<void> {
  await writeFile(
    join(project, "vite.config.ts"),
    `import { cloudflare } from "@cloudflare/vite-plugin";
import agents from "agents/vite";
import { defineConfig } from "vite";

export default defineConfig({ plugins: [agents(), cloudflare()], logLevel: "warn" });
`,
  );
  const vite = join(project, "../node_modules/vite/bin/vite.js");
  report(
    "Vite with @cloudflare/vite-plugin bundles it",
    failure(await run(process.execPath, [vite, "build"], project)),
  );
}

/** Bundles the project, starts it and talks to it until its conversation is compacted. */
async function tryWrangler(
  project: string,
  what: string,
  home = join(project, ".."),
  meanwhile: (origin: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const wrangler = wranglerOf(home);
  const dry = await run(process.execPath, [wrangler, "deploy", "--dry-run", "--outdir", "out"], project);
  report(`${what}: wrangler bundles it`, failure(dry));
  await withWorker(project, wrangler, async (origin) => {
    const hello = await run(process.execPath, ["hello.ts", new URL(origin).host], project);
    const isCompacted = hello.code === 0 && /compacted: applied|[1-9]\d* summaries/.test(hello.output);
    report(`${what}: it says hello, and compacts`, isCompacted ? [] : hello.output.trim().split("\n").slice(-10));
    await meanwhile(origin);
  });
}

/** Starts a project's Worker for as long as the work takes. */
async function withWorker(project: string, wrangler: string, work: (origin: string) => Promise<void>): Promise<void> {
  const port = await freePort();
  const dev = spawn(process.execPath, [wrangler, "dev", "--local", "--port", `${port}`], { cwd: project, env: ENV });
  const said: string[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      const hear = (chunk: Buffer): void => {
        said.push(chunk.toString());
        if (said.join("").includes("Ready on")) resolve();
      };
      dev.stdout.on("data", hear);
      dev.stderr.on("data", hear);
      dev.once("close", () => reject(new Error(`wrangler dev ended: ${said.join("").slice(-2_000)}`)));
    });
    await work(`http://localhost:${port}`);
  } finally {
    dev.kill("SIGTERM");
    if (dev.exitCode === null) await once(dev, "close");
  }
}

function wranglerOf(home: string): string {
  return join(home, "node_modules/wrangler/bin/wrangler.js");
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}

interface Ran {
  readonly code: number;
  readonly output: string;
}

async function run(command: string, args: readonly string[], cwd: string): Promise<Ran> {
  const child = spawn(command, args, { cwd, env: ENV, timeout: MOST_MS });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, output: Buffer.concat(chunks).toString() };
}
