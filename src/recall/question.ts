/**
 * What a question asks for, and which messages may answer it by the places of its words.
 *
 * It reads no message. Asks are only compared with texts, so nothing in a question is an operator.
 */
import { lazy } from "../lazy.ts";
import { MAX_QUERY_TERMS } from "../limits.ts";
import { askedWords, ENGLISH, formsOfText, languageOf, spellingsOf, wordsOfText } from "./stems.ts";

/** A word in any of its forms, or adjacent words. */
export interface Ask {
  /** The word as it was written. Empty for a topic. */
  readonly word: string;
  readonly forms: readonly string[];
  /** Two characters of a script without blanks. */
  readonly isPair: boolean;
  /** Adjacent words, of which the last may be longer in the text. Null for a word in any form. */
  readonly phrase: { readonly text: string; readonly isBeginning: boolean } | null;
  /** True when it may be a name, which other languages decline. */
  readonly isName: boolean;
  /** True for another spelling of what is asked, such as `getuser` for "get-user". */
  readonly isSpelling: boolean;
  /** True when only messages that have it, and their neighbours, can be an answer. */
  readonly isRequired: boolean;
}

/** An ask with the messages that have it, by number, newest first. */
export interface Match extends Ask {
  readonly seqs: readonly number[];
  /** False when there are older ones, too. */
  readonly isAll: boolean;
  /** The fewer messages have it, the higher. */
  readonly weight: number;
}

export interface Question {
  readonly asks: readonly Ask[];
  /** True where it asks for something that was said. Other texts are words to look for. */
  readonly isQuestion: boolean;
  /** True for a longer text, which describes the present work. */
  readonly isWork: boolean;
}

/** Characters of a question that are read. A page of text is enough to tell its subject. */
const MAX_QUESTION_CHARS = 2_000;
/** More words describe work in progress, in a question and in other texts. */
const QUESTION_WORDS = 15;
const FEW_WORDS = 7;
const QUESTION = /[?？؟]["'”’)]*\s*$/;
const PIECES = /"([^"]*)"?(\*?)|([^\s"]+)/g;
const NO_ASK = { forms: [], isPair: false, phrase: null, isName: false, isSpelling: false, isRequired: false };

/**
 * Reads a question: its words, `begin*`, and `"adjacent words"`. The last two are required only if the question
 * has nothing else, because a question may quote a title, and a text may quote anybody.
 */
export function readQuestion(query: string): Question {
  const quoted = new Map<string, Ask>();
  const rest: string[] = [];
  for (const [, phrase, star, word = ""] of query.slice(0, MAX_QUESTION_CHARS).matchAll(PIECES)) {
    const text = phrase ?? word.replace(/\*+$/, "");
    const isBeginning = star === "*" || (phrase === undefined && word.endsWith("*"));
    if (phrase !== undefined || !isBeginning) rest.push(text);
    if ((phrase !== undefined || isBeginning) && wordsOfText(text).length > 0) {
      quoted.set(`${text.toLowerCase()}${isBeginning}`, { ...NO_ASK, word: text, phrase: { text, isBeginning } });
    }
  }
  const exact = [...quoted.values()];
  const words = askWords(rest.join(" "));
  const isAsked = QUESTION.test(query);
  if (words.length > (isAsked ? QUESTION_WORDS : FEW_WORDS)) {
    return { asks: words.slice(0, MAX_QUERY_TERMS), isQuestion: false, isWork: true };
  }
  const isExact =
    exact.length > 0 &&
    rest.every((text) => quoted.has(`${text.toLowerCase()}false`) || wordsOfText(text).length === 0);
  const known = new Set(words.map(({ word }) => word));
  const spellings = askWords(spellingsOf(rest.join(" ")).join(" ")).filter(({ word }) => !known.has(word));
  const asks = isExact
    ? exact.map((each) => ({ ...each, isRequired: true }))
    : [...exact, ...words, ...spellings.map((each) => ({ ...each, isSpelling: true }))];
  return { asks: asks.slice(0, MAX_QUERY_TERMS), isQuestion: isAsked, isWork: false };
}

function askWords(text: string): Ask[] {
  return askedWords(text).map((each) => ({ ...NO_ASK, ...each }));
}

/** The asks that are not found. A word is found with another spelling that holds it. */
export function lostAmong<Each extends Ask>(asks: readonly Each[], isFound: (ask: Each) => boolean): Each[] {
  const found = asks.filter((ask) => ask.isSpelling && isFound(ask));
  return asks.filter((ask) => !ask.isSpelling && !isFound(ask) && !found.some(({ word }) => word.includes(ask.word)));
}

