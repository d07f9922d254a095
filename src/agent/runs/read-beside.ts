/**
 * What stands beside a summary: what of the conversation can, what of it is chosen where no Workflow chooses, and how it is laid with the text.
 */
import { CARRIED_TOKENS, DEFAULT_PINNED_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import { chooseBeside, keepFacts, type BegunSource, type Beside, type BesideSource } from "../../facts/beside.ts";
import type { Carried, Facts, Pinned } from "../../facts/fact.ts";
import { gatherFacts, mergeFacts } from "../../facts/gather.ts";
import { isSameOne, mergeInstructions } from "../../facts/instructions.ts";
import type { OverlayDetails } from "../../memory/overlays/overlay.ts";
import type { CommitResult } from "../../memory/overlays/overlays.ts";
import type { RunRecord } from "../../memory/runs/runs.ts";
import { cutSection, withoutEmptySections } from "../../steps/draft/audit.ts";
import type { Span } from "../../steps/plan/outline.ts";
import type { SpanPlan } from "../../steps/plan/plan.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";
import { budgetInModelTokens } from "../token-counter.ts";
import { factsOf, readBefore } from "./sources.ts";

/** A branch, with the budgets of what stands beside its next summary. */
type Budgeted = Pick<RunRecord, "sessionId" | "leafId" | "policy">;

/** A summary of a plan's span. */
interface Summarised {
  readonly plan: SpanPlan;
  readonly text: string;
  readonly facts: Facts;
  readonly carried: readonly Carried[];
}

/** Reads all that a summary of a plan's span can have beside it. Nothing is chosen here. */
export function readBeside(
  core: Needs<"memory" | "settings">,
  { sessionId, leafId, policy }: Budgeted,
  { plan, text, facts, carried }: Summarised,
): BesideSource {
  const history = core.memory.session(sessionId);
  const redaction = redactionOf(core.settings.get(sessionId));
  const counter = core.settings.counterOf(sessionId);
  // The run's leaf may have been deleted. Then the active branch stays in view.
  const {
    facts: before,
    knows,
    freedTokens,
  } = readBefore(core, { sessionId, leafId: history.leafAfter(leafId) }, plan);
  const mostTokens = plan.spanTokens + freedTokens - counter(withoutEmptySections(text)) - SUMMARY_FRAME_TOKENS;
  const said = [text, ...facts.said.map((each) => each.text)].join("\n");
  const estimated = (tokens: number): number => budgetInModelTokens(counter, tokens, (count) => count(said));
  const { pinnedTokens, loadedTokens, openingTokens } = policy;
  return {
    facts: [redaction.facts(facts)],
    before,
    knows,
    begun: readBegun(core, sessionId, plan),
    carried,
    budget: {
      pinnedTokens: estimated(pinnedTokens),
      loadedTokens: estimated(loadedTokens),
      openingTokens: estimated(openingTokens),
      mostTokens: estimated(mostTokens),
      freedTokens: estimated(freedTokens),
    },
  };
}

/** As {@link readBeside}, chosen at once, where no Workflow does it. */
export function chooseNow(...asked: Parameters<typeof readBeside>): Beside {
  return chooseBeside(readBeside(...asked));
}

/**
 * What the opening of the conversation is quoted from, for a summary that hides it. It comes from the messages that this summary is the
 * first to hide, or from the summaries that it folds in.
 */
export function readBegun(
  core: Needs<"memory" | "settings">,
  sessionId: string,
  { head, overlayIds }: Pick<SpanPlan, "head" | "overlayIds">,
): BegunSource {
  const redaction = redactionOf(core.settings.get(sessionId));
  const history = core.memory.session(sessionId);
  const read = (id: string) => {
    const message = history.get(id);
    return message === null ? [] : [redaction.message(message)];
  };
  const openings = overlayIds.flatMap((id) => history.overlays.get(id)?.details.opening ?? []);
  const [beginning = null] = head.beginningOf === null ? [] : read(head.beginningOf);
  const [earlier = null] = openings.map((each) => ({ ...each, text: redaction.text(each.text) }));
  return { whole: head.inWords.flatMap(read), beginning, earlier };
}

/** The present texts of the blocks that a session's summaries carry along. */
export async function readCarried(core: Needs<"rooms" | "settings">, sessionId: string): Promise<readonly Carried[]> {
  const settings = core.settings.get(sessionId);
  const { countTokens } = settings;
  const read = (await core.rooms.carriedTexts?.(sessionId)) ?? [];
  return redactionOf(settings).carried(
    read.map(({ label, text }) => ({
      label,
      text: cutSection(text, CARRIED_TOKENS, { pointer: "[…]", countTokens }),
    })),
  );
}

/**
 * Lays a summary with less beside it where all of it would not make the view smaller, as where a counter of the session's own counts more
 * than was expected, or a person wrote a longer text.
 */
export function layLess(pinned: Pinned, add: (pinned: Pinned) => CommitResult): CommitResult {
  const all = add(pinned);
  if (all.kind !== "stale" || all.reason !== "larger") return all;
  const fewer = pinned.loaded.length === 0 ? all : add({ ...pinned, loaded: [] });
  if (fewer.kind !== "stale" || pinned.said.length === 0) return fewer;
  const less = add({ ...pinned, loaded: [], said: [] });
  if (less.kind !== "stale" || !pinned.instructions.some(({ system }) => system)) return less;
  return add({ ...pinned, loaded: [], said: [], instructions: pinned.instructions.filter(({ system }) => !system) });
}

/** An instruction that a person restored in an earlier summary since these were chosen holds again. */
export function withRestored(
  pinned: Pinned,
  earlier: readonly { readonly details: Pick<OverlayDetails, "pinned"> }[],
): Pinned {
  const known = [...pinned.instructions, ...pinned.ended];
  const restored = earlier
    .flatMap(({ details }) => details.pinned.instructions)
    .filter((each) => each.restored !== undefined)
    .filter((each) => !known.some((other) => isSameOne(other, each) && other.restored === each.restored));
  return { ...pinned, ...mergeInstructions(pinned, { instructions: restored, ended: [] }) };
}

/** A caller's own summary of a span, with what was chosen to stand beside it. */
export interface ByHand {
  readonly span: Span;
  readonly summary: string;
  readonly details: Pick<OverlayDetails, "facts" | "pinned" | "knows">;
}

/**
 * Chooses what stands beside a caller's own summary: the instructions of the summaries in its span and before it, and the user's newest words.
 * The caller says what else is to be kept.
 */
export function chooseByHand(
  core: Needs<"memory" | "settings">,
  sessionId: string,
  { span, summary }: Pick<ByHand, "span" | "summary">,
): ByHand {
  const history = core.memory.session(sessionId);
  const { tokens = 0, overlayIds = [] } = history.spans.digest(span) ?? {};
  const { policy } = core.settings.get(sessionId);
  const { pinnedTokens = DEFAULT_PINNED_TOKENS } = policy ?? {};
  const countTokens = core.settings.counterOf(sessionId);
  const facts = readFactsByHand(core, sessionId, span);
  const seen = { sessionId, leafId: history.leafAfter(span.toId) };
  const { facts: before, knows } = readBefore(core, seen, { span, overlayIds });
  const mostTokens = tokens - countTokens(summary) - SUMMARY_FRAME_TOKENS;
  const pinned = keepFacts(facts, { pinnedTokens, mostTokens, countTokens }, before.map(withoutLoaded));
  return { span, summary, details: { facts, pinned, knows } };
}

/** Messages of the user whose words are read for a summary that no Workflow makes, and the most bytes of them. */
const READ_BY_HAND = { messages: 80, bytes: 1_000_000 };

/** The facts of a span that no Workflow read: those of the summaries in it, and the user's newest words. */
export function readFactsByHand(core: Needs<"memory" | "settings">, sessionId: string, span: Span): Facts {
  const { overlays, spans } = core.memory.session(sessionId);
  const redaction = redactionOf(core.settings.get(sessionId));
  const folded = (spans.digest(span)?.overlayIds ?? []).flatMap((id) => overlays.get(id) ?? []);
  const said = gatherFacts(spans.userMessages(span, READ_BY_HAND).map(redaction.message));
  return withoutLoaded(
    mergeFacts([...folded.map((overlay) => redaction.facts(factsOf(core, overlay, sessionId))), said]),
  );
}

/** Without a look at all messages of a span nobody knows whether a text still stands as it was loaded. */
function withoutLoaded(facts: Facts): Facts {
  return { ...facts, loaded: [] };
}

/** Lays a caller's own summary, through the fence of any other. Call inside a transaction. Throws as {@link Overlays.add} does. */
export function layByHand(
  core: Needs<"memory">,
  sessionId: string,
  { details, ...input }: ByHand & { readonly leafId?: string },
): CommitResult {
  const { overlays } = core.memory.session(sessionId);
  return layLess(details.pinned, (pinned) => overlays.add({ ...input, details: { ...details, pinned } }));
}
