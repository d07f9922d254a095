/** Settings in an agent's name, as in `busy?threshold=3000`. A workflow knows only the name of its agent. */

/** Null where the name does not have the setting. */
export function readSetting(name: string, key: string): string | null {
  return new URLSearchParams(name.split("?")[1]).get(key);
}