/** The share of a name's letters that an ending may take, and letters that it leaves. */
const NAME_ENDING_SHARE = 0.25;
const LEAST_NAME = 4;

/** The beginning of a name, by which it is looked for where no message has the name itself. Null for other words. */
export function beginningOf({ word, isName }: Ask): Ask | null {
  if (!isName || word.length <= LEAST_NAME) return null;
  const text = word.slice(0, Math.max(LEAST_NAME, Math.floor((1 - NAME_ENDING_SHARE) * word.length)));
  return { ...NO_ASK, word, phrase: { text, isBeginning: true } };
}

/** The least weight of a word. A word in half of the messages distinguishes none. */
const LEAST_WEIGHT = 0.05;

/** The weight of a word by the number of its messages, its inverse document frequency as in BM25. */
export function weightOf({ seqs, isAll }: Pick<Match, "seqs" | "isAll">, messages: number): number {
  if (seqs.length === 0) return 0;
  // A word that was counted only in a part of the messages is assumed to be as frequent in the rest.
  const span = (seqs[0] ?? 0) - (seqs.at(-1) ?? 0) + 1;
  const having = isAll ? seqs.length : Math.min(messages, Math.max(seqs.length, (seqs.length / span) * messages));
  return Math.max(LEAST_WEIGHT, Math.log((messages - having + 0.5) / (having + 0.5)));
}

/**
 * The share of a match that its neighbours get, by distance. People speak about one thing for many short turns, and
 * a question is about such talk. Other texts less often look for what stands near.
 */
const NEAR_IN_TALK: readonly number[] = [1, 0.5, 0.4, 0.33, 0.28, 0.24, 0.2, 0.17, 0.14, 0.12, 0.1];
const NEAR_IN_WORK: readonly number[] = [1, 0.5, 0.4, 0.3, 0.2];

export function nearShares(isQuestion: boolean): readonly number[] {
  return isQuestion ? NEAR_IN_TALK : NEAR_IN_WORK;
}

/** The part of its weight with which a word counts for a message when it is found near that message a second time, or more often. */
export const AGAIN_SHARE = 0.3;

/** Messages in the order in which they are likely to answer, including neighbours of a hit. */
export function rankMessages(
  matches: readonly Pick<Match, "weight" | "seqs">[],
  { isInside, isQuestion }: { readonly isInside: (seq: number) => boolean; readonly isQuestion: boolean },
): number[] {
  const shares = nearShares(isQuestion);
  const worth = new Map<number, number>();
  for (const { weight, seqs } of matches) {
    const found = new Map<number, { best: number; sum: number }>();
    for (const seq of seqs) {
      for (let near = seq - shares.length + 1; near < seq + shares.length; near++) {
        const share = weight * (shares[Math.abs(near - seq)] ?? 0);
        const known = found.get(near) ?? { best: 0, sum: 0 };
        found.set(near, { best: Math.max(known.best, share), sum: known.sum + share });
      }
    }
    for (const [seq, { best, sum }] of found) worth.set(seq, (worth.get(seq) ?? 0) + best + AGAIN_SHARE * (sum - best));
  }
  const ranked = [...worth].filter(([seq]) => isInside(seq)).toSorted((a, b) => b[1] - a[1] || b[0] - a[0]);
  return ranked.map(([seq]) => seq);
}

/**
 * The everyday topics of English questions, one a line: words that name it in a question, and further words that only answers have.
 *
 * A person asks about pets, and the conversation says "cat". A topic that a question names is one more ask. Any of the topic's words
 * matches it, so it counts the less, the more messages speak about the topic.
 */
