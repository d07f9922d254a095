/**
 * What stands beside a summary word for word: the user's standing instructions, what the user said, and texts that were loaded.
 *
 * Shapes only. They are plain JSON and bounded in number and size, so they fit a row for a conversation of any length.
 */
/** One loaded text in its last state. */
export interface Loaded {
  readonly kind: "document" | "skill" | "context" | "plan";
  /** A path, a skill's name, or the name of the list. */
  readonly name: string;
  /** Word for word. Empty where it is too long to keep, or not known any more. */
  readonly text: string;
  readonly characters: number;
  readonly messageId: string;
  /** Changes of a text that an earlier part may have loaded. */
  readonly edits?: readonly Edit[];
  /** Set where the text may have changed since. It is not shown until it is loaded again. */
  readonly doubted?: true;
  /** Changes of single tasks, where an earlier part may have the list. */
  readonly tasks?: readonly Task[];
}

/** A change of a text by a tool. */
export type Edit = Readonly<Record<"from" | "to", string> & { all: boolean }>;

/** One task of a list. */
export type Task = Readonly<Record<"id" | "text" | "status", string>>;

/**
 * An instruction of the user that holds until the user ends it. The model chose it, and its words stand in the user's message. Or what a
 * system message says, which no model chose and no user ends.
 */
export interface Instruction {
  /** A slice of the message, without its line breaks. */
  readonly quote: string;
  readonly messageId: string;
  readonly system?: true;
  /** The later message of the user that had ended it before a person restored it. Only a still later one may end it again. */
  readonly restored?: string;
  /** Set where a summary shows it in short, because many long ones have no room. */
  readonly brief?: true;
}

/** An instruction that does not hold any more. */
export interface EndedInstruction extends Instruction {
  /** The user's later message that ended it, and a slice of that. Where it was `left`, the newest instruction by then. */
  readonly by: { readonly messageId: string; readonly quote: string };
  /** Set where nobody ended it. So many came since that it has no place. */
  readonly left?: true;
}

/** What the user said in one message, whole or shortened. */
export interface Saying {
  readonly messageId: string;
  readonly text: string;
  /** Characters that were left out of it. */
  readonly left: number;
}

/** What some messages leave behind. Each list is in the order of the messages. */
export interface Facts {
  readonly instructions: readonly Instruction[];
  readonly ended: readonly EndedInstruction[];
  readonly said: readonly Saying[];
  /** Instruction files, skills and the plan, as they last stood. */
  readonly loaded: readonly Loaded[];
}

export const NO_FACTS: Facts = { instructions: [], ended: [], said: [], loaded: [] };

/** What is shown beside one summary. */
export interface Pinned extends Omit<Facts, "loaded"> {
  /** Instructions that hold at its end, also of earlier summaries. An earlier summary shows none that a later one knows. */
  readonly instructions: readonly Instruction[];
  /** Shown to a person only. */
  readonly ended: readonly EndedInstruction[];
  /** Of its own span. */
  readonly said: readonly Saying[];
  /** Of all that is hidden. Only the last summary of a view shows them. One without room is without its text. */
  readonly loaded: readonly Pick<Loaded, "kind" | "name" | "text" | "characters" | "messageId">[];
  /** Identifiers and quotations of the summary that stand nowhere in what the model was shown. */
  readonly unfounded: readonly string[];
}

export const NOTHING_PINNED: Pinned = { instructions: [], ended: [], said: [], loaded: [], unfounded: [] };

/** The text of a context block when the overlay was added. */
export interface Carried {
  readonly label: string;
  readonly text: string;
}

/** How the conversation began, word for word, where an overlay hides those messages. */
export interface Opening {
  /** The last message that the text quotes. The overlay is invalidated when that message changes. */
  readonly messageId: string;
  readonly text: string;
}

/** What stays beside a summary with a later one behind it. One that knows of it shows its instructions. */
export function besideEarlier(pinned: Pinned, showsInstructions = false): Pinned {
  return { ...pinned, instructions: showsInstructions ? pinned.instructions : [], loaded: [] };
}

/** The rest where the named entries of context blocks stand elsewhere or were put away. Names are asked for only where there is one. */
export function withoutDocuments(pinned: Pinned, names: () => ReadonlySet<string> = () => new Set()): Pinned {
  if (!pinned.loaded.some(({ kind }) => kind === "context")) return pinned;
  const left = names();
  return { ...pinned, loaded: pinned.loaded.filter(({ kind, name }) => kind !== "context" || !left.has(name)) };
}
