/**
 * Reads a conversation and sorts slices of it under topics of a summary.
 *
 * Statements and actions in, bullets out. Each bullet is a slice of the input with at most one fixed label in front. It
 * is deterministic, and its time is linear in the conversation except for short look-aheads.
 */
import { clip, joinSentences, MAX_SLICE, wordCount, type Add, type Bullet } from "./bullet.ts";
import {
  isApproval,
  isBlocked,
  isCause,
  isDecision,
  isDone,
  isIntroduction,
  isLabel,
  isNarration,
  isProposal,
  isQuestion,
  isRequest,
  isTodo,
  isUserDecision,
  withoutGreeting,
} from "../steps/text/cues.ts";
import type { Entry } from "./entries.ts";
import { extractConstraints, isRule } from "../facts/rules/constraints.ts";
import { createRanker, meaningfulWords } from "./rank.ts";
import { splitSentences, type Sentence } from "../steps/text/sentences.ts";
import { describeCall, readToolUse } from "./tool-use.ts";
import {
  ASKED_USER,
  ASSISTANT_SAID,
  BLOCKED,
  LAST_ACTION,
  TO_DO,
  USER_SAID,
  oneLine,
  type Topic,
} from "../steps/draft/summary-shape.ts";

/** Open work is only current near the end. It is read from the conversation after this share. */
const RECENT = 0.6;

/** A sentence of at least this rank is worth keeping for its subject, even if it is no result, cause or plan. */
const TELLING = 0.45;

/** Sentences at the start of the first message that are kept beside its requests, because they give the reason. */
const BACKGROUND = 3;
/** Words that stand in requests of any subject. */
const VAGUE =
  /^(?:again|ahead|able|anything|assist|best|check|continue|details?|everything|explain|few|fine|first|fix|full|give|good|happy|help|hold|information|issues?|keep|kind|know|latest|look|looking|matter|mean|moment|move|need|new|next|options?|point|possible|problems?|proceed|provide|questions?|right|see|several|share|soon|something|start(?:ed)?|still|step|steps|sure|tell|think|today|understand|wait|way|work|working)$/;
/** A shorter sentence, such as "Read." tells no state. */
const LEAST_WORDS = 3;
/** Statements at the end that are searched for one that tells where the work stands. */
const RECENT_STATEMENTS = 6;
/** Characters read of one sentence, so that no pattern runs on an endless one. */
const MAX_SENTENCE = 1_000;

interface SpokenText {
  readonly by: "user" | "assistant";
  readonly at: number;
  readonly sentences: readonly Sentence[];
}

export interface ReadingOptions {
  /** Favours slices that share words with the focus. */
  readonly focus: string;
  /** True when an earlier summary tells how the conversation began. */
  readonly continues: boolean;
}

/** All candidate bullets of `entries`, in no order. */
export function gatherEvidence(entries: readonly Entry[], { focus, continues }: ReadingOptions): Bullet[] {
  const spoken: SpokenText[] = [];
  entries.forEach((entry, at) => {
    if (entry.kind === "said") spoken.push({ by: entry.by, at, sentences: readable(entry.text) });
  });
  const rank = rankWithFocus(spoken, focus);
  const span = Math.max(1, entries.length);
  const bullets: Bullet[] = [];
  const opening = spoken.findIndex((each) => isUser(each) && each.sentences.length > 0);
  const add: Add = (topic, text, more) => {
    const slice = topic === "constraints" ? oneLine(text) : clip(oneLine(text), MAX_SLICE + 20);
    const weight = (more.weight ?? 0) + rank(slice) + (more.at / span) * 0.4;
    const order = more.at + bullets.length / 1e6;
    const messages = [...(more.also ?? []), more.at].flatMap((at) => entries[at]?.message ?? []);
    const references = [...new Set(messages)].map((message) => `#${message}`);
    if (slice !== "") bullets.push({ topic, text: (more.label ?? "") + slice, weight, order, references });
  };
  spoken.forEach((each, index) => {
    if (each.by === "user") readUser({ each, before: spoken[index - 1], first: index === opening && !continues }, add);
    else readAssistant({ each, recent: each.at / span >= RECENT, rank }, add);
  });
  entries.forEach((entry, at) => {
    if (entry.kind !== "said" || entry.by !== "user") return;
    for (const rule of extractConstraints(entry.text)) add("constraints", rule, { at, weight: 1 });
  });
  entries.forEach((entry, at) => {
    if (entry.kind === "file") add("files", entry.name, { at, weight: 0.5, label: "Attached: " });
  });
  readToolUse(entries, add);
  readState(entries, spoken, add);
  return bullets;
}