const TOPICS = `
  pet animal: cat dog puppy kitten fish bird rabbit hamster guinea turtle snake lizard horse parrot vet
  hobby hobbies pastime interest activity activities leisure fun spare free relax unwind: love enjoy play paint draw read write hike guitar piano photography garden cook bake dance sing yoga swim camping run knit game puzzle
  food dish meal cuisine recipe snack cook eat restaurant diet: dinner lunch breakfast brunch ate cooked pasta pizza chicken beef rice soup salad cake bread cheese steak sushi curry sandwich taco burger noodles vegetables fruit chocolate dessert bake delicious tasty
  drink beverage alcohol: tea coffee juice water beer wine soda milk cocktail smoothie bar
  sport exercise fitness workout athletic healthy team: gym run yoga swim hike soccer football basketball tennis baseball volleyball hockey golf ski surf skate cycling marathon pilates boxing train race match
  travel trip vacation holiday visit destination country countries city cities place location abroad tour region state: flew flight airport road trip travel visit beach hotel island mountain Italy France Spain Germany England Paris London Rome Greece Japan China India Korea Thailand Mexico Canada Brazil Australia Europe Asia Africa America Hawaii California Florida Texas York Chicago Boston Seattle
  job work career profession occupation employ living: job work office company boss coworker shift intern hire promotion manager teacher nurse engineer designer freelance business clients
  study school education degree major university college course subject learn academic: school class university college freshman student exam test professor homework degree semester graduate math science history biology economics engineering
  family relative parent sibling kid child children: mother mom father dad sister brother son daughter parents grandma grandmother grandpa aunt uncle cousin niece nephew wife husband baby
  relationship status partner romantic marry married: single dating girlfriend boyfriend wife husband divorced breakup date engaged wedding together
  health illness disease sick symptom medical medicine injury condition: sick doctor hospital pain hurt fever cold cough flu covid allergy allergic meds surgery headache stomach injured broke sore therapy
  music song band singer musician instrument concert genre: guitar piano violin drums flute song sing listen album concert playlist rock jazz pop rap classical
  book read author novel literature genre: book read novel author library story chapter series fantasy fiction
  movie film cinema series show tv actor: movie film watch watched show series netflix episode season anime actor
  game gamer video: game play played xbox playstation nintendo console chess cards board
  art artistic artwork creative craft culture cultural: paint painting draw drawing museum gallery pottery sculpture photography theater exhibit ruins
  look appearance hair wear clothes outfit fashion style: hair brunette blonde tall short eyes nails dress shirt shoes jacket wear tattoo makeup
  beauty treatment: nails hair haircut spa skin makeup massage
  home house live apartment residence neighborhood: house apartment live moved room bedroom kitchen living rent roommate neighborhood city street
  housework chore home improvement: clean laundry garden dishes vacuum tidy organize redecorate repair
  color colour: red blue green yellow black white pink purple orange brown
  emotion feel feeling mood react reaction: happy sad excited nervous anxious proud angry upset stressed worried lonely scared grateful
  weather climate temperature: rain snow sunny storm cold hot warm wind cloudy blizzard freezing
  celebrate celebration festival party event: birthday christmas party thanksgiving halloween wedding anniversary new year graduation
  gift present: gift present gave bought birthday
  money buy purchase shop cost expensive: bought buy price store shop mall paid dollars order sale
  transport transportation vehicle commute car drive: car bus train bike drove drive subway plane truck
  technology device gadget electronics: phone laptop computer app tablet software internet
  plan future goal dream aspire intend ambition: want hope plan going dream someday wish
  age old young: years old birthday born turned
  personality trait character describe person: kind funny shy caring friendly quiet outgoing
  friend: friend buddy bestie roommate classmate friends
  start begin: started began first recently new
  stop quit end finish: stopped quit finished done over anymore
  problem issue difficult challenge struggle trouble: hard problem difficult tough struggle issue trouble unfortunately
  like favorite prefer love enjoy: favorite love like prefer best enjoy fan
  dislike hate: hate dislike annoying worst boring bad
  nature outdoor outside: hike park forest beach mountain lake trail camping river garden
  help support volunteer charity: help support volunteer donate community shelter
  win award achievement success accomplish prize compete competition: won win first award prize medal contest competition tournament trophy
  celebrity celebrities famous star: actor singer famous star youtuber celebrity
  religion religious faith spiritual believe: church god pray temple faith meditation
  language speak: english spanish french german japanese chinese korean language speak learn
  photo picture image share: photo picture image shared pic
  sleep rest tired: sleep slept bed nap tired awake night
  wake morning routine: woke morning breakfast early
  accident injury hurt: crash fell broke hurt injured hospital accident
  inspire motivate reason why: because inspire motivate reason since
  teach class lesson learn: class lesson teach teacher learn course workshop
  dessert sweet: cake cookies ice cream chocolate pie candy brownie
`;

const topics = lazy(() =>
  TOPICS.trim()
    .split("\n")
    .map((line) => ({
      names: new Set(formsOfText(line.split(":")[0] ?? "", ENGLISH)),
      forms: [...new Set(formsOfText(line, ENGLISH))],
    })),
);

/** An ask for each topic that a question names. None in other languages than English. */
export function topicAsks(question: string): Ask[] {
  if (languageOf(question) !== ENGLISH) return [];
  const asked = formsOfText(question, ENGLISH);
  const named = topics().filter(({ names }) => asked.some((form) => names.has(form)));
  return named.map(({ forms }) => ({ ...NO_ASK, word: "", forms }));
}
