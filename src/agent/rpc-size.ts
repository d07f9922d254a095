/**
 * The size of what a call returns.
 *
 * The platform refuses a larger result with an error of its own, which names neither the call nor a remedy.
 */
import { PalimpsestError } from "../errors.ts";
import { RPC_MAX_BYTES } from "../limits.ts";

/** Bytes of a value beside its strings, such as its type and its length. */
const VALUE_BYTES = 8;

/** Throws `too_large` for a result that no other object or Worker would get. */
export function checkResult<Result>(result: Result): Result {
  const bytes = bytesOf(result);
  if (bytes <= RPC_MAX_BYTES) return result;
  const size = `${Math.ceil(bytes / 1024 / 1024)} MiB`;
  throw new PalimpsestError(
    "too_large",
    `The answer takes ${size}, and the platform passes at most 32 MiB between objects. Read a part: getRecentHistory takes maxBytes, getView takes maxTokens, and getMessage reads one message. Or read it inside the agent, with Session.create(this).getView().`,
  );
}

/** Bytes of a value on its way, by the lengths of its strings. Reads no characters of strings that fit in any case. */
function bytesOf(result: unknown): number {
  const strings: string[] = [];
  let chars = 0;
  let bytes = 0;
  const left: unknown[] = [result];
  while (left.length > 0) {
    const value = left.pop();
    bytes += VALUE_BYTES;
    if (typeof value === "string") {
      strings.push(value);
      chars += value.length;
    } else if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
      bytes += value.byteLength;
    } else if (typeof value === "object" && value !== null) {
      for (const [key, each] of Object.entries(value)) {
        bytes += key.length;
        left.push(each);
      }
    }
  }
  // Two bytes a character at most.
  if (bytes + 2 * chars <= RPC_MAX_BYTES) return bytes + 2 * chars;
  return strings.reduce((sum, text) => sum + (hasWide(text) ? 2 : 1) * text.length, bytes);
}

function hasWide(text: string): boolean {
  return /[^\0-\xff]/.test(text);
}
