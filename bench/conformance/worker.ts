/** Checks one fact on one store. `GET /?store=Ours&fact=tree/chain` answers a {@link Verdict}. */
import { FACTS } from "./facts.ts";
import { openStore, type DeskMethods } from "./remote.ts";
import { isNoSuchThing } from "./store.ts";
import type { Verdict } from "./verdict.ts";

export { CompactionWorkflow, Ours } from "./objects/ours.ts";
export { Sdk020 } from "./objects/sdk-020.ts";
export { Sdk032 } from "./objects/sdk-032.ts";

interface Desks {
  getByName(name: string): DeskMethods;
}

const TIMEOUT_MS = 15_000;

export default {
  async fetch(request, env) {
    const asked = new URL(request.url).searchParams;
    const fact = FACTS.find(({ id }) => id === asked.get("fact"));
    const desks = (env as unknown as Record<string, Desks | undefined>)[asked.get("store") ?? ""];
    if (fact === undefined || desks === undefined)
      return new Response("There is no such fact or store.", { status: 404 });
    // Each fact gets an object of its own, and functions that live as long as this request.
    const store = openStore(() => desks.getByName(fact.id));
    return Response.json(await judge(fact.check(store), fact.timeoutMs ?? TIMEOUT_MS));
  },
} satisfies ExportedHandler<Cloudflare.Env>;

async function judge(check: Promise<void>, timeoutMs: number): Promise<Verdict> {
  const late = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`No answer within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    await Promise.race([check, late]);
    return { kind: "holds" };
  } catch (error) {
    const why = shorten(error instanceof Error ? error.message : String(error));
    return isNoSuchThing(error) ? { kind: "none", why } : { kind: "fails", why };
  }
}

/** The beginning of a comparison of long conversations is enough. */
function shorten(why: string): string {
  const line = why.replaceAll(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
