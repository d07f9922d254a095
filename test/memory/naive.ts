/**
 * The simplest possible memory, as lists. Every question computes its answer anew.
 *
 * It answers from all rows what src/memory answers from few. It knows nothing of `seq`, cursors or caches.
 */
import type { UIMessage } from "ai";
import { measureMessage, messageSteps, sliceMessage } from "../../src/steps/message/message.ts";
import { WHOLE_MESSAGE, type Span } from "../../src/steps/plan/outline.ts";
import { summaryMessage } from "../../src/facts/render.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

interface Node {
  message: UIMessage;
  parent: string | null;
}

interface Cover {
  id: string;
  span: Span;
  summary: string;
  tokens: number;
  active: boolean;
}

export interface NaiveElement {
  readonly kind: "message" | "overlay";
  readonly id: string;
  readonly fromStep: number;
  readonly toStep: number;
  readonly tokens: number;
}

/** One step of one message. */
interface Atom {
  readonly id: string;
  readonly step: number;
  readonly last: boolean;
  readonly tokens: number;
}

export class Naive {
  /** In the order in which they were stored. */
  nodes: Node[] = [];
  covers: Cover[] = [];

  copy(): Naive {
    const copy = new Naive();
    copy.nodes = structuredClone(this.nodes);
    copy.covers = structuredClone(this.covers);
    return copy;
  }

  get ids(): string[] {
    return this.nodes.map((node) => node.message.id);
  }

  get leaf(): string | null {
    return this.ids.at(-1) ?? null;
  }

  find(id: string): Node | undefined {
    return this.nodes.find((node) => node.message.id === id);
  }

  children(id: string | null): string[] {
    return this.nodes.filter((node) => node.parent === id).map((node) => node.message.id);
  }

  /** Root to leaf. */
  path(leaf: string | null): string[] {
    const node = leaf === null ? undefined : this.find(leaf);
    return node === undefined ? [] : [...this.path(node.parent), node.message.id];
  }

  append(message: UIMessage, parent: string | null | undefined): void {
    if (this.find(message.id) === undefined)
      this.nodes.push({ message, parent: parent === undefined ? this.leaf : parent });
  }

  update(message: UIMessage): void {
    const node = this.find(message.id);
    if (node === undefined) return;
    for (const cover of this.covers.filter((each) => each.active && this.covers1(each, message.id))) {
      const [from, to] = this.part(cover, message.id);
      const same = JSON.stringify(node.message) === JSON.stringify(message);
      const partial = from > 0 || to < WHOLE_MESSAGE;
      const kept = partial && partText(node.message, from, to) === partText(message, from, to);
      if (!same && !kept) cover.active = false;
    }
    node.message = message;
  }

  delete(ids: readonly string[]): void {
    for (const id of ids) {
      const node = this.find(id);
      if (node === undefined) continue;
      for (const cover of this.covers) if (this.covers1(cover, id)) cover.active = false;
      for (const child of this.nodes) if (child.parent === id) child.parent = node.parent;
      this.nodes = this.nodes.filter((each) => each !== node);
    }
  }

  clear(): void {
    this.nodes = [];
    this.covers = [];
  }

  /** Adds a cover without checking whether it is allowed. */
  cover(overlay: { id: string; span: Span; summary: string; spanMessages: number }): void {
    const { id: overlayId, span, summary, spanMessages } = overlay;
    const { tokens } = measureMessage(summaryMessage({ overlayId, summary, spanMessages }), estimateTokens);
    this.covers.push({ id: overlayId, span, summary, tokens, active: true });
  }

  /** Whether the two ends are on one path, the older first. */
  fits(span: Span): boolean {
    const path = this.path(span.toId);
    const from = path.indexOf(span.fromId);
    const message = this.find(span.fromId)?.message;
    return from >= 0 && message !== undefined && span.fromStep < messageSteps(message).length;
  }

  /** C2. Whether the span would cut an active cover. */
  crossed(span: Span): boolean {
    return this.covers.some((cover) => {
      if (!cover.active) return false;
      const longer = this.path(span.toId).includes(cover.span.toId) ? span.toId : cover.span.toId;
      const path = this.path(longer);
      if (!path.includes(span.toId) || !path.includes(cover.span.toId)) return false;
      const at = placeOn(path);
      const [a, b] = [at(span.fromId, span.fromStep), at(span.toId, span.toStep)];
      const [c, d] = [at(cover.span.fromId, cover.span.fromStep), at(cover.span.toId, cover.span.toStep)];
      return (c < a && a <= d && d < b) || (a < c && c <= b && b < d);
    });
  }

