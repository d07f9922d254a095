/**
 * R3. A question with a sound and stored answer is not asked again.
 *
 * An answer counts from the first look that finds it among the drafts of its session. A forked session counts as its own, because a fork
 * finds its parent's drafts, but not the reverse.
 */
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import type { Answered, Summariser } from "../summariser.ts";
import { count } from "../tally.ts";
import { holds, type Seat, type World } from "../world.ts";

interface Look {
  readonly seat: Seat;
  /** Texts of the sound stored drafts. */
  readonly drafts: ReadonlySet<string>;
}

/** Length of a question's common beginning, which ends behind the requested sections. */
const SECTIONS_CHARS = 900;

export class PaidDrafts {
  /** Answers that no look has found stored yet. */
  #open: readonly Answered[] = [];
  /** The stored answer, by session and question. */
  readonly #stored = new Map<string, Answered>();

  readonly #model: Summariser;

  constructor(model: Summariser) {
    this.#model = model;
  }

  check(world: World, looks: readonly Look[]): void {
    const runs = new Map(
      world.seats.flatMap((seat) => seat.runs.map((run): [string, [RunRecord, Seat]] => [run.id, [run, seat]])),
    );
    const drafts = new Map(looks.map(({ seat, drafts }) => [seat.id, drafts]));
    for (const [key, { text }] of this.#stored) {
      const here = drafts.get(key.slice(0, key.indexOf("\n")));
      if (here !== undefined && !here.has(text.trim())) this.#stored.delete(key);
    }
    for (const { runId, question } of this.#model.asked.splice(0)) {
      const [run, seat] = runs.get(runId) ?? [];
      if (run === undefined || seat === undefined || question === null) continue;
      const first = runs.get(this.#stored.get(keyOf(seat, question))?.runId ?? "")?.[0];
      const again = first !== undefined && !run.fresh && sourcesOf(first) === sourcesOf(run);
      holds(
        "R3",
        !again,
        () => `run ${run.id} asked again what ${first?.id} has stored: ${question.slice(SECTIONS_CHARS)}`,
      );
      count(world.tally.checks, "R3");
    }
    this.#open = [...this.#open, ...this.#model.answered.splice(0)].filter((answer) => {
      const [run, seat] = runs.get(answer.runId) ?? [];
      const text = answer.text.trim();
      if (run === undefined || seat === undefined || answer.question === null) return false;
      if (drafts.get(seat.id)?.has(text) !== true) return true;
      // An answer to a fresh run is stored under a key of its own.
      if (!run.fresh) this.#stored.set(keyOf(seat, answer.question), answer);
      return false;
    });
  }
}

/** A message that grew reads the same up to its old end, but it is another source. */
function sourcesOf(run: RunRecord): string {
  const { plan, chunkDigests } = run;
  return JSON.stringify([chunkDigests, plan?.parts, run.kind === "notes" ? run.notes?.digest : undefined]);
}

function keyOf({ id }: Seat, question: string): string {
  return `${id}\n${question}`;
}
