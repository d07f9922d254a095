/**
 * Refuses an option that there is not: a name that is misspelt would do nothing, and say nothing.
 *
 * Boundary: names only; what each may hold is checked where it is used.
 */
import { PalimpsestError } from "./errors.ts";

/** The names of the fields of an options object: one that is missing here, or too much, does not compile. */
export type FieldNames<Options> = { readonly [Name in keyof Required<Options>]: true };

/** `what` is said in front of the name: `compactAfter`, or `compactAfter: budget`. Throws `invalid_options`. */
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
