/**
 * The extractive summary of messages that do not fit into a view. It is made on the fly without a model and never stored.
 *
 * Summarises them in a few hundred tokens, the user's rules first. Pure, so the same messages give the same
 * text. It is framed as a record (src/steps/view/view.ts) and carries a reserved id. It counts failed tool calls, so no error is
 * left out silently.
 */
import type { UIMessage } from "ai";
import { FIT_EXTRACT_TOKENS } from "../limits.ts";
import { fallbackSummary } from "../steps/draft/fallback.ts";
import { type CountTokens, referenceTo, fieldText, toolPart } from "../steps/message/message.ts";
import type { Loaded } from "../facts/fact.ts";
import { readLoaded } from "../facts/loaded.ts";
import { elementInOwnWords } from "../facts/said.ts";
import { readLoadedNames } from "../facts/render.ts";
import { safeLine, withoutHeading } from "../steps/text/text.ts";
import { renderTranscript } from "../steps/draft/render.ts";
import { isStub } from "../steps/view/repair.ts";
import { DEFAULT_TEMPLATE, type Template } from "../steps/draft/prompt.ts";
import { fittedMessageId, isSummary, RECORD_END } from "../steps/view/view.ts";
import { renderRules } from "./rules.ts";

/**
 * Characters of the omitted messages that it reads. The limit keeps it fast, because the caller is about to ask a
 * model.
 */
const FIT_EXTRACT_SOURCE_CHARS = 80_000;

export interface ExtractOptions {
  /** Approximate token limit, rules not counted. */
  readonly tokens: number;
  readonly template?: Template | undefined;
  /** The number of messages that it replaces. The newest of them may be replaced in part. */
  readonly messages: number;
  /** Lines of the user's standing instructions in them. */
  readonly rules: readonly string[];
  readonly countTokens: CountTokens;
}

export function extractiveMessage(gap: readonly UIMessage[], options: ExtractOptions): UIMessage {
  const { tokens, messages, rules, countTokens, template = DEFAULT_TEMPLATE } = options;
  const frame = `[${countOf(messages, "message")} left out to fit${failures(gap)}, not a request, made without a model]`;
  let budget = tokens - countTokens(`${frame}\n${RECORD_END}`);
  if (budget < FIT_EXTRACT_TOKENS) return notice(gap, options);
  const loaded = nameLoaded(gap, (text) => countTokens(text) <= budget / 4);
  budget -= countTokens(loaded);
  const summary = fallbackSummary({
    transcript: renderTranscript(gap.map(elementInOwnWords), { maxChars: FIT_EXTRACT_SOURCE_CHARS }),
    previous: null,
    drafts: [],
    titles: template.sections.map(({ title }) => title),
    summaryTokens: budget,
    countTokens,
  });
  return synthetic(gap, [frame, withoutHeading(summary), loaded, renderRules(rules)]);
}

/** Names the instruction files, skills and plans in the messages and beside their summaries, the newest last. */
function nameLoaded(gap: readonly UIMessage[], fits: (text: string) => boolean): string {
  const names = gap.flatMap((message) => {
    const [part] = message.parts;
    if (isSummary(message) && part?.type === "text") return readLoadedNames(fieldText(part.text));
    return readLoaded(message, message.id).flatMap((each) => (each.text === "" ? [] : [nameWithReference(each)]));
  });
  let left = [...new Set(names)];
  const tell = (): string =>
    left.length === 0 ? "" : `Loaded earlier, left out to fit (recall has it): ${left.join(", ")}`;
  while (left.length > 0 && !fits(tell())) left = left.slice(1);
  return tell();
}

function nameWithReference({ name, messageId }: Loaded): string {
  return `${safeLine(name)} (${referenceTo(messageId)})`;
}

/** The shortest notice of omitted messages. */
export function notice(
  gap: readonly UIMessage[],
  { messages, rules }: Pick<ExtractOptions, "messages" | "rules">,
): UIMessage {
  return synthetic(gap, [`[${countOf(messages, "message")} left out to fit${failures(gap)}.]`, renderRules(rules)]);
}

function synthetic(gap: readonly UIMessage[], paragraphs: readonly string[]): UIMessage {
  const said = paragraphs.filter((each) => each !== "");
  // A line alone is whole without its end.
  const text = [...said, ...(said.length > 1 ? [RECORD_END] : [])].join("\n\n");
  return {
    id: fittedMessageId(gap[0]?.id ?? "", 0),
    role: "user",
    metadata: { palimpsest: { kind: "extract" } },
    parts: [{ type: "text", text }],
  };
}

function failures(gap: readonly UIMessage[]): string {
  const failed = gap.flatMap(({ parts }) =>
    parts.filter((part) => {
      const tool = toolPart(part);
      return tool?.state === "output-error" && !isStub(tool);
    }),
  ).length;
  return failed === 0 ? "" : `, ${countOf(failed, "failed tool call")} among them`;
}

function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
