/**
 * Records the state at an overlay's commit, and the texts of context blocks that the model should see right behind the summary.
 *
 * A block's provider is called outside of any transaction. A provider that fails only means that nothing is carried.
 */
import type { UIMessage } from "ai";
import { CARRIED_TOKENS } from "../../limits.ts";
import type { Facts, Saying } from "../../facts/fact.ts";
import type { Boundary, Carried, Opening } from "../../memory/overlays/details.ts";
import type { LiveRun } from "../../memory/runs/runs.ts";
import { cutSection } from "../../steps/draft/audit.ts";
import { renderTranscript, wholeCharacters } from "../../steps/draft/render.ts";
import { type CountTokens, textsOf } from "../../steps/message/message.ts";
import type { SpanPlan } from "../../steps/plan/plan.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";

/** For an overlay's details. Call inside the transaction that lays it. */
export function describeBoundary(
  core: Needs<"memory" | "settings">,
  run: LiveRun,
  { plan, carried }: { plan: SpanPlan; carried: readonly Carried[] },
): { boundary: Boundary; carried: readonly Carried[]; opening: Opening | null } {
  const { sessionId, trigger, tokensBefore, leafId } = run;
  const { headTokens, tailTokens, keptId } = plan;
  const tools = core.memory.session(sessionId).spans.toolsUpTo(plan.span);
  const kept = { headTokens, tailTokens, fromId: keptId };
  const opening = openingOf(core, run, plan);
  return { boundary: { trigger, tokensBefore, lastMessageId: leafId, tools, kept }, carried, opening };
}

/**
 * The opening of the conversation, for a summary that hides it. It comes from the messages that this summary is the first to hide, or from
 * the summaries that it folds in.
 */
export function openingOf(
  core: Needs<"memory" | "settings">,
  { sessionId, policy }: Pick<LiveRun, "sessionId" | "policy">,
  { head, overlayIds }: Pick<SpanPlan, "head" | "overlayIds">,
): Opening | null {
  const { countTokens, secretRules } = core.settings.get(sessionId);
  const redaction = redactionOf({ secretRules });
  const history = core.memory.session(sessionId);
  const read = (id: string): UIMessage[] => {
    const message = history.get(id);
    return message === null ? [] : [redaction.message(message)];
  };
  const whole = head.inWords.flatMap(read);
  const begun = head.beginningOf === null ? [] : read(head.beginningOf);
  const texts = [
    ...(whole.length === 0 ? [] : [wholeWords(whole)]),
    ...begun.map((message) => beginningWords(message, policy.openingTokens, countTokens)),
  ].filter((text) => text.trim() !== "");
  const messageId = begun[0]?.id ?? whole.at(-1)?.id;
  if (messageId !== undefined && texts.length > 0) return { messageId, text: texts.join("\n\n") };
  const earlier = overlayIds
    .map((id) => history.overlays.get(id)?.details.opening ?? null)
    .find((each) => each !== null);
  return earlier === undefined || earlier === null ? null : { ...earlier, text: redaction.text(earlier.text) };
}

/** The facts without what the user said in a message that the opening quotes whole. It would stand there twice. */
export function withoutOpening(facts: Facts, opening: Opening | null, { head }: Pick<SpanPlan, "head">): Facts {
  if (opening === null) return facts;
  const quoted = new Set([opening.messageId, ...head.inWords]);
  const isThere = ({ messageId, text, left }: Saying): boolean =>
    quoted.has(messageId) && left === 0 && opening.text.includes(text);
  return { ...facts, said: facts.said.filter((each) => !isThere(each)) };
}

/** The full text of messages. A single user message is quoted as it is. */
function wholeWords(messages: readonly UIMessage[]): string {
  const [first] = messages;
  if (messages.length === 1 && first?.role === "user") return textsOf(first.parts).join("\n");
  return renderTranscript(
    messages.map((message) => ({ kind: "message" as const, message })),
    { reasoningChars: 0 },
  );
}

/** The beginning of a message within so many tokens. */
function beginningWords({ parts }: UIMessage, tokens: number, countTokens: CountTokens): string {
  const text = textsOf(parts).join("\n");
  let cut = wholeCharacters(text, 0, tokens * 8);
  while (cut !== "" && countTokens(cut) > tokens) cut = wholeCharacters(cut, 0, Math.floor(cut.length * 0.9));
  return cut === text ? text : `${cut} […]`;
}

/** The present texts of the blocks that a session's summaries carry along. */
export async function readCarried(core: Needs<"rooms" | "settings">, sessionId: string): Promise<readonly Carried[]> {
  const settings = core.settings.get(sessionId);
  const { carryBlocks, countTokens } = settings;
  const read = carryBlocks.map(async (label): Promise<Carried[]> => {
    const read = await core.rooms.carriedText?.(sessionId, label).catch(() => null);
    const text = read?.trim() ?? "";
    return text === "" ? [] : [{ label, text: cutSection(text, CARRIED_TOKENS, { pointer: "[…]", countTokens }) }];
  });
  return redactionOf(settings).carried((await Promise.all(read)).flat());
}
