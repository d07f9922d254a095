/**
 * The room for looking closer: what a compaction would do, where each bullet of a summary comes from, and how compaction fares in an agent.
 *
 * It reads what the core stores and writes nothing.
 */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import type { Methods, Extension } from "../agent/extension.ts";
import {
  checkGiven,
  defined,
  flag,
  given,
  id,
  leafId,
  page,
  parseInput,
  sessionId,
  wholeNumber,
  type FieldsOf,
} from "../agent/inputs.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { History } from "../memory/messages/history.ts";
import { discloseOverlay, listReplaced } from "../memory/overlays/overlays.ts";
import { splitReferences, type BulletSource } from "../steps/draft/provenance.ts";
import { hashOf } from "../steps/message/message.ts";
import { reportHealth } from "./health.ts";
import { reportPlan, type PlanQuestion, type PlanReport } from "./plan.ts";
import { meaningfulWords, saysTheSame } from "../steps/text/text.ts";
import { readBullets, type SummaryBullet } from "../steps/draft/audit.ts";

const planQuestion = { leafId, manual: flag, rebuild: flag } satisfies FieldsOf<PlanQuestion>;

class SessionInspection {
  readonly #state: SessionState;

  /** @internal */
  constructor(state: SessionState) {
    this.#state = state;
  }

  /**
   * Forecasts a run without starting it, with the run's own planning code. With `manual` it plans as if asked for by hand, and with
   * `rebuild` as `compact({ rebuild: true })`. It never says `window-too-small`, because the summariser's window is known only where it is
   * called.
   */
  async plan(question: PlanQuestion = {}): Promise<PlanReport> {
    const asked = parseInput(z.strictObject(planQuestion), question);
    const { core, id } = this.#state;
    const policy = this.#state.mustHavePolicy();
    const report = await core.read(id, () => reportPlan(core, id, { ...asked, policy }));
    if (report === null) throw this.#state.empty();
    return report;
  }

  /** The source messages of each bullet of an overlay's summary, by line numbers from 0. Throws `unknown_overlay`. */
  async getProvenance(overlayId: string): Promise<BulletSource[]> {
    checkGiven(given.overlay, { overlayId });
    return findProvenance(this.#state.stored, overlayId);
  }

  /** The changes of an overlay's summary against the overlays that it replaced. Throws `unknown_overlay`. */
  async diffCompaction(overlayId: string): Promise<CompactionDiff> {
    checkGiven(given.overlay, { overlayId });
    return diffCompaction(this.#state.stored, overlayId);
  }
}

/** The methods that the room adds to a session. */
export interface InspectMethods extends Methods<SessionInspection> {}

/**
 * Bullets of a summary compared with those that it replaced. `gone` when the messages under it were deleted, `withheld` when messages under
 * it or under the replaced ones were edited since.
 */
export type CompactionDiff =
  | ({ readonly kind: "diff"; readonly overlayId: string; readonly replaced: readonly string[] } & SummaryDiff)
  | { readonly kind: "gone" }
  | { readonly kind: "withheld" };

/** Throws `unknown_overlay`. */
function diffCompaction(history: History, overlayId: string): CompactionDiff {
  const { overlays } = history;
  const rows = listReplaced(overlays, overlays.mustGetRow(overlayId));
  const replaced = rows?.map((row) => discloseOverlay(overlays, row)) ?? null;
  const overlay = overlays.list().find((each) => each.id === overlayId) ?? null;
  if (replaced === null || overlay === null) return { kind: "gone" };
  if ([overlay, ...replaced].some((each) => each.withheld === true)) return { kind: "withheld" };
  const { added, dropped, kept } = diffSummaries(
    replaced.map((each) => each.summary),
    overlay.summary,
  );
  return { kind: "diff", overlayId, replaced: replaced.map((each) => each.id), added, dropped, kept };
}

/**
 * The source messages of each bullet of an overlay's summary, by line from 0. Lines without a reference are left out.
 * References count only if they lead to messages under the overlay. Reads a row for each. Throws `unknown_overlay`.
 */
function findProvenance({ overlays, tree }: History, overlayId: string): BulletSource[] {
  const { fromSeq, toSeq, summary } = overlays.mustGetRow(overlayId);
  return summary.split("\n").flatMap((text, line) => {
    const hashes = splitReferences(text).references.flatMap((reference) => hashOf(reference) ?? []);
    const found = hashes.flatMap((hash) => tree.findByHash(hash));
    const messageIds = found.flatMap(({ seq, id }) => (seq >= fromSeq && seq <= toSeq ? [id] : []));
    return messageIds.length === 0 ? [] : [{ line, messageIds }];
  });
}

const call = callOf<InspectMethods>();

export const inspectCalls = {
  /** Says what a compaction would do now and why, without doing it. */
  plan: call({
    group: "watch",
    input: z.strictObject({ sessionId, ...planQuestion }),
    run: ({ session }, { sessionId, ...question }) => session(sessionId).plan(question),
  }),
  /** Compares a summary with the ones that it replaced. */
  diffCompaction: call({
    group: "read",
    input: z.strictObject({ sessionId, overlayId: id }),
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).diffCompaction(overlayId),
  }),
  /** Reads the source messages of each bullet of a summary. */
  getProvenance: call({
    group: "read",
    input: z.strictObject({ sessionId, overlayId: id }),
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).getProvenance(overlayId),
  }),
  /** Reads the health of compaction, which is breakers, spend, calibration, and the results of a page of runs. */
  health: call({
    group: "read",
    input: z.strictObject({ sessionId, limit: page.default(50), before: wholeNumber.positive().optional() }),
    run: ({ core }, { sessionId, ...page }) => reportHealth(core, sessionId, defined(page)),
  }),
};

