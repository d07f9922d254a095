/**
 * Shows one line per step of a run and a progress bar for the replay. The bar redraws itself in a terminal only, so a log holds no control
 * characters.
 */
import type { RunEvent } from "../../src/agent/events.ts";
import type { Paint } from "../report/paint.ts";
import { progressBar } from "../report/table.ts";
import { clip, inert } from "../report/text.ts";

/** A terminal, or what stands for one. */
export type Screen = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns">;

export class Live {
  readonly #out: Screen;
  readonly #paint: Paint;
  readonly #shown = new Set<string>();
  #bar = "";

  constructor(out: Screen, paint: Paint) {
    this.#out = out;
    this.#paint = paint;
  }

  /** Prints a line above the bar. */
  line(text: string): void {
    this.#clear();
    this.#out.write(`${text}\n`);
    this.#draw();
  }

  progress(done: number, total: number, label: string): void {
    if (!this.#out.isTTY) return;
    this.#clear();
    const width = Math.min(100, this.#out.columns);
    this.#bar = clip(`  ${progressBar(done, total, 28)} ${label}`, width - 1);
    this.#draw();
  }

  run(event: RunEvent): void {
    const isProposed = event.state === "proposed";
    const key = `${event.runId}/${event.step ?? ""}/${event.attempt}/${isProposed ? event.state : (event.outcome?.kind ?? "")}`;
    if (this.#shown.has(key)) return;
    this.#shown.add(key);
    const name = this.#paint(`  run ${event.n}`, "dim");
    if (event.outcome !== null) this.line(`${name} ${this.#outcome(event)}`);
    else if (isProposed) this.line(`${name} ${this.#paint("proposed", "yellow")}: its summary waits for a person`);
    else if (event.step === null) this.line(`${name} starts (trigger: ${event.trigger})`);
    else
      this.line(
        `${name} ${progressBar(event.done, event.total, 10)} ${event.step}${event.attempt > 1 ? ` (attempt ${event.attempt})` : ""}`,
      );
  }

  done(): void {
    this.#clear();
    this.#bar = "";
  }

  #outcome({ outcome, modelCalls }: RunEvent): string {
    if (outcome === null) return "";
    const calls = `${modelCalls} model ${modelCalls === 1 ? "call" : "calls"}`;
    if (outcome.kind === "applied") {
      const sizes = `view ${outcome.tokensBefore} → ${outcome.tokensAfter} tokens, ${calls}${outcome.degraded ? ", degraded" : ""}`;
      return `${this.#paint(outcome.kind, "green")}: ${sizes}`;
    }
    return `${this.#paint(outcome.kind, "red")} ${"reason" in outcome ? inert(outcome.reason) : ""}`;
  }

  #clear(): void {
    if (this.#bar !== "") this.#out.write("\r\u001b[2K");
  }

  #draw(): void {
    if (this.#bar !== "") this.#out.write(this.#bar);
  }
}
