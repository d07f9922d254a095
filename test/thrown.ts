/** The code of the error that the work throws. */
import { errorCode } from "../src/errors.ts";

export function codeOf(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    return errorCode(error);
  }
  return "nothing thrown";
}
