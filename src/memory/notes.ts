/**
 * The notes of one session, version by version: what they say, up to which message, and whether that still holds.
 *
 * Job: keep the last versions, find the one that a branch may use, and withdraw those whose source changed. Boundary: writes
 * no text of its own and knows neither model nor policy.
 *
 * Safe to use as a summary because a version is withdrawn in the transaction in which a message that it tells of changes, as
 * an overlay is (C3), and because it is only used where the last message that it tells of is on the branch: what another
 * branch said is never shown (A5). That message may be a later one than the last which it covers whole: what is covered may be
 * claimed again with less, and the words stay.
 */
import { NOTES_VERSIONS } from "../limits-of-notes.ts";
import { notesTokens, type NotesSection } from "../steps/notes/document.ts";
import type { NotesGrowth } from "../steps/notes/due.ts";
import { WHOLE_MESSAGE } from "../steps/outline.ts";
import type { Facts } from "../steps/pinned/fact.ts";
import { parseFacts } from "./content.ts";
import type { NotesRow, NotesStatements } from "./notes-statements.ts";
import type { ShapeRow } from "./statements.ts";
import type { Tree } from "./tree.ts";
import { elementTokens, walkView } from "./walk.ts";

/** Up to where notes tell of their branch. `none`: of nothing that was said; `unknown`: of all of it, as far as anybody knows. */
export type NotesCoverage =
  | { readonly kind: "none" }
  | { readonly kind: "unknown" }
  | { readonly kind: "to"; readonly messageId: string };

export interface NotesVersion {
  /** 1 for the session's first. */
  readonly n: number;
  /** False once a message that it tells of was edited or deleted: it is kept to be read, and no longer used. */
  readonly standing: boolean;
  readonly sections: readonly NotesSection[];
  readonly covered: NotesCoverage;
  /** Number of the last message that it tells anything of; null for none, and where nobody knows. */
  readonly toldSeq: number | null;
  /** Estimated tokens as it is shown. */
  readonly tokens: number;
  /** `hand`: a person wrote it, or a part of it, after the run before. */
  readonly by: "update" | "hand";
  readonly runId: string | null;
  readonly model: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Of everything that it covers. */
  readonly facts: Facts;
}

export interface NewNotes extends Pick<NotesVersion, "sections" | "covered" | "by" | "runId" | "model" | "facts"> {
  /** Number of a message that its words tell of, where that may be a later one than is covered. */
  readonly toldSeq?: number | null;
}

export class SessionNotes {
  readonly #tree: Tree;
  readonly #sql: NotesStatements;
  readonly #now: () => number;

  constructor(tree: Tree, { notes, now }: { readonly notes: NotesStatements; readonly now: () => number }) {
    this.#tree = tree;
    this.#sql = notes;
    this.#now = now;
  }

  /** Every version that is kept, newest first. */
  list(): NotesVersion[] {
    return this.#sql.notes(this.#tree.sessionId, NOTES_VERSIONS).map(toVersion);
  }

  /** The number of the newest version, 0 before the first: it changes with every write. */
  lastNumber(): number {
    return this.#sql.lastNumber(this.#tree.sessionId);
  }