  /** The view of a model. Of the covers on the path, it shows those that lie in no other. */
  view(leaf: string | null): NaiveElement[] {
    return this.project(this.path(leaf), this.covers);
  }

  /** The elements of a span, which a view would show if only covers inside the span existed. */
  inside(span: Span): NaiveElement[] {
    const path = this.path(span.toId);
    const at = placeOn(path);
    const inner = this.covers.filter(
      ({ span: each }) =>
        path.includes(each.fromId) &&
        at(each.fromId, each.fromStep) >= at(span.fromId, span.fromStep) &&
        path.includes(each.toId) &&
        at(each.toId, each.toStep) <= at(span.toId, span.toStep),
    );
    const keep = (atom: Atom): boolean =>
      path.indexOf(atom.id) >= path.indexOf(span.fromId) &&
      (atom.id !== span.fromId || atom.step >= span.fromStep) &&
      (atom.id !== span.toId || atom.step <= span.toStep);
    return this.project(path, inner, { keep, toStep: span.toStep });
  }

  private project(
    path: readonly string[],
    covers: readonly Cover[],
    options: { keep: (atom: Atom) => boolean; toStep: number } = { keep: () => true, toStep: WHOLE_MESSAGE },
  ): NaiveElement[] {
    const atoms = path.flatMap((id) => this.atoms(id)).filter(options.keep);
    const at = placeOn(path);
    const owner = atoms.map((atom): Cover | null => {
      const over = covers.filter(
        (cover) => cover.active && path.includes(cover.span.toId) && this.covers2(cover, atom),
      );
      const wider = (a: Cover, b: Cover): boolean =>
        at(a.span.fromId, a.span.fromStep) < at(b.span.fromId, b.span.fromStep) ||
        at(a.span.toId, a.span.toStep) > at(b.span.toId, b.span.toStep);
      return over.reduce<Cover | null>((best, each) => (best !== null && wider(best, each) ? best : each), null);
    });
    const elements: NaiveElement[] = [];
    atoms.forEach((atom, index) => {
      const cover = owner[index];
      const last = elements.at(-1);
      if (cover != null) {
        const { id, tokens } = cover;
        if (last?.id !== id) elements.push({ kind: "overlay", id, fromStep: 0, toStep: 0, tokens });
        return;
      }
      const grows = last?.kind === "message" && last.id === atom.id;
      const fromStep = grows ? last.fromStep : atom.step;
      const isEnd = index === atoms.length - 1 && options.toStep !== WHOLE_MESSAGE;
      const toStep = isEnd ? options.toStep : atom.last ? WHOLE_MESSAGE : atom.step;
      const tokens = (grows ? last.tokens : 0) + atom.tokens;
      elements.splice(grows ? -1 : elements.length, grows ? 1 : 0, {
        kind: "message",
        id: atom.id,
        fromStep,
        toStep,
        tokens,
      });
    });
    return elements;
  }

  private atoms(id: string): Atom[] {
    const { message } = this.find(id) as Node;
    const { steps } = measureMessage(message, estimateTokens);
    return steps.map((tokens, step) => ({ id, step, last: step === steps.length - 1, tokens }));
  }

  private covers1(cover: Cover, id: string): boolean {
    const path = this.path(cover.span.toId);
    const at = path.indexOf(id);
    return at >= 0 && path.includes(cover.span.fromId) && at >= path.indexOf(cover.span.fromId);
  }

  private covers2(cover: Cover, atom: Atom): boolean {
    if (!this.covers1(cover, atom.id)) return false;
    const [from, to] = this.part(cover, atom.id);
    return atom.step >= from && atom.step <= to;
  }

  private part(cover: Cover, id: string): [from: number, to: number] {
    const { fromId, fromStep, toId, toStep } = cover.span;
    return [id === fromId ? fromStep : 0, id === toId ? toStep : WHOLE_MESSAGE];
  }
}

/** Steps on a path as numbers in their order. */
function placeOn(path: readonly string[]): (id: string, step: number) => number {
  return (id, step) => path.indexOf(id) + step / (2 * WHOLE_MESSAGE);
}

function partText(message: UIMessage, from: number, to: number): string {
  return JSON.stringify([message.role, sliceMessage(message, from, to).parts]);
}
