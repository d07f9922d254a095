/** Checks one fact on one store. `GET /?store=Ours&fact=tree/chain` answers a {@link Verdict}. */
import { FACTS } from "./facts.ts";
import { openStore, type DeskMethods } from "./remote.ts";
import { judge } from "./verdict.ts";

export { CompactionWorkflow, Ours } from "./objects/ours.ts";
export { Sdk020 } from "./objects/sdk-020.ts";
export { Sdk032 } from "./objects/sdk-032.ts";

interface Desks {
  getByName(name: string): DeskMethods;
}

export default {
  async fetch(request, env) {
    const asked = new URL(request.url).searchParams;
    const fact = FACTS.find(({ id }) => id === asked.get("fact"));
    const desks = (env as unknown as Record<string, Desks | undefined>)[asked.get("store") ?? ""];
    if (fact === undefined || desks === undefined)
      return new Response("There is no such fact or store.", { status: 404 });
    // Each fact gets an object of its own, and functions that live as long as this request.
    const store = openStore(() => desks.getByName(fact.id));
    return Response.json(await judge(fact, store));
  },
} satisfies ExportedHandler<Cloudflare.Env>;