  /** The newest version that holds for the branch of a leaf, the active one by default; null when none does. */
  current(leafId?: string): NotesVersion | null {
    const leaf = leafId === undefined ? this.#tree.newest() : this.#tree.find(leafId);
    const rows = this.#sql.notes(this.#tree.sessionId, NOTES_VERSIONS);
    const held = rows.find((row) => row.standing === 1 && this.#isOn(row, leaf?.seq ?? null));
    return held === undefined ? null : toVersion(held);
  }

  /**
   * Gives the newest version that holds to a session that begins with what this one shows. `stoodFor`: for each message there,
   * by its number, the last one here that it stands for. What it covers there ends before the first message that stands for
   * anything that it does not cover here; and it goes out of use with any that stands for anything that it tells of.
   */
  passOn(to: SessionNotes, stoodFor: readonly number[]): void {
    const current = this.current();
    if (current === null) return;
    const { covered, toldSeq } = current;
    const seq = covered.kind === "to" ? (this.#tree.find(covered.messageId)?.seq ?? -1) : -1;
    const whole = stoodFor.findLastIndex((last) => last <= seq);
    const there: NotesCoverage = whole === -1 ? { kind: "none" } : { kind: "to", messageId: to.#tree.shape(whole).id };
    to.add({
      ...current,
      covered: covered.kind === "to" ? there : covered,
      toldSeq: toldSeq === null ? null : stoodFor.findIndex((last) => last >= toldSeq),
    });
  }

  /** A new version, in force. The oldest one gives way where as many are kept as may be. */
  add(notes: NewNotes): NotesVersion {
    const { sessionId } = this.#tree;
    const n = this.lastNumber() + 1;
    const { sections, covered, toldSeq = null, by, runId, model, facts } = notes;
    const coveredSeq = covered.kind === "to" ? (this.#tree.find(covered.messageId)?.seq ?? null) : null;
    const told = coveredSeq === null ? toldSeq : Math.max(coveredSeq, toldSeq ?? 0);
    const row: NotesRow = {
      n,
      standing: 1,
      covers: covered.kind,
      coveredSeq: told,
      coveredId: covered.kind === "to" ? covered.messageId : null,
      details: JSON.stringify({ by, runId, model, facts }),
      createdAt: this.#now(),
      sections: JSON.stringify(sections),
    };
    this.#sql.insert(sessionId, row);
    if (n > NOTES_VERSIONS) this.#sql.deleteUpTo(sessionId, n - NOTES_VERSIONS);
    return toVersion(row);
  }

  /** Takes out of use every version that tells of one of the rows, before they change. */
  withdraw(rows: readonly ShapeRow[]): void {
    const { sessionId } = this.#tree;
    const oldest = rows.reduce((least, row) => Math.min(least, row.seq), Number.POSITIVE_INFINITY);
    for (const { n, coveredSeq } of this.#sql.standingFrom(sessionId, oldest)) {
      const path = new Set(this.#tree.pathDown(coveredSeq, oldest));
      if (rows.some(({ seq }) => path.has(seq))) this.#sql.withdraw(sessionId, n);
    }
  }

  /**
   * What the active branch's view grew by behind a message, or all of it for null. Reads a row for each message, and stops at
   * `enoughTokens`; `known` is what an earlier look came to, which is not read again.
   */
  growth({ afterId, enoughTokens, known }: GrowthQuery): Growth | null {
    const leaf = this.#tree.newest();
    if (leaf === null) return null;
    const floor = afterId === null ? -1 : (this.#tree.find(afterId)?.seq ?? -1);
    const sums = { tokens: 0, toolCalls: 0 };
    const before: { seq: number; tokens: number; toolCalls: number }[] = [];
    let openCall = false;
    let below: Growth["below"] | null = null;
    for (const element of walkView(this.#tree, { seq: leaf.seq, step: WHOLE_MESSAGE }, { content: false })) {
      const seq = element.kind === "overlay" ? element.overlay.toSeq : element.row.seq;
      if (seq <= floor || sums.tokens >= enoughTokens) break;
      if (known?.afterId === afterId && known.below.seq === seq) {
        sums.tokens += known.below.tokens;
        sums.toolCalls += known.below.toolCalls;
        below = known.below;
        break;
      }
      before.push({ seq, ...sums });
      sums.tokens += elementTokens(element);
      if (element.kind === "overlay") continue;
      const facts = parseFacts(element.row.facts);
      sums.toolCalls += facts.results.length;
      if (seq === leaf.seq) openCall = facts.calls.length > 0;
    }
    const second = before[1];
    if (second !== undefined) {
      const { seq, tokens, toolCalls } = second;
      below = { seq, tokens: sums.tokens - tokens, toolCalls: sums.toolCalls - toolCalls };
    }
    return { ...sums, openCall, afterId, below: below ?? { seq: leaf.seq, ...sums } };
  }

  #isOn({ covers, coveredSeq }: NotesRow, leafSeq: number | null): boolean {
    if (coveredSeq === null) return covers !== "to";
    return leafSeq !== null && this.#tree.isOnPath(coveredSeq, leafSeq);
  }
}

export interface GrowthQuery {
  readonly afterId: string | null;
  readonly enoughTokens: number;
  readonly known: Growth | null;
}

/** `below`: the sums from the message before the newest on, which only an edit changes. */
export interface Growth extends NotesGrowth {
  readonly afterId: string | null;
  readonly below: { readonly seq: number; readonly tokens: number; readonly toolCalls: number };
}

function toVersion(row: NotesRow): NotesVersion {
  const { n, standing, covers, coveredSeq, coveredId, createdAt } = row;
  const sections = JSON.parse(row.sections) as NotesSection[];
  const details = JSON.parse(row.details) as Pick<NewNotes, "by" | "runId" | "model" | "facts">;
  return {
    n,
    standing: standing === 1,
    sections,
    covered:
      coveredId !== null ? { kind: "to", messageId: coveredId } : { kind: covers === "unknown" ? covers : "none" },
    toldSeq: coveredSeq,
    tokens: notesTokens(sections),
    createdAt,
    ...details,
  };
}
