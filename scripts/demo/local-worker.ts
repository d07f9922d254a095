/**
 * The real Worker on this machine, as `wrangler dev --local` in a process group of its own.
 *
 * Killing only wrangler would leave its workerd children behind, which go on serving and hold the port. A group can be killed whole.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { buildPage } from "../build-page.ts";
import { PalimpsestError } from "../cli/in-package.ts";

/** Most starts of a Worker whose port was taken meanwhile. */
const MOST_STARTS = 3;

export interface LocalWorkerOptions {
  /** The folder where Durable Objects and Workflows keep their state. */
  readonly stateDir: string;
  readonly port: number;
  readonly vars: Readonly<Record<string, string>>;
  /** The configuration of another Worker than the deployable one, which has a page to build. */
  readonly configPath?: string;
}

export class LocalWorker {
  readonly #options: LocalWorkerOptions;
  #child: ChildProcess | null = null;
  #log = "";
  #closed = false;

  constructor(options: LocalWorkerOptions) {
    this.#options = options;
  }

  get url(): string {
    return `http://localhost:${this.#options.port}`;
  }

  /**
   * Resolves when the Worker answers. Throws `invalid_state` with the end of its log when it does not answer in some 300 tries, about a
   * minute.
   */
  async start(): Promise<void> {
    if (this.#closed) throw new PalimpsestError("invalid_state", "The Worker was closed for good.");
    if (this.#options.configPath === undefined) await buildPage();
    for (let tries = 1; !(await this.#serves()); tries++) {
      await this.kill();
      // Wrangler picks ports of its own as well, and another one that starts at the same moment may pick the same.
      if (tries < MOST_STARTS && this.#log.includes("Address already in use")) continue;
      throw new PalimpsestError(
        "invalid_state",
        `The Worker did not start on port ${this.#options.port}. The end of its log:\n${this.#log}`,
      );
    }
  }

  /** Starts a process, and returns whether it serves. */
  async #serves(): Promise<boolean> {
    const { port, stateDir, vars, configPath } = this.#options;
    this.#log = "";
    const flags = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
    const args = [
      "dev",
      "--local",
      "--port",
      String(port),
      "--persist-to",
      stateDir,
      "--show-interactive-dev-session=false",
      ...(configPath === undefined ? [] : ["--config", configPath]),
    ];
    const child = spawn("wrangler", [...args, ...flags], {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, WRANGLER_SEND_METRICS: "false", NO_COLOR: "1", FORCE_COLOR: "0" },
    });
    this.#child = child;
    const keep = (data: Buffer): void => {
      this.#log = (this.#log + data.toString()).slice(-8_000);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    for (let tries = 0; tries < 300; tries++) {
      if (child.exitCode !== null) return false;
      if (await answers(this.url)) return true;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return false;
  }

  /** Kills the Worker for good and removes its state, because the state holds the conversation. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.kill();
    // The group's last members may still be dying with open files in this folder.
    await rm(this.#options.stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  /** Ends the whole group. The default is SIGKILL, so that no handler runs and nothing is flushed. */
  async kill(signal: "SIGKILL" | "SIGINT" = "SIGKILL"): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) return;
    this.#child = null;
    const gone = child.exitCode === null && child.signalCode === null ? once(child, "exit") : Promise.resolve();
    try {
      process.kill(-child.pid, signal);
    } catch {
      // The group is gone already.
    }
    await gone;
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}

/**
 * The ports that are tried where none is wanted. They lie below those that systems give to outgoing connections, so that no connection
 * takes a free one before the Worker has it.
 */
const LOWEST_PORT = 10_000;
const HIGHEST_PORT = 30_000;
const MOST_TRIES = 20;

/** Returns the wanted port, or any free one. Throws `invalid_options` when the wanted port is taken. */
export async function freePort(wanted: number | null = null): Promise<number> {
  let reason = "";
  for (let tries = 0; tries < (wanted === null ? MOST_TRIES : 1); tries++) {
    const port = wanted ?? randomInt(LOWEST_PORT, HIGHEST_PORT);
    const server = createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
  throw new PalimpsestError(
    "invalid_options",
    wanted === null
      ? `No free port was found on this machine (${reason}).`
      : `Port ${wanted} cannot be used (${reason}): leave --port out and one is found.`,
  );
}
