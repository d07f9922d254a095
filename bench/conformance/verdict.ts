import type { Fact } from "./fact.ts";
import { isNoSuchThing, type Store } from "./store.ts";

const TIMEOUT_MS = 15_000;

/** The result of checking one fact on one store. `none` means that the store lacks the feature. */
export type Verdict =
  | { readonly kind: "holds" }
  | { readonly kind: "fails"; readonly why: string }
  | { readonly kind: "none"; readonly why: string };

/** Checks a fact on a store that nothing was stored in. Never rejects. */
export async function judge(fact: Fact, store: Store): Promise<Verdict> {
  const timeoutMs = fact.timeoutMs ?? TIMEOUT_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    await Promise.race([fact.check(store), late]);
    return { kind: "holds" };
  } catch (error) {
    const why = shorten(error instanceof Error ? error.message : String(error));
    return isNoSuchThing(error) ? { kind: "none", why } : { kind: "fails", why };
  } finally {
    clearTimeout(timer);
  }
}

/** The beginning of a comparison of long conversations is enough. */
function shorten(why: string): string {
  const line = why.replaceAll(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
