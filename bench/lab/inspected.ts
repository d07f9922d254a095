/**
 * Runs the Worker under measurement in an inspected process, to see what its code allocates and how much memory the process takes.
 *
 * The only module that knows V8's inspector and /proc. V8 samples allocations, freed objects included. So the figure is the total that a
 * piece of work allocated, an upper bound on what it held at any moment, and independent of garbage collection. The process's peak comes
 * from the kernel and is reset before each piece of work.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import type { unstable_startWorker } from "wrangler";
import type { Knocked } from "../objects/door.ts";

/** Mean bytes between two samples. */
const SAMPLE_BYTES = 4_096;

/** Both in bytes. */
export interface Taken {
  /** Bytes that JavaScript allocated, freed or not. */
  readonly allocated: number;
  /** How far the process's resident memory rose. Null where there is no /proc. */
  readonly risen: number | null;
}

interface ProfileNode {
  readonly selfSize: number;
  readonly children: readonly ProfileNode[];
}

type Running = Awaited<ReturnType<typeof unstable_startWorker>>;

export class InspectedWorker {
  readonly #worker: Running;
  readonly #inspector: WebSocket;
  readonly #processes: readonly number[];
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #calls = 0;

  private constructor(worker: Running, inspector: WebSocket, processes: readonly number[]) {
    this.#worker = worker;
    this.#inspector = inspector;
    this.#processes = processes;
    inspector.addEventListener("message", ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (id === undefined) return;
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  /** Starts a fresh process on the state in `stateDir`. */
  static async start(stateDir: string): Promise<InspectedWorker> {
    process.env["WRANGLER_LOG"] = "none";
    const { unstable_startWorker: startWorker } = await import("wrangler");
    const before = new Set(await listWorkerds());
    const worker = await startWorker({
      config: `${import.meta.dirname}/../wrangler.jsonc`,
      dev: { inspector: { port: 0 }, server: { port: 0 }, persist: stateDir, logLevel: "none", watch: false },
    });
    await worker.ready;
    const url = await worker.inspectorUrl;
    if (url === undefined) throw new Error("The Worker cannot be looked into.");
    const inspector = await openInspector(new URL("/ws", url));
    const processes = (await listWorkerds()).filter((pid) => !before.has(pid));
    return new InspectedWorker(worker, inspector, processes);
  }

  async close(): Promise<void> {
    this.#inspector.close();
    await this.#worker.dispose();
  }

  async call<T>(knocked: Knocked): Promise<T> {
    const response = await this.#worker.fetch("http://bench/", { method: "POST", body: JSON.stringify(knocked) });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()) as T;
  }

  /** Does the work and returns the memory that it took. */
  async take(work: () => Promise<unknown>): Promise<Taken> {
    const from = await this.#residentBytes("VmRSS");
    await Promise.all(
      this.#processes.map(async (pid) => writeFile(`/proc/${pid}/clear_refs`, "5").catch(() => undefined)),
    );
    await this.#ask("HeapProfiler.startSampling", {
      samplingInterval: SAMPLE_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await work();
    const { profile } = (await this.#ask("HeapProfiler.stopSampling")) as { profile: { head: ProfileNode } };
    const peak = await this.#residentBytes("VmHWM");
    return { allocated: sizeOf(profile.head), risen: from === null || peak === null ? null : peak - from };
  }

  async #ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#calls;
    const answered = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#inspector.send(JSON.stringify({ id, method, params }));
    return answered;
  }

  /** The sum over all its processes. */
  async #residentBytes(field: "VmRSS" | "VmHWM"): Promise<number | null> {
    if (this.#processes.length === 0) return null;
    const each = await Promise.all(this.#processes.map(async (pid) => readFile(`/proc/${pid}/status`, "utf8")));
    return each.reduce((sum, text) => sum + 1_024 * Number(new RegExp(`${field}:\\s+(\\d+)`).exec(text)?.[1]), 0);
  }
}

function sizeOf({ selfSize, children }: ProfileNode): number {
  return children.reduce((sum, child) => sum + sizeOf(child), selfSize);
}

async function openInspector(url: URL): Promise<WebSocket> {
  // The inspector refuses pages of the web, and requires an Origin header.
  const options = { headers: { Origin: "http://localhost" } };
  const socket = new WebSocket(url.href, options as unknown as string[]);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error("The inspector does not answer.")), { once: true });
  });
  return socket;
}

/** The workerd children of this process. Empty where there is no /proc. */
async function listWorkerds(): Promise<number[]> {
  const entries = await readdir("/proc").catch(() => []);
  const found = await Promise.all(
    entries.map(async (entry) => {
      const stat = /^\d+$/.test(entry) ? await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "") : "";
      const [, name, parent] = /^\d+ \((.+)\) \S (\d+) /.exec(stat) ?? [];
      return name === "workerd" && Number(parent) === process.pid ? [Number(entry)] : [];
    }),
  );
  return found.flat();
}
