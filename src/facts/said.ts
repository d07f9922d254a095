/**
 * Tells what a user wrote in a message from what tools, harnesses, templates and commands put there.
 *
 * Messages in, texts out. No language is known here. Marks of harnesses are tags and metadata, and a template is a long paragraph that came
 * before. In doubt a text counts as the user's, because the model that reads it decides what it means.
 */
import type { UIMessage } from "ai";
import { fieldText, innerParts, isOfHarness, textsOf, toolPart } from "../steps/message/message.ts";
import { isSummary, storedId } from "../steps/view/view.ts";
import { cutMiddle, wholeCharacters } from "../steps/draft/render.ts";
import type { Instruction, Saying } from "./fact.ts";

/** Tags in which commands and editors pass on what the user typed. */
const TYPED = /^(?:command-args|user_query|user[-_]message)$/;
/** Words in the names of tags of harnesses. A person's own tags in a prompt, and elements of a page, have others. */
const OF_HARNESS =
  /(?:^|[-_])(?:system|reminder|notif\w*|notice|hook|std(?:in|out|err)|caveat|command|tool|function|environment|ide|editor|teammate|(?:sub)?agent|session|bash|shell|terminal|console|browser|workspace|opened|attached|selection|cursor|background|snapshot|compact\w*|summary|report|results?)(?:$|[-_])|^user_instructions$/;
/** A tag of several words, as harnesses name theirs, and two of one word. */
const TAG = /<(\/?)([a-z]+(?:[-_][a-z]+)+|skill|teammate)(?: [^<>]{0,300})?>/gi;
/** Tags whose text goes to the end of a message that was cut before their own end. */
const ENDLESS =
  /^(?:system-reminder|task-notification|teammate-message|environment_\w+|local-command-\w+|bash-std\w+)$/;
/** A line of a harness, and the beginnings of texts that are a harness's from there on. */
const NOTICE =
  /^\[(?:Request interrupted|Tool use was|Image:)[^\]\n]{0,80}\]$|^Read the output file to retrieve the result: \S+$/gm;
const SUMMARY =
  /^(?:This session is being continued\b|Caveat: The messages below were generated|The conversation history before this point was compacted|Another language model started to solve this problem)/;
