/**
 * A session's view in the form of the rent rule, and its masks.
 *
 * Caches the size and the steps of the active view from append to append, and makes one edit in one transaction.
 * steps/decide decides when an edit is due. It is safe because the cache only follows appends, new content of the
 * leaf and its deletion. Any other change clears it, and it is read again from the rows.
 */
import type { UIMessage } from "ai";
import type { RentedView, ViewStep } from "../../steps/decide/rent.ts";
import type { CountTokens } from "../../steps/message/measure.ts";
import { stepCount } from "../../steps/message/slice.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import { namesText, type StubWords } from "../../steps/view/mask.ts";
import type { Encoded } from "../messages/content.ts";
import type { Tree } from "../messages/tree.ts";
import { wholeStep, type Mask, type NewMask } from "./masks.ts";
import { elementTokens, hasNames, shownSteps, walkShown, type Element } from "../messages/walk.ts";
import { comparePlaces, type Place } from "../messages/place.ts";
import { parseDetails } from "../overlays/details.ts";
import type { OverlayRow, ShapeRow } from "../statements.ts";
import { chooseMaskWords, budgetForNames, type Maskee } from "../../facts/mask-words.ts";

/** A view's mask, for reports. */
export interface MaskReport {
  /** The last message with a masked output, and the time of the mask in epoch ms. */
  readonly upTo: string;
  readonly since: number;
  /** Estimated tokens that stubs keep out of the view. */
  readonly tokens: number;
}

/** One edit. */
export interface MaskEdit {
  /** The last step of the view that it masks. */
  readonly toStep: number;
  /** Most tokens of the names beside the last stub. */
  readonly namesTokens: number;
  /** A span whose outputs stay whole. */
  readonly whole: Span | null;
}

/** The size of a view. */
export interface ViewSize {
  readonly tokens: number;
  /** Its elements. A summary is one, and so is the visible part of a message. */
  readonly messages: number;
}

interface Rented extends RentedView, ViewSize {
  /** The mask whose names are to be chosen anew. */
  readonly nameless: Mask | null;
  /** Tokens of the names that the view shows now. */
  readonly namesTokens: number;
  readonly steps: ViewStep[];
  readonly places: Place[];
  /** Null before the first message. */
  readonly leafSeq: number | null;
  /** The index of the leaf's first step. */
  readonly leafFrom: number;
}

interface SessionMasksOptions {
  readonly transaction: (work: () => void) => void;
  readonly now: () => number;
  readonly countTokens: CountTokens;
  /** Removes secrets, where the session removes them. No word beside a stub comes from them. */
  readonly redactMessage: (message: UIMessage) => UIMessage;
  /** Called inside the transaction of an edit. */
  readonly changed: () => void;
}

export class SessionMasks {
  readonly #tree: Tree;
  readonly #options: SessionMasksOptions;
  #rented: Rented | null = null;

  constructor(tree: Tree, options: SessionMasksOptions) {
    this.#tree = tree;
    this.#options = options;
  }

  /**
   * The active view with its requests and rents. The first read costs a row for each visible message and two for each
   * overlay, and later ones none. Null for an empty session.
   */
  rented(): RentedView | null {
    const view = this.#view();
    return view.leafSeq === null ? null : view;
  }

  /** The size of the active view. It costs what {@link rented} does. */
  size(): ViewSize {
    const { tokens, messages } = this.#view();
    return { tokens, messages };
  }

