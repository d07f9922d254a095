/** Tells whether a provider refused a prompt because it was too long. That is the moment for `compactNow`. */
import { classifyError } from "./failures.ts";

/** Returns true for the status codes and wordings of many providers, also inside `cause` and retry errors. */
export function isContextOverflow(error: unknown): boolean {
  return classifyError(error).code === "too-long";
}