const SKILL = /^(?:Base directory (?:for|of) (?:this|the) skill|# AGENTS\.md instructions for )/;
/** Shorter paragraphs may be said twice by a person, and hardly a third time. */
const TEMPLATE_CHARS = 120;
const SHORT_TEMPLATE_CHARS = 40;
const SHORT_TIMES = 3;
/** A larger message is read without a search for templates. */
const MAX_CHARS = 200_000;

/** A person's words in one message. */
export interface Said {
  readonly messageId: string;
  readonly text: string;
}

/**
 * What the user wrote in each message, oldest first. Messages without words are left out. A long paragraph counts only where it does not
 * stand in another message too.
 */
export function readSaid(messages: readonly UIMessage[]): Said[] {
  const found = messages.flatMap((message) => {
    const text = wordsOfUser(message);
    return text === "" ? [] : [{ messageId: storedId(message.id), text }];
  });
  const times = new Map<string, number>();
  for (const { text } of found)
    for (const each of new Set(paragraphsOf(text))) times.set(each, (times.get(each) ?? 0) + 1);
  const isRepeated = (paragraph: string): boolean => (times.get(paragraph) ?? 0) > 1;
  const isOften = (paragraph: string): boolean =>
    paragraph.length >= SHORT_TEMPLATE_CHARS && (times.get(paragraph) ?? 0) >= SHORT_TIMES;
  return found.flatMap(({ messageId, text }) => {
    const paragraphs = paragraphsOf(text);
    // Beside a long one, short ones that came before are of the template as well.
    const isTemplate = paragraphs.some((each) => each.length >= TEMPLATE_CHARS && isRepeated(each));
    const said = paragraphs
      .filter((each) => !isOften(each) && (!isTemplate || !isRepeated(each)))
      .join("\n\n")
      .trim();
    return said === "" ? [] : [{ messageId, text: said }];
  });
}

function paragraphsOf(text: string): string[] {
  return text.length > MAX_CHARS ? [text] : text.split(/\n[ \t]*\n/).filter((each) => each.trim() !== "");
}

/** Characters of a system message that stand beside a summary. */
export const SYSTEM_CHARS = 600;

/** Begins the id of Think's outcome of an execution whose call is gone. It is a system message because nobody said it. */
const OUTCOME = "exec-outcome-";

/** What a system message says, shortened in the middle. Nothing for one that tells what a tool or an execution brought. */
export function saidBySystem(message: UIMessage): Instruction[] {
  const { id, role, parts } = message;
  if (role !== "system" || id.startsWith(OUTCOME) || isOfHarness(message) || parts.some(toolPart)) return [];
  const text = withoutHarness(textsOf(parts).join("\n").trim());
  return text.length < LEAST_SIGNS
    ? []
    : [{ quote: cutMiddle(text, SYSTEM_CHARS), messageId: storedId(id), system: true }];
}

/** The user's words in one message, without what a harness put there. Empty for a message of anybody else. */
export function wordsOfUser(message: UIMessage): string {
  if (isSummary(message) || isOfHarness(message)) return "";
  const parts = message.role === "user" ? message.parts : message.parts.flatMap(steered);
  const texts = parts.flatMap((part) => {
    if (part.type === "steering-message")
      return steered(part).map((each) => ("text" in each ? fieldText(each.text) : ""));
    return part.type === "text" ? [fieldText(part.text)] : [];
  });
  return texts
    .map(withoutHarness)
    .filter((text) => text !== "")
    .join("\n");
}

function steered(part: UIMessage["parts"][number]): UIMessage["parts"] {
  return part.type === "steering-message" ? innerParts(part).filter(({ type }) => type === "text") : [];
}

function withoutHarness(text: string): string {
  const trimmed = text.trim();
  if (SUMMARY.test(trimmed) || SKILL.test(trimmed)) return "";
  return withoutBlocks(trimmed).replaceAll(NOTICE, "").trim();
}

/** The text without the blocks of a harness, and with what the user typed in them. Linear, because each tag is looked at once. */
function withoutBlocks(text: string): string {
  const tags = [...text.matchAll(TAG)].map(({ index: from, 0: tag, 1: slash, 2: name = "" }) => ({
    name: name.toLowerCase(),
    isEnd: slash === "/",
    from,
    to: from + tag.length,
  }));
  const ends = Map.groupBy(tags.filter(({ isEnd }) => isEnd).toReversed(), ({ name }) => name);
  let [said, at] = ["", 0];
  for (const { name, isEnd, from, to } of tags) {
    const isTyped = TYPED.test(name);
    if (isEnd || from < at || !(isTyped || OF_HARNESS.test(name) || !/[-_]/.test(name))) continue;
    const behind = ends.get(name) ?? [];
    while ((behind.at(-1)?.from ?? to) < to) behind.pop();
    const end = behind.at(-1);
    if (end === undefined && !ENDLESS.test(name)) continue;
    said += text.slice(at, from) + (isTyped ? withoutBlocks(text.slice(to, end?.from)) : "");
    at = end?.to ?? text.length;
  }
  return said + text.slice(at);
}

/** Characters of one message that are shown. A longer one is mostly pasted. Its beginning and end say what it is for. */
const SHOWN_CHARS = 900;
const BEGINNING = 2 / 3;
/** Fewer characters say "go on", in a script with letters and in one with signs. */
const LEAST_CHARS = 12;
const LEAST_SIGNS = 4;
const SIGNS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** What of a message is shown beside a summary. Empty for words that say too little. */
export function shorten(messageId: string, text: string): Saying[] {
  if (text.length < (SIGNS.test(text) ? LEAST_SIGNS : LEAST_CHARS)) return [];
  if (text.length <= SHOWN_CHARS) return [{ messageId, text, left: 0 }];
  const begin = wholeCharacters(text, 0, Math.floor(SHOWN_CHARS * BEGINNING)).trimEnd();
  const end = wholeCharacters(text, text.length - Math.floor(SHOWN_CHARS * (1 - BEGINNING)), text.length).trimStart();
  const left = text.length - begin.length - end.length;
  return [{ messageId, text: `${begin} […] ${end}`, left }];
}
