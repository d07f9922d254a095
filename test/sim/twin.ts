/**
 * The simplest possible session, as a list of messages with their parents. Every question computes its answer anew. The caller passes the
 * overlays.
 *
 * Measures and digests with the same pure functions as the memory, and shares none of its storage, walking or lookup code.
 */
import type { UIMessage } from "ai";
import { encodeMessage, parseFacts } from "../../src/memory/messages/content.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { sumDigests } from "../../src/steps/text/digest.ts";
import { measureMessage, sliceMessage } from "../../src/steps/message/message.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { marksIn } from "./said.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

interface Node {
  readonly message: UIMessage;
  readonly parent: string | null;
}

/** Measures of one message's content, computed once. */
interface Weighed {
  readonly json: string;
  readonly steps: readonly number[];
  readonly digest: string;
  readonly marks: ReadonlySet<string>;
}

export interface TwinElement {
  readonly kind: "message" | "overlay";
  readonly id: string;
  readonly fromStep: number;
  readonly toStep: number;
  readonly tokens: number;
}

/** An overlay's part of a path by step numbers, from the first to the one after the last. */
export interface Stretch {
  readonly overlay: OverlayRecord;
  readonly from: number;
  readonly to: number;
}

interface Atom {
  readonly id: string;
  readonly step: number;
  readonly last: boolean;
  readonly tokens: number;
}

const weighed = new WeakMap<UIMessage, Weighed>();

export function weigh(message: UIMessage): Weighed {
  const known = weighed.get(message);
  if (known !== undefined) return known;
  const json = JSON.stringify(message);
  const digest = sumDigests(parseFacts(encodeMessage(message, estimateTokens).facts).digests);
  const { steps } = measureMessage(message, estimateTokens);
  const fresh = { json, steps, digest, marks: marksIn(json) };
  weighed.set(message, fresh);
  return fresh;
}

export class Twin {
  /** In the order in which they were stored. */
  readonly #nodes: Map<string, Node>;

  constructor(nodes: Iterable<readonly [string, Node]> = []) {
    this.#nodes = new Map(nodes);
  }