function isUser(each: SpokenText): boolean {
  return each.by === "user";
}

/** A sentence in brackets alone, as clients write "[Request interrupted by user]" in the user's name. */
const NOTICE = /^\[[^[\]]+\]$/;

/** Prose that a person would read, without pasted data, notices of clients and fragments. */
function readable(text: string): Sentence[] {
  return splitSentences(text).flatMap((each) => {
    const sentence = each.text.slice(0, MAX_SENTENCE);
    const letters = sentence.match(/[\p{L} ]/gu)?.length ?? 0;
    const code = /^(?:at |import |const |<\/?\w)/.test(sentence);
    const prose = letters >= sentence.length * 0.6 && !code && !NOTICE.test(sentence);
    return prose ? [{ ...each, text: sentence }] : [];
  });
}

function rankWithFocus(spoken: readonly SpokenText[], focus: string): (text: string) => number {
  const rank = createRanker(spoken.flatMap((each) => each.sentences.map((sentence) => sentence.text)));
  const wanted = meaningfulWords(focus);
  return (text) => {
    if (wanted.size === 0) return rank(text);
    let shared = 0;
    for (const word of meaningfulWords(text)) if (wanted.has(word)) shared++;
    return rank(text) + Math.min(1, shared / Math.min(4, wanted.size));
  };
}

function readUser(turn: { each: SpokenText; before: SpokenText | undefined; first: boolean }, add: Add): void {
  const { each, before, first } = turn;
  const whole = joinSentences(each.sentences.slice(0, 4).map((sentence) => sentence.text));
  if (before?.by === "assistant" && each.sentences.length < 4 && isApproval(whole)) {
    const proposed = readProposal(
      before.sentences.filter((sentence) => !sentence.bullet).map((sentence) => sentence.text),
    );
    const slot = { at: each.at, also: [before.at], weight: 0.6 };
    if (proposed !== "") add("decisions", proposed, { ...slot, label: "User agreed to: " });
  }
  const full = each.sentences.filter(({ text }) => !isIntroduction(text) && wordCount(withoutGreeting(text)) >= 4);
  full.forEach(({ text }, place) => {
    const ask = isRequest(text);
    const vague = isVague(text);
    if (((vague || isLabel(text)) && !first) || (!ask && (!first || place >= BACKGROUND || isRule(text)))) return;
    const weight = vague ? 0 : first ? (ask ? 2 : 1.5) : 0.5;
    add("goal", withoutGreeting(text), { at: each.at, weight });
  });
  for (const { text } of each.sentences) {
    if (wordCount(text) >= 5 && isUserDecision(text) && !isIntroduction(text))
      add("decisions", text, { at: each.at, weight: 0.5, label: "User: " });
  }
}

/** True for a request that names no subject, such as "Can you help me with that?" */
function isVague(text: string): boolean {
  return [...meaningfulWords(text)].every((word) => VAGUE.test(word));
}

/** The question that a yes answers, after the last sentences about its subject. */
function readProposal(sentences: readonly string[]): string {
  const at = sentences.findLastIndex((text) => isProposal(text));
  const question = sentences[at];
  if (question === undefined) return "";
  const about = sentences.slice(Math.max(0, at - 2), at).filter((text) => !isIntroduction(text));
  return joinSentences([...about.map((text) => clip(text, 100)), question]);
}

interface Slot {
  readonly topic: Topic;
  readonly weight: number;
  readonly label?: string;
}

