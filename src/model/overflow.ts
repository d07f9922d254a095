/** Whether a provider refused a prompt because it was too long: the moment for `compactNow`. */
import { classifyError } from "./failures.ts";

/** Knows the status codes and wordings of many providers, also inside `cause` and retry errors. */
export function isContextOverflow(error: unknown): boolean {
  return classifyError(error).code === "too-long";
}
