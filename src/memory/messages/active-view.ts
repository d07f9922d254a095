/**
 * The size of a session's active view, and its steps for the rent rule.
 *
 * Caches both from append to append. It is safe because the cache only follows appends, new content of the leaf and its deletion. Any other
 * change clears it, and it is read again from the rows.
 */
import type { RentedView, ViewStep } from "../../steps/decide/decide.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { parseDetails } from "../overlays/overlay.ts";
import type { OverlayRow, ShapeRow } from "../statements.ts";
import type { Encoded } from "./content.ts";
import type { Tree } from "./tree.ts";
import { elementTokens, shownSteps, walkView, type Element, type MessagePart } from "./walk.ts";

/** The size of a view. */
export interface ViewSize {
  readonly tokens: number;
  /** Its elements. A summary is one, and so is the visible part of a message. */
  readonly messages: number;
}

interface Weighed extends RentedView, ViewSize {
  readonly steps: ViewStep[];
  /** Null before the first message. */
  readonly leafSeq: number | null;
  /** The index of the leaf's first step. */
  readonly leafFrom: number;
}

type Content = Pick<Encoded, "role" | "facts">;

export class ActiveView {
  readonly #tree: Tree;
  #known: Weighed | null = null;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** The size of the view. The first read costs a row for each visible message and two for each overlay, and later ones none. */
  size(): ViewSize {
    const { tokens, messages } = this.#view();
    return { tokens, messages };
  }

  /** The view with its requests. Null for an empty session. It costs what {@link size} does. */
  rented(): RentedView | null {
    const view = this.#view();
    return view.leafSeq === null ? null : view;
  }

  /** Call it when a message was appended. `grown` is false when it is on another branch than the leaf. */
  appended({ seq, grown, encoded }: { seq: number; grown: boolean; encoded: Content }): void {
    const known = this.#known;
    if (known === null || !grown) this.changed();
    else this.#known = { ...extended(known, known.steps.length, { seq, ...encoded }), messages: known.messages + 1 };
  }

  /** Call it when the leaf has new content and no overlay ends in it. */
  grown(seq: number, encoded: Content): void {
    const known = this.#known;
    if (known === null || !showsLeaf(known, seq)) this.changed();
    else this.#known = extended(known, known.leafFrom, { seq, ...encoded });
  }

  /**
   * Call it before messages are deleted. Where that is the leaf alone, as before a regeneration, its parent's view is the same without it.
   * `reached` tells that an overlay may show there.
   */
  removed([row, ...others]: readonly ShapeRow[], reached: boolean): void {
    const known = this.#known;
    const isLeaf = row !== undefined && known !== null && showsLeaf(known, row.seq) && row.parentSeq !== null;
    if (!isLeaf || reached || others.length > 0) return this.changed();
    const { steps, tokens } = cut(known, known.leafFrom);
    this.#known = {
      ...known,
      tokens,
      messages: known.messages - 1,
      leafSeq: row.parentSeq,
      leafFrom: steps.findIndex(({ message }) => message === row.parentSeq),
      sinceSummary: Math.min(known.sinceSummary, steps.length),
    };
  }

  changed(): void {
    this.#known = null;
  }

  #view(): Weighed {
    const leafSeq = this.#tree.newest()?.seq ?? null;
    if (this.#known?.leafSeq !== leafSeq) this.#known = null;
    return (this.#known ??= this.#read(leafSeq));
  }

  #read(leafSeq: number | null): Weighed {
    const start = leafSeq === null ? null : { seq: leafSeq, step: WHOLE_MESSAGE };
    const elements = start === null ? [] : [...walkView(this.#tree, start, { content: false })].toReversed();
    const steps: ViewStep[] = [];
    let [leafFrom, fresh] = [0, 0];
    for (const element of elements) {
      leafFrom = steps.length;
      if (element.kind === "message") {
        steps.push(...stepsOf(element));
      } else {
        steps.push({ tokens: elementTokens(element), isRequest: false, message: element.overlay.toSeq });
        fresh = steps.length;
      }
    }
    const last = elements.findLast((element) => element.kind === "overlay");
    const sinceSummary = last === undefined ? 0 : afterSummary(elements, last.overlay);
    return { steps, tokens: sumOf(steps), messages: elements.length, leafSeq, leafFrom, sinceSummary, fresh };
  }
}

/** False where the host pruned the leaf. */
function showsLeaf({ leafSeq, leafFrom, steps }: Weighed, seq: number): boolean {
  return leafSeq === seq && steps[leafFrom]?.message === seq;
}

/** The view with a leaf in the place of all steps from `leafFrom` on. */
function extended(known: Weighed, leafFrom: number, row: Content & { readonly seq: number }): Weighed {
  const { steps, tokens } = cut(known, leafFrom);
  const own = stepsOf({ row, fromStep: 0, toStep: WHOLE_MESSAGE });
  steps.push(...own);
  return { ...known, tokens: tokens + sumOf(own), leafSeq: row.seq, leafFrom };
}

/** Takes the steps from a place on out of a view. */
function cut({ steps, tokens }: Weighed, from: number): Pick<Weighed, "steps" | "tokens"> {
  return { steps, tokens: tokens - sumOf(steps.splice(from)) };
}

function sumOf(steps: readonly ViewStep[]): number {
  return steps.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** The visible steps of a message for the rent rule. */
function stepsOf(part: MessagePart & { readonly row: Content & { readonly seq: number } }): ViewStep[] {
  const { seq: message, role } = part.row;
  return shownSteps(part).map((tokens) => ({ tokens, isRequest: role === "assistant", message }));
}

/** The first step after a summary and the part that it left in view. */
function afterSummary(elements: readonly Element[], overlay: OverlayRow): number {
  const { boundary } = parseDetails(overlay.details);
  let left = boundary?.kept.tailTokens ?? 0;
  let at = 0;
  let isBehindIt = false;
  for (const element of elements) {
    if (element.kind === "overlay") {
      at++;
      if (element.overlay.n === overlay.n) isBehindIt = true;
      continue;
    }
    for (const tokens of shownSteps(element)) {
      const isOld = boundary === null ? element.row.seq <= overlay.topSeq : left > 0;
      if (isBehindIt && !isOld) return at;
      if (isBehindIt) left -= tokens;
      at++;
    }
  }
  return at;
}
