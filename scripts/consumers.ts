/**
 * Tries the package in projects of others: packed as it would be published, installed beside their own tools.
 *
 * Each project is a Worker with the README's code. It must type-check without an error under several sets of compiler
 * options and versions of TypeScript, bundle with wrangler, and answer when it is started.
 *
 *     npm run consumers [-- --keep]     keep leaves the temporary folder and says where it is
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness } from "wrangler";

const ROOT = join(import.meta.dirname, "..");

/** Versions of TypeScript by the name that each is installed under. */
const COMPILERS = { typescript57: "5.7.3", typescript59: "5.9.3", typescript6: "6.0.3", typescript7: "7.0.2" } as const;

interface Project {
  readonly name: string;
  readonly tsconfig: object;
  /** False where other packages' declarations have errors of their own under these options: then only ours count. */
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
        isolatedModules: true,
        allowSyntheticDefaultImports: true,
        forceConsistentCasingInFileNames: true,
        strict: true,
        skipLibCheck: true,
        types: [WORKER_TYPES, "node"],
      },
      include: ["worker.ts", "worker-configuration.d.ts"],
    },
  },
  {
    name: "agents-tsconfig",
    whole: true,
    tsconfig: {
      extends: "agents/tsconfig",
      compilerOptions: { types: ["node", WORKER_TYPES] },
      include: ["worker.ts", "worker-configuration.d.ts"],
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
      include: ["worker.ts", "worker-configuration.d.ts"],
    },
  },
];

const results: { readonly what: string; readonly errors: readonly string[] }[] = [];

const folder = await mkdtemp(join(tmpdir(), "palimpsest-consumers-"));
try {
  await install();
  for (const project of PROJECTS) await tryProject(project);
  await bundleAndStart();
} finally {
  if (process.argv.includes("--keep")) console.log(`kept: ${folder}`);
  else await rm(folder, { recursive: true, force: true });
}

for (const { what, errors } of results) {
  console.log(`${errors.length === 0 ? "ok    " : "FAILED"} ${what}`);
  for (const error of errors.slice(0, 10)) console.log(`         ${error}`);
}
const failed = results.filter(({ errors }) => errors.length > 0).length;
console.log(`Consumers: ${results.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** One set of installed packages for all projects, which are folders below it. */
async function install(): Promise<void> {
  const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], ROOT);
  if (packed.code !== 0) throw new Error(`The package cannot be packed: ${packed.output}`);
  const tarball = /palimpsest-[\w.-]+\.tgz/.exec(packed.output)?.[0];
  if (tarball === undefined) throw new Error(`npm pack names no tarball: ${packed.output}`);
  const ours = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
    readonly devDependencies: Record<string, string>;
    readonly overrides: Record<string, unknown>;
  };
  const version = (name: string): string => ours.devDependencies[name] ?? "latest";
  const manifest = {
    name: "consumers",
    private: true,
    type: "module",
    dependencies: {
      palimpsest: `file:./${tarball}`,
      agents: version("agents"),
      ai: version("ai"),
      zod: version("zod"),
    },
    devDependencies: {
      ...Object.fromEntries(Object.entries(COMPILERS).map(([name, at]) => [name, `npm:typescript@${at}`])),
      "@types/node": version("@types/node"),
      vite: version("vite"),
      wrangler: version("wrangler"),
    },
    overrides: { miniflare: ours.overrides["miniflare"], workerd: ours.overrides["workerd"] },
  };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest, null, 2));
  const installed = await run("npm", ["install", "--no-audit", "--no-fund", "--legacy-peer-deps=false"], folder);
  const copies = await run("npm", ["ls", "agents", "ai", "--all", "--parseable"], folder);
  const second = copies.output.split("\n").filter((line) => /palimpsest\/node_modules\/(?:agents|ai)$/.test(line));
  results.push({ what: "npm install", errors: installed.code === 0 ? [] : installed.output.split("\n").slice(-10) });
  results.push({ what: "one copy of agents and ai", errors: second });
}

async function tryProject({ name, tsconfig, whole }: Project): Promise<void> {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(tsconfig, null, 2));
  await writeFile(join(project, "worker.ts"), await readFile(join(ROOT, "examples/minimal/worker.ts"), "utf8"));
  await writeFile(
    join(project, "wrangler.jsonc"),
    await readFile(join(ROOT, "examples/minimal/wrangler.jsonc"), "utf8"),
  );
  const typed = await run("npx", ["wrangler", "types"], project);
  if (typed.code !== 0) results.push({ what: `${name}: wrangler types`, errors: typed.output.split("\n").slice(-5) });
  for (const compiler of Object.keys(COMPILERS)) {
    const checked = await run(
      process.execPath,
      [join(folder, "node_modules", compiler, "bin/tsc"), "-p", "."],
      project,
    );
    const errors = checked.output.split("\n").filter((line) => line.includes("error TS"));
    const ours = errors.filter((line) => /^worker\.ts|node_modules\/palimpsest\//.test(line));
    results.push({ what: `${name}: ${compiler}`, errors: whole ? errors : ours });
  }
}

async function bundleAndStart(): Promise<void> {
  const project = join(folder, PROJECTS[0]?.name ?? "");
  const bundled = await run("npx", ["wrangler", "deploy", "--dry-run", "--outdir", "out"], project);
  results.push({
    what: "wrangler bundles it",
    errors: bundled.code === 0 ? [] : bundled.output.split("\n").slice(-10),
  });
  const size = /Total Upload: .*/.exec(bundled.output)?.[0];
  if (size !== undefined) console.log(size);
  const server = createTestHarness({ workers: [{ configPath: join(project, "wrangler.jsonc") }] });
  try {
    await server.listen();
    const answer = await server.fetch("/agents/chat-agent/hello");
    // The SDK answers a plain request to an agent without onRequest: that the object was constructed is what counts.
    results.push({ what: "it starts and answers", errors: answer.status < 500 ? [] : [`status ${answer.status}`] });
  } finally {
    await server.close();
  }
}

async function run(command: string, args: readonly string[], cwd: string): Promise<{ code: number; output: string }> {
  const child = spawn(command, args, { cwd, env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "true" } });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code: code ?? 1, output: Buffer.concat(chunks).toString() };
}
