/**
 * `npm run journey` lists the files of `src` that are executed on the way of one message, from append to view, and of one run, from trigger
 * to outcome.
 *
 * Copies `src`, makes each function of the copy say that it ran (journey/instrument.ts), and starts the copy with a small agent
 * (journey/worker.ts) in workerd. The original tree is only read. A file counts when one of its functions ran. A file of types or of
 * constants has none. The message is not an agent's first one, so starting the agent is not on its way. The model's answer is not counted.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { instrument } from "./journey/instrument.ts";
import { plural } from "./report/text.ts";

const USAGE = `npm run journey -- [options]

  --tree DIR   another checkout with its packages (default: this one)
  --json       print counts and files as JSON
`;

const ROOT = resolve(import.meta.dirname, "..");
const WORKER = "scripts/journey";

interface Ways {
  readonly message: readonly string[];
  readonly run: readonly string[];
}

interface Counts {
  readonly message: number;
  readonly run: number;
  readonly either: number;
}

type Journey = { [Way in keyof Ways]: () => Promise<string[]> };

function readOptions(): { tree: string; json: boolean } {
  const { values } = parseArgs({
    options: {
      tree: { type: "string", default: ROOT },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.error(USAGE);
    process.exit(0);
  }
  return { tree: resolve(values.tree), json: values.json };
}

/** A copy of the tree's `src`, instrumented, with our Worker beside it. */
function copyInstrumented(tree: string): string {
  const copy = mkdtempSync(join(tmpdir(), "palimpsest-journey-"));
  cpSync(join(tree, "src"), join(copy, "src"), { recursive: true });
  cpSync(join(ROOT, WORKER), join(copy, WORKER), { recursive: true });
  symlinkSync(join(tree, "node_modules"), join(copy, "node_modules"));
  for (const name of readdirSync(join(copy, "src"), { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(name)) continue;
    const path = join(copy, "src", name);
    writeFileSync(path, instrument(join("src", name), readFileSync(path, "utf8")));
  }
  return copy;
}

async function recordIn(copy: string): Promise<Ways> {
  process.env["X_LOCAL_OBSERVABILITY"] = "false";
  process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
  const { createTestHarness } = await import("wrangler");
  const harness = createTestHarness({ root: join(copy, WORKER), workers: [{ configPath: "./wrangler.jsonc" }] });
  try {
    await harness.listen();
    const { Journey: agents } = await harness.getWorker<{ Journey: { getByName(name: string): Journey } }>().getEnv();
    const agent = agents.getByName("journey");
    const message = await agent.message();
    return { message, run: await agent.run() };
  } finally {
    await harness.close();
  }
}

/** The folder of `src` that holds the file, or `src` itself. */
function roomOf(file: string): string {
  return file.split("/").slice(0, -1).slice(0, 2).join("/");
}

function count({ message, run }: Ways): Counts {
  return { message: message.length, run: run.length, either: new Set([...message, ...run]).size };
}

function countByRoom({ message, run }: Ways): Record<string, Counts> {
  const rooms = [...new Set([...message, ...run].map(roomOf))].toSorted();
  const within = (room: string, files: readonly string[]) => files.filter((file) => roomOf(file) === room);
  return Object.fromEntries(
    rooms.map((room) => [room, count({ message: within(room, message), run: within(room, run) })]),
  );
}

function show(ways: Ways): void {
  const rooms = { ...countByRoom(ways), "all of src": count(ways) };
  console.log("| Room | a message | a run | either |\n| --- | ---: | ---: | ---: |");
  for (const [room, { message, run, either }] of Object.entries(rooms)) {
    console.log(`| ${room} | ${message} | ${run} | ${either} |`);
  }
  for (const [way, files] of Object.entries(ways) as [keyof Ways, readonly string[]][]) {
    console.log(`\nA ${way}, ${plural(files.length, "file")}:\n${files.map((file) => `  ${file}`).join("\n")}`);
  }
}

const { tree, json } = readOptions();
const copy = copyInstrumented(tree);
try {
  const ways = await recordIn(copy);
  if (json) console.log(JSON.stringify({ counts: count(ways), rooms: countByRoom(ways), ...ways }, null, 2));
  else show(ways);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