/** The room as an agent is declared with it. */
export interface InspectExtension extends Extension<InspectMethods, object, typeof inspectCalls> {}

/** Forecasts, health, and the sources of summaries, as in `withCompaction(Base, { rooms: [inspect()] })`. */
export function inspect(): InspectExtension {
  return {
    name: "inspect",
    calls: inspectCalls,
    install: () => ({ session: (state: SessionState) => new SessionInspection(state) }),
  };
}

// Compares a summary with the summaries that it replaced, and lists the bullets added, dropped and kept.
//
// Summaries in, bullets out, for people who check a compaction. A reworded bullet counts as kept, and its earlier
// wording is shown beside it.

export interface KeptBullet extends SummaryBullet {
  /** The earlier wording. Null when it is word for word the same. */
  readonly before: string | null;
}

export interface SummaryDiff {
  readonly added: readonly SummaryBullet[];
  readonly dropped: readonly SummaryBullet[];
  readonly kept: readonly KeptBullet[];
}

interface Comparable extends SummaryBullet {
  readonly words: ReadonlySet<string>;
}

/**
 * The most bullets compared with one bullet, starting with those that share its rarest words. A reworded one is among
 * the first.
 */
const MAX_COMPARED = 50;

/**
 * Compares a summary with those that it replaced, oldest first. References are ignored. Results are in the order of the
 * text, and the work grows linearly with it.
 */
export function diffSummaries(before: readonly string[], after: string): SummaryDiff {
  const dropped = new Set(before.flatMap(readComparable));
  const fresh = readComparable(after);
  const byText = Map.groupBy(dropped, ({ text }) => text);
  const byWord = new Map<string, Set<Comparable>>();
  for (const bullet of dropped) {
    for (const word of bullet.words) byWord.set(word, (byWord.get(word) ?? new Set()).add(bullet));
  }
  const sources = new Map<Comparable, Comparable>();
  const match = (find: (bullet: Comparable) => Comparable | undefined): void => {
    for (const bullet of fresh) {
      const source = sources.has(bullet) ? undefined : find(bullet);
      if (source === undefined) continue;
      sources.set(bullet, source);
      dropped.delete(source);
      for (const word of source.words) byWord.get(word)?.delete(source);
    }
  };
  // Exact matches first, so that no reworded bullet takes the source of an unchanged one.
  match(({ text }) => byText.get(text)?.pop());
  match(({ words }) => {
    const sharing = [...words].flatMap((word) => byWord.get(word) ?? []).toSorted((a, b) => a.size - b.size);
    return Iterator.from(sharing)
      .flatMap((bullets) => bullets)
      .take(MAX_COMPARED)
      .find((each) => saysTheSame(each.words, words));
  });
  return {
    added: fresh.filter((bullet) => !sources.has(bullet)).map(toBullet),
    dropped: [...dropped].map(toBullet),
    kept: fresh.flatMap((bullet) => {
      const source = sources.get(bullet);
      if (source === undefined) return [];
      return [{ ...toBullet(bullet), before: source.text === bullet.text ? null : source.text }];
    }),
  };
}

function readComparable(summary: string): Comparable[] {
  return readBullets(summary).map(({ section, text }) => {
    const plain = splitReferences(text).text;
    return { section, text: plain, words: meaningfulWords(plain) };
  });
}

function toBullet({ section, text }: Comparable): SummaryBullet {
  return { section, text };
}