  get ids(): string[] {
    return [...this.#nodes.keys()];
  }

  get leaf(): string | null {
    return this.ids.at(-1) ?? null;
  }

  /** The ends of all branches. */
  get leaves(): string[] {
    const parents = new Set([...this.#nodes.values()].map(({ parent }) => parent));
    return this.ids.filter((id) => !parents.has(id));
  }

  has(id: string): boolean {
    return this.#nodes.has(id);
  }

  find(id: string): UIMessage | undefined {
    return this.#nodes.get(id)?.message;
  }

  parentOf(id: string): string | null {
    return this.#nodes.get(id)?.parent ?? null;
  }

  children(id: string | null): string[] {
    return [...this.#nodes].filter(([, { parent }]) => parent === id).map(([child]) => child);
  }

  /** Root to leaf. */
  path(leaf: string | null): string[] {
    const path: string[] = [];
    for (let at = leaf; at !== null && this.#nodes.has(at); at = this.parentOf(at)) path.push(at);
    return path.toReversed();
  }

  messages(leaf: string | null): UIMessage[] {
    return this.path(leaf).flatMap((id) => this.find(id) ?? []);
  }

  append(message: UIMessage, parent: string | null | undefined): void {
    if (this.#nodes.has(message.id)) return;
    this.#nodes.set(message.id, { message, parent: parent === undefined ? this.leaf : parent });
  }

  update(message: UIMessage): void {
    const node = this.#nodes.get(message.id);
    if (node !== undefined) this.#nodes.set(message.id, { ...node, message });
  }

  delete(ids: readonly string[]): void {
    for (const id of ids) {
      const node = this.#nodes.get(id);
      if (node === undefined) continue;
      this.#nodes.delete(id);
      for (const child of this.children(id)) {
        this.#nodes.set(child, { message: this.find(child) as UIMessage, parent: node.parent });
      }
    }
  }

  clear(): void {
    this.#nodes.clear();
  }

  /** The path to a message as a session of its own. */
  fork(at: string): Twin {
    const path = this.path(at);
    return new Twin(
      path.map((id, index) => [id, { message: this.find(id) as UIMessage, parent: path[index - 1] ?? null }]),
    );
  }

  /** The active overlays on the path, with their step numbers. */
  stretches(leaf: string | null, overlays: readonly OverlayRecord[]): Stretch[] {
    const starts = new Map<string, { from: number; steps: number }>();
    let from = 0;
    for (const message of this.messages(leaf)) {
      const steps = weigh(message).steps.length;
      starts.set(message.id, { from, steps });
      from += steps;
    }
    return overlays.flatMap((overlay) => {
      const { fromId, fromStep, toId, toStep } = overlay.span;
      const [first, last] = [starts.get(fromId), starts.get(toId)];
      if (overlay.state !== "active" || first === undefined || last === undefined) return [];
      return [{ overlay, from: first.from + fromStep, to: last.from + Math.min(toStep + 1, last.steps) }];
    });
  }

  /** The view of a model. Of the overlays on the path, it shows those that lie in no other. */
  view(leaf: string | null, overlays: readonly OverlayRecord[]): TwinElement[] {
    const atoms = this.messages(leaf).flatMap((message): Atom[] => {
      const { steps } = weigh(message);
      return steps.map((tokens, step) => ({ id: message.id, step, last: step === steps.length - 1, tokens }));
    });
    const widest = this.stretches(leaf, overlays).toSorted(
      (a, b) => b.to - b.from - (a.to - a.from) || b.overlay.n - a.overlay.n,
    );
    const visible: Stretch[] = [];
    for (let at = 0; at < atoms.length; at = Math.max(at + 1, visible.at(-1)?.to ?? 0)) {
      const over = widest.find(({ from, to }) => from <= at && at < to);
      if (over !== undefined) visible.push(over);
    }
    const elements: TwinElement[] = [];
    for (let at = 0; at < atoms.length;) {
      const over = widest.find(({ from, to }) => from <= at && at < to);
      if (over !== undefined) {
        const { id, tokens: whole, details } = over.overlay;
        // Loaded texts stand beside the last summary alone.
        const isLast = !widest.some(({ from }) => from >= over.to);
        // An instruction stands here too, unless a later summary of the view knows of this one.
        const isKnown = visible.some(({ overlay, to }) => to > over.to && overlay.details.knows.includes(id));
        const { last, instructions = 0 } = details.weights;
        const tokens = isLast ? whole : whole - last + (isKnown ? 0 : instructions);
        elements.push({ kind: "overlay", id, fromStep: 0, toStep: 0, tokens });
        at = over.to;
        continue;
      }
      const first = atoms[at] as Atom;
      let [end, tokens] = [first, 0];
      for (; atoms[at]?.id === first.id && !widest.some(({ from, to }) => from <= at && at < to); at++) {
        end = atoms[at] as Atom;
        tokens += end.tokens;
      }
      const toStep = end.last ? WHOLE_MESSAGE : end.step;
      elements.push({ kind: "message", id: first.id, fromStep: first.step, toStep, tokens });
    }
    return elements;
  }

  /** The exact source of an overlay, as text. Null when its ends are not on one path. */
  source({ span }: OverlayRecord): string | null {
    const covered = this.#covered(span.fromId, span.toId);
    const texts = covered?.map((message) => {
      const fromStep = message.id === span.fromId ? span.fromStep : 0;
      const toStep = message.id === span.toId ? span.toStep : WHOLE_MESSAGE;
      const whole = fromStep === 0 && toStep === WHOLE_MESSAGE;
      return whole ? weigh(message).json : JSON.stringify(sliceMessage(message, fromStep, toStep).parts);
    });
    return texts?.join("\n") ?? null;
  }

  /** The digest of the messages from one to another. Null when they are not on one path. */
  digest(fromId: string, toId: string): string | null {
    const covered = this.#covered(fromId, toId);
    return covered === null ? null : sumDigests(covered.map((each) => weigh(each).digest));
  }

  #covered(fromId: string, toId: string): UIMessage[] | null {
    const path = this.path(toId);
    const from = path.indexOf(fromId);
    return from === -1 ? null : path.slice(from).flatMap((id) => this.find(id) ?? []);
  }
}