function readAssistant(turn: { each: SpokenText; recent: boolean; rank: (text: string) => number }, add: Add): void {
  const { each, recent, rank } = turn;
  for (const { text, bullet } of each.sentences) {
    if (wordCount(text) < 3 || isIntroduction(text) || isQuestion(text)) continue;
    const slot = (recent ? findOpenWork(text) : null) ?? findDone(text, bullet);
    const isTelling = !bullet && wordCount(text) >= 8 && !isNarration(text) && rank(text) >= TELLING;
    if (slot !== null) add(slot.topic, text, { ...slot, at: each.at });
    else if (isTelling) add("done", text, { at: each.at, weight: -0.5 });
  }
}

function findOpenWork(text: string): Slot | null {
  if (isCause(text)) return null;
  if (isBlocked(text) && !isNarration(text)) return { topic: "doing", weight: 0.3, label: BLOCKED };
  return isTodo(text) ? { topic: "doing", weight: 0.3, label: TO_DO } : null;
}

function findDone(text: string, bullet: boolean): Slot | null {
  const narration = isNarration(text);
  if (isCause(text) && !narration) return { topic: "errors", weight: 0.5 };
  if (isDecision(text) && wordCount(text) >= 5) return { topic: "decisions", weight: narration ? 0 : 0.3 };
  if (!narration && isDone(text) && wordCount(text) >= 4) return { topic: "done", weight: bullet ? 0.3 : 0.5 };
  return null;
}

/** Reads the state at the end: the last words of both sides and the unanswered questions. */
function readState(entries: readonly Entry[], spoken: readonly SpokenText[], add: Add): void {
  const user = spoken.findLast((each) => isUser(each) && each.sentences.length > 0);
  const assistant = spoken.findLast((each) => each.by === "assistant" && each.sentences.length > 0);
  const teller = spoken
    .slice(-RECENT_STATEMENTS)
    .findLast((each) => each.by === "assistant" && each.sentences.some(tells));
  const userLast = (user?.at ?? -1) > (assistant?.at ?? -1);
  if (user !== undefined) {
    const words = user.sentences.slice(0, 3).map((sentence) => sentence.text);
    add("state", joinSentences(words), { at: user.at, weight: 2, label: USER_SAID });
    if (userLast)
      for (const question of words.filter(isQuestion)) add("questions", question, { at: user.at, weight: 2 });
  }
  if (assistant !== undefined) {
    const { sentences, at } = teller ?? assistant;
    add("state", lastWords(sentences), { at, weight: 1.5, label: ASSISTANT_SAID });
    const asked = assistant.sentences.filter(({ text }) => isQuestion(text) && wordCount(text) >= 4).slice(-3);
    if (!userLast)
      for (const { text } of asked) add("questions", text, { at: assistant.at, weight: 1, label: ASKED_USER });
  }
  const last = entries.findLastIndex((entry) => entry.kind === "call");
  const call = entries[last];
  if (call?.kind === "call" && last > Math.max(user?.at ?? -1, assistant?.at ?? -1)) {
    add("state", describeCall(call), { at: last, weight: 1, label: LAST_ACTION });
  }
}

/** False for a sentence that names no subject, such as "Let me fix this:" */
function tells({ text }: Sentence): boolean {
  return wordCount(text) >= LEAST_WORDS && !isVague(text);
}

/** The first and the last sentence of a message, which tell its subject and its end. */
function lastWords(sentences: readonly Sentence[]): string {
  const all = sentences.filter(tells).map(({ text }) => text);
  const telling = all.filter((text) => !isNarration(text) || isQuestion(text));
  const short = sentences.findLast(({ text }) => wordCount(text) >= LEAST_WORDS)?.text;
  const [first = short ?? "", ...rest] = telling.length > 0 ? telling : all;
  const last = rest.at(-1);
  return last === undefined ? first : `${clip(first, MAX_SLICE / 2)} … ${clip(last, MAX_SLICE / 2)}`;
}
