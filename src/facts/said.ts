/**
 * Tells what a user wrote in a message from what tools, harnesses, templates and commands put there.
 *
 * Messages in, texts out. No language is known here. Marks of harnesses are tags and metadata, and a template is a long paragraph that came
 * before. In doubt a text counts as the user's, because the model that reads it decides what it means.
 */
import type { UIMessage } from "ai";
import { fieldText, innerParts } from "../steps/message/tool-parts.ts";
import { isSummary, storedId } from "../steps/view/view.ts";
import { wholeCharacters } from "../steps/draft/render.ts";
import type { Saying } from "./fact.ts";

/** Fields in the metadata of messages that a harness wrote in the user's name. */
const BY_HARNESS = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic"] as const;
/** Tags in which commands pass on what the user typed. */
const ARGUMENTS = /<(command-args|user_query|user-message|user_message)>([^]*?)<\/\1>/g;
/** A block in a tag of two words, as harnesses name theirs. Tags of HTML have one word. */
const BLOCK =
  /<([a-z]+(?:[-_][a-z]+)+|instructions|environment|skill|teammate|hook)(?: [^<>]{0,300})?>[^]*?(?:<\/\1>|$)/gi;
/** A line of a harness, and the beginnings of texts that are a harness's from there on. */
const NOTICE =
  /^\[(?:Request interrupted|Tool use was|Image:)[^\]\n]{0,80}\]$|^Read the output file to retrieve the result: \S+$/gm;
const SUMMARY =
  /^(?:This session is being continued from a previous conversation|Caveat: The messages below were generated)/;
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
  const seen = new Map<string, number>();
  for (const { text } of found)
    for (const each of new Set(templatable(text))) seen.set(each, (seen.get(each) ?? 0) + 1);
  return found.flatMap(({ messageId, text }) => {
    const isTemplate = (paragraph: string): boolean =>
      (seen.get(paragraph) ?? 0) >= (paragraph.trim().length < TEMPLATE_CHARS ? SHORT_TIMES : 2);
    const own = text
      .split(BREAK)
      .filter((paragraph) => !isTemplate(paragraph))
      .join("\n\n");
    const said = own.replaceAll(/\n{3,}/g, "\n\n").trim();
    return said === "" ? [] : [{ messageId, text: said }];
  });
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

function isOfHarness({ metadata }: UIMessage): boolean {
  if (typeof metadata !== "object" || metadata === null) return false;
  return BY_HARNESS.some((field) => (metadata as Record<string, unknown>)[field] === true);
}

function withoutHarness(text: string): string {
  const trimmed = text.trim();
  if (SUMMARY.test(trimmed) || SKILL.test(trimmed)) return "";
  if (trimmed.length > MAX_CHARS || !trimmed.includes("<")) return trimmed.replaceAll(NOTICE, "").trim();
  return trimmed
    .replaceAll(ARGUMENTS, (_, _tag: string, typed: string) => typed)
    .replaceAll(BLOCK, "")
    .replaceAll(NOTICE, "")
    .trim();
}

function templatable(text: string): string[] {
  if (text.length > MAX_CHARS) return [];
  return text.split(BREAK).filter((paragraph) => paragraph.trim().length >= SHORT_TEMPLATE_CHARS);
}

const BREAK = /\n[ \t]*\n/;

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