  #view(): Rented {
    const leafSeq = this.#tree.newest()?.seq ?? null;
    if (this.#rented?.leafSeq !== leafSeq) this.#rented = null;
    return (this.#rented ??= this.#read(leafSeq));
  }

  /** The mask on the active path. Null when there is none. Reads the view without content. */
  report(): MaskReport | null {
    const leaf = this.#tree.newest();
    const mask = leaf === null ? null : this.#tree.masks.at({ seq: leaf.seq, step: WHOLE_MESSAGE });
    if (mask === null) return null;
    const tokens = this.#shown()
      .flatMap(maskedTokens)
      .reduce((sum, each) => sum + each, 0);
    return tokens === 0 ? null : { upTo: this.#tree.shape(mask.place.seq).id, since: mask.createdAt, tokens };
  }

  /**
   * Masks the outputs of the active view up to a step of {@link rented}, in one row, except those of a span that is to
   * stay whole. Reads the view. Returns false if the view changed since.
   */
  mask(view: RentedView, { toStep, namesTokens, whole }: MaskEdit): boolean {
    const known = this.#rented;
    const [place, top] = [known?.places[toStep], known?.places.at(-1)];
    if (known === null || known !== view || place === undefined || top === undefined) return false;
    const { now } = this.#options;
    const due = known.places.slice(0, toStep + 1).filter((_, n) => (known.steps[n]?.maskable ?? 0) > 0);
    const stays = this.#isWithin(whole);
    const wholeWords = this.#wholeWords(due.filter((at) => stays(at)));
    const namesAt = due.findLast((at) => !stays(at)) ?? place;
    const budget = { shownTokens: known.namesTokens, freedTokens: this.freed(view, toStep, whole).outside };
    const { stubs, ...names } = this.#choose(this.#maskees(place, wholeWords), namesTokens, budget);
    this.#options.transaction(() => {
      this.#tree.masks.add({ place, top, stubs: { ...stubs, ...wholeWords }, ...names, namesAt, at: now() });
      this.#options.changed();
    });
    return true;
  }

