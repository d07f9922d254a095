/**
 * Refuses unknown options, because a misspelt name would otherwise be ignored silently, and values that are no whole numbers.
 */
import { inWords, PalimpsestError } from "./errors.ts";

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

/** Throws `invalid_options` unless a value is a whole number from `least` to `most`. */
export function checkWhole(name: string, value: number, least: number, most = Infinity): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  const range = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  throw new PalimpsestError("invalid_options", `${name} is ${inWords(value)}: give a whole number ${range}.`);
}
