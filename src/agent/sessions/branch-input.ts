/**
 * Reads the branch of a call in the forms that callers of the SDK's sessions use.
 *
 * Safe because any other form is refused before a read. An object taken for an id would be an id that nobody can find.
 */
import { PalimpsestError } from "../../errors.ts";
import { checkGiven, given } from "../inputs.ts";

/** A message's id or `{ leafId }` names the branch that ends there. Undefined or null is the active one. */
export type LeafInput = string | null | { readonly leafId?: string | null | undefined } | undefined;

/** A message's id, null for a new root, or `{ parentId }` with either. Undefined is the active leaf. */
export type ParentInput = string | null | { readonly parentId?: string | null | undefined } | undefined;

/** Throws `invalid_input`. */
export function leafOf(leaf: LeafInput): string | undefined {
  return idIn(leaf, "leafId") ?? undefined;
}

/** Throws `invalid_input`. */
export function parentOf(parent: ParentInput): string | null | undefined {
  return idIn(parent, "parentId");
}

function idIn(input: unknown, field: "leafId" | "parentId"): string | null | undefined {
  const isObject = typeof input === "object" && input !== null && Object.keys(input).every((key) => key === field);
  const id: unknown = isObject ? Reflect.get(input, field) : input;
  if (id === undefined || id === null) return id;
  if (typeof id === "string") {
    if (field === "leafId") checkGiven(given.leaf, { leafId: id });
    else checkGiven(given.parent, { parentId: id });
    return id;
  }
  const fields = typeof input === "object" && input !== null ? ` with ${Object.keys(input).join(", ")}` : "";
  throw new PalimpsestError(
    "invalid_input",
    `${field} is of type ${typeof input}${fields}: give a message's id, or { ${field} } with one and nothing else.`,
  );
}