  /**
   * Chooses the names of the active view anew where a change took them or a summary hid them, and puts them beside its last stub. `tokens`
   * is the most that they may take.
   * Reads the view then, and otherwise no row.
   */
  renewNames(namesTokens: number): void {
    this.rented();
    const mask = this.#rented?.nameless ?? null;
    if (mask === null) return;
    let [namesAt, freedTokens] = [mask.place, 0];
    for (const element of this.#shown()) {
      for (const [offset, tokens] of maskedTokens(element).entries()) {
        if (tokens > 0 && element.kind === "message")
          namesAt = { seq: element.row.seq, step: element.fromStep + offset };
        freedTokens += tokens;
      }
    }
    const chosen = this.#choose(this.#maskees(mask.place, {}), namesTokens, { shownTokens: 0, freedTokens });
    this.#options.transaction(() => {
      this.#tree.masks.rename(mask, { ...chosen, namesAt });
      this.#options.changed();
    });
  }

  /** Chooses words of stubs, and names that fit by the session's own counter. */
  #choose(
    maskees: readonly Maskee[],
    namesTokens: number,
    budget: { readonly shownTokens: number; readonly freedTokens: number },
  ): Pick<NewMask, "stubs" | "names" | "namesTokens"> {
    const { stubs, names } = chooseMaskWords(maskees, budgetForNames({ namesTokens, ...budget }));
    const most = budgetForNames({ namesTokens: Infinity, ...budget });
    return { stubs, ...fitNames(names, most, this.#options.countTokens) };
  }

  /** The active view without content, oldest first. */
  #shown(): Element[] {
    const leaf = this.#tree.newest();
    if (leaf === null) return [];
    return [...walkShown(this.#tree, { seq: leaf.seq, step: WHOLE_MESSAGE }, { content: false })].toReversed();
  }

  /** Tokens that a mask up to a step of {@link rented} removes from a span, and from the rest of the view. */
  freed(view: RentedView, toStep: number, span: Span | null): { readonly within: number; readonly outside: number } {
    const isWithin = this.#isWithin(span);
    const places = this.#rented === view ? this.#rented.places : [];
    const freed = { within: 0, outside: 0 };
    for (const [n, at] of places.slice(0, toStep + 1).entries())
      freed[isWithin(at) ? "within" : "outside"] += view.steps[n]?.maskable ?? 0;
    return freed;
  }

  /** Whether a place is in a span. None is where the span is gone. */
  #isWithin(span: Span | null): (at: Place) => boolean {
    const [first, last] = span === null ? [null, null] : [this.#tree.find(span.fromId), this.#tree.find(span.toId)];
    if (span === null || first === null || last === null) return () => false;
    const from = { seq: first.seq, step: span.fromStep };
    const to = { seq: last.seq, step: span.toStep };
    return (at) => comparePlaces(at, to) <= 0 && comparePlaces(at, from) >= 0;
  }

  /** The outputs of some steps, as outputs that stay whole. */
  #wholeWords(places: readonly Place[]): StubWords {
    return Object.assign({}, ...places.map(({ seq, step }) => wholeStep(this.#tree.shape(seq), step))) as StubWords;
  }

  /** Call it when a message was appended. `grown` is false when it is on another branch than the leaf. */
  appended({
    seq,
    grown,
    encoded,
  }: {
    seq: number;
    grown: boolean;
    encoded: Pick<Encoded, "id" | "role" | "facts">;
  }): void {
    const known = this.#rented;
    if (known === null || !grown) return this.changed();
    this.#rented = { ...extended(known, known.steps.length, { seq, ...encoded }), messages: known.messages + 1 };
  }

  /** Call it when the leaf has new content. */
  grown(seq: number, encoded: Pick<Encoded, "id" | "role" | "facts">): void {
    const known = this.#rented;
    const mask = known?.leafSeq === seq ? this.#tree.masks.at({ seq, step: WHOLE_MESSAGE }) : null;
    const isCut = known?.places[known.leafFrom]?.step !== 0;
    if (known === null || known.leafSeq !== seq || mask?.place.seq === seq || isCut) return this.changed();
    this.#rented = extended(known, known.leafFrom, { seq, ...encoded });
  }

  /**
   * Call it before messages are deleted. Where that is the leaf alone, as before a regeneration, its parent's view is the same without it.
   * `reached` tells that an overlay may show there.
   */
  removed([row, ...others]: readonly ShapeRow[], reached: boolean): void {
    const known = this.#rented;
    const isLeaf = row !== undefined && row.seq === known?.leafSeq && row.parentSeq !== null && others.length === 0;
    const mask = isLeaf && !reached ? this.#tree.masks.at({ seq: row.seq, step: WHOLE_MESSAGE }) : null;
    if (known === null || !isLeaf || reached || mask?.place.seq === row.seq) return this.changed();
    const { steps, places, tokens } = cut(known, known.leafFrom);
    this.#rented = {
      ...known,
      tokens,
      messages: known.messages - 1,
      leafSeq: row.parentSeq,
      leafFrom: places.findIndex(({ seq }) => seq === row.parentSeq),
      sinceEdit: Math.min(known.sinceEdit, steps.length),
      sinceSummary: Math.min(known.sinceSummary, steps.length),
    };
  }

  changed(): void {
    this.#rented = null;
  }

  #read(leafSeq: number | null): Rented {
    const elements = this.#shown();
    const [steps, places]: [ViewStep[], Place[]] = [[], []];
    let [leafFrom, sinceSummary, fresh] = [0, 0, 0];
    for (const element of elements) {
      leafFrom = steps.length;
      if (element.kind === "overlay") {
        steps.push({ tokens: elementTokens(element), maskable: 0, isRequest: false, message: element.overlay.toSeq });
        places.push({ seq: element.overlay.toSeq, step: element.overlay.toStep });
        fresh = steps.length;
        continue;
      }
      for (const [offset, step] of stepsOf(element).entries()) {
        steps.push(step);
        places.push({ seq: element.row.seq, step: element.fromStep + offset });
      }
    }
    const last = elements.findLast((element) => element.kind === "overlay");
    if (last !== undefined) sinceSummary = afterSummary(elements, last.overlay);
    const mask = leafSeq === null ? null : this.#tree.masks.at({ seq: leafSeq, step: WHOLE_MESSAGE });
    const tokens = sumOf(steps);
    const messages = elements.length;
    const behind = mask === null ? 0 : places.findIndex((at) => comparePlaces(at, mask.top) > 0);
    const sinceEdit = Math.max(sinceSummary, behind === -1 ? steps.length : behind);
    const isNamed = mask !== null && elements.some((each) => each.kind === "message" && hasNames(each, mask));
    // A summary hid the step at which they stood, and left stubs in view.
    const isHidden = !isNamed && elements.some((each) => maskedTokens(each).some(Boolean));
    // Another branch may show them still, and its view must not change.
    const isFree = mask?.names === null || (mask !== null && isHidden && !this.#tree.isForkedFrom(mask.place.seq));
    const nameless = isFree ? mask : null;
    const namesTokens = isNamed ? mask.namesTokens : 0;
    return {
      steps,
      places,
      tokens,
      messages,
      leafSeq,
      leafFrom,
      sinceSummary,
      sinceEdit,
      fresh,
      nameless,
      namesTokens,
    };
  }

  /** The messages of the view with the steps that are masked already and those that the edit masks. */
  #maskees(to: Place, wholeWords: StubWords): Maskee[] {
    const leaf = this.#tree.newest();
    if (leaf === null) return [];
    const walked = [...walkShown(this.#tree, { seq: leaf.seq, step: WHOLE_MESSAGE }, { content: true })];
    const elements = walked.flatMap((element) => (element.kind === "message" ? [element] : [])).toReversed();
    this.#tree.contents.need(elements.map(({ row }) => row));
    return elements.map(({ row, fromStep, toStep, masked }) => {
      const message = this.#options.redactMessage(this.#tree.decode(row));
      const end = stepCount(message) - 1;
      const last = row.seq < to.seq ? end : row.seq === to.seq ? Math.min(to.step, end) : -1;
      return {
        message,
        shown: { from: fromStep, to: Math.min(toStep, end) },
        toStep: row.role === "assistant" && last >= fromStep ? last : null,
        maskedTo: masked === undefined ? -1 : Math.min(masked.toStep, end),
        words: { ...masked?.mask.wordsOf(row.seq), ...wholeWords },
      };
    });
  }
}

/** As many of the names as fit by the session's own counter. Long numbers take more tokens than words of their length. */
function fitNames(
  chosen: readonly string[],
  most: number,
  countTokens: CountTokens,
): { readonly names: readonly string[]; readonly namesTokens: number } {
  let names = chosen;
  let namesTokens = countTokens(namesText(names));
  while (names.length > 0 && namesTokens > most) {
    names = names.slice(0, Math.floor((names.length * most) / namesTokens));
    namesTokens = countTokens(namesText(names));
  }
  return { names, namesTokens: names.length === 0 ? 0 : namesTokens };
}

/**
 * The view with a leaf in the place of all steps from `leafFrom` on. Another object, so that an edit based on the earlier view is refused.
 */
function extended(known: Rented, leafFrom: number, row: Pick<ShapeRow, "seq" | "id" | "role" | "facts">): Rented {
  const { steps, places, tokens } = cut(known, leafFrom);
  const own = stepsOf({ row, fromStep: 0, toStep: WHOLE_MESSAGE });
  steps.push(...own);
  places.push(...own.map((_, step) => ({ seq: row.seq, step })));
  return { ...known, tokens: tokens + sumOf(own), leafSeq: row.seq, leafFrom };
}

/** Takes the steps from a place on out of a view. */
function cut({ steps, places, tokens }: Rented, from: number): Pick<Rented, "steps" | "places" | "tokens"> {
  places.length = from;
  return { steps, places, tokens: tokens - sumOf(steps.splice(from)) };
}

function sumOf(steps: readonly ViewStep[]): number {
  return steps.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** The visible steps of a message for the rent rule. */
function stepsOf(element: Parameters<typeof shownSteps>[0] & { readonly row: { readonly role: string } }): ViewStep[] {
  const { seq: message, role } = element.row;
  const isRequest = role === "assistant";
  return shownSteps(element).map(({ tokens, maskable }) => ({ tokens, maskable, isRequest, message }));
}

/** For each visible step, the tokens that stubs keep out of the view. */
function maskedTokens(element: Element): readonly number[] {
  return element.kind === "overlay" ? [] : shownSteps(element).map(({ masked }) => masked);
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
    for (const { tokens, masked } of shownSteps(element)) {
      const isOld = boundary === null ? element.row.seq <= overlay.topSeq : left > 0;
      if (isBehindIt && !isOld) return at;
      if (isBehindIt) left -= tokens + masked;
      at++;
    }
  }
  return at;
}
