/** Settings in an agent's name, as in `busy?threshold=3000`: all that a workflow knows of the agent that it works for. */

/** Null where the name does not say. */
export function readSetting(name: string, key: string): string | null {
  return new URLSearchParams(name.split("?")[1]).get(key);
}
