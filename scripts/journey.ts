#!/usr/bin/env node
/**
 * Lists the files of `src` that run on the way of one message, from `append` to the view, and of one run, from its trigger to its outcome.
 *
 *     node scripts/journey.ts            prints the number of files of each room
 *     node scripts/journey.ts --files    prints their names as well
 *
 * It starts the deployable Worker on this machine, and V8 counts the calls of each function meanwhile. A file counts where a function of
 * it was called. What an object does when it wakes is done before, and so is not counted.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DemoAgent } from "./demo/agent.ts";
import { freePort, LocalWorker } from "./demo/local-worker.ts";

const SESSION = "journey";
const WARM_UP = "warm-up";
/** Messages after which the threshold below is crossed. */
const ENOUGH = 12;

interface Coverage {
  readonly result: readonly {
    readonly scriptId: string;
    readonly functions: readonly {
      readonly functionName: string;
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

class Inspector {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, PromiseWithResolvers<unknown>>();
  /** Module of each offset in the bundle, in order. The bundler names a module in a comment before it. */
  readonly #modules = new Map<string, readonly { readonly at: number; readonly file: string }[]>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result, error } = JSON.parse(String(data)) as { id?: number; result?: unknown; error?: unknown };
      const asked = this.#answers.get(id ?? 0);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(`The inspector refused: ${JSON.stringify(error)}.`));
    });
  }

  static async open(url: string): Promise<Inspector> {
    // The inspector refuses pages of the web, and requires an Origin header.
    const options = { headers: { Origin: "http://localhost" } };
    const socket = new WebSocket(url, options as unknown as string[]);
    await new Promise((done, fail) => {
      socket.addEventListener("open", done, { once: true });
      socket.addEventListener("error", () => fail(new Error("The inspector does not answer.")), { once: true });
    });
    const inspector = new Inspector(socket);
    await inspector.#ask("Debugger.enable");
    await inspector.#ask("Profiler.enable");
    await inspector.#ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    return inspector;
  }

  close(): void {
    this.#socket.close();
  }

  /** The files of `src` with a function that was called since the last look. */
  async called(): Promise<Set<string>> {
    const { result } = (await this.#ask("Profiler.takePreciseCoverage")) as Coverage;
    const files = new Set<string>();
    for (const { scriptId, functions } of result) {
      const modules = await this.#modulesOf(scriptId);
      for (const { functionName, ranges } of functions) {
        const [whole] = ranges;
        if (whole === undefined || whole.count === 0 || (functionName === "" && whole.startOffset === 0)) continue;
        const file = modules.findLast(({ at }) => at <= whole.startOffset)?.file;
        if (file?.startsWith("src/") === true) files.add(file);
      }
    }
    return files;
  }

  async #modulesOf(scriptId: string): Promise<readonly { readonly at: number; readonly file: string }[]> {
    const known = this.#modules.get(scriptId);
    if (known !== undefined) return known;
    const { scriptSource = "" } = (await this.#ask("Debugger.getScriptSource", { scriptId })) as {
      scriptSource?: string;
    };
    const found = [...scriptSource.matchAll(/^\/\/ (\S+\.[cm]?[jt]sx?)$/gm)];
    const modules = found.map(({ index, 1: file = "" }) => ({ at: index, file: file.replace(/^(?:\.\.\/)+/, "") }));
    this.#modules.set(scriptId, modules);
    return modules;
  }

  async #ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    const asked = Promise.withResolvers<unknown>();
    this.#answers.set(id, asked);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return asked.promise;
  }
}

function message(n: number) {
  const text = `Message ${n} asks about src/part-${n}.ts, and why its test fails. ${"It has to be said at some length. ".repeat(20)}`;
  const role = n % 2 === 0 ? ("user" as const) : ("assistant" as const);
  return { id: `m${n}`, role, parts: [{ type: "text" as const, text }] };
}

/** Lets one message, and then one run, pass through the Worker. */
async function follow(agent: DemoAgent, inspector: Inspector): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  await fill(agent, WARM_UP);
  await agent.call("append", { sessionId: SESSION, message: message(0) });
  await inspector.called();
  await agent.call("append", { sessionId: SESSION, message: message(1) });
  await agent.call("getView", { sessionId: SESSION });
  const ofMessage = await inspector.called();
  await fill(agent, SESSION);
  return new Map([
    ["one message", ofMessage],
    ["one run", await inspector.called()],
  ]);
}

/** Appends until a run is due, and waits for its end. */
async function fill(agent: DemoAgent, sessionId: string): Promise<void> {
  for (let n = 2; n < ENOUGH; n++) await agent.call("append", { sessionId, message: message(n) });
  const [run] = await agent.call("runs", { sessionId, limit: 1 });
  if (run === undefined) throw new Error("The messages did not cross the threshold.");
  const { outcome } = await agent.call("waitForRun", { runId: run.id, timeoutMs: 60_000 });
  if (outcome?.kind !== "applied") throw new Error(`The run ended as ${outcome?.kind ?? "nothing yet"}.`);
}

function roomOf(file: string): string {
  const [, room = "", ...rest] = file.split("/");
  return rest.length === 0 ? "src" : `src/${room}`;
}

function print(way: string, files: ReadonlySet<string>, withNames: boolean): void {
  const rooms = Map.groupBy([...files].toSorted(), roomOf);
  console.log(`${way}: ${files.size} files`);
  for (const [room, inRoom] of [...rooms].toSorted(([a], [b]) => a.localeCompare(b))) {
    console.log(`  ${String(inRoom.length).padStart(3)}  ${room}`);
    if (withNames) for (const file of inRoom) console.log(`         ${file}`);
  }
}

const inspectorPort = await freePort();
const worker = new LocalWorker({
  stateDir: await mkdtemp(join(tmpdir(), "palimpsest-journey-")),
  port: await freePort(),
  inspectorPort,
  vars: { PALIMPSEST_THRESHOLD: "1500" },
});
try {
  await worker.start();
  const agent = await DemoAgent.connect(worker.url, () => undefined);
  const inspector = await Inspector.open(`ws://127.0.0.1:${inspectorPort}/ws`);
  const ways = await follow(agent, inspector);
  agent.close();
  inspector.close();
  for (const [way, files] of ways) print(way, files, process.argv.includes("--files"));
  print("both", new Set([...ways.values()].flatMap((files) => [...files])), false);
} finally {
  await worker.close();
}
