/**
 * The JSON of any value, for what tools return. A tool has run by then, so nothing here refuses or throws.
 *
 * A date becomes its text, a map an object or a list of pairs, a set a list, a big number its digits, bytes a data URL, and an error its message. A
 * value inside itself, one that cannot be read, and one below the deepest level are named in brackets. All else is as `JSON.stringify` has it.
 */

/** Levels of objects and lists, well under what every JSON parser on the way can follow. */
const MAX_LEVELS = 200;
/** Bytes that are encoded at once, because a call takes only so many arguments. */
const PIECE_BYTES = 32_768;

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Undefined for what JSON leaves out of an object: nothing, functions and symbols. */
export function plain(value: unknown): Json | undefined {
  return plainIn(value, []);
}

function plainIn(value: unknown, around: readonly unknown[]): Json | undefined {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value !== "object") return undefined;
  if (around.includes(value)) return "[circular]";
  if (around.length >= MAX_LEVELS) return "[too deep]";
  try {
    return plainObject(value, [...around, value]);
  } catch {
    return "[unreadable]";
  }
}

function plainObject(value: object, around: readonly unknown[]): Json | undefined {
  if (Array.isArray(value)) return list(value, around);
  const bytes = bytesOf(value);
  if (bytes !== null) return `data:application/octet-stream;base64,${base64(bytes)}`;
  if (value instanceof Set) return list([...value], around);
  if (value instanceof Map) {
    const entries = [...value];
    const isRecord = entries.every(([key]) => typeof key === "string");
    return isRecord ? record(entries as [string, unknown][], around) : list(entries, around);
  }
  if (value instanceof Error)
    return record(
      [
        ["name", value.name],
        ["message", value.message],
      ],
      around,
    );
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return plainIn((toJSON as () => unknown).call(value), around);
  return record(Object.entries(value), around);
}

function list(values: readonly unknown[], around: readonly unknown[]): Json[] {
  return Array.from(values, (each) => plainIn(each, around) ?? null);
}

function record(entries: readonly (readonly [string, unknown])[], around: readonly unknown[]): Json {
  const kept = entries.flatMap(([key, each]): [string, Json][] => {
    const value = plainIn(each, around);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(kept);
}

function bytesOf(value: object): Uint8Array | null {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : null;
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES));
  }
  return btoa(text);
}
