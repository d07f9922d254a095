/** The thoughts in the prompts of one turn (steps/view/thoughts.ts): which stay, and what those of a step were made on. */
import type { ModelMessage, StepResult, ToolSet } from "ai";
import { madeOn, marksOf, newIn, saidIn, staying, type Around, type Said } from "../steps/view/thoughts.ts";

/** Where the notes are kept. */
export interface Notes {
  prefixes(marks: readonly string[]): ReadonlyMap<string, string>;
  keep(prefixes: ReadonlyMap<string, string>): void;
}

export class Thoughts {
  readonly #notes: Notes;
  readonly #known = new Map<string, string | null>();
  #last: { readonly said: readonly Said[]; readonly around: Around } = { said: [], around: {} };

  constructor(notes: Notes) {
    this.#notes = notes;
  }

  /** The prompt without the thoughts that have something else before them than when they were made. */
  bound(messages: readonly ModelMessage[], around: Around): ModelMessage[] {
    const said = messages.map(saidIn);
    const whole = said.flat();
    const marks = marksOf(whole);
    this.#look(marks);
    const stays = marks.length === 0 ? null : staying(whole, around, (mark) => this.#known.get(mark));
    this.#last = { said: whole.filter((_, at) => stays?.[at] ?? true), around };
    if (stays === null || stays.every(Boolean)) return [...messages];
    let at = 0;
    return messages.flatMap((message, index): ModelMessage[] => {
      const from = at;
      at += said[index]?.length ?? 0;
      if (stays.slice(from, at).every(Boolean) || typeof message.content === "string") return [message];
      const content = message.content.filter((_, n) => stays[from + n]);
      return content.length === 0 ? [] : [{ ...message, content } as ModelMessage];
    });
  }

  /** Notes what the step's thoughts were made on, which is the last prompt and what the step said before them. */
  made(content: StepResult<ToolSet>["content"] = []): void {
    const step = content.map((part): Said => ({ speaker: "assistant", part: asPrompted(part) }));
    const prefixes = madeOn(this.#last.said, this.#last.around, step);
    if (prefixes.size === 0) return;
    for (const [mark, prefix] of prefixes) this.#known.set(mark, prefix);
    this.#notes.keep(prefixes);
  }

  /** What the thoughts of a stored reply were made on, as far as it came behind the last prompt. */
  madeOf(reply: readonly Said[]): ReadonlyMap<string, string> {
    const { said, around } = this.#last;
    return madeOn(said, around, newIn(reply, said));
  }

  #look(marks: readonly string[]): void {
    const unknown = marks.filter((mark) => typeof this.#known.get(mark) !== "string");
    if (unknown.length === 0) return;
    const found = this.#notes.prefixes(unknown);
    for (const mark of unknown) this.#known.set(mark, found.get(mark) ?? null);
  }
}

/** A part of a step as the next prompt has it. */
function asPrompted(part: object): object {
  return { ...part, providerOptions: (part as { providerMetadata?: unknown }).providerMetadata };
}
