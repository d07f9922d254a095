/**
 * Refuses unknown options, because a misspelt name would otherwise be ignored silently.
 *
 * It checks names only. The user of an option checks its value.
 */
import { PalimpsestError } from "./errors.ts";

/** The names of an options type's fields. A missing or extra name does not compile. */
export type FieldNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** Throws `invalid_options` for an unknown field. `what` prefixes the message, as in `compactAfter` or `compactAfter: budget`. */
export function checkFields<Options>(what: string, options: Options | undefined, names: FieldNames<Options>): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new PalimpsestError("invalid_options", `${what} takes an object with: ${Object.keys(names).join(", ")}.`);
  }
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(names, name));
  if (unknown.length === 0) return;
  throw new PalimpsestError(
    "invalid_options",
    `${what}: ${unknown.join(", ")}: no such option. There are: ${Object.keys(names).join(", ")}.`,
  );
}
