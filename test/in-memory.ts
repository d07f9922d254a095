/**
 * Keeps the files of a test run in memory, where the system has a folder for that.
 *
 * A Durable Object syncs each transaction to the disk, and the tests make tens of thousands. On a disk they wait for it half of their time.
 * A killed process loses no more of such a folder than of a disk, because its files belong to the system.
 */
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Linux keeps what is written here in memory. */
const IN_MEMORY = "/dev/shm";
/** More than the files of `npm test`. A container's folder is often smaller, and then they stay on the disk. */
const ENOUGH_BYTES = 4_000_000_000;

/** Gives this process, and all that it starts, a temporary folder in memory until it ends. */
export function keepFilesInMemory(): void {
  // Each project evaluates the configuration once more, and a test may start another run.
  if (process.env["TMPDIR"]?.startsWith(IN_MEMORY) === true || freeBytes() < ENOUGH_BYTES) return;
  // Compiled code is kept from run to run, beside the folder of this one.
  process.env["NODE_COMPILE_CACHE"] ??= join(tmpdir(), "node-compile-cache");
  const folder = mkdtempSync(join(IN_MEMORY, "palimpsest-test-"));
  process.env["TMPDIR"] = folder;
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
}

function freeBytes(): number {
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
