/** The AIChatAgent example in a folder of its own, with the packed package installed, as its reader has it. */
import { execFile } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../../..");
/** The registry may be slow. */
const MOST_MS = 300_000;

/** Returns the path of its configuration, which names a chat of the tests beside it as the Worker. Needs a registry. */
export async function installChat(folder: string, main: string, more: readonly string[] = []): Promise<string> {
  const example = join(ROOT, "examples/ai-chat");
  await npm(ROOT, "pack", "--pack-destination", folder);
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error("The package was not packed.");
  for (const file of ["worker.ts", "tools.ts", "offline-model.ts", ...more]) {
    await cp(join(example, file), join(folder, file), { recursive: true });
  }
  const chat = await readFile(join(import.meta.dirname, main), "utf8");
  await writeFile(join(folder, main), chat.replaceAll("../../../examples/ai-chat/", "./"));
  const manifest = JSON.parse(await readFile(join(example, "package.json"), "utf8")) as Manifest;
  const dependencies = { ...manifest.dependencies, palimpsest: `file:./${tarball}` };
  await writeFile(join(folder, "package.json"), JSON.stringify({ ...manifest, dependencies }));
  // What serves it is this project's own wrangler.
  await npm(folder, "install", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund");
  const config = await readFile(join(example, "wrangler.jsonc"), "utf8");
  const path = join(folder, "wrangler.jsonc");
  // Vite says where a page's files are.
  await writeFile(path, config.replace(/^ *"assets":.*\n/m, "").replace('"worker.ts"', JSON.stringify(main)));
  return path;
}

interface Manifest {
  readonly dependencies: Record<string, string>;
}

async function npm(cwd: string, ...args: readonly string[]): Promise<void> {
  await run("npm", args, { cwd, timeout: MOST_MS, env: { ...process.env, CI: "true" } });
}
